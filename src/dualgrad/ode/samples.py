"""Samples of a system, as under `vmap`: samples with the same steps are solved together.

Operands of the primitives in `flow` may be stacks of samples. The directions of a derivative share the system that
chooses the steps, so they form one system with concatenated states. Samples with other steps are solved one by one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import Tensor
from ..transforms.vectorize import vmap
from .methods import Array
from .systems import Given, System

__all__ = ["axes_of_back", "axes_of_forward", "each_sample", "of_samples"]

GROUPS = 16  # sample counts that a system remembers

Rule = Callable[..., Any]
Kernel = Callable[..., Array]


def axes_of_forward(system: System) -> tuple[int, ...]:
    """The numbers of axes of y0, t and params in one sample."""
    return (1, 1, *[len(shape) for shape, _ in system.params])


def axes_of_back(system: System) -> tuple[int, ...]:
    """The numbers of axes of ct, y0, t and params in one sample."""
    return (2, *axes_of_forward(system))


def axes_of(system: System, count: int) -> tuple[int, ...]:
    """The numbers of axes of `count` operands."""
    own = axes_of_forward(system)
    return own if count == len(own) else axes_of_back(system)


class Samples(System):
    """Samples of a system with the same owner, so all take its steps; their states are concatenated."""

    def __init__(self, parent: System, count: int, stacked: tuple[bool, ...]) -> None:
        self.parent, self.stacked = parent, stacked
        params = [((count, *p[0]) if many else p[0], p[1]) for p, many in zip(parent.params, stacked, strict=True)]
        super().__init__(parent.name, count * parent.n, parent.control, params, ("samples", count, stacked, parent.key))
        self.size, self.count = count * parent.size, count
        self.owner = parent.owner
        self.apart = False  # True if f cannot be mapped over samples

    def mapped(self, fn: Callable[..., Tensor], *given: Tensor, params: tuple[Tensor, ...]) -> Tensor:
        """Apply a function to the vectors and params of each sample. Returns the concatenated results."""
        rows = [x.reshape((*x.shape[:-1], self.count, x.shape[-1] // self.count)) for x in given]
        axes = (*[x.ndim - 2 for x in rows], tuple([0 if many else None for many in self.stacked]))
        found = vmap(lambda *args: fn(*args[:-1], args[-1]), axes, out_axes=-2)(*rows, params)
        return found.reshape((*found.shape[:-2], found.shape[-2] * found.shape[-1]))

    def stages(self, y: Tensor, t: Tensor, h: Tensor, params: tuple[Tensor, ...]) -> Tensor:
        """The stages of all samples."""
        return self.mapped(lambda y, params: self.parent.stages(y, t, h, params), y, params=params)

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
        """The cotangents of all samples."""

        def one(total: Tensor, y: Tensor, within: Tensor, seed: Tensor, params: tuple[Tensor, ...]) -> Tensor:
            return self.parent.before(total, y, t, h, within, seed, params)

        return self.mapped(one, total, y, within, seed, params=params)

    def first(self, y: Array, params: tuple[Any, ...]) -> tuple[Array, tuple[Any, ...]]:
        """The state and params of the first sample."""
        return y[: self.parent.n], tuple([p[0] if many else p for p, many in zip(params, self.stacked, strict=True)])

    def of_owner(self, y: Array, params: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
        """The state and params of the owner, which are the same for all samples."""
        return self.parent.of_owner(*self.first(y, params))

    def given(self, y: Array, params: tuple[Any, ...]) -> tuple[Given, Array, tuple[Any, ...]]:
        """The user's system of each sample, which is the same for all."""
        return self.parent.given(*self.first(y, params))


