"""Linear systems whose matrix may be given as a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import extend
from .._engine.solvers.newton import size
from .._engine.transforms.inputs import as_input
from .._engine.transforms.rematerialisation import pulled_back
from .._settings import described
from ..ops import linalg
from ..ops._arguments import operand
from ..tensor import Tensor
from ._problem import Array, Problem, pulled
from ._solvers import answer, solved

__all__ = ["linear_solve"]


class LinearProblem(Problem):
    """An equation A x = b, or A^T x = b; its first operand is b."""

    transposed = False

    def transpose(self) -> LinearProblem:
        """The equation with the transposed matrix."""
        other: LinearProblem = object.__new__(LinearProblem)
        other.__dict__.update(self.__dict__, programs={})
        other.transposed = not self.transposed
        other.key = (*self.key[:-1], other.transposed)
        return other

    def value(self, x: Tensor, operands: tuple[Tensor, ...]) -> Tensor:
        """Multiply the matrix by a vector."""
        if not self.transposed:
            return super().value(x, operands)
        product = super().value
        return pulled_back(self.name, lambda v: (product(v, operands),), [x], (0,), (x,))[0]

    def solve(self, *arrays: Array) -> Array:
        """Solve the equation for given operands."""
        f, jac = self.plain(tuple([Tensor._owning(a) for a in arrays]))
        b = arrays[0]
        if self.solver is None:
            try:
                x = solved(jac(np.zeros_like(b)), b)
            except np.linalg.LinAlgError:
                raise np.linalg.LinAlgError(f"{self.name}: the matrix ({b.size} by {b.size}) is singular") from None
        else:
            x = answer(self.name, self.solver(f, b), b)
        left = size(f(x) - b)
        if not left <= self.tol * max(size(b), np.finfo(self.dtype).tiny):
            raise RuntimeError(
                f"{self.name}: no solution was found: the largest residual is {left:.3g} for a right-hand side of size "
                f"{size(b):.3g}, and tol is {self.tol:.3g}; the matrix may be singular, or the solver stops early"
            )
        return np.asarray(x, self.dtype)


def _linear_correction(r: Tensor, out: Tensor, *operands: Tensor, problem: LinearProblem) -> Tensor:
    problem.unchanged()
    return _linear(r, *operands[1:], problem=problem)


def _linear_vjp(ct: Tensor, out: Tensor, *operands: Tensor, problem: LinearProblem) -> tuple[Tensor | None, ...]:
    problem.unchanged()
    db = _linear(ct, *operands[1:], problem=problem.transpose())
    terms = pulled(problem.name, lambda *ops: -problem.value(out, ops), operands, 1, db)
    return (db, *terms[1:])


_linear: extend.Primitive = extend.primitive(
    "implicit_linear_solve",
    lambda *arrays, problem: problem.solve(*arrays),
    residual=lambda out, *operands, problem: operands[0] - problem.value(out, operands),
    correction=_linear_correction,
    vjp=_linear_vjp,
    arity=-1,
    types="apart",
    summary="solution of a linear system whose matrix is given as a function",
)


def linear_solve(A: Any, b: Any, solver: Callable[..., Any] | None = None, *, tol: float | None = None) -> Any:
    """Solve A x = b, differentiably in b, in A and in all tensors that A reads.

    Parameters
    ----------
    A : Tensor, floating numpy.ndarray or callable
        A square matrix, or a linear function of x in the nesting of `b`.
    b : Tensor, or pytree of tensors of one float type
        The right-hand side; floating numbers and arrays become tensors of their type.
    solver : callable, optional
        ``solver(matvec, b)``, with a function of NumPy vectors and a vector, returns the solution. It is also called
        with the transposed matrix. By default the matrix is formed and factorised.
    tol : float, optional
        The largest residual of a solution, relative to b; by default the square root of the type's precision.

    Returns
    -------
    Tensor or pytree
        The solution, nested like `b`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is singular.
    RuntimeError
        If the solver's answer does not solve the system.
    TypeError, ValueError
        If A is neither a matrix nor a function, or shapes do not fit.

    Notes
    -----
    A x = b implies A dx = db - dA x. Every derivative is another solve, with A or its transpose.

    Examples
    --------
    >>> import dualgrad as dg
    >>> b = dg.Tensor([1.0, 2.0], dg.float64)
    >>> f = lambda k: dg.linear_solve(lambda x: 2 * x + k * x.sum(), b).sum()
    >>> k = dg.Tensor(0.5, dg.float64)
    >>> print(f(k).round(6), dg.grad(f)(k).round(6), dg.grad(dg.grad(f))(k).round(6))
    1.0 -0.666667 0.888889
    """
    if not (solver is None or callable(solver)):
        raise TypeError(f"linear_solve: solver must be a function, got {described(solver)}")
    A, b = as_input("linear_solve", "A", A), as_input("linear_solve", "b", b)
    product = A
    if isinstance(A, Tensor):
        b = operand("linear_solve", b)
        if solver is None:
            return linalg.solve(A, b.reshape((b.size, 1))).reshape(b.shape)
        product = lambda x: A @ x  # noqa: E731
    elif not callable(A):
        raise TypeError(f"linear_solve: A is a {type(A).__name__}; expected a Tensor or a linear function")
    problem = LinearProblem("linear_solve", product, b, (), solver, tol, 0)
    problem.key = (*problem.key, False)
    operands = [problem.layout.vector(b), *problem.captured]
    problem.captured = []
    return problem.solution(_linear(*operands, problem=problem))
