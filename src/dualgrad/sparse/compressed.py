"""Sparse Jacobians and Hessians: `sparse_jacobian` and `sparse_hessian`.

There are two ways. Where few entries meet in simple operations, they are accumulated one by one along the program of
the derivative (`accumulation.py`): the Hessian of a chain costs two multiplications for each variable. Elsewhere one
sweep computes columns that share no row, along the sum of their unit vectors (`colour.py`, `coloured.py`). A
`SparsePlan` keeps everything that repeated calls need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._settings import one_of
from ..dtype import DType
from ..tensor import Tensor
from ..transforms.gradient import grad
from ._scipy import scipy_sparse
from .accumulation import Accumulation, UnsuitedError, accumulate
from .colour import ORDERINGS, Colouring, colour_hessian, colour_jacobian
from .coloured import Sweeps
from .patterns import Pattern, captured, jacobian_pattern
from .sweeps import as_tensors, described, fits, flat, forward, kind_of, split, twice

__all__ = ["SparseDerivative", "SparsePlan", "sparse_hessian", "sparse_jacobian"]

_INSTEAD = ", or take the numbers alone: plan.values(...), plan.pattern"


class SparsePlan:
    """The reusable part of a sparse derivative, for arguments of fixed shapes and types.

    The method ``prepare`` of a `sparse_jacobian` or `sparse_hessian` makes it. Called with arguments of the same shapes
    and types, it returns the matrix at them.

    Attributes
    ----------
    pattern : Pattern
        The places of the entries.
    kind : str
        The way of computing: ``entries`` accumulates them one by one; ``columns``, ``rows`` and, for a Hessian,
        ``stars`` name the coloured sweeps.
    colours : ndarray of int
        The colour of each column, or row; -1 where it needs none.
    n_colours : int
        The number of sweeps in a call; 0 if entries are accumulated.
    ordering : str
        The order of vertices that led to the fewest colours.

    Notes
    -----
    The pattern is found once; values are never kept. It holds for all arguments, unless branches in Python (``if x[0] >
    0``) decide which operations run. Then it is the pattern of the branches taken, and ``plan.pattern.branches`` is
    true. Everything else that the function can reach is guarded as in recorded functions (`dualgrad.jit`). After a
    change the plan raises ValueError, and must be prepared again. Three kinds of patterns are compared at each call
    with a product that needs no pattern: those with branches, given ones, and patterns of functions that cannot be
    guarded. A mismatch raises; `check` makes the same comparison at any time.

    Examples
    --------
    >>> import dualgrad as dg
    >>> import numpy as np
    >>> chain = lambda x: ((x[1:] - x[:-1] ** 2) ** 2).sum()
    >>> plan = dg.sparse_hessian(chain).prepare(dg.Tensor(np.zeros(1000)))
    >>> plan
    SparsePlan(shape=(1000, 1000), entries=2998, accumulated)
    >>> plan(dg.Tensor(np.ones(1000))).toarray()[:3, :3]
    array([[ 8., -4.,  0.],
           [-4., 10., -4.],
           [ 0., -4., 10.]])
    >>> dg.sparse_hessian(chain, mode="stars").prepare(dg.Tensor(np.zeros(1000)))
    SparsePlan(shape=(1000, 1000), entries=2998, 3 colours by stars)
    """

    def __init__(
        self,
        derivative: SparseDerivative,
        args: tuple[Any, ...],
        method: Accumulation | Colouring,
        pattern: Pattern,
        result: DType,
    ) -> None:
        self.pattern = pattern
        self._derivative, self._name = derivative, derivative._name
        self._fn, self._args = derivative.fn, args
        self._positions = positions = derivative.positions
        self._symmetric = derivative._symmetric
        self._kinds = [kind_of(x) for x in args]
        self._indices = pattern.indices.astype(np.int32, copy=False)
        self._indptr = pattern.indptr.astype(np.int32 if len(pattern.indices) < 1 << 31 else np.int64)
        self._dtype = args[positions[0]].dtype.numpy
        self._result = result.numpy
        self._directly = method if isinstance(method, Accumulation) else None
        self._sweeps = self._coloured(args, method) if isinstance(method, Colouring) else None
        self._differentiable = self._sweeps  # otherwise made on first use

    def _coloured(self, args: tuple[Any, ...], colouring: Colouring, at_once: int | None = None) -> Sweeps:
        seed_dtype = self._result if colouring.kind == "rows" else self._dtype
        return Sweeps(self._name, self._fn, args, self._positions, colouring, self.pattern, seed_dtype, at_once)

    def sweeps(self, at_once: int) -> Sweeps:
        """The coloured sweeps of the plan, with at most `at_once` of them in one program."""
        if self._sweeps is None:
            raise ValueError(f"{self._name}: the plan has no colours; prepare it with another mode than 'entries'")
        return self._coloured(self._args, self._sweeps.colouring, at_once)

    @property
    def colours(self) -> np.ndarray:
        if self._sweeps is None:
            return np.full(self.pattern.shape[1], -1)
        return self._sweeps.colouring.colours

    @property
    def n_colours(self) -> int:
        return 0 if self._sweeps is None else self._sweeps.colouring.count

    @property
    def kind(self) -> str:
        return "entries" if self._sweeps is None else self._sweeps.colouring.kind

    @property
    def ordering(self) -> str:
        return "" if self._sweeps is None else self._sweeps.colouring.ordering

    def __reduce__(self) -> tuple[Any, ...]:
        return _prepared, (self._derivative, self._args)

    def __copy__(self) -> SparsePlan:
        return self

    def __repr__(self) -> str:
        size = f"shape={self.pattern.shape}, entries={len(self.pattern.indices)}"
        how = "accumulated" if self._sweeps is None else f"{self.n_colours} colours by {self.kind}"
        return f"SparsePlan({size}, {how})"

    # -------------------------------------------------------------------------------------------------- calls

    def values(self, *args: Any) -> np.ndarray:
        """The entries, in the pattern's order, as a NumPy array."""
        args = self.checked(args)
        return self.confirmed(args, self._values(args))

    def confirmed(self, args: tuple[Any, ...], values: np.ndarray) -> np.ndarray:
        """The same entries, after a comparison with a derivative if the pattern is not certain. `args` are checked."""
        if not self.pattern.sure:
            self._compare(args, values)
        return values

    def _values(self, args: tuple[Any, ...]) -> np.ndarray:
        if self._directly is not None:
            return self._directly.values(args)
        assert self._sweeps is not None
        return self._sweeps.values(args)

    def entries(self, *args: Any) -> Tensor:
        """The entries, in the pattern's order, as a Tensor to differentiate again; always by coloured sweeps."""
        args = self.checked(args)
        if not self.pattern.sure:
            numbers = tuple([x._detached() if isinstance(x, Tensor) else x for x in args])
            self._compare(numbers, self._values(numbers))
        if self._differentiable is None:
            colour = colour_hessian if self._symmetric else colour_jacobian
            self._differentiable = self._coloured(args, colour(self.pattern))
        return self._differentiable.entries(args)

    def __call__(self, *args: Any, check: bool = False) -> Any:
        """Return the matrix as a ``scipy.sparse.csr_array``; `check` compares it with a product along a random vector.

        Raises
        ------
        ImportError
            If SciPy is not installed.
        ValueError
            If shapes, types or integers of the arguments differ from the prepared ones, or the check fails.
        """
        values = self.values(*args)
        if check:
            self.check(*args, values=values)
        return self.matrix(values)

    def matrix(self, values: np.ndarray) -> Any:
        """Make the matrix from entries in the pattern's order."""
        sparse = scipy_sparse("a sparse matrix", _INSTEAD)
        if values.dtype == np.float16:  # SciPy has no such matrices
            values = values.astype(np.float32)
        # SciPy's methods may change a matrix in place, so the matrix gets copies of the plan's arrays.
        return sparse.csr_array((values, self._indices.copy(), self._indptr.copy()), shape=self.pattern.shape)

    def check(self, *args: Any, values: np.ndarray | None = None) -> None:
        """Compare the matrix times a random vector with the derivative along it, which needs no pattern.

        Raises
        ------
        ValueError
            If they differ: the pattern does not hold at these arguments.
        """
        args = self.checked(args)
        self._compare(args, self._values(args) if values is None else values)

    def _compare(self, args: tuple[Any, ...], values: np.ndarray) -> None:
        rng = np.random.default_rng(len(values))
        direction = rng.uniform(0.5, 1.5, self.pattern.shape[1]) * rng.choice([-1.0, 1.0], self.pattern.shape[1])
        rows, terms = self.pattern.rows(), values * direction[self.pattern.indices].astype(self._dtype)
        found = np.zeros(self.pattern.shape[0], terms.dtype)
        np.add.at(found, rows, terms)
        scale = np.bincount(rows, np.abs(terms), self.pattern.shape[0])
        along = split(direction.astype(self._dtype), [args[p].shape for p in self._positions])
        product = (twice if self._symmetric else forward)(self._fn, args, self._positions)
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
        """True if the plan is valid for these arguments: shapes, types, integers and captured index arrays."""
        try:
            self.checked(args)
        except ValueError:
            return False
        return True

    def checked(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Convert arrays to tensors. Raises ValueError if the plan was prepared for other arguments."""
        if len(args) != len(self._kinds):
            raise ValueError(f"{self._name}: the plan is for {len(self._kinds)} arguments, got {len(args)}")
        given = as_tensors(args)
        for i, (x, kind) in enumerate(zip(given, self._kinds, strict=True)):
            if not fits(x, kind):
                raise ValueError(
                    f"{self._name}: argument {i} is {described(x)}; the plan was prepared for another one, "
                    f"{described(kind)}: shapes, types and integers decide about the pattern"
                )
        changed = self.pattern.changed()
        if changed is not None:
            raise ValueError(f"{self._name}: {changed} has changed since the plan was prepared; prepare it again")
        return given


def _prepared(derivative: SparseDerivative, args: tuple[Any, ...]) -> SparsePlan:
    """Prepare a plan again after a copy or a pickle, since the function and its guards are new objects."""
    return derivative.prepare(*args)


# --------------------------------------------------------------------------------------------------- functions


class SparseDerivative:
    """The function that `sparse_jacobian` or `sparse_hessian` returns; it keeps its last plan.

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
        symmetric: bool,
        mode: str,
        ordering: str,
        pattern: Any,
    ) -> None:
        modes = ("auto", "entries", "stars") if symmetric else ("auto", "entries", "columns", "rows")
        if not one_of(mode, modes):
            raise ValueError(f"{name}: mode is {mode!r}; expected one of {', '.join(modes)}")
        if mode == "entries" and pattern is not None:
            raise ValueError(f"{name}: mode='entries' finds the pattern itself; leave out either of them")
        if not callable(fn):
            raise TypeError(f"{name}: expected a function or a Cell, got {type(fn).__name__}")
        positions = (grad_position,) if isinstance(grad_position, int) else grad_position
        if not isinstance(positions, tuple | list) or not all(isinstance(k, int) for k in positions):
            raise TypeError(f"{name}: grad_position is {grad_position!r:.60}; expected an int or a tuple of ints")
        positions = tuple(positions)
        if not positions or len(set(positions)) < len(positions) or min(positions) < 0:
            raise ValueError(f"{name}: grad_position is {grad_position!r}; expected positions of inputs, each once")
        if not one_of(ordering, ("best", *ORDERINGS)):
            raise ValueError(f"{name}: ordering is {ordering!r}; expected 'best' or one of {', '.join(ORDERINGS)}")
        self.fn = fn
        self._name = name
        self.positions = positions
        self._symmetric = symmetric
        self._mode = mode
        self._ordering = ordering
        self._pattern = pattern
        self._plan: SparsePlan | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_plan": None}  # a copy prepares its own plan

    def __repr__(self) -> str:
        return f"<{self._name} of {getattr(self.fn, '__qualname__', type(self.fn).__name__)}>"

    def prepare(self, *args: Any) -> SparsePlan:
        """Make the plan for arguments of these shapes and types: find the pattern and colour it."""
        given = as_tensors(args)
        for p in self.positions:
            if p >= len(given) or not isinstance(given[p], Tensor) or not given[p].dtype.is_float:
                what = described(given[p]) if p < len(given) else "missing"
                raise TypeError(f"{self._name}: argument {p} is {what}; expected a Tensor of a float type")
        if len({given[p].dtype for p in self.positions}) > 1:
            raise TypeError(f"{self._name}: the inputs have different types; convert them to one (x.astype(...))")
        accumulation = self._accumulated(given)
        colouring: Colouring | None = None
        if accumulation is not None:
            pattern, result = accumulation.pattern, accumulation.dtype
        else:
            pattern = self._read_off(given)
            result = given[self.positions[0]].dtype if self._symmetric else flat(self.fn(*given)).dtype
        if accumulation is None or not self._surely_less(accumulation):
            if self._symmetric:
                colouring = colour_hessian(pattern, self._ordering)
            else:
                mode = "columns" if result.is_complex and self._mode == "auto" else self._mode
                colouring = colour_jacobian(pattern, mode, self._ordering)
            if accumulation is not None and accumulation.work > colouring.count * accumulation.of_a_sweep:
                accumulation = None
        method = accumulation or colouring
        assert method is not None
        return SparsePlan(self, given, method, pattern, result)

    def _accumulated(self, args: tuple[Any, ...]) -> Accumulation | None:
        """Accumulate the entries one by one, if the mode demands it or it may cost less; None otherwise."""
        if self._pattern is not None or self._mode not in ("auto", "entries") or self._ordering != "best":
            return None
        sweep = twice if self._symmetric else forward
        shapes = [args[p].shape for p in self.positions]
        directions = tuple(Tensor(np.ones(args[p].shape, args[p].dtype.numpy)) for p in self.positions)
        program = captured(lambda full, seeds: sweep(self.fn, tuple(full), self.positions)(*seeds), args, directions)
        try:
            return accumulate(repr(self)[1:-1], program, shapes, self._symmetric)
        except UnsuitedError:
            if self._mode == "entries":
                raise ValueError(
                    f"{self._name}: mode='entries' is for elementwise operations on slices, sums and picked elements "
                    f"of float32 or float64 arrays, without branches in Python; use mode='auto'"
                    + (f"; {program.dependence.why}" if program.dependence.why else "")
                ) from None
        return None

    def _surely_less(self, accumulation: Accumulation) -> bool:
        """True if no colouring could need less work."""
        if self._mode == "entries":
            return True
        pattern = accumulation.pattern
        if self._symmetric:
            least = 2 if np.any(pattern.rows() != pattern.indices) else 1
        else:
            in_rows, in_columns = np.diff(pattern.indptr), np.bincount(pattern.indices)
            least = int(min(in_rows.max(initial=0), in_columns.max(initial=0)))
        return accumulation.work <= least * accumulation.of_a_sweep

    def _read_off(self, args: tuple[Any, ...]) -> Pattern:
        """Find the pattern in the program of the function or its gradient."""
        if self._pattern is not None:
            pattern = self._given(args)
        else:
            fn = grad(self.fn, self.positions) if self._symmetric else self.fn
            pattern = jacobian_pattern(fn, *args, grad_position=self.positions)
        return pattern.symmetric() if self._symmetric else pattern

    def _given(self, args: tuple[Any, ...]) -> Pattern:
        """Check the pattern that the user gave."""
        pattern = Pattern.of(self._pattern).taken_over()
        n = sum(args[p].size for p in self.positions)
        if pattern.shape[1] != n or (self._symmetric and pattern.shape[0] != n):
            raise ValueError(f"{self._name}: the pattern has shape {pattern.shape}, but there are {n} variables")
        return pattern

    def __call__(self, *args: Any, check: bool = False) -> Any:
        """The matrix at these arguments, a ``scipy.sparse.csr_array``.

        Prepares a new plan when shapes or types of the arguments change, or when the pattern does not hold.
        """
        scipy_sparse("a sparse matrix", _INSTEAD)
        plan = self._plan
        if plan is not None and plan.suits(*args):
            try:
                return plan(*args, check=check)
            except ValueError:  # the pattern may not hold here: find a new one
                pass
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
    """Compute the Jacobian of a function as a sparse matrix, for many variables and results that depend on few of them.

    Parameters
    ----------
    fn : callable
        Returns a tensor, or a tuple or list of them.
    grad_position : int or tuple of ints, default 0
        The inputs to differentiate by: floating-point tensors of any shape.
    mode : {"auto", "entries", "columns", "rows"}, default "auto"
        ``entries`` accumulates them one by one; ``columns`` and ``rows`` compute several columns in forward mode, or
        several rows in reverse mode, at a time. ``auto`` chooses the way with the least work.
    ordering : str, default "best"
        The order in which columns or rows are coloured: ``natural``, ``largest_first``, ``smallest_last``,
        ``incidence_degree``, or whichever of these needs the fewest colours.
    pattern : Pattern, scipy.sparse matrix or array of bools, optional
        The places of the entries, if known; each call checks them with one more product. By default
        `dualgrad.sparsity.jacobian_pattern` finds them.

    Returns
    -------
    SparseDerivative
        Takes the arguments of `fn` and returns a ``scipy.sparse.csr_array``: a row for each element of the results and
        a column for each element of the inputs, in C order. ``prepare(*args)`` returns the `SparsePlan`. It is used
        again as long as shapes, types, integers and arguments other than Tensors stay the same: pass a parameter that
        changes as a Tensor.

    Raises
    ------
    TypeError, ValueError
        If another kind of object is given. ImportError if SciPy is missing when a matrix is made.

    Notes
    -----
    The work is proportional to the number of entries, or with sweeps to the number of colours; it does not grow with
    the number of variables (Curtis, Powell and Reid, On the estimation of sparse Jacobian matrices, 1974).

    Examples
    --------
    >>> import dualgrad as dg
    >>> products = dg.sparse_jacobian(lambda x: x[1:] * x[:-1])
    >>> products(dg.Tensor([1.0, 2.0, 3.0, 4.0])).toarray()
    array([[2., 1., 0., 0.],
           [0., 3., 2., 0.],
           [0., 0., 4., 3.]], dtype=float32)
    >>> dg.sparse_jacobian(lambda x: x[1:] * x[:-1], mode="columns").prepare(dg.Tensor([1.0, 2.0, 3.0, 4.0])).n_colours
    2
    """
    return SparseDerivative("sparse_jacobian", fn, grad_position, False, mode, ordering, pattern)


