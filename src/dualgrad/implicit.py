"""Implicit functions: roots, fixed points, linear solves and minimisers, differentiated at the solution.

Where F(x, a) = 0 defines x(a), the derivative of x follows from those of F at the solution: F_x dx = -F_a da. How the
solution was found does not matter, so any solver will do, and nothing it did is kept. The rules are written with
operators that are differentiated in turn, so there are derivatives of every order, in every mode.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from . import extend
from ._engine import tensor as _engine
from ._engine.remake import explored, filled, pulled_back, template_of, tensors_of
from .gradient import grad, jvp, stop_gradient
from .ops import concat, linalg, stack
from .tensor import Tensor
from .vectorize import vmap

__all__ = ["argmin", "fixed_point", "linear_solve", "root"]

Array = np.ndarray[Any, Any]


# --------------------------------------------------------------------------------------------------------- layout


class Layout:
    """How a nest of float tensors lies in one vector."""

    def __init__(self, name: str, what: str, nest: Any) -> None:
        tensors = tensors_of(nest)
        types = {t.dtype for t in tensors}
        if not tensors or len(types) > 1 or not types.pop().is_float:
            found = sorted({str(t.dtype) for t in tensors}) or type(nest).__name__
            raise TypeError(f"{name}: {what} holds {found}; expected tensors of one float type")
        self.name, self.what = name, what
        self.template = template_of(nest)
        self.shapes = [t.shape for t in tensors]
        self.sizes = [t.size for t in tensors]
        self.size = sum(self.sizes)

    def vector(self, nest: Any, what: str = "") -> Tensor:
        """The tensors of a nest, one after the other."""
        tensors = tensors_of(nest)
        if what and [t.shape for t in tensors] != self.shapes:
            raise ValueError(
                f"{self.name}: {what} returned shapes {[t.shape for t in tensors]}; expected those of {self.what}, "
                f"{self.shapes}"
            )
        parts = [t.reshape((t.size,)) for t in tensors]
        return parts[0] if len(parts) == 1 else concat(parts)

    def nest(self, vector: Tensor) -> Any:
        """The nest that lies in a vector."""
        parts, start = [], 0
        for shape, size in zip(self.shapes, self.sizes, strict=True):
            part = vector if size == self.size else vector[start : start + size]
            parts.append(part.reshape(shape))
            start += size
        return filled(self.template, parts)


def _key(value: Any) -> Any:
    """What decides which function a function is, tensors it closes over left out: those are operands."""
    if isinstance(value, Tensor):
        return Tensor
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell.cell_contents is not value]
        return (value.__code__, *[_key(held) for held in (*cells, *(value.__defaults__ or ()))])
    if isinstance(value, types.MethodType):
        return value.__func__.__code__, id(value.__self__)
    if isinstance(value, bool | int | float | complex | str | bytes) or value is None:
        return type(value), value
    return id(value)


class Problem:
    """An equation F(x, ...) = 0: a setting of the primitives below, equal to another that says the same.

    Operands of the primitives are the start, as a vector, the tensors among the arguments of F, and those it reads.
    """

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        x: Any,
        args: tuple[Any, ...],
        solver: Any,
        tol: float | None,
        limit: int,
    ) -> None:
        self.name, self.fn, self.solver, self.limit = name, fn, solver, limit
        self.layout = Layout(name, "the start", x)
        self.dtype = tensors_of(x)[0].dtype.numpy
        self.tol = float(np.sqrt(np.finfo(self.dtype).eps)) if tol is None else tol
        self.args = template_of(args)
        self.count = len(tensors_of(args))
        self.loss: Callable[..., Any] | None = None
        self.inside, self.captured, out = explored(name, fn, (x, *args))
        self.layout.vector(out, "the function")
        self.key = (name, _key(fn), _key(solver), tuple(self.layout.shapes), self.dtype, self.tol, limit)

    def operands(self, x: Any, args: tuple[Any, ...]) -> list[Tensor]:
        """What the primitives are applied to."""
        return [stop_gradient(self.layout.vector(x)), *tensors_of(args), *self.captured]

    def run(self, fn: Callable[..., Any], x: Tensor, operands: tuple[Tensor, ...]) -> Any:
        """A function of the unknown and the arguments, for given operands."""
        args = filled(self.args, operands[1 : 1 + self.count])
        return self.inside.run(list(operands[1 + self.count :]), fn, self.layout.nest(x), *args)

    def value(self, x: Tensor, operands: tuple[Tensor, ...]) -> Tensor:
        """F as a vector."""
        return self.layout.vector(self.run(self.fn, x, operands), "the function")

    def jacobian(self, x: Tensor, operands: tuple[Tensor, ...]) -> Tensor:
        """F_x as a matrix; an error if it is singular."""
        return _engine.inspect(_jacobian(lambda x: self.value(x, operands), x), self.check)

    def check(self, matrix: Array) -> None:
        """Singular to working precision: the derivative of the solution does not exist."""
        n = matrix.shape[-1]
        if n <= _LOOKED_AT and (np.linalg.cond(matrix) * np.finfo(matrix.dtype).eps > 1).any():
            raise np.linalg.LinAlgError(
                f"{self.name}: the Jacobian at the solution ({n} by {n}) is singular, so the solution has no derivative "
                f"there; it may be a double root, or one of a whole curve of solutions"
            )

    def plain(self, arrays: tuple[Array, ...]) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """F and F_x of NumPy arrays, for solvers."""
        operands = tuple([Tensor(a) for a in arrays])

        def f(x: Array) -> Array:
            return self.value(Tensor(np.asarray(x, self.dtype)), operands).asnumpy()

        def jac(x: Array) -> Array:
            return _jacobian(lambda x: self.value(x, operands), Tensor(np.asarray(x, self.dtype))).asnumpy()

        return f, jac

    def solve(self, *arrays: Array) -> Array:
        """The solution for given operands."""
        f, jac = self.plain(arrays)
        start = np.asarray(arrays[0])
        if isinstance(self.solver, str):
            self.solver = _scipy_root(self.name, self.solver)
        if callable(self.solver):
            x = _answer(self.name, self.solver(f, start), start)
        elif self.name == "fixed_point":
            x = _iterated(f, start, self.limit)
        elif self.loss is not None:
            x = _minimised(self.plain_loss(arrays), f, jac, start, self.limit)
        else:
            x = _newton(f, jac, start, self.limit)
        left, first = _size(f(x)), _size(f(start))
        if not left <= self.tol * max(1.0, first if np.isfinite(first) else 1.0):
            raise RuntimeError(
                f"{self.name}: no solution was found: the largest residual is {left:.3g} after the solver returned, "
                f"{first:.3g} at the start, and tol is {self.tol:.3g}; start closer to the solution, or pass a solver"
            )
        return np.asarray(x, self.dtype)

    def plain_loss(self, arrays: tuple[Array, ...]) -> Callable[[Array], float]:
        """The loss of NumPy arrays."""
        operands = tuple([Tensor(a) for a in arrays])
        loss = self.loss
        assert loss is not None
        return lambda x: float(self.run(loss, Tensor(np.asarray(x, self.dtype)), operands))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


_LOOKED_AT = 256  # rows of a Jacobian up to which its condition is computed


def _jacobian(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The matrix of partial derivatives of a vector function."""
    directions = Tensor(np.eye(x.size, dtype=x.dtype.numpy))

    def column(v: Tensor) -> Tensor:
        return jvp(f, x, v)[1]

    try:
        return vmap(column, out_axes=1)(directions)
    except (ValueError, NotImplementedError):  # f looks at numbers
        return stack([column(directions[i]) for i in range(x.size)], 1)


