"""Integration on NumPy arrays: the kernels of the primitives in `flow`. Nothing here is differentiated.

Steps are chosen by the error of the system that owns them. A tangent takes the same steps, so that forward and reverse
derivatives are those of one discrete map: they agree up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from .._engine.trace.cache import Repeated
from .._progress import bar_of
from ..dtype import float64
from ..ops import concat
from ..tensor import Tensor
from ..transforms.apart import apart
from .methods import Array
from .systems import KEPT, System, flat

__all__ = ["Step", "adaptive", "back", "forward", "program", "scalars", "steps_of"]

SAFETY, LARGEST, SMALLEST = 0.9, 10.0, 0.2
BAR = "{desc}: {percentage:3.0f}%|{bar}| t = {n:.4g} of {total:.4g} [{elapsed}<{remaining}]"


class Tried(NamedTuple):
    """A step that may be too long: its error by the tolerances (nan: not finite), its end, and its stages."""

    wrong: float
    after: Array
    u: Array


class Step(NamedTuple):
    """One step: from (t, y), of size h, with stages u; `after` is where it ends."""

    t: float
    h: float
    y: Array
    u: Array | None
    after: float


def program(system: System, what: str, fn: Callable[..., Tensor]) -> Callable[..., Array]:
    """A function of a system's tensors as one of arrays; it is called often, so it is recorded."""
    if what not in system.programs:
        system.programs[what] = Repeated(f"{what} of {system.name}", fn)
    repeated = system.programs[what]
    return lambda *operands: repeated(*operands).asnumpy()


def steps_of(system: System, params: tuple[Tensor, ...], y: Array) -> Callable[[Array, float, float], Tried]:
    """A step from a state, a time and a size, as one program."""
    n, method, rtol = y.size, system.method, system.control.rtol
    update, error = Tensor(method.update.astype(y.dtype)), Tensor(method.error.astype(y.dtype))

    def step(point: Tensor, absolute: Tensor, *params: Tensor) -> Tensor:
        y, t, h = point[:n], point[n], point[n + 1]
        u = method.stages(lambda y, t: system.rate(y, t, params), y, t, h)
        after = y + update @ u
        wrong = (error @ u) / (absolute + rtol * ops.maximum(ops.abs(y), ops.abs(after)))
        size = ops.sqrt((wrong.astype(float64) ** 2).mean()).astype(y.dtype)
        fine = ops.isfinite(u).all() & ops.isfinite(after).all()
        return concat([ops.where(fine, size, np.nan).reshape((1,)), after, u.reshape((u.size,))])

    run, absolute = program(system, "a step", step), Tensor(system.absolute(y).astype(y.dtype))

    def tried(y: Array, t: float, h: float) -> Tried:
        found = run(point_of(y, t, h), absolute, *params)
        return Tried(float(found[0]), found[1 : n + 1], found[n + 1 :].reshape((-1, n)))

    return tried


def point_of(y: Array, t: float, h: float) -> Tensor:
    """State, time and size of a step in one tensor: each tensor that is made costs as much as a step."""
    point = np.empty(y.size + 2, y.dtype)
    point[:-2], point[-2], point[-1] = y, t, h
    return Tensor.from_numpy(point)


def scalars(y: Array, *numbers: float) -> list[Tensor]:
    """Numbers as tensors of the type of a state."""
    return [Tensor(np.asarray(x, y.dtype)) for x in numbers]


def walk(system: System, y: Array, start: float, end: float, arrays: tuple[Array, ...]) -> Iterator[Step]:
    """The steps from start to end."""
    owner, params = system.owner, tuple([Tensor(a) for a in arrays])
    if owner is system:
        taken = []
        for step in adaptive(system, y, start, end, params):
            taken.append(step._replace(u=None))
            yield step
        system.grids[_place(y, start, end, arrays)] = taken
        while len(system.grids) > KEPT:
            system.grids.popitem(last=False)
        return
    tried = steps_of(system, params, y)
    for step in path(owner, *system.of_owner(y, arrays), start, end):
        found = tried(y, step.t, step.h)
        yield Step(step.t, step.h, y, found.u, step.after)
        y = found.after


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
    control, tried, sign = system.control, steps_of(system, params, y), 1.0 if end > start else -1.0
    size, t, previous, grows = _first_size(system, y, start, end, params), start, 1e-4, LARGEST
    for count in range(control.max_steps + 1):
        left = abs(end - t)
        last = size >= left
        h = sign * min(size, left)
        with np.errstate(over="ignore", invalid="ignore"):
            wrong, after, u = tried(y, t, h)
        fine = math.isfinite(wrong)
        if fine and wrong <= 1.0:
            if count == control.max_steps:
                break
            behind = end if last else t + h
            yield Step(t, h, y, u, behind)
            if last:
                return
            t, y = behind, after
            wrong = max(wrong, 1e-10)
            size = abs(h) * min(grows, max(SMALLEST, SAFETY * wrong ** (-0.7 / 5) * previous ** (0.4 / 5)))
            previous, grows = max(wrong, 1e-4), LARGEST
            continue
        size = abs(h) * (max(SMALLEST, SAFETY * wrong**-0.2) if fine else SMALLEST)
        grows = 1.0
        if size < 16 * np.finfo(y.dtype).eps * max(abs(t), abs(end)):
            why = "the estimated error is above the tolerances" if fine else "f is not finite beyond it"
            raise RuntimeError(
                f"{system.name}: the step size underflows ({size:.3g}) at t = {t:.9g}, y = {system.describe(y)}: "
                f"{why}; the solution may end there, have a jump, or rtol = {control.rtol:.3g} is too small for "
                f"{y.dtype}{system.hint}"
            )
    raise RuntimeError(
        f"{system.name}: {control.max_steps} steps of {control.method} came to t = {t:.9g} only, of {start:.9g} to "
        f"{end:.9g}; y = {system.describe(y)}, the step size is {size:.3g}. Raise max_steps or the tolerances, or take "
        f"method='rodas5p' if the system is stiff{system.hint}"
    )


