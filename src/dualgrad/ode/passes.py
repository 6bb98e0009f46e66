"""Forward and backward integration: the kernels of the primitives in `flow`. Nothing here is differentiated.

The error of a system chooses its steps. A tangent takes the same steps as its owner, so forward and reverse derivatives
belong to one discrete map, and agree up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._progress import bar_of
from ..tensor import Tensor
from ..transforms.apart import apart
from .methods import Array
from .samples import of_samples
from .stepping import Steps, adaptive, follow, in_a_row, together
from .systems import KEPT, System

__all__ = ["back", "forward"]

BAR = "{desc}: {percentage:3.0f}%|{bar}| t = {n:.4g} of {total:.4g} [{elapsed}<{remaining}]"


def walk(system: System, y: Array, start: float, end: float, arrays: tuple[Array, ...]) -> Iterator[Steps]:
    """The steps from start to end."""
    owner, params = system.owner, tuple([Tensor(a) for a in arrays])
    if owner is system:
        stream = adaptive(system, y, start, end, params)
    else:
        stream = follow(system, params, y, path(owner, *system.of_owner(y, arrays), start, end))
    taken = []
    for steps in stream:
        taken.append(steps._replace(u=None))
        yield steps
    system.grids[_place(y, start, end, arrays)] = _joined(y, taken)
    while len(system.grids) > KEPT:
        system.grids.popitem(last=False)


@contextmanager
def shown(system: System, what: str, span: float) -> Iterator[Callable[[Array], None]]:
    """Yield a function that moves a progress bar by step sizes; it does nothing without a bar."""
    bar = bar_of(f"{system.name}{what}", total=span, bar_format=BAR) if system.control.progress else None
    if bar is None:
        yield lambda sizes: None
        return
    with bar:
        yield lambda sizes: bar.update(float(np.abs(sizes).sum()))


def path(system: System, y: Array, arrays: tuple[Array, ...], start: float, end: float) -> Steps:
    """The steps without their stages. The steps of a system's last calls are remembered."""
    found = system.grids.get(_place(y, start, end, arrays))
    if found is None:
        found = _joined(y, [steps._replace(u=None) for steps in walk(system, y, start, end, arrays)])
    return found


def _joined(y: Array, taken: list[Steps]) -> Steps:
    """Join steps without their stages, from a start y."""
    none = np.empty(0)
    t, h, states, _, after = zip(Steps(none, none, np.empty((0, y.size), y.dtype), None, none), *taken, strict=True)
    return Steps(np.concatenate(t), np.concatenate(h), np.concatenate(states), None, np.concatenate(after))


def _place(y: Array, start: float, end: float, arrays: tuple[Array, ...]) -> tuple[Any, ...]:
    return (y.tobytes(), start, end, *[a.tobytes() for a in arrays])


def _places(stream: Iterable[Steps], times: Array, forwards: bool) -> Iterator[tuple[Steps, int, slice]]:
    """The steps that contain some of the times: the steps, the index of the step, and the slice of the times."""
    at, sign = 0, 1.0 if forwards else -1.0
    for steps in stream:
        for i, end in enumerate(np.searchsorted(sign * times, sign * steps.after, "right").tolist()):
            if end > at:
                yield steps, i, slice(at, end)
                at = end


def _weights(system: System, places: list[tuple[Steps, int, slice]], times: Array) -> Array:
    """The weights of the stages at all times, each within its step; at the end of a step exactly the end weights."""
    theta = np.ones(times.size)
    if places:  # else no time passes
        counts = [place.stop - place.start for _, _, place in places]
        t, h, after = np.repeat([(s.t[i], s.h[i], s.after[i]) for s, i, _ in places], counts, 0).T
        theta = np.where(times == after, theta, (times - t) / h)
    return system.method.weights(theta)


@apart
def forward(y0: Array, t: Array, *params: Array, system: System) -> Array:
    """The states at t[1:] for a start y0 at t[0], shape (m - 1, n); for each sample, if there is a stack."""
    return of_samples(_forward, system, y0, t, *params)