def _solved(matrix: Tensor, b: Tensor) -> Tensor:
    return linalg.solve(matrix, b.reshape((b.size, 1))).reshape((b.size,))


def _pulled(
    name: str, fn: Callable[..., Tensor], operands: tuple[Tensor, ...], first: int, seed: Tensor
) -> list[Tensor | None]:
    """The cotangents of the float operands from `first` on."""
    terms: list[Tensor | None] = [None] * len(operands)
    wanted = [i for i in range(first, len(operands)) if operands[i].dtype.is_float or operands[i].dtype.is_complex]
    if wanted:
        for i, term in zip(
            wanted, pulled_back(name, lambda *ops: (fn(*ops),), list(operands), tuple(wanted), (seed,)), strict=True
        ):
            terms[i] = term
    return terms


def _root_vjp(ct: Tensor, out: Tensor, *operands: Tensor, problem: Problem) -> tuple[Tensor | None, ...]:
    seed = -_solved(problem.jacobian(out, operands).swapaxes(0, 1), ct)
    return tuple(_pulled(problem.name, lambda *ops: problem.value(out, ops), operands, 1, seed))


_root = extend.primitive(
    "implicit_root",
    lambda *arrays, problem: problem.solve(*arrays),
    residual=lambda out, *operands, problem: -problem.value(out, operands),
    correction=lambda r, out, *operands, problem: _solved(problem.jacobian(out, operands), r),
    vjp=_root_vjp,
    arity=-1,
    types="apart",
    summary="root of an equation that is given as a function",
)


