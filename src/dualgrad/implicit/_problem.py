"""An equation given as a function: its operands, its value, and its Jacobian."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.solvers.newton import size
from .._engine.transforms import tensor as _engine
from .._engine.transforms.pytrees import beside, is_leaf, matched, with_leaves
from .._engine.transforms.rematerialisation import explored, filled, pulled_back, recording, template_of, tensors_of
from .._engine.transforms.transformed import Transformed
from .._engine.transforms.vmap import basis
from .._settings import described, real_number, whole_number
from ..leaving import LeavesDerivativeError
from ..ops import concat, stack
from ..tensor import Tensor
from ..transforms.apart import apart
from ..transforms.closed import closed
from ..transforms.gradient import jvp, stop_gradient
from ..transforms.vectorize import vmap
from ._solvers import answer, condition, is_definite, iterated, minimised, newton, scipy_root

__all__ = ["Layout", "Problem", "check_callable", "constants", "numbers", "pulled"]

Array = np.ndarray[Any, Any]

LOOKED_AT = 256  # the condition of larger Jacobians is not computed
SURE = 1e-3  # a condition number, in units of the precision, that rules out a singular matrix


class Layout:
    """The layout of a pytree of float tensors in one vector."""

    what: str
    name: str

    def __init__(self, name: str, what: str, nest: Any) -> None:
        tensors = tensors_of(nest)
        types = {t.dtype for t in tensors}
        if not tensors or len(types) > 1 or not types.pop().is_float:
            found = sorted({str(t.dtype) for t in tensors}) or type(nest).__name__
            raise TypeError(f"{name}: {what} holds {found}; expected tensors of one float type")
        self.name, self.what = name, what
        self.template: Any = template_of(nest)
        self.shapes: list[tuple[int, ...]] = [t.shape for t in tensors]
        self.sizes: list[int] = [t.size for t in tensors]
        self.size: int = sum(self.sizes)

    def vector(self, nest: Any, what: str = "") -> Tensor:
        """Join the tensors of a pytree to one vector."""
        tensors = _in_order(self.template, nest)
        if what and [t.shape for t in tensors] != self.shapes:
            given = f"shapes {[t.shape for t in tensors]}" if tensors else f"a {type(nest).__name__} without Tensors"
            joined = "; join numbers with ops.stack" if len(tensors) > len(self.shapes) else ""
            raise ValueError(
                f"{self.name}: {what} returned {given}; expected the shapes of {self.what}, {self.shapes}{joined}"
            )
        parts = [t.reshape((t.size,)) for t in tensors]
        return parts[0] if len(parts) == 1 else concat(parts)

    def nest(self, vector: Tensor) -> Any:
        """Split a vector into the pytree."""
        parts, start = [], 0
        for shape, length in zip(self.shapes, self.sizes, strict=True):
            part = vector if length == self.size else vector[start : start + length]
            parts.append(part.reshape(shape))
            start += length
        return filled(self.template, parts)


def _in_order(template: Any, nest: Any) -> list[Tensor]:
    """The tensors of a pytree, with dicts in the key order of a template."""
    children = beside(template, nest)
    if children is None:
        return tensors_of(nest)
    return [t for _, part, given in children for t in _in_order(part, given)]


def _key(value: Any) -> Any:
    """A key for a function. Tensors in its closure do not count, since they are operands."""
    if isinstance(value, Tensor):
        return Tensor
    if isinstance(value, Transformed):
        return _key(value.fn)
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell.cell_contents is not value]
        return (value.__code__, *[_key(held) for held in (*cells, *(value.__defaults__ or ()))])
    if isinstance(value, types.MethodType):
        return value.__func__.__code__, id(value.__self__)
    if isinstance(value, bool | int | float | complex | str | bytes) or value is None:
        return type(value), value
    return id(value)


def constants(nest: Any) -> Any:
    """A key for the arguments. Tensors do not count, since they are operands."""
    if isinstance(nest, Tensor):
        return Tensor
    if isinstance(nest, dict):
        return tuple([(name, constants(value)) for name, value in nest.items()])
    if type(nest) in (tuple, list):
        return tuple([constants(value) for value in nest])
    if isinstance(nest, np.ndarray):
        return nest.shape, str(nest.dtype), nest.tobytes()
    if is_leaf(nest):
        return _key(nest)
    found: list[Any] = [type(nest)]

    def look(leaf: Any, named: bool) -> Any:
        found.append(constants(leaf))
        return leaf

    with_leaves(nest, look)
    return tuple(found)


class Problem:
    """An equation F(x, ...) = 0: a parameter of the primitives below, compared by value.

    The operands of the primitives are the start as a vector, the tensors among the arguments of F, and the tensors that
    F reads.
    """

    solver: Any
    inside: Any
    captured: list[Tensor]
    limit: int
    fn: Callable[..., Any]
    name: str

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
        if not (solver is None or callable(solver) or isinstance(solver, str)):
            raise TypeError(f"{name}: solver must be a function or a name, got {described(solver)}")
        self.name, self.fn, self.solver = name, fn, solver
        self.limit = whole_number(name, "max_iterations", limit)
        self.layout: Layout = Layout(name, "the start", x)
        self.dtype: Any = tensors_of(x)[0].dtype.numpy
        self.tol: float = float(np.sqrt(np.finfo(self.dtype).eps)) if tol is None else real_number(name, "tol", tol)
        self.args: Any = template_of(args)
        self.count: int = len(tensors_of(args))
        self.judged: Callable[..., Any] | None = None  # the loss whose gradient is F, together with F
        self.repeats: bool = recording()  # a program holds this, and its guards detect changes
        self.programs: dict[str, Callable[..., Any]] = {}
        self.inside, self.captured, out = explored(name, fn, (x, *args))
        matched(name, x, out, "what the function returns")
        self.layout.vector(out, "the function")
        self.shapes: list[tuple[tuple[int, ...], Any]] = [
            (t.shape, t.dtype.numpy) for t in (*tensors_of(args), *self.captured)
        ]
        self.sampled: Any = apart(self.sample)()
        shapes = tuple(self.layout.shapes)
        self.key: tuple[Any, ...] = (
            *(name, _key(fn), constants(args), _key(solver), shapes, self.dtype, self.tol, limit),
            *(self.sampled[0], self.sampled[1].astype(np.float32).tobytes()),
        )

    def operands(self, x: Any, args: tuple[Any, ...]) -> list[Tensor]:
        """The operands of the primitives."""
        captured, self.captured = self.captured, []  # a program may keep the problem alive for long
        return [stop_gradient(self.layout.vector(x)), *tensors_of(args), *captured]

    def run(self, fn: Callable[..., Any], x: Tensor, operands: tuple[Tensor, ...]) -> Any:
        """Call a function of the unknown and the arguments with given operands."""
        args = filled(self.args, operands[1 : 1 + self.count])
        return self.inside.run(list(operands[1 + self.count :]), fn, self.layout.nest(x), *args)

    def value(self, x: Tensor, operands: tuple[Tensor, ...]) -> Tensor:
        """Evaluate F as a vector."""
        return self.layout.vector(self.run(self.fn, x, operands), "the function")

    def sample(self) -> tuple[int, Array]:
        """A hash of the data that F reads in addition to its operands, and F at fixed numbers.

        They distinguish functions that read different variables, attributes and arrays.
        """
        given = [numbers(shape, dtype) for shape, dtype in self.shapes]
        x = self.layout.nest(numbers((self.layout.size,), self.dtype))
        args = filled(self.args, given[: self.count])

        def value(x: Any, *args: Any) -> Tensor:
            try:
                return self.layout.vector(self.fn(x, *args))
            except Exception:  # F may be undefined there
                return Tensor(np.zeros(0))

        found, noted = self.inside.noted_run(given[self.count :], value, x, *args)
        return noted, found.asnumpy()

    def solution(self, vector: Tensor) -> Any:
        """The pytree of a solution. Freezes F, since a derivative runs it later."""
        self.fn = closed(self.fn)
        return self.layout.nest(vector)

    def unchanged(self) -> None:
        """Raise if F has changed since the equation was solved: a derivative would belong to another root."""
        (noted, found), (before, value) = apart(self.sample)(), self.sampled
        if noted != before or found.shape != value.shape or not np.allclose(found, value, 1e-5, 0.0, equal_nan=True):
            raise RuntimeError(
                f"{self.name}: the function is another one now than when the equation was solved, and a derivative "
                f"needs it again: it reads a global variable, an attribute or an array that has changed since; pass "
                f"that as an argument, or read it from a variable of the surrounding function"
            )

    def jacobian(self, x: Tensor, operands: tuple[Tensor, ...]) -> Tensor:
        """F_x as a matrix. Raises if it is singular."""
        return _engine.inspect(_jacobian(lambda x: self.value(x, operands), x), self.check)

    def check(self, matrix: Array) -> None:
        """Raise LinAlgError if the Jacobian is singular to working precision: the solution has no derivative."""
        n, eps = matrix.shape[-1], float(np.finfo(matrix.dtype).eps)
        if not 0 < n <= LOOKED_AT or is_definite(matrix, n * size(matrix) * eps / SURE):
            return
        if (condition(matrix) * eps < SURE).all():  # by the inverse: ten times cheaper than by singular values
            return
        if (np.linalg.cond(matrix) * eps > 1).any():
            raise np.linalg.LinAlgError(
                f"{self.name}: the Jacobian at the solution ({n} by {n}) is singular, so the solution has no "
                f"derivative there; it may be a double root, or one of a whole curve of solutions"
            )

    def evaluated(self, what: str, fn: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the unknown and the operands, which solvers call often: a program inside a program."""
        if not self.repeats:
            return fn
        if what not in self.programs:
            from .._engine.trace.cache import Repeated  # takes time to import, and not every program records

            self.programs[what] = Repeated(f"{what} of {self.name}", fn)
        return self.programs[what]

    def plain(self, operands: tuple[Tensor, ...]) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """F and F_x as functions of NumPy arrays, for solvers."""
        value = self.evaluated("the value", lambda x, *operands: self.value(x, operands))
        matrix = self.evaluated("the Jacobian", lambda x, *operands: _jacobian(lambda x: self.value(x, operands), x))

        def f(x: Array) -> Array:
            return value(Tensor(np.asarray(x, self.dtype)), *operands).asnumpy()

        def jac(x: Array) -> Array:
            return matrix(Tensor(np.asarray(x, self.dtype)), *operands).asnumpy()

        return f, jac

    def solve(self, *arrays: Array) -> Array:
        """Solve the equation for given operands."""
        operands = tuple([Tensor._owning(a) for a in arrays])
        f, jac = self.plain(operands)
        start = arrays[0]
        if isinstance(self.solver, str):
            self.solver = scipy_root(self.name, self.solver)
        if callable(self.solver):
            x = answer(self.name, self.solver(f, start), start)
        elif self.name == "fixed_point":
            x = iterated(f, start, self.limit)
        elif self.judged is not None:
            x = minimised(self.plain_loss(operands), jac, start, self.limit)
        else:
            x = newton(f, jac, start, self.limit)
        left = size(f(x))
        if left <= self.tol:
            return np.asarray(x, self.dtype)
        first = size(f(start))
        if not left <= self.tol * max(1.0, first if np.isfinite(first) else 1.0):
            raise RuntimeError(
                f"{self.name}: no solution was found: the largest residual is {left:.3g} after the solver returned, "
                f"{first:.3g} at the start, and tol is {self.tol:.3g}; start closer to the solution, or pass a solver"
            )
        return np.asarray(x, self.dtype)

    def plain_loss(self, operands: tuple[Tensor, ...]) -> Callable[[Array], tuple[float, Array]]:
        """The loss and its gradient, as a function of NumPy arrays."""

        def found(x: Tensor, *operands: Tensor) -> tuple[Tensor, Tensor]:
            assert self.judged is not None
            loss, gradient = self.run(self.judged, x, operands)
            return loss, self.layout.vector(gradient)

        both = self.evaluated("the loss and its gradient", found)

        def judged(x: Array) -> tuple[float, Array]:
            loss, gradient = both(Tensor._owning(x), *operands)
            return loss.item(), gradient.asnumpy()

        return judged

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def numbers(shape: tuple[int, ...], dtype: Any) -> Tensor:
    """Fixed numbers that distinguish functions: zeros for integers, which may be positions."""
    size = int(np.prod(shape, dtype=int))
    found = np.linspace(0.5, 1.0, size) if np.dtype(dtype).kind in "fc" else np.zeros(size)
    return Tensor(found.astype(dtype).reshape(shape))


