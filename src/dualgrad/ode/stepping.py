"""Steps of a system on NumPy arrays: with sizes chosen by the error, or with given sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from .._engine.trace.cache import Repeated
from ..dtype import float64
from ..loops import scan
from ..ops import concat, stack
from ..tensor import Tensor
from .methods import Array, combined
from .systems import System

__all__ = ["Steps", "adaptive", "follow", "in_a_row", "program", "scalars", "together"]

TOGETHER = 65  # steps on few numbers in one call of a program: more than a recording unrolls,
OFTEN = 4  # after this many earlier solutions;
FEW = 64  # largest state, in numbers, whose step takes about as long as a call

SAFETY, LARGEST, SMALLEST = 0.9, 10.0, 0.2


Rows = tuple[Tensor, ...]


class Steps(NamedTuple):
    """k consecutive steps from (t, y), with sizes h and stages u; `after` are their end times."""

    t: Array  # (k,)
    h: Array  # (k,)
    y: Array  # (k, n)
    u: Array | None  # (k, s, n)
    after: Array  # (k,)

    def some(self, which: slice | list[int]) -> Steps:
        """A selection of the steps."""
        parts: list[Any] = [x if x is None else x[which] for x in self]
        return Steps(*parts)


def program(system: System, what: str, fn: Callable[..., Any]) -> Repeated:
    """A recorded function of a system's tensors, since it is called often."""
    if what not in system.programs:
        system.programs[what] = Repeated(f"{what} of {system.name}", fn)
    return system.programs[what]


def together(system: System, what: str, fn: Callable[..., Any]) -> tuple[int, Repeated]:
    """A function that takes several steps in one call, and their number; `fn` gets that number first.

    A step on a few numbers takes less time than a call of its program. So one call takes several steps if the system is
    solved repeatedly, as in a replayed program. The steps are the same, followed by steps of size 0.
    """
    one = program(system, what, lambda *args: fn(1, *args))
    if system.solved <= OFTEN or not system.method.stands_still or not (one.on_numbers or system.n <= FEW):
        return 1, one
    return TOGETHER, program(system, f"{what}, several times", lambda *args: fn(TOGETHER, *args))


def in_a_row(step: Callable[[Any, Any], tuple[Any, Rows]], carry: Any, xs: Rows, count: int) -> tuple[Any, Rows]:
    """A loop over some steps, each with a row of `xs`; a single step runs without a loop."""
    if count > 1:
        return scan(step, carry, xs or None, count)
    carry, found = step(carry, tuple([x[0] for x in xs]))
    return carry, tuple([x.reshape((1, *x.shape)) for x in found])