# -------------------------------------------------------------------------------------------------------- solvers


def _size(r: Array) -> float:
    return float(np.abs(r).max(initial=0.0)) if np.isfinite(r).all() else np.inf


def _answer(name: str, found: Any, start: Array) -> Array:
    """What a solver returned: the solution, or an object with it that says whether it is one."""
    if getattr(found, "success", True) is False:
        raise RuntimeError(f"{name}: the solver did not converge: {getattr(found, 'message', 'it does not say why')}")
    x = np.asarray(getattr(found, "x", found))
    if x.shape != start.shape:
        raise ValueError(f"{name}: the solver returned an array of shape {x.shape}; expected {start.shape}")
    return x


def _scipy_root(name: str, method: str) -> Callable[..., Any]:
    try:
        from scipy import optimize
    except ImportError:
        raise ImportError(f"{name}: the solver {method!r} is SciPy's; install it with pip install scipy") from None
    return lambda f, x0: optimize.root(f, x0, method=method, tol=1e-14)


def _newton(f: Any, jac: Any, x: Array, limit: int) -> Array:
    """Newton's method; a step that does not bring the residual down is halved. It goes on until nothing improves."""
    r = f(x)
    for _ in range(limit):
        size = _size(r)
        if size == 0.0:
            break
        try:
            step = np.linalg.solve(jac(x), r)
        except np.linalg.LinAlgError:
            break
        for _ in range(30):
            after = x - step
            r_after = f(after)
            if _size(r_after) < size:
                break
            step = step / 2
        else:
            break
        x, r = after, r_after
    return x


def _iterated(f: Any, x: Array, limit: int) -> Array:
    """x <- T(x), where f(x) = x - T(x), until it stands still to the last digits."""
    eps, best, stale = np.finfo(x.dtype).eps, np.inf, 0
    for _ in range(limit):
        r = f(x)
        size = _size(r)
        if size == np.inf:
            break
        x = x - r
        stale = 0 if size < best else stale + 1
        best = min(best, size)
        if size <= eps * _size(x) or (stale >= 3 and size <= np.sqrt(eps) * max(1.0, _size(x))):
            break
    return x