def sparse_hessian(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] = 0,
    *,
    mode: str = "auto",
    ordering: str = "best",
    pattern: Any = None,
) -> SparseDerivative:
    """Compute the Hessian of a function as a sparse matrix, for many variables of which few appear together.

    Parameters
    ----------
    fn : callable
        Returns a number; the sum of several is differentiated.
    grad_position : int or tuple of ints, default 0
        The inputs to differentiate by: floating-point tensors of any shape.
    mode : {"auto", "entries", "stars"}, default "auto"
        ``entries`` accumulates them one by one; ``stars`` adds up columns by a star colouring. ``auto`` chooses the way
        with the least work.
    ordering : str, default "best"
        The order in which columns are coloured: ``natural``, ``largest_first``, ``smallest_last``,
        ``incidence_degree``, or whichever of these needs the fewest colours.
    pattern : Pattern, scipy.sparse matrix or array of bools, optional
        The places of the entries, if known; each call checks them with one more product. By default they are found in
        the program of the gradient.

    Returns
    -------
    SparseDerivative
        Takes the arguments of `fn` and returns a ``scipy.sparse.csr_array`` that is exactly symmetric.
        ``prepare(*args)`` returns the `SparsePlan`. It is used again as long as shapes, types, integers and arguments
        other than Tensors stay the same: pass a parameter that changes as a Tensor.

    Raises
    ------
    TypeError, ValueError
        If another kind of object is given. ImportError if SciPy is missing when a matrix is made.

    Notes
    -----
    The upper triangle is accumulated along the program of the gradient's derivative (Griewank and Walther, Evaluating
    Derivatives, 2008, chapter 7). Where matrix products and the like couple many variables, each colour of a star
    colouring takes one directional derivative of the gradient (Coleman and Moré, Estimation of sparse Hessian matrices
    and graph coloring problems, 1984). Linear terms add no entries to the pattern.

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
    return SparseDerivative("sparse_hessian", fn, grad_position, True, mode, ordering, pattern)
