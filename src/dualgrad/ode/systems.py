"""Systems y' = f(y, t, ...) on vectors: the user's system, its tangents and its adjoints.

A system is a setting of the primitives in `flow`, compared by value. The operands of the primitives are the state, the
times, and the params: all other tensors that f depends on.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._engine.trace.cache import Repeated
from .._engine.transforms.pytrees import matched
from .._engine.transforms.rematerialisation import explored, filled, pulled_back, template_of, tensors_of
from ..implicit._problem import Layout, _key, constants, numbers
from ..leaving import LeavesDerivativeError
from ..ops import concat, stack
from ..tensor import Tensor
from ..transforms.apart import apart
from ..transforms.closed import closed
from ..transforms.gradient import jvp
from ..transforms.vectorize import vmap
from .methods import METHODS, Array, Method

__all__ = ["Adjoint", "Control", "Given", "System", "Tangent", "flat", "parts"]

KEPT = 256  # step sequences that a system remembers: one for each sample of a batch


@dataclass(frozen=True)
class Control:
    """Settings for the choice of steps and for the derivatives."""

    method: str
    rtol: float
    atol: tuple[float, ...]
    first_step: float | None
    max_steps: int
    continuous: bool
    sensitivities: bool
    timed: bool
    progress: bool


def flat(tensors: list[Tensor], like: Tensor) -> Tensor:
    """Join tensors to one vector of the type of `like`."""
    return concat([t.reshape((t.size,)).astype(like.dtype) for t in tensors])


def parts(vector: Tensor, shapes: list[tuple[int, ...]]) -> list[Tensor]:
    """Split a vector into tensors of given shapes."""
    found, start = [], 0
    for shape in shapes:
        size = int(np.prod(shape, dtype=int))
        found.append(vector[start : start + size].reshape(shape))
        start += size
    return found


class System:
    """A right-hand side with n components.

    Attributes
    ----------
    active : list of int
        The params that derivatives are taken by: those with a float type.
    size : int
        The number of elements in cotangents of the state and the active params.
    count : int
        The number of samples that are solved together.
    owner : System
        The system whose error chooses the steps; a tangent follows its parent's steps.
    """

    name: str
    hint = ""  # for messages
    replays_steps = True  # so results are compared up to rounding
    n: int
    size: int
    count = 1
    control: Control
    shapes: list[tuple[int, ...]]
    active: list[int]
    key: Any

    def __init__(self, name: str, n: int, control: Control, params: list[Any], key: Any) -> None:
        self.name, self.n, self.control = name, n, control
        self.active = [i for i, p in enumerate(params) if p[1]]
        self.params: list[tuple[tuple[int, ...], bool]] = params
        self.shapes = [params[i][0] for i in self.active]
        self.size = n + sum(_sizes(self.shapes))
        self.key = (name, n, control, tuple(params), key)
        self.owner: System = self
        self.method: Method = METHODS[control.method]
        self.grids: OrderedDict[Any, Any] = OrderedDict()
        self.programs: dict[str, Repeated] = {}
        self.solved: int = 0  # number of solutions so far
        self.samples: OrderedDict[Any, Any] = OrderedDict()

    @functools.cached_property
    def tangent(self) -> Tangent:
        """The system together with its tangent."""
        return Tangent(self)

    @functools.cached_property
    def adjoint(self) -> Adjoint:
        """The adjoint system."""
        return Adjoint(self)

    def rate(self, y: Tensor, t: Tensor, params: tuple[Tensor, ...]) -> Tensor:
        """Evaluate f(y, t, ...)."""
        raise NotImplementedError

    def of_owner(self, y: Array, params: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
        """The state and params of the system that chooses the steps."""
        return y, params

    def given(self, y: Array, params: tuple[Any, ...]) -> tuple[Given, Array, tuple[Any, ...]]:
        """The user's system, its state and its params."""
        raise NotImplementedError

    def absolute(self, y: Array) -> Array:
        """The absolute tolerance for each element of the state, for a start y."""
        return np.resize(np.asarray(self.control.atol), self.n)

    def describe(self, y: Array) -> str:
        """Describe a state for a message."""
        return np.array2string(np.asarray(y), threshold=6, precision=6)

    def stages(self, y: Tensor, t: Tensor, h: Tensor, params: tuple[Tensor, ...]) -> Tensor:
        """The stages of a step, shape (s, n)."""
        return self.method.stages(lambda y, t: self.rate(y, t, params), y, t, h)

    def before(
        self,
        total: Tensor,
        y: Tensor,
        t: Tensor,
        h: Tensor,
        within: Tensor,
        seed: Tensor,
        params: tuple[Tensor, ...],
    ) -> Tensor:
        """Pull cotangents back through a step. `within` and `seed` are added for its stages and its start."""
        n = self.n
        update = Tensor(self.method.update.astype(y.dtype.numpy)).reshape((-1, 1))

        def stages(y: Tensor, t: Tensor, params: tuple[Tensor, ...]) -> Tensor:
            return self.stages(y, t, h, params)

        terms = flat(self.pulled(y, t, params, stages, update * total[:n] + within), y)
        return concat([total[:n] + seed, total[n:]]) + terms

    def rates(self, y: Tensor, t: Tensor, params: tuple[Tensor, ...]) -> Tensor:
        """The rates for each row of y, shape (k, n), at the time in the same place of t."""
        try:
            return vmap(lambda y, t: self.rate(y, t, params))(y, t)
        except (ValueError, NotImplementedError, LeavesDerivativeError):  # f reads numbers of its tensors
            return stack([self.rate(y[i], t[i], params) for i in range(t.size)])

    def pulled(self, y: Tensor, t: Tensor, params: tuple[Tensor, ...], fn: Any, ct: Tensor) -> list[Tensor]:
        """The cotangents of y and the active params, for a function fn(y, t, params)."""

        def called(y: Tensor, *active: Tensor) -> tuple[Tensor]:
            return (fn(y, t, self.with_active(params, active)),)

        inputs = [y, *[params[i] for i in self.active]]
        found = pulled_back(self.name, called, inputs, tuple(range(len(inputs))), (ct,))
        return [x * 0 if term is None else term for x, term in zip(inputs, found, strict=True)]

    def with_active(self, params: tuple[Tensor, ...], active: Any) -> tuple[Tensor, ...]:
        """Replace the active params."""
        all_params = list(params)
        for i, p in zip(self.active, active, strict=True):
            all_params[i] = p
        return tuple(all_params)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, System) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Given(System):
    """The user's system."""

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        layout: Layout,
        start: Tensor,
        t: Tensor,
        args: Any,
        control: Control,
        event: Callable[..., Any] | None = None,
    ) -> None:
        self.fn, self.layout, self.event = fn, layout, event
        self.args: Any = template_of(args)
        self.count: int = len(tensors_of(args))
        self.inside: Any
        both = fn if event is None else lambda *given: (fn(*given), event(*given))
        self.inside, captured, out = explored(name, both, (layout.nest(start), t, *args))
        self.checked(out if event is None else out[0], start)
        if event is not None:
            _check_event(name, out[1])
        operands = [*tensors_of(args), *captured]
        self.operands: list[Tensor] = operands  # until `taken`, since a program may keep the system for long
        params = [(p.shape, bool(p.dtype.is_float)) for p in operands]
        key = (_key(fn), _key(event), tuple(layout.shapes), constants(args), apart(self.sample)(start, operands))
        super().__init__(name, layout.size, control, params, key)
        self.seen: OrderedDict[Any, list[Array]] = OrderedDict()

    def settle(self) -> None:
        """Freeze f after a solution, since a derivative runs it later."""
        self.fn, self.event = closed(self.fn), closed(self.event)

    def sample(self, start: Tensor, operands: list[Tensor]) -> tuple[bytes, int]:
        """Evaluate f at fixed numbers, whatever start and params are. Distinguishes functions that read other data."""
        y, t = numbers(start.shape, start.dtype.numpy), Tensor(np.asarray(0.7, start.dtype.numpy))
        try:
            rate, noted = self.noted(y, t, tuple([numbers(p.shape, p.dtype.numpy) for p in operands]))
        except Exception:  # f may be undefined at these numbers
            return b"", 0
        with np.errstate(over="ignore"):
            return rate.astype(np.float32).tobytes(), noted

    def taken(self) -> tuple[Tensor, ...]:
        """Release the params, so that the system does not keep them."""
        operands, self.operands = self.operands, []
        return tuple(operands)

    def checked(self, out: Any, like: Tensor) -> None:
        """Check that the result of f has the nesting, shapes and type of the state."""
        matched(self.layout.name, self.layout.nest(like), out, "what f returns")
        self.layout.vector(out, "f")
        found = {t.dtype for t in tensors_of(out)}
        if found != {like.dtype}:
            raise TypeError(
                f"{self.layout.name}: f returned {' and '.join(sorted(map(str, found)))} for a state of {like.dtype}; "
                f"expected the type of the state, start in the other type or convert what f returns"
            )

    def noted(self, y: Tensor, t: Tensor, params: tuple[Tensor, ...]) -> tuple[Array, int]:
        """Evaluate f(y, t, ...). Also returns a hash of the other data it reads."""
        args = filled(self.args, params[: self.count])
        state = self.layout.nest(y)
        out, noted = self.inside.noted_run(list(params[self.count :]), self.fn, state, t, *args)
        return self.layout.vector(out, "f").asnumpy(), noted

    def call(self, fn: Callable[..., Any], y: Tensor, t: Tensor, params: tuple[Tensor, ...]) -> Any:
        """Call a function of state, time and arguments."""
        args = filled(self.args, params[: self.count])
        return self.inside.run(list(params[self.count :]), fn, self.layout.nest(y), t, *args)

    def height(self, y: Tensor, t: Tensor, params: tuple[Tensor, ...]) -> Tensor:
        """The event function, without axes; zero at the event."""
        assert self.event is not None
        return self.call(self.event, y, t, params).reshape(()).astype(y.dtype)

    def rate(self, y: Tensor, t: Tensor, params: tuple[Tensor, ...]) -> Tensor:
        """Evaluate f(y, t, ...)."""
        return self.layout.vector(self.call(self.fn, y, t, params), "f")

    def given(self, y: Array, params: tuple[Any, ...]) -> tuple[Given, Array, tuple[Any, ...]]:
        """The system itself."""
        return self, y, params

    def check(self, y: Array, times: tuple[float, float], params: tuple[Tensor, ...]) -> None:
        """Raise if f has changed since this was solved: a derivative would belong to another solution.

        Compares the rate, and a hash of the data it reads, at the start and at the last time.
        """
        found: list[Any] = []
        for t in times:
            try:
                found += self.noted(Tensor(y), Tensor(np.asarray(t, y.dtype)), params)
            except Exception:  # f may be undefined at these numbers
                found += [np.nan, 0]
        place = (y.tobytes(), times, *[p.asnumpy().tobytes() for p in params])
        before = self.seen.setdefault(place, found)
        if not all(
            np.array_equal(a, b) or np.allclose(a, b, 1e-5, 0.0, equal_nan=True)
            for a, b in zip(before, found, strict=True)
        ):
            raise RuntimeError(
                f"{self.name}: f is another function now than when the equation was solved, and a derivative needs it "
                f"again: it reads a variable, an attribute or an array that has changed since; pass that as an "
                f"argument of f, or bind it: lambda y, t, k=k: ..."
            )
        while len(self.seen) > KEPT:
            self.seen.popitem(last=False)


