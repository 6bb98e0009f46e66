"""Integration on NumPy arrays: the kernels of the primitives in `flow`. Nothing here is differentiated.

Steps are chosen by the error of the system that owns them. A tangent takes the same steps, so that forward and reverse
derivatives are those of one discrete map: they agree up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from .._engine.trace.cache import Repeated
from .._progress import bar_of
from ..dtype import float64
from ..ops import concat, stack
from ..tensor import Tensor
from ..transforms.apart import apart
from .methods import Array, combined
from .systems import KEPT, System, flat

__all__ = ["Step", "adaptive", "back", "follow", "forward", "program", "scalars"]

TOGETHER = 16  # steps on a few numbers in one call of a program,
OFTEN = 4  # where so many solutions were found before

SAFETY, LARGEST, SMALLEST = 0.9, 10.0, 0.2
BAR = "{desc}: {percentage:3.0f}%|{bar}| t = {n:.4g} of {total:.4g} [{elapsed}<{remaining}]"


class Step(NamedTuple):
    """One step: from (t, y), of size h, with stages u one after the other; `after` is where it ends."""

    t: float
    h: float
    y: Array
    u: Array | None
    after: float


def program(system: System, what: str, fn: Callable[..., Any]) -> Repeated:
    """A function of a system's tensors that is called often, so it is recorded."""
    if what not in system.programs:
        system.programs[what] = Repeated(f"{what} of {system.name}", fn)
    return system.programs[what]


def together(system: System, what: str, fn: Callable[..., Any]) -> tuple[int, Repeated]:
    """How many steps a function takes in one call, and the function: `fn` is given their number first.

    A step on a few numbers takes less time than a call of its program. So there are several in one, if the system is
    solved again and again, as in a program that is replayed. They are the same steps.
    """
    one = program(system, what, lambda *args: fn(1, *args))
    if system.solved <= OFTEN or not one.on_numbers:
        return 1, one
    return TOGETHER, program(system, f"{what}, several times", lambda *args: fn(TOGETHER, *args))