def of_samples(kernel: Kernel, system: System, *operands: Array) -> Array:
    """Run a kernel on each sample of a stack; samples with the same steps are solved together."""
    axes = axes_of(system, len(operands))
    stacks = [x.shape[: x.ndim - n] for x, n in zip(operands, axes, strict=True)]
    stack = np.broadcast_shapes(*stacks)
    if not stack:
        return kernel(system, *operands)
    rows = [
        np.broadcast_to(x, (*stack, *x.shape[x.ndim - n :])).reshape((-1, *x.shape[x.ndim - n :])) if own else x
        for x, n, own in zip(operands, axes, stacks, strict=True)
    ]
    stacked = [bool(own) for own in stacks]
    found: list[Any] = [None] * int(np.prod(stack, dtype=int))
    for members in _groups(system, rows, stacked, len(found)):
        several = _together(kernel, system, rows, stacked, members) if len(members) > 1 else None
        for k, i in enumerate(members):
            found[i] = kernel(system, *_sample(rows, stacked, i)) if several is None else several[k]
    if not found:
        shape = (system.size,) if len(axes) > len(axes_of_forward(system)) else (operands[1].shape[-1] - 1, system.n)
        return np.empty((*stack, *shape), operands[0].dtype)
    return np.stack(found).reshape((*stack, *found[0].shape))


def _sample(rows: list[Array], stacked: list[bool], i: int | list[int]) -> list[Array]:
    """The operands of one sample, or of several."""
    return [x[i] if own else x for x, own in zip(rows, stacked, strict=True)]


def _groups(system: System, rows: list[Array], stacked: list[bool], count: int) -> list[list[int]]:
    """Group samples whose owners have bitwise equal start, times and params."""
    groups: dict[Any, list[int]] = {}
    for i in range(count):
        y, t, *params = _sample(rows, stacked, i)[-2 - len(system.params) :]
        y, owned = system.of_owner(y, tuple(params))
        groups.setdefault((y.tobytes(), t.tobytes(), *[p.tobytes() for p in owned]), []).append(i)
    return list(groups.values())


def _together(
    kernel: Kernel, system: System, rows: list[Array], stacked: list[bool], members: list[int]
) -> Array | None:
    """Run a kernel on several samples with the same steps; None if f cannot be mapped over samples."""
    first, count = len(rows) - 2 - len(system.params), len(members)  # the number of operands before y0
    samples = _samples(system, count, tuple(stacked[first + 2 :]))
    if samples.apart:
        return None
    some = _sample(rows, stacked, members)
    beside = [
        np.moveaxis(x if own else np.broadcast_to(x, (count, *x.shape)), 0, -2)
        for x, own in zip(some[: first + 1], stacked[: first + 1], strict=True)
    ]
    t = some[first + 1][0] if stacked[first + 1] else some[first + 1]
    try:
        found = kernel(samples, *[x.reshape((*x.shape[:-2], -1)) for x in beside], t, *some[first + 2 :])
    except (TypeError, ValueError, NotImplementedError):  # a single sample shows any other cause
        samples.apart = True
        return None
    return np.moveaxis(found.reshape((*found.shape[:-1], count, -1)), -2, 0)


def _samples(system: System, count: int, stacked: tuple[bool, ...]) -> Samples:
    """Make `count` samples of a system, with stacked or shared params; or reuse the last ones."""
    place = count, stacked
    if place not in system.samples:
        system.samples[place] = Samples(system, count, stacked)
    system.samples.move_to_end(place)
    while len(system.samples) > GROUPS:
        system.samples.popitem(last=False)
    return system.samples[place]


def each_sample(rule: Rule) -> Rule:
    """Extend a jvp rule for one sample to stacks. Cotangents are pulled back through batches, not stacks."""

    @functools.wraps(rule)
    def run(tangents: tuple[Tensor, ...], out: Tensor, *operands: Tensor, system: System) -> Tensor:
        ranks = [x.ndim - n for x, n in zip(operands, axes_of(system, len(operands)), strict=True)]
        stack = max(ranks)
        if stack == 0:
            return rule(tangents, out, *operands, system=system)
        alone = [rank == stack and len(x) < len(out) for x, rank in zip(operands, ranks, strict=True)]
        places = tuple([0 if rank == stack and not one else None for rank, one in zip(ranks, alone, strict=True)])

        def own(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            return tuple([x[0] if one else x for x, one in zip(tensors, alone, strict=True)])

        sample = functools.partial(_of_one, run, system)
        return vmap(sample, (places, 0, places))(own(tangents), out, own(operands))

    return run


def _of_one(rule: Rule, system: System, tangents: Any, out: Tensor, operands: Any) -> Tensor:
    return rule(tangents, out, *operands, system=system)