class Tangent(System):
    """A system with its tangent: the state is (y, y_dot), and the tangents of active params follow the params."""

    def __init__(self, parent: System) -> None:
        self.parent = parent
        params = [*parent.params, *[(shape, True) for shape in parent.shapes]]
        super().__init__(parent.name, 2 * parent.n, parent.control, params, ("tangent", parent.key))
        if not parent.control.sensitivities:
            self.owner = parent.owner

    def split(self, params: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The params of the parent, and the tangents of the active ones."""
        count = len(self.parent.params)
        return params[:count], params[count:]

    def rate(self, y: Tensor, t: Tensor, params: tuple[Tensor, ...]) -> Tensor:
        """Evaluate (f, f_y y_dot + f_p p_dot)."""
        parent, n = self.parent, self.parent.n
        primals, dots = self.split(params)

        def f(y: Tensor, *active: Tensor) -> Tensor:
            return parent.rate(y, t, parent.with_active(primals, active))

        value, moved = jvp(f, (y[:n], *[primals[i] for i in parent.active]), (y[n:], *dots))
        return concat([value, moved])

    def of_owner(self, y: Array, params: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
        """The state and params of the system that chooses the steps."""
        if self.owner is self:
            return y, params
        return self.parent.of_owner(y[: self.parent.n], self.split(params)[0])

    def given(self, y: Array, params: tuple[Any, ...]) -> tuple[Given, Array, tuple[Any, ...]]:
        """The parent's user system."""
        return self.parent.given(y[: self.parent.n], self.split(params)[0])

    def absolute(self, y: Array) -> Array:
        """The parent's tolerances for both halves."""
        return np.tile(self.parent.absolute(y[: self.parent.n]), 2)


class Adjoint(System):
    """The adjoint system of a parent: state (y, c, q), with c' = -f_y^T c, and q' = -f_p^T c for active params."""

    hint = ". This is the adjoint equation on its way back: for stiff systems take adjoint='discrete'"

    def __init__(self, parent: System) -> None:
        self.parent = parent
        n = 2 * parent.n + sum(_sizes(parent.shapes))
        super().__init__(parent.name, n, parent.control, parent.params, ("adjoint", parent.key))

    def rate(self, y: Tensor, t: Tensor, params: tuple[Tensor, ...]) -> Tensor:
        """Evaluate (f, -f_y^T c, -f_p^T c)."""
        parent, n = self.parent, self.parent.n
        state, ct = y[:n], y[n : 2 * n]
        terms = parent.pulled(state, t, params, parent.rate, ct)
        return concat([parent.rate(state, t, params), -flat(terms, y)])

    def given(self, y: Array, params: tuple[Any, ...]) -> tuple[Given, Array, tuple[Any, ...]]:
        """The parent's user system."""
        return self.parent.given(y[: self.parent.n], params)

    def absolute(self, y: Array) -> Array:
        """The parent's tolerances, for cotangents scaled by their size at the start."""
        n = self.parent.n
        of_state = self.parent.absolute(y[:n])
        size = float(np.abs(y[n : 2 * n]).max(initial=0.0)) or 1.0
        return np.concatenate([of_state, np.full(self.n - n, size * float(of_state.min()))])


def _sizes(shapes: list[tuple[int, ...]]) -> list[int]:
    return [int(np.prod(shape, dtype=int)) for shape in shapes]


def _check_event(name: str, found: Any) -> None:
    if not isinstance(found, Tensor) or found.size != 1 or not found.dtype.is_float:
        what = f"shape {found.shape} and type {found.dtype}" if isinstance(found, Tensor) else type(found).__name__
        raise ValueError(f"{name}: event returned {what}; expected a Tensor of one float, zero at the event")