def _minimised(loss: Any, f: Any, jac: Any, x: Array, limit: int) -> Array:
    """Newton's method on the gradient f, downhill: the Hessian is shifted until it is positive definite."""
    value = loss(x)
    for _ in range(limit):
        r = f(x)
        if _size(r) in (0.0, np.inf):
            break
        hessian = jac(x)
        values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
        least = max(float(np.abs(values).max()), 1.0) * np.sqrt(np.finfo(x.dtype).eps)
        step = vectors @ ((vectors.T @ r) / np.maximum(np.abs(values), least))
        for _ in range(40):
            after = x - step
            value_after = loss(after)
            if value_after < value or (value_after == value and _size(f(after)) < _size(r)):
                break
            step = step / 2
        else:
            after = x - step * 2.0**40  # at the bottom the loss is flat to the last digit; the gradient is not yet
            if not _size(f(after)) < _size(r):
                break
            value_after = loss(after)
        x, value = after, value_after
    return x


# ------------------------------------------------------------------------------------------------------ functions


def root(
    F: Callable[..., Any],
    x0: Any,
    *args: Any,
    solver: Callable[..., Any] | str | None = None,
    tol: float | None = None,
    max_iterations: int = 100,
) -> Any:
    """Solve F(x, *args) = 0, differentiably in the arguments and in all that F reads.

    Parameters
    ----------
    F : callable
        Returns as many numbers as there are unknowns, in the nesting of `x0`.
    x0 : Tensor, or nest of tensors of one float type
        Where to start. Nothing is differentiated by it.
    *args
        Tensors, or nests of them.
    solver : callable or str, optional
        ``solver(f, x0)`` for a function of NumPy vectors and a start returns the solution, or an object with it as
        ``x`` (and ``success``), as SciPy's functions do. A str: that method of ``scipy.optimize.root``. By default
        Newton's method with halved steps.
    tol : float, optional
        The largest residual of a solution, relative to that at the start if that is above 1; by default the square
        root of the precision of the type. The default solver goes on until nothing improves.
    max_iterations : int, default 100
        For the default solver.

    Returns
    -------
    Tensor or nest
        The solution, in the nesting of `x0`.

    Raises
    ------
    RuntimeError
        If no solution was found; if F gives tensors outside new values, or draws random numbers.
    numpy.linalg.LinAlgError
        If a derivative is asked for where the Jacobian F_x is singular.
    TypeError, ValueError
        If the unknowns are not of one float type, or F returns other shapes.

    Notes
    -----
    From F(x(a), a) = 0 follows F_x dx = -F_a da (the implicit function theorem). Gradients solve with the transpose of
    F_x, Taylor coefficients with F_x for every degree. The derivatives are those of the exact solution, evaluated at
    the one that was found: their error is about as large as its error.

    Examples
    --------
    >>> import dualgrad as dg
    >>> cube_root = lambda a: dg.root(lambda x, a: x**3 - a, dg.Tensor(1.0, dg.float64), a)
    >>> a = dg.Tensor(8.0, dg.float64)
    >>> print(cube_root(a), dg.grad(cube_root)(a).round(6), dg.grad(dg.grad(cube_root))(a).round(6))
    2.0 0.083333 -0.006944
    """
    _check_callable("root", "F", F)
    problem = Problem("root", F, x0, args, solver, tol, max_iterations)
    return problem.layout.nest(_root(*problem.operands(x0, args), problem=problem))


