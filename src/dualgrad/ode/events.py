"""`odeint_event`: the time and state at which a solution first meets a condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import extend
from .._engine.transforms.tensor import inspect
from .._settings import one_of
from ..implicit._problem import pulled
from ..ops import stack
from ..tensor import Tensor
from ..transforms.apart import apart
from ..transforms.gradient import jvp
from .flow import flow
from .integrate import control_of, state_of, time_of
from .methods import Array
from .stepping import Steps, adaptive, follow, program, scalars
from .systems import Given

__all__ = ["odeint_event"]

LOOKS = 8  # places in a step at which the event function is evaluated
SAME = 1e-6  # a zero within this part of a step from the start counts as the start


@dataclass(frozen=True)
class Event:
    """The event of a system, and the direction in which the event function crosses zero: -1, 1, or 0 for both."""

    system: Given
    direction: int

    def height(self, at: Tensor, y0: Tensor, t0: Tensor, params: tuple[Tensor, ...]) -> Tensor:
        """The event function at time `at`."""
        y = flow(self.system, y0, stack([t0, at]), params)[0]
        return self.system.height(y, at, params)

    def slope(self, at: Tensor, y0: Tensor, t0: Tensor, params: tuple[Tensor, ...]) -> Tensor:
        """The derivative of the event function by time, along the solution."""
        y = flow(self.system, y0, stack([t0, at]), params)[0]
        return self.along(y, at, params)[1]

    def along(self, y: Tensor, t: Tensor, params: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """The event function, and its derivative along the solution through (t, y)."""
        system = self.system
        rate = system.rate(y, t, params)
        return jvp(lambda y, t: system.height(y, t, params), (y, t), (rate, t * 0 + 1))


@apart
def _locate(y0: Array, t0: Array, t_max: Array, *arrays: Array, event: Event) -> Array:
    """Find the time of the first event."""
    system, params = event.system, tuple([Tensor(a) for a in arrays])
    start, end = float(t0), float(t_max)
    run = program(system, "the event", lambda y, t, *params: stack(list(event.along(y, t, params))))

    def along(y: Array, t: float) -> tuple[float, float]:
        height, slope = run(Tensor(y.astype(y0.dtype)), *scalars(y0, t), *params).asnumpy()
        if not np.isfinite(height):
            raise ValueError(f"{system.name}: event is {height} at t = {t:.9g}, y = {system.describe(y)}")
        return float(height), float(slope)

    height, slope = along(y0, start)
    known = False
    for t, h, y, u in _one_by_one(adaptive(system, y0, start, end, params)):
        if not known:  # the solution may start on the event, and is then leaving it
            on_it = abs(height) <= SAME * abs(slope * h)
            before, known = np.sign(slope * h) if on_it else np.sign(height), True

        def inside(theta: float) -> Array:
            return y + (system.method.weights(np.array([theta])) @ u)[0]  # noqa: B023

        for look in range(1, LOOKS + 1):
            now = np.sign(along(inside(look / LOOKS), t + look / LOOKS * h)[0])
            if now != before and before != 0.0 and event.direction in (0, -before):
                low, high = (look - 1) / LOOKS, look / LOOKS
                for _ in range(30):
                    middle = (low + high) / 2
                    sign = np.sign(along(inside(middle), t + middle * h)[0])
                    low, high = (middle, high) if sign == before else (low, middle)
                return np.asarray(_polished(event, t, y, high * h, params, along), y0.dtype)
            before = now or before
    raise RuntimeError(
        f"{system.name}: no event from t0 = {start:.9g} to t_max = {end:.9g}"
        f"{'' if event.direction == 0 else f' in direction {event.direction}'}; event is {height:.6g} at the start and "
        f"{along(inside(1.0), end)[0]:.6g} at the end, raise t_max"
        if start != end
        else f"{system.name}: t_max is t0, {end:.9g}; expected a later time, or an earlier one to go backwards"
    )


def _one_by_one(stream: Iterator[Steps]) -> Iterator[tuple[float, float, Array, Array]]:
    """The start time, size, start state and stages of each step."""
    for steps in stream:
        assert steps.u is not None
        yield from zip(steps.t.tolist(), steps.h.tolist(), steps.y, steps.u, strict=True)


def _polished(event: Event, t: float, y: Array, h: float, params: tuple[Tensor, ...], along: Any) -> float:
    """Refine the time of the event by Newton's method, with steps of the method instead of its dense output."""
    system = event.system
    best, found = np.inf, h
    for _ in range(20):
        one = Steps(np.array([t]), np.array([h]), y[None], None, np.array([t + h]))
        (step,) = follow(system, params, y, one)
        assert step.u is not None
        height, slope = along(y + system.method.update @ step.u[0], t + h)
        if not abs(height) < best:
            break
        best, found = abs(height), h
        if height == 0.0 or slope == 0.0:
            break
        h = h - height / slope
    return t + found


