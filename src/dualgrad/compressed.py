"""Sparse Jacobians and Hessians: `sparse_jacobian` and `sparse_hessian`.

Columns of a Jacobian that share no row are computed in one sweep, along the sum of their unit vectors. So a tridiagonal
Hessian of any size costs three Hessian-vector products. What is needed to do that again and again, the pattern
(`dualgrad.sparsity`), colours and recorded sweeps, is kept in a `SparsePlan`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._colour import ORDERINGS, Colouring, colour_hessian, colour_jacobian
from ._engine.colouring import spread
from ._sweeps import Surroundings, backward, described, fits, flat, forward, kind_of, split, twice
from .dtype import DType
from .gradient import grad
from .modes import jit
from .ops._joining import concat
from .ops.gather import gather
from .sparsity import Pattern, jacobian_pattern
from .tensor import Tensor
from .vectorize import vmap

__all__ = ["SparseDerivative", "SparsePlan", "sparse_hessian", "sparse_jacobian"]

_AT_ONCE = 8  # sweeps in one program
_LONG = 4096  # elements from which on sweeps are operations of their own rather than samples of one
_SAMPLES = 1 << 20  # elements of a batch of sweeps


class SparsePlan:
    """A sparse derivative of a function for arguments of a kind: what stays the same from call to call.

    Made by the method ``prepare`` of what `sparse_jacobian` and `sparse_hessian` return; called with arguments of the
    same shapes and types it returns the matrix there.

    Attributes
    ----------
    pattern : Pattern
        Where the entries stand.
    colours : ndarray of int
        The colour of each column, or row; -1 where none is needed.
    n_colours : int
        The number of sweeps that a call takes.
    kind : str
        What was coloured: ``columns``, ``rows`` or, for a Hessian, ``stars``.
    ordering : str
        The order of vertices that led to the fewest colours.

    Notes
    -----
    The pattern is found once. It holds for all arguments, unless branches in Python (``if x[0] > 0``) decide what is
    computed; then it is that of the branches taken, ``plan.pattern.branches`` is true, and the plan has to be prepared
    again where they change. `check` compares with a product that needs no pattern.

    Examples
    --------
    >>> import dualgrad as dg
    >>> import numpy as np
    >>> chain = lambda x: ((x[1:] - x[:-1] ** 2) ** 2).sum()
    >>> plan = dg.sparse_hessian(chain).prepare(dg.Tensor(np.zeros(1000)))
    >>> plan
    SparsePlan(shape=(1000, 1000), entries=2998, 3 colours by stars)
    >>> plan(dg.Tensor(np.ones(1000))).toarray()[:3, :3]
    array([[ 8., -4.,  0.],
           [-4., 10., -4.],
           [ 0., -4., 10.]])
    """

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        positions: tuple[int, ...],
        colouring: Colouring,
        pattern: Pattern,
        result: DType,
    ) -> None:
        self.pattern = pattern
        self._name = name
        self._fn = fn
        self._positions = positions
        self._colouring = colouring
        self._kinds = [kind_of(x) for x in args]
        self._indices = pattern.indices.astype(np.int32, copy=False)
        self._indptr = pattern.indptr.astype(np.int32 if len(pattern.indices) < 1 << 31 else np.int64)
        self._surroundings = Surroundings(fn)
        self._dtype = args[positions[0]].dtype.numpy
        self._seed_dtype = result.numpy if colouring.kind == "rows" else self._dtype
        directions = colouring.kind != "rows"
        self._length = pattern.shape[1 if directions else 0]
        pieces = [args[p].shape for p in positions] if directions else None
        self._sweep = self._compiled(len(args))
        self._chunks = self._chunked(pieces)

    @property
    def colours(self) -> np.ndarray:
        return self._colouring.colours

    @property
    def n_colours(self) -> int:
        return self._colouring.count

    @property
    def kind(self) -> str:
        return self._colouring.kind

    @property
    def ordering(self) -> str:
        return self._colouring.ordering

    def __repr__(self) -> str:
        size = f"shape={self.pattern.shape}, entries={len(self.pattern.indices)}"
        return f"SparsePlan({size}, {self.n_colours} colours by {self.kind})"

    # ------------------------------------------------------------------------------------------------- sweeps

    def _chunked(self, pieces: list[tuple[int, ...]] | None) -> list[tuple[range, list[Tensor]]]:
        """The colours of each program, and its seeds."""
        count = self.n_colours
        most = _AT_ONCE if self._unrolled else max(1, _SAMPLES // max(*self.pattern.shape, 1))
        chunks: list[tuple[range, list[Tensor]]] = []
        if not count:
            return chunks
        number = -(-count // most)
        width = -(-count // number)
        seeds = list(self._colouring.seeds())
        nothing = np.zeros(self._length, bool)
        for first in range(0, count, width):
            part = seeds[first : first + width]
            part += [nothing] * (width - len(part))  # one program serves all chunks
            colours = range(first, min(first + width, count))
            arrays: list[np.ndarray] = []
            for seed in [np.stack(part)] if not self._unrolled else part:
                arrays += split(seed.astype(self._seed_dtype), pieces)
            chunks.append((colours, [Tensor(a) for a in arrays]))
        return chunks

    @property
    def _unrolled(self) -> bool:
        return max(self.pattern.shape) >= _LONG

    def _compiled(self, n_args: int) -> Callable[..., list[Tensor]]:
        """A function of the arguments and seeds that returns the products."""
        positions, fn = self._positions, self._fn
        sweep = {"columns": forward, "rows": backward, "stars": twice}[self.kind]
        per_seed = 1 if self.kind == "rows" else len(positions)
        unrolled = self._unrolled

        def sweeps(*given: Any) -> list[Tensor]:
            args, seeds = given[:n_args], given[n_args:]
            product = sweep(fn, args, positions)
            groups = [seeds[i : i + per_seed] for i in range(0, len(seeds), per_seed)]
            if unrolled:
                return [product(*group) for group in groups]
            return [vmap(product)(*groups[0])]

        sweeps.__qualname__ = f"{self._name} of {getattr(fn, '__qualname__', type(fn).__name__)}"
        return sweeps if self.pattern.branches else jit(sweeps)

    def _products(self, args: tuple[Any, ...]) -> Any:
        """For each chunk its colours and products, one vector each, or the rows of a matrix."""
        for colours, seeds in self._chunks:
            yield colours, self._sweep(*args, *seeds)

    # -------------------------------------------------------------------------------------------------- calls

    def values(self, *args: Any) -> np.ndarray:
        """The entries in the order of the pattern, as a NumPy array."""
        args = self._checked(args)
        plan = self._colouring
        out: np.ndarray | None = None
        for colours, products in self._products(args):
            tables = [x._numpy() for x in products]
            columns: Any = tables if self._unrolled else tables[0]
            if out is None:
                out = np.empty(len(plan.target), columns[0].dtype)
            for k, column in zip(colours, columns, strict=False):
                part = slice(plan.bounds[k], plan.bounds[k + 1])
                if out.dtype in (np.float32, np.float64):
                    spread(np.ascontiguousarray(column), plan.source[part], plan.target[part], out)
                else:
                    out[plan.target[part]] = column[plan.source[part]]
        return np.empty(0, self._dtype) if out is None else out

    def entries(self, *args: Any) -> Tensor:
        """The entries in the order of the pattern, as a Tensor that can be differentiated again."""
        args = self._checked(args)
        plan = self._colouring
        parts = []
        for colours, products in self._products(args):
            for i, k in enumerate(colours):
                column = products[i] if self._unrolled else products[0][i]
                parts.append(gather(column, Tensor(plan.source[plan.bounds[k] : plan.bounds[k + 1]]), 0))
        if not parts:
            return Tensor(np.empty(0, self._dtype))
        return gather(concat(parts), Tensor(np.argsort(plan.target)), 0)

    def __call__(self, *args: Any, check: bool = False) -> Any:
        """The matrix, a ``scipy.sparse.csr_array``; `check` compares it with a product along a random vector.

        Raises
        ------
        ImportError
            If SciPy is not there.
        ValueError
            If the arguments are not of the kind the plan was prepared for, or the check fails.
        """
        sparse = _scipy_sparse()
        values = self.values(*args)
        if check:
            self.check(*args, values=values)
        if values.dtype == np.float16:  # SciPy has no such matrices
            values = values.astype(np.float32)
        # The plan keeps its arrays to itself: SciPy's methods may change a matrix in place.
        return sparse.csr_array((values, self._indices.copy(), self._indptr.copy()), shape=self.pattern.shape)

    def check(self, *args: Any, values: np.ndarray | None = None) -> None:
        """Compare the matrix times a random vector with a derivative along it, which needs no pattern.

        Raises
        ------
        ValueError
            If they differ: the pattern does not hold at these arguments.
        """
        args = self._checked(args)
        values = self.values(*args) if values is None else values
        rng = np.random.default_rng(len(values))
        direction = rng.uniform(0.5, 1.5, self.pattern.shape[1]) * rng.choice([-1.0, 1.0], self.pattern.shape[1])
        rows, terms = self.pattern.rows(), values * direction[self.pattern.indices].astype(self._dtype)
        found = np.zeros(self.pattern.shape[0], terms.dtype)
        np.add.at(found, rows, terms)
        scale = np.bincount(rows, np.abs(terms), self.pattern.shape[0])
        along = split(direction.astype(self._dtype), [args[p].shape for p in self._positions])
        product = (twice if self.kind == "stars" else forward)(self._fn, args, self._positions)
        expected = product(*[Tensor(a) for a in along]).asnumpy()
        tolerance = max(float(np.finfo(kind).eps) for kind in (self._dtype, values.dtype, expected.dtype)) ** (2 / 3)
        wrong = ~(np.abs(found - expected) <= tolerance * (scale + np.abs(expected).max(initial=0.0)))
        wrong &= np.isfinite(expected)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"{self._name}: row {row} of the matrix times a random vector is {found[row]:.6g}, but the derivative "
                f"along it is {expected[row]:.6g}: the pattern does not hold at these arguments; prepare the plan there"
            )

    def suits(self, *args: Any) -> bool:
        """Whether the plan is good for these arguments: shapes, types, integers and captured index arrays."""
        try:
            self._checked(args)
        except ValueError:
            return False
        return True

    def _checked(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(args) != len(self._kinds):
            raise ValueError(f"{self._name}: the plan is for {len(self._kinds)} arguments, got {len(args)}")
        given = tuple(Tensor(x) if isinstance(x, np.ndarray) else x for x in args)
        for i, (x, kind) in enumerate(zip(given, self._kinds, strict=True)):
            if not fits(x, kind):
                raise ValueError(
                    f"{self._name}: argument {i} is {described(x)}; the plan was prepared for another one, "
                    f"{described(kind)}: shapes, types and integers decide about the pattern"
                )
        if not (self.pattern.valid and self._surroundings.unchanged):
            raise ValueError(
                f"{self._name}: a captured tensor that decides about the pattern, another captured value or an "
                f"attribute of a Cell has changed since the plan was prepared; prepare it again"
            )
        return given


def _scipy_sparse() -> Any:
    try:
        import scipy.sparse
    except ImportError:
        raise ImportError(
            "a sparse matrix needs SciPy; install it with pip install 'dualgrad[scipy]', or take the numbers alone: "
            "plan.values(...), plan.pattern"
        ) from None
    return scipy.sparse


# --------------------------------------------------------------------------------------------------- functions


class SparseDerivative:
    """What `sparse_jacobian` and `sparse_hessian` return: a function that keeps its last plan.

    Examples
    --------
    >>> import dualgrad as dg
    >>> differences = dg.sparse_jacobian(lambda x: x[1:] * x[:-1])
    >>> differences
    <sparse_jacobian of <lambda>>
    >>> differences(dg.Tensor([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]], dtype=float32)
    """

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        grad_position: int | tuple[int, ...],
        mode: str,
        ordering: str,
        pattern: Any,
    ) -> None:
        if not callable(fn):
            raise TypeError(f"{name}: expected a function or a Cell, got {type(fn).__name__}")
        positions = (grad_position,) if isinstance(grad_position, int) else tuple(grad_position)
        if not positions or len(set(positions)) < len(positions) or min(positions) < 0:
            raise ValueError(f"{name}: grad_position is {grad_position!r}; expected positions of inputs, each once")
        if ordering != "best" and ordering not in ORDERINGS:
            raise ValueError(f"{name}: ordering is {ordering!r}; expected 'best' or one of {', '.join(ORDERINGS)}")
        self.fn = fn
        self._name = name
        self._positions = positions
        self._mode = mode
        self._ordering = ordering
        self._pattern = pattern
        self._plan: SparsePlan | None = None

    def __repr__(self) -> str:
        return f"<{self._name} of {getattr(self.fn, '__qualname__', type(self.fn).__name__)}>"

    def prepare(self, *args: Any) -> SparsePlan:
        """The plan for arguments of this kind: finds the pattern and colours it."""
        given = tuple(Tensor(x) if isinstance(x, np.ndarray) else x for x in args)
        for p in self._positions:
            if p >= len(given) or not isinstance(given[p], Tensor) or not given[p].dtype.is_float:
                what = described(given[p]) if p < len(given) else "missing"
                raise TypeError(f"{self._name}: argument {p} is {what}; expected a Tensor of a float type")
        if len({given[p].dtype for p in self._positions}) > 1:
            raise TypeError(f"{self._name}: the inputs have different types; convert them to one (x.astype(...))")
        hessian = self._mode == "stars"
        fn = grad(self.fn, self._positions) if hessian else self.fn
        pattern = (
            self._given(given)
            if self._pattern is not None
            else jacobian_pattern(fn, *given, grad_position=self._positions)
        )
        if hessian:
            pattern = pattern.symmetric()
            colouring = colour_hessian(pattern, self._ordering)
            result = given[self._positions[0]].dtype
        else:
            result = flat(self.fn(*given)).dtype
            mode = "columns" if result.is_complex and self._mode == "auto" else self._mode
            colouring = colour_jacobian(pattern, mode, self._ordering)
        return SparsePlan(self._name, self.fn, given, self._positions, colouring, pattern, result)

    def _given(self, args: tuple[Any, ...]) -> Pattern:
        """The pattern the user gave."""
        pattern = Pattern.of(self._pattern)
        n = sum(args[p].size for p in self._positions)
        if pattern.shape[1] != n or (self._mode == "stars" and pattern.shape[0] != n):
            raise ValueError(f"{self._name}: the pattern has shape {pattern.shape}, but there are {n} variables")
        return pattern

    def __call__(self, *args: Any, check: bool = False) -> Any:
        """The matrix at these arguments, a ``scipy.sparse.csr_array``; a plan is prepared when their kind changes."""
        _scipy_sparse()
        plan = self._plan
        if plan is None or not plan.suits(*args):
            plan = self._plan = self.prepare(*args)
        return plan(*args, check=check)


def sparse_jacobian(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] = 0,
    *,
    mode: str = "auto",
    ordering: str = "best",
    pattern: Any = None,
) -> SparseDerivative:
    """The Jacobian of a function of many variables whose results each depend on few of them, as a sparse matrix.

    Parameters
    ----------
    fn : callable
        Returns a tensor, or a tuple or list of them.
    grad_position : int or tuple of ints, default 0
        What is differentiated: floating-point tensors of any shape.
    mode : {"auto", "columns", "rows"}, default "auto"
        Columns are computed forwards, rows backwards; auto takes whichever need fewer colours.
    ordering : str, default "best"
        The order in which they are coloured: ``natural``, ``largest_first``, ``smallest_last``, ``incidence_degree``,
        or whichever of these needs the fewest colours.
    pattern : Pattern, scipy.sparse matrix or array of bools, optional
        Where the entries stand, if it is known. By default it is found by `dualgrad.sparsity.jacobian_pattern`.

    Returns
    -------
    SparseDerivative
        Takes what `fn` takes and returns a ``scipy.sparse.csr_array``, a row for each element of the results and a
        column for each element of the inputs, both one after the other in C order. ``prepare(*args)`` returns the
        `SparsePlan` that is used again while shapes, types, integers and what is no Tensor among the arguments stay the
        same: pass a parameter that changes as a Tensor.

    Raises
    ------
    TypeError, ValueError
        If something else is given. ImportError if SciPy is not there when a matrix is asked for.

    Notes
    -----
    The number of sweeps is that of the colours, whatever the number of variables (Curtis, Powell and Reid, On the
    estimation of sparse Jacobian matrices, 1974).

    Examples
    --------
    >>> import dualgrad as dg
    >>> products = dg.sparse_jacobian(lambda x: x[1:] * x[:-1])
    >>> products(dg.Tensor([1.0, 2.0, 3.0, 4.0])).toarray()
    array([[2., 1., 0., 0.],
           [0., 3., 2., 0.],
           [0., 0., 4., 3.]], dtype=float32)
    >>> products.prepare(dg.Tensor([1.0, 2.0, 3.0, 4.0])).n_colours
    2
    """
    if mode not in ("auto", "columns", "rows"):
        raise ValueError(f"sparse_jacobian: mode is {mode!r}; expected 'auto', 'columns' or 'rows'")
    return SparseDerivative("sparse_jacobian", fn, grad_position, mode, ordering, pattern)


def sparse_hessian(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] = 0,
    *,
    ordering: str = "best",
    pattern: Any = None,
) -> SparseDerivative:
    """The Hessian of a function of many variables, few of which appear together, as a sparse matrix.

    Parameters
    ----------
    fn : callable
        Returns a number; of several, the sum is differentiated.
    grad_position : int or tuple of ints, default 0
        What is differentiated: floating-point tensors of any shape.
    ordering : str, default "best"
        The order in which columns are coloured: ``natural``, ``largest_first``, ``smallest_last``,
        ``incidence_degree``, or whichever of these needs the fewest colours.
    pattern : Pattern, scipy.sparse matrix or array of bools, optional
        Where the entries stand, if it is known. By default it is found in the program of the gradient.

    Returns
    -------
    SparseDerivative
        Takes what `fn` takes and returns a ``scipy.sparse.csr_array`` that is exactly symmetric. ``prepare(*args)``
        returns the `SparsePlan` that is used again while shapes, types, integers and what is no Tensor among the
        arguments stay the same: pass a parameter that changes as a Tensor.

    Raises
    ------
    TypeError, ValueError
        If something else is given. ImportError if SciPy is not there when a matrix is asked for.

    Notes
    -----
    One directional derivative of the gradient for each colour of a star colouring (Coleman and Moré, Estimation of
    sparse Hessian matrices and graph coloring problems, 1984): 3 for a tridiagonal Hessian, whatever its size. Linear
    terms leave nothing in the pattern.

    Examples
    --------
    >>> import dualgrad as dg
    >>> import numpy as np
    >>> rosenbrock = lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
    >>> hessian = dg.sparse_hessian(rosenbrock)
    >>> H = hessian(dg.Tensor(np.ones(100_000)))
    >>> H.shape, H.nnz
    ((100000, 100000), 299998)
    >>> H[:3, :3].toarray()
    array([[ 802., -400.,    0.],
           [-400., 1002., -400.],
           [   0., -400., 1002.]])
    """
    return SparseDerivative("sparse_hessian", fn, grad_position, "stars", ordering, pattern)