def advanced(system: System, y: Tensor, t: Tensor, h: Tensor, params: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """The state after a step, and the stages."""
    u = system.stages(y, t, h, params)
    return y + combined(system.method.update, u), u


def attempt(
    system: System, y: Tensor, control: Tensor, absolute: Tensor, params: tuple[Tensor, ...]
) -> tuple[Any, ...]:
    """Try a step, which may be too long. Returns state and control after it, its size, error and stages.

    Control is (t, size of the next step, error of the last one, largest growth of a step, end). The error is in
    tolerances; it is nan or infinite if f is not finite. At the end, steps have size 0.
    """
    t, size, previous, grows, end = [control[i] for i in range(5)]
    left = ops.abs(end - t)
    h = ops.sign(end - t) * ops.minimum(size, left)
    after, u = advanced(system, y, t.astype(y.dtype), h.astype(y.dtype), params)
    method = system.method
    unread = [u[j] for j in np.flatnonzero((method.update == 0.0) & (method.error == 0.0))]
    missed = combined(method.error, u) + 0.0 * sum(unread, after)  # not finite if a stage or the state is not finite
    missed = missed / (absolute + system.control.rtol * ops.maximum(ops.abs(y), ops.abs(after)))
    wrong = ops.sqrt((missed.astype(float64) ** 2).mean())
    good, some = wrong <= 1.0, ops.maximum(wrong, 1e-10)
    factor = ops.minimum(grows, ops.maximum(SAFETY * some ** (-0.7 / 5) * previous ** (0.4 / 5), SMALLEST))
    shorter = ops.where(wrong < np.inf, ops.maximum(SAFETY * some**-0.2, SMALLEST), SMALLEST)
    control = stack(
        [
            ops.where(good, ops.where(size >= left, end, t + h), t),
            ops.abs(h) * ops.where(good, factor, shorter),
            ops.where(good, ops.maximum(wrong, 1e-4), previous),
            ops.where(good, Tensor(LARGEST, float64), Tensor(1.0, float64)),
            end,
        ]
    )
    return ops.where(good, after, y), control, h, wrong, u


def attempts(
    system: System, params: tuple[Tensor, ...], y: Array, control: Array
) -> Iterator[tuple[Steps, list[list[float]]]]:
    """Tries of steps, one after the other, with the outcome of each: (error, time after it, size of the next one)."""
    absolute, n = Tensor(system.absolute(y).astype(y.dtype)), y.size

    def tried(count: int, y: Tensor, control: Tensor, absolute: Tensor, *params: Tensor) -> tuple[Tensor, ...]:
        def step(carry: tuple[Tensor, Tensor], _: Any) -> Any:
            y, control = carry
            after, behind, h, wrong, u = attempt(system, y, control, absolute, params)
            row = concat([control[:1], stack([h, wrong]), behind])
            return (after, behind), (row, concat([y, u.reshape((u.size,))]))

        (y, _), (numbers, states) = in_a_row(step, (y, control), (), count)
        return numbers, states, y

    behind: Any = y
    while True:
        _, run = together(system, "a step", tried)
        with np.errstate(over="ignore", invalid="ignore"):
            found = run(Tensor(behind), Tensor(control), absolute, *params)
            numbers, states, behind = [x.asnumpy() for x in found]
        control = numbers[-1, 3:]
        yield _steps(numbers, states, n, numbers[:, 3]), numbers[:, 2:5].tolist()


def _steps(numbers: Array, states: Array, n: int, after: Array) -> Steps:
    """Make steps from rows (t, h, ...) and rows of states and stages. Copies states, which outlive the stages."""
    return Steps(numbers[:, 0], numbers[:, 1], states[:, :n].copy(), states[:, n:].reshape((len(states), -1, n)), after)


def follow(system: System, params: tuple[Tensor, ...], y: Array, path: Steps) -> Iterator[Steps]:
    """Take steps with the sizes of other steps. Returns them with this system's states and stages."""

    def taken(count: int, y: Tensor, steps: Tensor, *params: Tensor) -> tuple[Tensor, Tensor]:
        def step(y: Tensor, given: Rows) -> tuple[Tensor, Rows]:
            after, u = advanced(system, y, given[0][0], given[0][1], params)
            return after, (concat([y, u.reshape((u.size,))]),)

        y, (states,) = in_a_row(step, y, (steps,), count)
        return states, y

    given, at, n = np.stack([path.t, path.h], 1), 0, y.size
    behind: Any = y
    while at < len(given):
        count, run = together(system, "a given step", taken)
        some = given[at : at + count]
        steps = np.zeros((count, 2), y.dtype)
        steps[: len(some)], steps[len(some) :, 0] = some, some[-1, 0]
        states, behind = [x.asnumpy() for x in run(Tensor(behind), Tensor(steps), *params)]
        yield _steps(some, states[: len(some)], n, path.after[at : at + count])
        at += len(some)


def scalars(y: Array, *numbers: float) -> list[Tensor]:
    """Convert numbers to tensors of the state's type."""
    return [Tensor(np.asarray(x, y.dtype)) for x in numbers]


def adaptive(system: System, y: Array, start: float, end: float, params: tuple[Tensor, ...]) -> Iterator[Steps]:
    """Take steps whose estimated error is within the tolerances, by a PI controller (Gustafsson 1991)."""
    if start == end:
        return
    first = np.array([start, _first_size(system, y, start, end, params), 1e-4, LARGEST, end])
    t, tiny, left = start, 16 * float(np.finfo(y.dtype).eps), system.control.max_steps
    for steps, leads in attempts(system, params, y, first):
        good: list[int] = []
        i, wrong, size = 0, 0.0, 0.0
        for i, (wrong, after, size) in enumerate(leads[:left]):
            if wrong <= 1.0:
                good.append(i)
            elif size < tiny * max(abs(t), abs(end)):
                break
            t = after
            if t == end:
                break
        if good:
            yield steps.some(slice(len(good)) if good[-1] == len(good) - 1 else good)
        if t == end:
            return
        if not wrong <= 1.0 and size < tiny * max(abs(t), abs(end)):
            raise _underflow(system, t, steps.y[i], wrong, size)
        left -= len(leads)
        if left <= 0:
            assert steps.u is not None
            y = steps.y[i] + system.method.update @ steps.u[i] if wrong <= 1.0 else steps.y[i]
            raise RuntimeError(
                f"{system.name}: {system.control.max_steps} steps of {system.control.method} came to t = {t:.9g} only, "
                f"of {start:.9g} to {end:.9g}; y = {system.describe(y)}, the step size is {size:.3g}. Raise max_steps "
                f"or the tolerances, or take method='rodas5p' if the system is stiff{system.hint}"
            )


def _underflow(system: System, t: float, y: Array, wrong: float, size: float) -> RuntimeError:
    why = "the estimated error is above the tolerances" if wrong < np.inf else "f is not finite beyond it"
    return RuntimeError(
        f"{system.name}: the step size underflows ({size:.3g}) at t = {t:.9g}, y = {system.describe(y)}: {why}; the "
        f"solution may end there, have a jump, or rtol = {system.control.rtol:.3g} is too small for "
        f"{y.dtype}{system.hint}"
    )


def norm(x: Array) -> float:
    """The root mean square."""
    return float(np.sqrt(np.mean(x * x, dtype=float)))


def _first_size(system: System, y: Array, start: float, end: float, params: tuple[Tensor, ...]) -> float:
    """The first step size (Hairer, Norsett, Wanner, Solving ODEs I, II.4). Raises if f is not finite."""
    rate = program(system, "the rate", lambda y, t, *params: system.rate(y, t, params))
    f = rate(Tensor(y), *scalars(y, start), *params).asnumpy()
    if not np.isfinite(f).all():
        raise ValueError(
            f"{system.name}: f is {system.describe(f)} at the start, t = {start:.9g}, y = {system.describe(y)}; "
            f"expected finite numbers"
        )
    if system.control.first_step is not None:
        return system.control.first_step
    sign, span = (1.0 if end > start else -1.0), abs(end - start)
    scale = system.absolute(y) + system.control.rtol * np.abs(y)
    size_y, size_f = norm(y / scale), norm(f / scale)
    h = 1e-6 if min(size_y, size_f) < 1e-5 else 0.01 * size_y / size_f
    h = min(h, span)
    ahead = rate(Tensor((y + sign * h * f).astype(y.dtype)), *scalars(y, start + sign * h), *params).asnumpy()
    curvature = norm((ahead - f) / scale) / h
    if not np.isfinite(curvature):
        return h
    steep = max(size_f, curvature)
    return min(100 * h, max(1e-6, h * 1e-3) if steep <= 1e-15 else (0.01 / steep) ** 0.2)