def norm(x: Array) -> float:
    """The root of the mean square."""
    return float(np.sqrt(np.mean(x * x, dtype=float)))


def _first_size(system: System, y: Array, start: float, end: float, params: tuple[Tensor, ...]) -> float:
    """A first step (Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.4); an error if f is nan."""
    rate = program(system, "the rate", lambda y, t, *params: system.rate(y, t, params))
    f = rate(Tensor(y), *scalars(y, start), *params)
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
    ahead = rate(Tensor((y + sign * h * f).astype(y.dtype)), *scalars(y, start + sign * h), *params)
    curvature = norm((ahead - f) / scale) / h
    if not np.isfinite(curvature):
        return h
    steep = max(size_f, curvature)
    return min(100 * h, max(1e-6, h * 1e-3) if steep <= 1e-15 else (0.01 / steep) ** 0.2)


def _passed(t: Array, at: int, step: Step) -> int:
    """How many of the times t lie before the end of a step."""
    forwards = step.h > 0
    while at < t.size and (t[at] <= step.after if forwards else t[at] >= step.after):
        at += 1
    return at


def _weights(system: System, step: Step, t: Array) -> Array:
    """The weights of the stages at times within a step; exactly those of its end there."""
    theta = np.where(t == step.after, 1.0, (t - step.t) / step.h)
    return system.method.weights(theta)


@apart
def forward(y0: Array, t: Array, *params: Array, system: System) -> Array:
    """The states at t[1:], of a start y0 at t[0], shape (m - 1, n)."""
    rows, at = np.empty((t.size - 1, y0.size), y0.dtype), 0
    times = t[1:].astype(float)
    rows[:] = y0  # where no time has passed
    check_times(system.name, t)
    check_function(system, y0, t, params)
    steps = walk(system, y0, float(t[0]), float(t[-1]), params)
    for step in shown(system, "", steps, abs(float(t[-1]) - float(t[0]))):
        stop = _passed(times, at, step)
        if stop > at:
            rows[at:stop] = step.y + _weights(system, step, times[at:stop]).astype(y0.dtype) @ step.u
        at = stop
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
    times, at, places = t[1:].astype(float), 0, []
    check_function(system, y0, t, params)
    taken, n = path(system, y0, params, float(t[0]), float(t[-1])), y0.size
    update = Tensor(system.method.update.astype(y0.dtype))
    for step in taken:
        stop = _passed(times, at, step)
        places.append(slice(at, stop))
        at = stop

    def pull(point: Tensor, behind: Tensor, within: Tensor, *params: Tensor) -> Tensor:
        y, t, h = point[:n], point[n], point[n + 1]
        ct = update.reshape((-1, 1)) * behind + within

        def stages(y: Tensor, t: Tensor, params: tuple[Tensor, ...]) -> Tensor:
            return system.method.stages(lambda y, t: system.rate(y, t, params), y, t, h)

        return flat(system.pulled(y, t, params, stages, ct), y)

    run, given = program(system, "the adjoint of a step", pull), [Tensor(a) for a in params]
    size = y0.size + sum([int(np.prod(shape, dtype=int)) for shape in system.shapes])
    total, nothing = np.zeros(size, y0.dtype), Tensor(np.zeros((update.size, n), y0.dtype))
    if not taken:
        total[: y0.size] = ct.sum(0)
    steps = shown(system, " backwards", reversed(taken), abs(float(t[0]) - float(t[-1])))
    for step, place in zip(steps, reversed(places), strict=True):
        within, behind = nothing, Tensor(total[:n])
        if place.start < place.stop:
            within = Tensor((_weights(system, step, times[place]).T @ ct[place]).astype(y0.dtype))
            total[:n] += ct[place].sum(0)
        total += run(point_of(step.y, step.t, step.h), behind, within, *given)
    return total
