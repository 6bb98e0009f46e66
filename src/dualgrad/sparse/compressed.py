"""Sparse Jacobians and Hessians: `sparse_jacobian` and `sparse_hessian`.

There are two ways. Where few entries meet in simple operations they are accumulated one by one along the program of the
derivative (`accumulation.py`): the Hessian of a chain costs two multiplications for each variable. Elsewhere columns
that share no row are computed in one sweep, along the sum of their unit vectors (`colour.py`, `coloured.py`). What is
needed to do that again and again is kept in a `SparsePlan`.
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
    """A sparse derivative of a function for arguments of a kind: what stays the same from call to call.

    Made by the method ``prepare`` of what `sparse_jacobian` and `sparse_hessian` return; called with arguments of the
    same shapes and types it returns the matrix there.

    Attributes
    ----------
    pattern : Pattern
        Where the entries stand.
    kind : str
        How it is computed: ``entries``, accumulated one by one; or by sweeps, with ``columns``, ``rows`` or, for a
        Hessian, ``stars`` coloured.
    colours : ndarray of int
        The colour of each column, or row; -1 where none is needed.
    n_colours : int
        The number of sweeps that a call takes; 0 where entries are accumulated.
    ordering : str
        The order of vertices that led to the fewest colours.

    Notes
    -----
    The pattern is found once; values are never kept. It holds for all arguments, unless branches in Python
    (``if x[0] > 0``) decide what is computed; then it is that of the branches taken, and ``plan.pattern.branches`` is
    true. Whatever else the function can reach is guarded as in recorded functions (`dualgrad.jit`): where it has
    changed the plan raises ValueError, and is to be prepared again. A pattern with branches, one that was given, and
    that of a function that no guard can follow, is compared at each call with a product that needs no pattern, and a
    misfit raises; `check` does so at will.

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
        self._differentiable = self._sweeps  # made when it is asked for

    def _coloured(self, args: tuple[Any, ...], colouring: Colouring, at_once: int | None = None) -> Sweeps:
        seed_dtype = self._result if colouring.kind == "rows" else self._dtype
        return Sweeps(self._name, self._fn, args, self._positions, colouring, self.pattern, seed_dtype, at_once)

    def sweeps(self, at_once: int) -> Sweeps:
        """The products of a plan by colours, at most so many in one program."""
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
        """The entries in the order of the pattern, as a NumPy array."""
        args = self.checked(args)
        return self.confirmed(args, self._values(args))

    def confirmed(self, args: tuple[Any, ...], values: np.ndarray) -> np.ndarray:
        """The entries at arguments that are checked, compared with a derivative where the pattern is not sure."""
        if not self.pattern.sure:
            self._compare(args, values)
        return values

    def _values(self, args: tuple[Any, ...]) -> np.ndarray:
        if self._directly is not None:
            return self._directly.values(args)
        assert self._sweeps is not None
        return self._sweeps.values(args)

    def entries(self, *args: Any) -> Tensor:
        """The entries in the order of the pattern, as a Tensor that can be differentiated again: by coloured sweeps."""
        args = self.checked(args)
        if not self.pattern.sure:
            numbers = tuple([x._detached() if isinstance(x, Tensor) else x for x in args])
            self._compare(numbers, self._values(numbers))
        if self._differentiable is None:
            colour = colour_hessian if self._symmetric else colour_jacobian
            self._differentiable = self._coloured(args, colour(self.pattern))
        return self._differentiable.entries(args)

    def __call__(self, *args: Any, check: bool = False) -> Any:
        """The matrix, a ``scipy.sparse.csr_array``; `check` compares it with a product along a random vector.

        Raises
        ------
        ImportError
            If SciPy is not there.
        ValueError
            If the arguments are not of the kind the plan was prepared for, or the check fails.
        """
        values = self.values(*args)
        if check:
            self.check(*args, values=values)
        return self.matrix(values)

    def matrix(self, values: np.ndarray) -> Any:
        """The matrix of entries in the order of the pattern."""
        sparse = scipy_sparse("a sparse matrix", _INSTEAD)
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
        """Whether the plan is good for these arguments: shapes, types, integers and captured index arrays."""
        try:
            self.checked(args)
        except ValueError:
            return False
        return True

    def checked(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments with tensors for arrays; an error if the plan was prepared for others."""
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
    """A plan that was copied or pickled: the function is another one now, and so are its guards."""
    return derivative.prepare(*args)


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
        return vars(self) | {"_plan": None}  # a copy prepares its own

    def __repr__(self) -> str:
        return f"<{self._name} of {getattr(self.fn, '__qualname__', type(self.fn).__name__)}>"

    def prepare(self, *args: Any) -> SparsePlan:
        """The plan for arguments of this kind: finds the pattern and colours it."""
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
        """The entries one by one, if that is asked for or may be better."""
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
        """Whether no colouring could lead to less work."""
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
        """The pattern, from the program of the function or its gradient."""
        if self._pattern is not None:
            pattern = self._given(args)
        else:
            fn = grad(self.fn, self.positions) if self._symmetric else self.fn
            pattern = jacobian_pattern(fn, *args, grad_position=self.positions)
        return pattern.symmetric() if self._symmetric else pattern

    def _given(self, args: tuple[Any, ...]) -> Pattern:
        """The pattern the user gave."""
        pattern = Pattern.of(self._pattern).taken_over()
        n = sum(args[p].size for p in self.positions)
        if pattern.shape[1] != n or (self._symmetric and pattern.shape[0] != n):
            raise ValueError(f"{self._name}: the pattern has shape {pattern.shape}, but there are {n} variables")
        return pattern

    def __call__(self, *args: Any, check: bool = False) -> Any:
        """The matrix at these arguments, a ``scipy.sparse.csr_array``.

        A plan is prepared when the kind of the arguments changes, or when the pattern does not hold.
        """
        scipy_sparse("a sparse matrix", _INSTEAD)
        plan = self._plan
        if plan is not None and plan.suits(*args):
            try:
                return plan(*args, check=check)
            except ValueError:  # the pattern may not hold here: it is found anew
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
    """The Jacobian of a function of many variables whose results each depend on few of them, as a sparse matrix.

    Parameters
    ----------
    fn : callable
        Returns a tensor, or a tuple or list of them.
    grad_position : int or tuple of ints, default 0
        What is differentiated: floating-point tensors of any shape.
    mode : {"auto", "entries", "columns", "rows"}, default "auto"
        Entries are accumulated one by one, columns computed forwards, rows backwards, several at a time; auto takes
        whichever needs least work.
    ordering : str, default "best"
        The order in which columns or rows are coloured: ``natural``, ``largest_first``, ``smallest_last``,
        ``incidence_degree``, or whichever of these needs the fewest colours.
    pattern : Pattern, scipy.sparse matrix or array of bools, optional
        Where the entries stand, if it is known; each call compares it with one product more. By default it is found by
        `dualgrad.sparsity.jacobian_pattern`.

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
    The work is in proportion to the entries; with sweeps, to the colours, whatever the number of variables (Curtis,
    Powell and Reid, On the estimation of sparse Jacobian matrices, 1974).

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
    """The Hessian of a function of many variables, few of which appear together, as a sparse matrix.

    Parameters
    ----------
    fn : callable
        Returns a number; of several, the sum is differentiated.
    grad_position : int or tuple of ints, default 0
        What is differentiated: floating-point tensors of any shape.
    mode : {"auto", "entries", "stars"}, default "auto"
        Entries are accumulated one by one; or columns are added up by a star colouring; auto takes whichever needs
        least work.
    ordering : str, default "best"
        The order in which columns are coloured: ``natural``, ``largest_first``, ``smallest_last``,
        ``incidence_degree``, or whichever of these needs the fewest colours.
    pattern : Pattern, scipy.sparse matrix or array of bools, optional
        Where the entries stand, if it is known; each call compares it with one product more. By default it is found in
        the program of the gradient.

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
    Entries of the upper triangle are accumulated along the program of the gradient's derivative (Griewank and Walther,
    Evaluating Derivatives, 2008, chapter 7); where matrix products and the like couple many variables, there is one
    directional derivative of the gradient for each colour of a star colouring (Coleman and Moré, Estimation of sparse
    Hessian matrices and graph coloring problems, 1984). Linear terms leave nothing in the pattern.

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