@dataclass(frozen=True)
class Crossed:
    """A check that an event is crossed. An event that is only touched has no derivative."""

    name: str

    def __call__(self, slope: Array) -> None:
        """Raise if the slope of the event function is zero."""
        if not (np.abs(slope) > 0).all():
            raise np.linalg.LinAlgError(
                f"{self.name}: the event function has slope {float(np.min(np.abs(slope)))} along the solution where it "
                f"is zero, so the time of the event has no derivative there"
            )


def _residual(out: Tensor, y0: Tensor, t0: Tensor, t_max: Tensor, *params: Tensor, event: Event) -> Tensor:
    return event.height(out, y0, t0, params)


def _correction(r: Tensor, out: Tensor, y0: Tensor, t0: Tensor, t_max: Tensor, *params: Tensor, event: Event) -> Tensor:
    return -r / inspect(event.slope(out, y0, t0, params), Crossed(event.system.name))


def _event_vjp(ct: Tensor, out: Tensor, *operands: Tensor, event: Event) -> tuple[Tensor | None, ...]:
    seed = _correction(ct, out, *operands, event=event)
    return tuple(pulled(event.system.name, lambda *ops: _residual(out, *ops, event=event), operands, 0, seed))


_event_time = extend.primitive(
    "ode_event_time",
    _locate,
    residual=_residual,
    correction=_correction,
    vjp=_event_vjp,
    arity=-1,
    types="apart",
    summary="time at which the solution of a differential equation meets a condition",
)


def odeint_event(
    f: Callable[..., Any],
    y0: Any,
    t0: Any,
    event: Callable[..., Any],
    *args: Any,
    t_max: Any,
    direction: int = 0,
    rtol: float | None = None,
    atol: Any = None,
    method: str = "dopri5",
    adjoint: str = "discrete",
    first_step: float | None = None,
    max_steps: int = 100_000,
) -> tuple[Tensor, Any]:
    """Solve ``y' = f(y, t, *args)`` from y0 at t0 up to the first event; differentiable in all but t_max, to any order.

    Parameters
    ----------
    f, y0, *args, rtol, atol, method, adjoint, first_step, max_steps
        As for `odeint`.
    t0 : Tensor or float
        The time of y0.
    event : callable
        A function ``event(y, t, *args)`` that returns one float, zero at the event.
    t_max : Tensor or float
        The last time of the search; before t0 to go backwards.
    direction : {0, 1, -1}, default 0
        The zeros that count: all, only rising ones, or only falling ones, in the direction of integration.

    Returns
    -------
    tuple
        The time of the event, a Tensor without axes, and the state at that time, nested like y0.

    Raises
    ------
    RuntimeError
        Without an event; otherwise as for `odeint`.
    ValueError, TypeError
        As for `odeint`; if `event` does not return one float, or returns nan.
    numpy.linalg.LinAlgError
        In a derivative, if the slope of the event function along the solution is zero.

    Notes
    -----
    Signs of the event function are compared at eight places of each step, on the dense output: two zeros within one
    eighth of a step are missed. A zero at the start does not count. The time is refined by Newton's method on steps of
    the method itself. The derivatives of the time and the state follow from event(y(t), t) = 0 (the implicit function
    theorem).

    Examples
    --------
    The time a ball takes to fall from a height, and its derivative:

    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> from dualgrad.ode import odeint_event
    >>> fall = lambda y, t: ops.stack([y[1], y[1] * 0 - 9.81])
    >>> def time(height):
    ...     return odeint_event(fall, ops.stack([height, height * 0]), 0.0, lambda y, t: y[0], t_max=10.0)[0]
    >>> h = dg.Tensor(2.0, dg.float64)
    >>> print(time(h).round(8), dg.grad(time)(h).round(8))
    0.63855086 0.15963771
    """
    name = "odeint_event"
    if not callable(event):
        raise TypeError(f"{name}: event is a {type(event).__name__}; expected a function of (y, t, *args)")
    if not one_of(direction, (-1, 0, 1)):
        raise ValueError(f"{name}: direction is {direction!r}; expected -1, 0 or 1")
    layout, start = state_of(name, f, y0)
    first, last = time_of(name, "t0", t0, start), time_of(name, "t_max", t_max, start)
    control = control_of(name, layout, start, rtol, atol, method, adjoint, first_step, max_steps)
    system = Given(name, f, layout, start, first, args, control, event)
    params = system.taken()
    at = _event_time(start, first, last, *params, event=Event(system, int(direction)))
    state = flow(system, start, stack([first, at]), params)[0]
    system.settle()
    return at, layout.nest(state)