def advanced(system: System, y: Tensor, t: Tensor, h: Tensor, params: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """The state behind a step, and the stages."""
    u = system.method.stages(lambda y, t: system.rate(y, t, params), y, t, h)
    return y + combined(system.method.update, u), u


def attempt(
    system: System, y: Tensor, control: Tensor, absolute: Tensor, params: tuple[Tensor, ...]
) -> tuple[Any, ...]:
    """A step that may be too long: state and control behind it, its size, its error by the tolerances, its stages.

    Control is (t, size of the next step, error of the last one, how much a step may grow, end). The error of a step is
    nan or infinite if f is not finite. At the end steps have size 0.
    """
    t, size, previous, grows, end = [control[i] for i in range(5)]
    left = ops.abs(end - t)
    h = ops.sign(end - t) * ops.minimum(size, left)
    after, u = advanced(system, y, t.astype(y.dtype), h.astype(y.dtype), params)
    missed = combined(system.method.error, u) + 0.0 * after  # not finite if a stage or the state is not
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


def attempts(system: System, params: tuple[Tensor, ...], y: Array, control: Array) -> Iterator[tuple[Any, ...]]:
    """Attempts, one after the other: (size, error, state and time behind it, size of the next one, stages)."""
    absolute = Tensor(system.absolute(y).astype(y.dtype))

    def tried(count: int, y: Tensor, control: Tensor, absolute: Tensor, *params: Tensor) -> tuple[Tensor, Tensor]:
        numbers, states = [], []
        for _ in range(count):
            y, control, h, wrong, u = attempt(system, y, control, absolute, params)
            numbers.append(concat([stack([h, wrong]), control]))
            states.append(concat([y, u.reshape((u.size,))]))
        return stack(numbers), stack(states)

    while True:
        _, run = together(system, "a step", tried)
        with np.errstate(over="ignore", invalid="ignore"):
            numbers, states = [x.asnumpy() for x in run(Tensor(y), Tensor(control), absolute, *params)]
        control = numbers[-1, 2:]
        for (h, wrong, t, size, *_), state in zip(numbers.tolist(), states, strict=True):
            y = state[: y.size].copy()  # it is kept for longer than the stages
            yield h, wrong, y, t, size, state[y.size :]


def follow(system: System, params: tuple[Tensor, ...], y: Array, path: list[Any]) -> Iterator[tuple[Array, Array]]:
    """The state behind each of some steps (t, h), and the stages."""

    def taken(count: int, y: Tensor, steps: Tensor, *params: Tensor) -> Tensor:
        states = []
        for i in range(count):
            y, u = advanced(system, y, steps[i, 0], steps[i, 1], params)
            states.append(concat([y, u.reshape((u.size,))]))
        return stack(states)

    at = 0
    while at < len(path):
        count, run = together(system, "a given step", taken)
        some = path[at : at + count]
        steps = np.array(some + (count - len(some)) * [(path[-1][0], 0.0)], y.dtype)
        states = run(Tensor(y), Tensor(steps), *params).asnumpy()[: len(some)]
        for state in states:
            yield state[: y.size], state[y.size :]
        y, at = states[-1, : y.size], at + len(some)


def scalars(y: Array, *numbers: float) -> list[Tensor]:
    """Numbers as tensors of the type of a state."""
    return [Tensor(np.asarray(x, y.dtype)) for x in numbers]


def walk(system: System, y: Array, start: float, end: float, arrays: tuple[Array, ...]) -> Iterator[Step]:
    """The steps from start to end."""
    owner, params = system.owner, tuple([Tensor(a) for a in arrays])
    if owner is system:
        taken = []
        for step in adaptive(system, y, start, end, params):
            taken.append(Step(step.t, step.h, step.y, None, step.after))
            yield step
        system.grids[_place(y, start, end, arrays)] = taken
        while len(system.grids) > KEPT:
            system.grids.popitem(last=False)
        return
    steps = path(owner, *system.of_owner(y, arrays), start, end)
    behind = follow(system, params, y, [(step.t, step.h) for step in steps])
    for step, (after, u) in zip(steps, behind, strict=True):
        yield Step(step.t, step.h, y, u, step.after)
        y = after


def shown(system: System, what: str, steps: Iterable[Step], span: float) -> Iterator[Step]:
    """The steps, with a bar of the time that they have passed, if one is wanted."""
    bar = bar_of(f"{system.name}{what}", total=span, bar_format=BAR) if system.control.progress else None
    if bar is None:
        yield from steps
        return
    with bar:
        for step in steps:
            yield step
            bar.update(abs(step.h))


def path(system: System, y: Array, arrays: tuple[Array, ...], start: float, end: float) -> list[Step]:
    """The steps without their stages; those that a system chose in its last calls are remembered."""
    found = system.grids.get(_place(y, start, end, arrays)) if system.owner is system else None
    return [step._replace(u=None) for step in walk(system, y, start, end, arrays)] if found is None else found


def _place(y: Array, start: float, end: float, arrays: tuple[Array, ...]) -> tuple[Any, ...]:
    return (y.tobytes(), start, end, *[a.tobytes() for a in arrays])


def adaptive(system: System, y: Array, start: float, end: float, params: tuple[Tensor, ...]) -> Iterator[Step]:
    """Steps whose estimated error is within the tolerances, by a PI controller (Gustafsson 1991)."""
    if start == end:
        return
    first = np.array([start, _first_size(system, y, start, end, params), 1e-4, LARGEST, end])
    t, size, limit, tiny = start, first[1], system.control.max_steps, 16 * float(np.finfo(y.dtype).eps)
    for count, (h, wrong, after, behind, size, u) in enumerate(attempts(system, params, y, first)):
        good = wrong <= 1.0
        if good and count < limit:
            yield Step(t, h, y, u, behind)
            if behind == end:
                return
            t, y = behind, after
        elif not good and size < tiny * max(abs(t), abs(end)):
            why = "the estimated error is above the tolerances" if wrong < np.inf else "f is not finite beyond it"
            raise RuntimeError(
                f"{system.name}: the step size underflows ({size:.3g}) at t = {t:.9g}, y = {system.describe(y)}: "
                f"{why}; the solution may end there, have a jump, or rtol = {system.control.rtol:.3g} is too small for "
                f"{y.dtype}{system.hint}"
            )
        if count == limit:
            break
    raise RuntimeError(
        f"{system.name}: {limit} steps of {system.control.method} came to t = {t:.9g} only, of {start:.9g} to "
        f"{end:.9g}; y = {system.describe(y)}, the step size is {size:.3g}. Raise max_steps or the tolerances, or take "
        f"method='rodas5p' if the system is stiff{system.hint}"
    )


def norm(x: Array) -> float:
    """The root of the mean square."""
    return float(np.sqrt(np.mean(x * x, dtype=float)))


def _first_size(system: System, y: Array, start: float, end: float, params: tuple[Tensor, ...]) -> float:
    """A first step (Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.4); an error if f is nan."""
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


def _places(taken: Iterable[Step], times: list[float]) -> Iterator[tuple[Step, slice]]:
    """Each step, and which of the times lie in it."""
    at, n = 0, len(times)
    for step in taken:
        first, end = at, step.after
        if step.h > 0:
            while at < n and times[at] <= end:
                at += 1
        else:
            while at < n and times[at] >= end:
                at += 1
        yield step, slice(first, at)


def _weights(system: System, places: list[tuple[Step, slice]], times: Array) -> Array:
    """The weights of the stages at all times, each within its step; exactly those of its end there."""
    theta = np.ones(times.size)
    for step, place in places:
        if place.start == place.stop:
            continue
        within = times[place]
        theta[place] = np.where(within == step.after, 1.0, (within - step.t) / step.h)
    return system.method.weights(theta)


@apart
def forward(y0: Array, t: Array, *params: Array, system: System) -> Array:
    """The states at t[1:], of a start y0 at t[0], shape (m - 1, n)."""
    rows = np.empty((t.size - 1, y0.size), y0.dtype)
    times = t[1:].astype(float)
    rows[:] = y0  # where no time has passed
    system.solved += 1
    check_times(system.name, t)
    check_function(system, y0, t, params)
    steps = walk(system, y0, float(t[0]), float(t[-1]), params)
    steps = shown(system, "", steps, abs(float(t[-1]) - float(t[0])))
    places = [found for found in _places(steps, times.tolist()) if found[1].start < found[1].stop]
    weights = _weights(system, places, times).astype(y0.dtype)
    for step, place in places:
        assert step.u is not None
        rows[place] = step.y + weights[place] @ step.u.reshape((-1, y0.size))
    return rows


def check_function(system: System, y: Array, t: Array, params: tuple[Array, ...]) -> None:
    """The user's f is still what it was when a solution from here was asked for first."""
    given, y, arrays = system.given(y, params)
    given.check(y, (float(t[0]), float(t[-1])), tuple([Tensor(a) for a in arrays]))


def check_times(name: str, t: Array) -> None:
    """Times are finite, and go in one direction."""
    if not np.isfinite(t).all():
        at = int(np.argmin(np.isfinite(t)))
        raise ValueError(f"{name}: t[{at}] is {t[at]}; expected finite times")
    ahead = np.diff(t) * (1.0 if t[-1] >= t[0] else -1.0)
    if (ahead < 0).any():
        at = int(np.argmax(ahead < 0))
        raise ValueError(
            f"{name}: the times are not monotone: t[{at}] = {t[at]:.9g}, t[{at + 1}] = {t[at + 1]:.9g}, and they go "
            f"from {t[0]:.9g} to {t[-1]:.9g}; sort them"
        )


@apart
def back(ct: Array, y0: Array, t: Array, *params: Array, system: System) -> Array:
    """The cotangents of y0 and the active params, one after another, for those of `forward`: steps backwards."""
    times = t[1:].astype(float)
    system.solved += 1
    check_function(system, y0, t, params)
    taken, n = path(system, y0, params, float(t[0]), float(t[-1])), y0.size
    places = list(_places(taken, times.tolist()))
    weights = _weights(system, places, times) if taken else None

    def pulled(count: int, total: Tensor, points: Tensor, within: Tensor, seeds: Tensor, *params: Tensor) -> Tensor:
        for i in range(count):
            total = _pulled(system, total, points[i], within[i], seeds[i], params)
        return total

    size = n + sum([int(np.prod(shape, dtype=int)) for shape in system.shapes])
    total, given = np.zeros(size, y0.dtype), [Tensor(a) for a in params]
    if not taken:
        total[:n] = ct.sum(0)
    steps = places[::-1]
    bar = shown(system, " backwards", reversed(taken), abs(float(t[0]) - float(t[-1])))
    at = 0
    while at < len(steps):
        count, run = together(system, "the adjoint of a step", pulled)
        some = steps[at : at + count]
        rows = [Tensor(x) for x in _cotangents(system, ct, weights, some, count)]
        total = run(Tensor(total), *rows, *given).asnumpy()
        at += len(some)
        for _ in some:
            next(bar, None)
    next(bar, None)
    return total


def _pulled(
    system: System, total: Tensor, point: Tensor, within: Tensor, seed: Tensor, params: tuple[Tensor, ...]
) -> Tensor:
    """The cotangents before a step, of those behind it."""
    n = system.n
    y, t, h = point[:n], point[n], point[n + 1]
    update = Tensor(system.method.update.astype(y.dtype.numpy)).reshape((-1, 1))

    def stages(y: Tensor, t: Tensor, params: tuple[Tensor, ...]) -> Tensor:
        return system.method.stages(lambda y, t: system.rate(y, t, params), y, t, h)

    terms = flat(system.pulled(y, t, params, stages, update * total[:n] + within), y)
    return concat([total[:n] + seed, total[n:]]) + terms


def _cotangents(system: System, ct: Array, weights: Any, steps: list[Any], count: int) -> tuple[Array, Array, Array]:
    """For each step where it starts and its size, the cotangents of its stages by states within it, their sums.

    Steps of size 0 fill up the rows to their number.
    """
    n, k, dtype = system.n, len(steps), ct.dtype
    points = np.zeros((count, n + 2), dtype)
    within, seeds = np.zeros((count, system.method.update.size, n), dtype), np.zeros((count, n), dtype)
    points[:k, :n] = [step.y for step, _ in steps]
    points[:k, n:] = [(step.t, step.h) for step, _ in steps]
    points[k:, : n + 1] = points[k - 1, : n + 1]
    for i, (_, place) in enumerate(steps):
        if place.start < place.stop:
            within[i] = weights[place].T @ ct[place]
            seeds[i] = ct[place].sum(0)
    return points, within, seeds
