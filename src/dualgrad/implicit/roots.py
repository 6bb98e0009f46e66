"""Roots, fixed points and minimisers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import extend
from .._engine.transforms.inputs import as_input
from .._engine.transforms.pytrees import matched
from ..ops import linalg
from ..tensor import Tensor
from ..transforms.gradient import value_and_grad
from ._problem import Layout, Problem, check_callable, pulled

__all__ = ["argmin", "fixed_point", "root"]


def _solved(matrix: Tensor, b: Tensor) -> Tensor:
    return linalg.solve(matrix, b.reshape((b.size, 1))).reshape((b.size,))


def _root_vjp(ct: Tensor, out: Tensor, *operands: Tensor, problem: Problem) -> tuple[Tensor | None, ...]:
    problem.unchanged()
    seed = -_solved(problem.jacobian(out, operands).swapaxes(0, 1), ct)
    return tuple(pulled(problem.name, lambda *ops: problem.value(out, ops), operands, 1, seed))


def _root_correction(r: Tensor, out: Tensor, *operands: Tensor, problem: Problem) -> Tensor:
    problem.unchanged()
    return _solved(problem.jacobian(out, operands), r)


_root = extend.primitive(
    "implicit_root",
    lambda *arrays, problem: problem.solve(*arrays),
    residual=lambda out, *operands, problem: -problem.value(out, operands),
    correction=_root_correction,
    vjp=_root_vjp,
    arity=-1,
    types="apart",
    summary="root of an equation that is given as a function",
)


def root(
    F: Callable[..., Any],
    x0: Any,
    *args: Any,
    solver: Callable[..., Any] | str | None = None,
    tol: float | None = None,
    max_iterations: int = 100,
) -> Any:
    """Solve ``F(x, *args) = 0``, differentiably in the arguments and in all tensors that F reads.

    Parameters
    ----------
    F : callable
        Returns as many numbers as there are unknowns, nested like `x0`.
    x0 : Tensor, or pytree of tensors of one float type
        The starting point; a float or an array of floats becomes a tensor of its type. It is not differentiated by.
    *args
        Tensors, or pytrees of tensors. Numbers and arrays are constants.
    solver : callable or str, optional
        ``solver(f, x0)``, with a function of NumPy vectors and a start, returns the solution, or an object with the
        solution as ``x`` (and ``success``), like SciPy's functions. A str: that method of ``scipy.optimize.root``. By
        default Newton's method with halved steps.
    tol : float, optional
        The largest residual of a solution, relative to the residual at the start if that is above 1; by default the
        square root of the type's precision. The default solver continues until only rounding is left.
    max_iterations : int, default 100
        The limit of the default solver.

    Returns
    -------
    Tensor or pytree
        The solution, nested like `x0`.

    Raises
    ------
    RuntimeError
        If no solution was found; if F assigns to outside tensors, or draws random numbers.
    numpy.linalg.LinAlgError
        In a derivative, if the Jacobian F_x is singular.
    TypeError, ValueError
        If the unknowns are not of one float type, or F returns other shapes.

    Notes
    -----
    F(x(a), a) = 0 implies F_x dx = -F_a da (the implicit function theorem). Gradients solve with the transpose of F_x,
    Taylor coefficients with F_x for every degree. The formulas hold for the exact solution and are evaluated at the
    computed one: their error is about as large as the solution's.

    Examples
    --------
    >>> import dualgrad as dg
    >>> cube_root = lambda a: dg.root(lambda x, a: x**3 - a, dg.Tensor(1.0, dg.float64), a)
    >>> a = dg.Tensor(8.0, dg.float64)
    >>> print(cube_root(a), dg.grad(cube_root)(a).round(6), dg.grad(dg.grad(cube_root))(a).round(6))
    2.0 0.083333 -0.006944
    """
    check_callable("root", "F", F)
    x0 = as_input("root", "x0", x0)
    problem = Problem("root", F, x0, args, solver, tol, max_iterations)
    return problem.solution(_root(*problem.operands(x0, args), problem=problem))


def fixed_point(
    T: Callable[..., Any],
    x0: Any,
    *args: Any,
    solver: Callable[..., Any] | str | None = None,
    tol: float | None = None,
    max_iterations: int = 10000,
) -> Any:
    """Solve ``x = T(x, *args)``, differentiably in the arguments and in all tensors that T reads.

    Parameters
    ----------
    T : callable
        Returns tensors, nested like `x0`.
    x0, *args, tol
        As for `root`.
    solver : callable or str, optional
        As for `root`, for the function x - T(x). By default x is replaced by T(x) until it no longer changes.
    max_iterations : int, default 10000
        The limit of the default solver.

    Returns
    -------
    Tensor or pytree
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
    check_callable("fixed_point", "T", T)

    def left(x: Any, *args: Any) -> Any:
        layout = Layout("fixed_point", "the start", x)
        following = T(x, *args)
        matched("fixed_point", x, following, "what T returns")
        return layout.nest(layout.vector(x) - layout.vector(following, "T"))

    x0 = as_input("fixed_point", "x0", x0)
    problem = Problem("fixed_point", left, x0, args, solver, tol, max_iterations)
    return problem.solution(_root(*problem.operands(x0, args), problem=problem))


def argmin(
    inner_loss: Callable[..., Any],
    x0: Any,
    *args: Any,
    solver: Callable[..., Any] | str | None = None,
    tol: float | None = None,
    max_iterations: int = 100,
) -> Any:
    """Minimise a loss, differentiably in the other arguments and in all tensors that the loss reads.

    Parameters
    ----------
    inner_loss : callable
        ``inner_loss(x, *args)`` returns one number.
    x0, *args, tol, max_iterations
        As for `root`; `tol` applies to the gradient.
    solver : callable or str, optional
        As for `root`, for the gradient. By default Newton's method, downhill.

    Returns
    -------
    Tensor or pytree
        The computed minimiser: a root of the gradient.

    Raises
    ------
    RuntimeError, numpy.linalg.LinAlgError, TypeError, ValueError
        As for `root`; the Jacobian is the Hessian of the loss.

    Examples
    --------
    Ridge regression, and the derivative of its weights by the penalty:

    >>> import dualgrad as dg
    >>> X = dg.Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], dg.float64)
    >>> y = dg.Tensor([1.0, 2.0, 3.0], dg.float64)
    >>> loss = lambda w, penalty: ((X @ w - y) ** 2).sum() + penalty * (w * w).sum()
    >>> weights = lambda penalty: dg.argmin(loss, dg.Tensor([0.0, 0.0], dg.float64), penalty)
    >>> print(dg.grad(lambda p: weights(p)[0])(dg.Tensor(1.0, dg.float64)).round(6))
    0.027682
    """
    check_callable("argmin", "inner_loss", inner_loss)

    def judged(x: Any, *args: Any) -> tuple[Tensor, Any]:
        def loss(x: Any) -> Tensor:
            value = inner_loss(x, *args)
            if not isinstance(value, Tensor) or value.size != 1 or value.dtype.is_complex:
                found = f"a {value.dtype} of shape {value.shape}" if isinstance(value, Tensor) else type(value).__name__
                raise ValueError(f"argmin: the loss returned {found}; expected one number, a real one")
            return value

        return value_and_grad(loss)(x)

    def slope(x: Any, *args: Any) -> Any:
        return judged(x, *args)[1]

    x0 = as_input("argmin", "x0", x0)
    problem = Problem("argmin", slope, x0, args, solver, tol, max_iterations)
    problem.judged = judged
    return problem.solution(_root(*problem.operands(x0, args), problem=problem))