def _forward(system: System, y0: Array, t: Array, *params: Array) -> Array:
    rows = np.empty((t.size - 1, y0.size), y0.dtype)
    times, start, end = t[1:].astype(float), float(t[0]), float(t[-1])
    rows[:] = y0  # for times equal to the start
    system.solved += 1
    check_times(system.name, t)
    check_function(system, y0, t, params)

    with shown(system, "", abs(end - start)) as passed:

        def taken() -> Iterator[Steps]:
            for steps in walk(system, y0, start, end, params):
                yield steps
                passed(steps.h)

        places = list(_places(taken(), times, end > start))
    weights = _weights(system, places, times).astype(y0.dtype)
    for steps, i, place in places:
        assert steps.u is not None
        rows[place] = steps.y[i] + weights[place] @ steps.u[i]
    return rows


def check_function(system: System, y: Array, t: Array, params: tuple[Array, ...]) -> None:
    """Check that the user's f is the same as for the first solution from this start."""
    given, y, arrays = system.given(y, params)
    given.check(y, (float(t[0]), float(t[-1])), tuple([Tensor(a) for a in arrays]))


def check_times(name: str, t: Array) -> None:
    """Check that times are finite and monotone."""
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
    """The cotangents of y0 and the active params, joined, for the cotangents of `forward`'s result; steps backwards."""
    return of_samples(_back, system, ct, y0, t, *params)


def _back(system: System, ct: Array, y0: Array, t: Array, *params: Array) -> Array:
    times, start, end, n = t[1:].astype(float), float(t[0]), float(t[-1]), y0.size
    system.solved += 1
    check_function(system, y0, t, params)
    steps, given = path(system, y0, params, start, end), [Tensor(a) for a in params]
    seeds = _Seeds(system, steps, ct, times, end > start)

    def pulled(count: int, total: Tensor, points: Tensor, within: Tensor, seeds: Tensor, *params: Tensor) -> Tensor:
        def step(total: Tensor, row: tuple[Tensor, ...]) -> tuple[Tensor, tuple[()]]:
            point, within, seed = row
            return system.before(total, point[:n], point[n], point[n + 1], within, seed, params), ()

        return in_a_row(step, total, (points, within, seeds), count)[0]

    total, at, last = np.zeros(system.size, y0.dtype), 0, len(steps.t)
    if last == 0:
        total.reshape((system.count, -1))[:, : n // system.count] = ct.sum(0).reshape((system.count, -1))
    with shown(system, " backwards", abs(end - start)) as passed:
        while at < last:
            count, run = together(system, "the adjoint of a step", pulled)
            total = run(Tensor(total), *[Tensor(x) for x in seeds.of(at, count)], *given).asnumpy()
            passed(steps.h[max(last - at - count, 0) : last - at])
            at += count
    return total


class _Seeds:
    """Data of backward steps: their start and size, and the cotangents of their stages and of their start."""

    def __init__(self, system: System, steps: Steps, ct: Array, times: Array, forwards: bool) -> None:
        n, dtype, k = system.n, ct.dtype, len(steps.t)
        self.points = np.concatenate([steps.y, steps.t[:, None], steps.h[:, None]], 1, dtype=dtype)[::-1]
        self.within, self.seeds = np.zeros((k, system.method.update.size, n), dtype), np.zeros((k, n), dtype)
        places = list(_places([steps], times, forwards))
        weights = _weights(system, places, times)
        for _, i, place in places:
            self.within[k - 1 - i] = weights[place].T @ ct[place]
            self.seeds[k - 1 - i] = ct[place].sum(0)

    def of(self, first: int, count: int) -> tuple[Array, Array, Array]:
        """The data of some steps, filled up with steps of size 0."""
        which = slice(first, first + count)
        points = _filled(self.points[which], count)
        points[len(self.points) - first :, :-1] = self.points[-1, :-1]
        return points, _filled(self.within[which], count), _filled(self.seeds[which], count)


def _filled(rows: Array, count: int) -> Array:
    """Append rows of zeros up to a count."""
    if len(rows) == count:
        return rows
    found = np.zeros((count, *rows.shape[1:]), rows.dtype)
    found[: len(rows)] = rows
    return found
