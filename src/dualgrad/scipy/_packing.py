"""Conversion of variables between SciPy's vector of float64 and pytrees of Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.trace.dependence import Dependence
from .._engine.transforms.pytrees import in_words, placed, with_leaves
from .._nests import mapped, tensors_in
from .._settings import one_of
from ..ops._arguments import to_shape
from ..tensor import Tensor

__all__ = ["Latest", "Leaf", "Packing", "checked_function", "checked_mode", "operator_of", "vector_of"]


class Leaf:
    """One tensor among the variables: its shape, its type and its slice of the vector."""

    def __init__(self, x: Tensor, given: bool, start: int) -> None:
        self.shape = x.shape
        self.dtype = x.dtype if given else None  # the type of a given Tensor; other leaves have the type of the vector
        self.numbers = x.asnumpy().astype(np.float64).ravel()
        self.part = slice(start, start + x.size)


class Packing:
    """Converts a pytree of floats, float arrays and float Tensors to one vector and back."""

    def __init__(self, name: str, x: Any) -> None:
        given = {id(t) for t in tensors_in(x)}
        nest = with_leaves(x, lambda leaf, named: _variable(name, leaf, named), _is_vector)
        self.size = 0
        self.leaves: list[Leaf] = []
        for t in tensors_in(nest):
            if not t.dtype.is_float:
                raise TypeError(f"{name}: the variables hold a Tensor of {t.dtype}; expected floats")
            self.leaves.append(Leaf(t, id(t) in given, self.size))
            self.size += t.size
        # New containers, since the given ones may change.
        self.nest = mapped(nest, lambda t: Tensor(0.0))
        if not self.leaves:
            raise TypeError(f"{name}: no floats among the variables, {in_words(x)}; expected floats, arrays or Tensors")

    def vector(self) -> np.ndarray:
        """The vector of the pytree given at first."""
        return np.concatenate([leaf.numbers for leaf in self.leaves])

    def tensors(self, z: Tensor) -> Any:
        """Cut a vector into the pytree of Tensors."""

        def piece(leaf: Leaf) -> Tensor:
            found = z if len(self.leaves) == 1 else z[leaf.part]
            found = found if found.shape == leaf.shape else to_shape(found, leaf.shape)
            return found if leaf.dtype is None or leaf.dtype == z.dtype else found.astype(leaf.dtype)

        return placed(self.nest, [piece(leaf) for leaf in self.leaves])

    def arrays(self, x: np.ndarray) -> Any:
        """Cut a NumPy vector into the pytree of arrays."""
        return placed(self.nest, [x[leaf.part].reshape(leaf.shape) for leaf in self.leaves])


def _is_vector(x: Any) -> bool:
    """True for a list of numbers, which counts as an array, as in SciPy."""
    return type(x) is list and all(isinstance(item, int | float) for item in x)


def _variable(name: str, x: Any, named: bool) -> Any:
    """Convert an object to a tensor. An object that is not a float stays in a field, and raises elsewhere."""
    kind = _kind_of(x)
    if kind == "f" or (not named and kind in ("b", "i", "u")):
        return Tensor(np.asarray(x, np.float64))
    if named and kind != "c":
        return x
    what = f"complex numbers ({type(x).__name__})" if kind == "c" else in_words(x)
    raise TypeError(
        f"{name}: the variables hold {what}; expected floats, arrays or Tensors of floats, or pytrees of them "
        "(a class of your own is one after dualgrad.register_pytree)"
    )


def _kind_of(x: Any) -> str:
    """NumPy's code for the kind of numbers in an object; empty if it holds none."""
    if x is None or isinstance(x, str | bytes):
        return ""
    try:
        return np.asarray(x).dtype.kind
    except Exception:  # an object may raise anything when it is converted to an array
        return ""


class Latest:
    """The results at the latest point. SciPy requests a value and its derivative at one point by two calls.

    They are reused only while everything that the function can reach is unchanged. `depends` returns the guards at a
    point: see `Recorded.depends_on`.
    """

    def __init__(
        self, compute: Callable[[np.ndarray], Any], depends: Callable[[np.ndarray], Dependence | None]
    ) -> None:
        self.compute = compute
        self.depends = depends
        self.kept: tuple[bytes, Dependence, Any] | None = None  # always replaced as a whole, since threads may read it

    def __call__(self, x: np.ndarray) -> Any:
        if not isinstance(x, np.ndarray):
            raise TypeError(f"expected a vector of numbers, got {in_words(x)}")
        kept, point = self.kept, x.tobytes()
        if kept is not None and kept[0] == point and kept[1].holds():
            return kept[2]
        self.kept = None
        results = self.compute(x)
        dependence = self.depends(x)
        if dependence is not None:
            self.kept = point, dependence, results
        return results


def vector_of(name: str, x: Any, size: int) -> np.ndarray:
    found = np.asarray(x, np.float64)
    if found.shape != (size,):
        raise ValueError(f"{name}: got a vector of shape {found.shape}; expected {(size,)}, the number of variables")
    return found


def checked_mode(name: str, what: str, mode: Any, modes: tuple[str, ...]) -> None:
    if not one_of(mode, modes):
        import difflib  # takes time to import, and a wrong name is rare

        known = {_letters(each): each for each in modes}
        close = difflib.get_close_matches(_letters(str(mode)), known, n=1)
        hint = f"; did you mean {known[close[0]]!r}?" if close else ""
        raise ValueError(f"{name}: {what} is {mode!r}; expected one of {', '.join(map(repr, modes))}{hint}")


def _letters(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def checked_function(name: str, fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"{name}: expected a function or a Cell, got {type(fn).__name__}")


def operator_of(
    shape: tuple[int, int],
    product: Callable[[np.ndarray], np.ndarray],
    transposed: Callable[[np.ndarray], np.ndarray],
    dtype: Any = np.float64,
) -> Any:
    """Make a SciPy linear operator; both functions take flat vectors of `dtype`."""
    try:
        from scipy.sparse.linalg import LinearOperator
    except ImportError:
        raise ImportError(
            "dualgrad.scipy: linear operators need SciPy; install it with pip install 'dualgrad[scipy]'"
        ) from None
    return LinearOperator(
        shape,
        lambda p: product(np.ravel(p).astype(dtype)),
        rmatvec=lambda p: transposed(np.ravel(p).astype(dtype)),
        dtype=dtype,
    )