def fixed_point(
    T: Callable[..., Any],
    x0: Any,
    *args: Any,
    solver: Callable[..., Any] | str | None = None,
    tol: float | None = None,
    max_iterations: int = 10000,
) -> Any:
    """Solve x = T(x, *args), differentiably in the arguments and in all that T reads.

    Parameters
    ----------
    T : callable
        Returns tensors in the nesting of `x0`.
    x0, *args, tol
        As for `root`.
    solver : callable or str, optional
        As for `root`, for the function x - T(x). By default x is replaced by T(x) until it stands still.
    max_iterations : int, default 10000
        For the default solver.

    Returns
    -------
    Tensor or nest
        The fixed point.

    Raises
    ------
    RuntimeError, numpy.linalg.LinAlgError, TypeError, ValueError
        As for `root`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> f = lambda a: dg.fixed_point(lambda x, a: ops.cos(a * x), dg.Tensor(0.5, dg.float64), a)
    >>> a = dg.Tensor(1.0, dg.float64)
    >>> print(f(a).round(6), dg.grad(f)(a).round(6))
    0.739085 -0.297474
    """
    _check_callable("fixed_point", "T", T)

    def left(x: Any, *args: Any) -> Any:
        layout = Layout("fixed_point", "the start", x)
        return layout.nest(layout.vector(x) - layout.vector(T(x, *args), "T"))

    problem = Problem("fixed_point", left, x0, args, solver, tol, max_iterations)
    return problem.layout.nest(_root(*problem.operands(x0, args), problem=problem))


def argmin(
    inner_loss: Callable[..., Any],
    x0: Any,
    *args: Any,
    solver: Callable[..., Any] | str | None = None,
    tol: float | None = None,
    max_iterations: int = 100,
) -> Any:
    """The minimiser of a loss, differentiably in the other arguments and in all that the loss reads.

    Parameters
    ----------
    inner_loss : callable
        ``inner_loss(x, *args)`` returns one number.
    x0, *args, tol, max_iterations
        As for `root`; `tol` is for the gradient.
    solver : callable or str, optional
        As for `root`, for the gradient. By default Newton's method, downhill.

    Returns
    -------
    Tensor or nest
        The minimiser that was found: a root of the gradient.

    Raises
    ------
    RuntimeError, numpy.linalg.LinAlgError, TypeError, ValueError
        As for `root`; the Jacobian is the Hessian of the loss.

    Examples
    --------
    Ridge regression, and how its weights change with the penalty:

    >>> import dualgrad as dg
    >>> X = dg.Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], dg.float64)
    >>> y = dg.Tensor([1.0, 2.0, 3.0], dg.float64)
    >>> loss = lambda w, penalty: ((X @ w - y) ** 2).sum() + penalty * (w * w).sum()
    >>> weights = lambda penalty: dg.argmin(loss, dg.Tensor([0.0, 0.0], dg.float64), penalty)
    >>> print(dg.grad(lambda p: weights(p)[0])(dg.Tensor(1.0, dg.float64)).round(6))
    0.027682
    """
    _check_callable("argmin", "inner_loss", inner_loss)

    def slope(x: Any, *args: Any) -> Any:
        def loss(x: Any) -> Tensor:
            value = inner_loss(x, *args)
            if not isinstance(value, Tensor) or value.size != 1:
                found = f"a tensor of shape {value.shape}" if isinstance(value, Tensor) else type(value).__name__
                raise ValueError(f"argmin: the loss returned {found}; expected one number")
            return value

        return grad(loss)(x)

    problem = Problem("argmin", slope, x0, args, solver, tol, max_iterations)
    problem.loss = inner_loss
    return problem.layout.nest(_root(*problem.operands(x0, args), problem=problem))


def _check_callable(name: str, what: str, f: Any) -> None:
    if not callable(f):
        raise TypeError(f"{name}: {what} is a {type(f).__name__}; expected a function or Cell")


# ---------------------------------------------------------------------------------------------------- linear solve


