"""Variables as SciPy has them, in one vector of float64, and as functions have them, in nests of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.dependence import Dependence
from ..ops._arguments import to_shape
from ..tensor import Tensor

__all__ = ["Latest", "Leaf", "Packing", "checked_function", "checked_mode", "operator_of", "vector_of"]


class Leaf:
    """One array among the variables: its shape and type, and where it stands in the vector."""

    def __init__(self, x: Any, start: int) -> None:
        array = x.asnumpy() if isinstance(x, Tensor) else np.asarray(x, np.float64)
        if array.dtype.kind != "f":
            raise TypeError(f"the variables hold an array of {array.dtype}; expected floats")
        self.shape = array.shape
        self.dtype = x.dtype if isinstance(x, Tensor) else None
        self.numbers = array.astype(np.float64).ravel()
        self.part = slice(start, start + array.size)


class Packing:
    """Between a nest of arrays and one vector."""

    def __init__(self, x: Any) -> None:
        self.size = 0
        self.leaves: list[Leaf] = []
        self.template = self._walk(x)

    def _walk(self, x: Any) -> Any:
        if isinstance(x, tuple | list) and not self._is_vector(x):
            return type(x)([self._walk(item) for item in x])
        if isinstance(x, dict):
            return {key: self._walk(item) for key, item in x.items()}
        leaf = Leaf(x, self.size)
        self.size = leaf.part.stop
        self.leaves.append(leaf)
        return leaf

    @staticmethod
    def _is_vector(x: Any) -> bool:
        """A list of numbers is an array, as SciPy has it."""
        return isinstance(x, list) and all(isinstance(item, int | float) for item in x)

    def vector(self) -> np.ndarray:
        """The numbers it was made of."""
        return np.concatenate([leaf.numbers for leaf in self.leaves]) if self.leaves else np.empty(0)

    def fill(self, make: Callable[[Leaf], Any]) -> Any:
        """The nest with something for each leaf."""
        return _filled(self.template, make)

    def tensors(self, z: Tensor) -> Any:
        """The nest of the pieces of a vector."""

        def piece(leaf: Leaf) -> Tensor:
            found = z if len(self.leaves) == 1 else z[leaf.part]
            found = found if found.shape == leaf.shape else to_shape(found, leaf.shape)
            return found if leaf.dtype is None or leaf.dtype == z.dtype else found.astype(leaf.dtype)

        return self.fill(piece)

    def arrays(self, x: np.ndarray) -> Any:
        """The nest of the pieces of a vector of numbers."""
        return self.fill(lambda leaf: x[leaf.part].reshape(leaf.shape))


def _filled(template: Any, make: Callable[[Leaf], Any]) -> Any:
    if isinstance(template, Leaf):
        return make(template)
    if isinstance(template, dict):
        return {key: _filled(item, make) for key, item in template.items()}
    return type(template)([_filled(item, make) for item in template])


class Latest:
    """The results at the latest point: SciPy asks for a value and its derivative at the same one, in two calls.

    They are used again only while all that the function can reach is as it was. `depends` tells what that is at a
    point: see `Recorded.depends_on`.
    """

    def __init__(
        self, compute: Callable[[np.ndarray], Any], depends: Callable[[np.ndarray], Dependence | None]
    ) -> None:
        self.compute = compute
        self.depends = depends
        self.kept: tuple[bytes, Dependence, Any] | None = None  # replaced as a whole: threads may ask at once

    def __call__(self, x: np.ndarray) -> Any:
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
    if mode not in modes:
        raise ValueError(f"{name}: {what} is {mode!r}; expected one of {', '.join(map(repr, modes))}")


def checked_function(name: str, fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"{name}: expected a function or a Cell, got {type(fn).__name__}")


def operator_of(
    shape: tuple[int, int],
    product: Callable[[np.ndarray], np.ndarray],
    transposed: Callable[[np.ndarray], np.ndarray],
) -> Any:
    """A linear operator of SciPy; both functions take flat vectors of float64."""
    try:
        from scipy.sparse.linalg import LinearOperator
    except ImportError:
        raise ImportError(
            "dualgrad.scipy: linear operators need SciPy; install it with pip install 'dualgrad[scipy]'"
        ) from None
    return LinearOperator(
        shape,
        lambda p: product(np.ravel(p).astype(np.float64)),
        rmatvec=lambda p: transposed(np.ravel(p).astype(np.float64)),
        dtype=np.float64,
    )