def _jacobian(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The matrix of partial derivatives of a vector function."""
    directions = basis(x, 0, x.size)

    def column(v: Tensor) -> Tensor:
        return jvp(f, x, v)[1]

    try:
        return vmap(column, out_axes=1)(directions)
    except (ValueError, NotImplementedError, LeavesDerivativeError):  # f reads numbers of its tensors
        return stack([column(directions[i]) for i in range(x.size)], 1)


def pulled(
    name: str, fn: Callable[..., Tensor], operands: tuple[Tensor, ...], first: int, seed: Tensor
) -> list[Tensor | None]:
    """The cotangents of the operands from `first` on, without bool operands."""
    terms: list[Tensor | None] = [None] * len(operands)
    wanted = [i for i in range(first, len(operands)) if not operands[i].dtype.is_bool]
    if wanted:
        for i, term in zip(
            wanted,
            pulled_back(name, lambda *ops: (fn(*ops).astype(seed.dtype),), list(operands), tuple(wanted), (seed,)),
            strict=True,
        ):
            terms[i] = term
    return terms


def check_callable(name: str, what: str, f: Any) -> None:
    """Raise TypeError if `f` is not a function."""
    if not callable(f):
        raise TypeError(f"{name}: {what} is a {type(f).__name__}; expected a function or Cell")