class LinearProblem(Problem):
    """An equation A x = b, or A^T x = b; its first operand is b."""

    transposed = False

    def transpose(self) -> LinearProblem:
        """The same with the transposed matrix."""
        other: LinearProblem = object.__new__(LinearProblem)
        other.__dict__.update(self.__dict__)
        other.transposed = not self.transposed
        other.key = (*self.key[:-1], other.transposed)
        return other

    def value(self, x: Tensor, operands: tuple[Tensor, ...]) -> Tensor:
        """The matrix times a vector."""
        if not self.transposed:
            return super().value(x, operands)
        product = super().value
        return pulled_back(self.name, lambda v: (product(v, operands),), [x], (0,), (x,))[0]

    def solve(self, *arrays: Array) -> Array:
        """The solution for given operands."""
        f, jac = self.plain(arrays)
        b = np.asarray(arrays[0])
        if self.solver is None:
            try:
                x = np.linalg.solve(jac(np.zeros_like(b)), b)
            except np.linalg.LinAlgError:
                raise np.linalg.LinAlgError(f"{self.name}: the matrix ({b.size} by {b.size}) is singular") from None
        else:
            x = _answer(self.name, self.solver(f, b), b)
        left = _size(f(x) - b)
        if not left <= self.tol * max(_size(b), np.finfo(self.dtype).tiny):
            raise RuntimeError(
                f"{self.name}: no solution was found: the largest residual is {left:.3g} for a right-hand side of size "
                f"{_size(b):.3g}, and tol is {self.tol:.3g}; the matrix may be singular, or the solver stops early"
            )
        return np.asarray(x, self.dtype)


def _linear_vjp(ct: Tensor, out: Tensor, *operands: Tensor, problem: LinearProblem) -> tuple[Tensor | None, ...]:
    db = _linear(ct, *operands[1:], problem=problem.transpose())
    terms = _pulled(problem.name, lambda *ops: -problem.value(out, ops), operands, 1, db)
    return (db, *terms[1:])


_linear: extend.Primitive = extend.primitive(
    "implicit_linear_solve",
    lambda *arrays, problem: problem.solve(*arrays),
    residual=lambda out, *operands, problem: operands[0] - problem.value(out, operands),
    correction=lambda r, out, *operands, problem: _linear(r, *operands[1:], problem=problem),
    vjp=_linear_vjp,
    arity=-1,
    types="apart",
    summary="solution of a linear system whose matrix is given as a function",
)


def linear_solve(A: Any, b: Any, solver: Callable[..., Any] | None = None, *, tol: float | None = None) -> Any:
    """Solve A x = b, differentiably in b, in A and in all that A reads.

    Parameters
    ----------
    A : Tensor or callable
        A square matrix, or a linear function of x in the nesting of `b`.
    b : Tensor, or nest of tensors of one float type
        The right-hand side.
    solver : callable, optional
        ``solver(matvec, b)`` for a function of NumPy vectors and a vector returns the solution. It is called with the
        transposed matrix too. By default the matrix is formed and factorised.
    tol : float, optional
        The largest residual of a solution, relative to b; by default the square root of the precision of the type.

    Returns
    -------
    Tensor or nest
        The solution, in the nesting of `b`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is singular.
    RuntimeError
        If the solver's answer is none.
    TypeError, ValueError
        If A is neither a matrix nor a function, or shapes do not fit.

    Notes
    -----
    From A x = b follows A dx = db - dA x. Every derivative is a further solve, with A or its transpose.

    Examples
    --------
    >>> import dualgrad as dg
    >>> b = dg.Tensor([1.0, 2.0], dg.float64)
    >>> f = lambda k: dg.linear_solve(lambda x: 2 * x + k * x.sum(), b).sum()
    >>> k = dg.Tensor(0.5, dg.float64)
    >>> print(f(k).round(6), dg.grad(f)(k).round(6), dg.grad(dg.grad(f))(k).round(6))
    1.0 -0.666667 0.888889
    """
    product = A
    if isinstance(A, Tensor):
        if solver is None:
            return linalg.solve(A, b.reshape((b.size, 1))).reshape(b.shape)
        product = lambda x: A @ x  # noqa: E731
    elif not callable(A):
        raise TypeError(f"linear_solve: A is a {type(A).__name__}; expected a Tensor or a linear function")
    problem = LinearProblem("linear_solve", product, b, (), solver, tol, 0)
    problem.key = (*problem.key, False)
    operands = [problem.layout.vector(b), *problem.captured]
    return problem.layout.nest(_linear(*operands, problem=problem))
