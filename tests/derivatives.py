"""Comparisons of independent engines that are quick enough for every function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._nests import tensors_in


def parts(found: Any) -> list[Tensor]:
    """The tensors of a result, complex ones as their parts, without those that hold no floating numbers."""
    kept = [t for t in tensors_in(found) if t.dtype.is_float or t.dtype.is_complex]
    return [ops.view_as_real(t) if t.dtype.is_complex else t for t in kept]


def total(leaves: Sequence[Tensor]) -> Any:
    """One number of all results, in which each counts differently."""
    return sum(ops.sum(ops.sin(leaf) * np.linspace(0.5, 1.5, leaf.size).reshape(leaf.shape)) for leaf in leaves)


def assert_derivatives_agree(
    fn: Callable[..., Any], args: Sequence[np.ndarray], order: int = 3, smooth: bool = True, rtol: float = 1e-9
) -> None:
    """Dual numbers in dual numbers, reverse sweeps in reverse sweeps, Taylor coefficients, and a difference."""
    rng = np.random.default_rng(0)
    moves = [rng.standard_normal(a.shape) for a in args]
    zero, one = Tensor(0.0, dg.float64), Tensor(1.0, dg.float64)

    def along(t: Tensor) -> Any:
        return total(parts(fn(*[Tensor(a) + t * d for a, d in zip(args, moves, strict=True)]))) + 0.0 * t

    series = dg.jet(along, zero, Tensor(np.eye(order)[0]))[1]
    forward: Any = along
    reverse: Any = along
    for k in range(order):
        forward = (lambda inner: lambda t: dg.jvp(inner, t, one)[1])(forward)
        reverse = dg.grad(reverse)
        found = [float(x.asnumpy()) for x in (series[k], forward(zero))]
        if k in (0, order - 1):
            found.append(float(reverse(zero).asnumpy()))
        np.testing.assert_allclose(found, found[0], rtol=rtol, atol=rtol * max(1.0, abs(found[0])))
        if k == 0 and smooth:
            ends = [float(along(Tensor(t, dg.float64)).asnumpy()) for t in (1e-5, -1e-5)]
            np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, found[0], rtol=1e-5, atol=1e-5)


def assert_replays_agree(fn: Callable[..., Any], args: Sequence[np.ndarray]) -> None:
    """The first and the second gradient, recorded and replayed, are what eager execution gives."""
    gradient = dg.grad(lambda *xs: total(parts(fn(*xs))), tuple(range(len(args))))
    second = dg.grad(lambda *xs: sum(ops.sum(ops.sin(g)) for g in tensors_in(gradient(*xs))), 0)
    for function in (gradient, second):
        tensors = [Tensor(a) for a in args]
        expected = [t.asnumpy() for t in tensors_in(function(*tensors))]
        recorded = dg.jit(function)
        for _ in range(4):
            for found, other in zip(tensors_in(recorded(*tensors)), expected, strict=True):
                size = max(1.0, np.abs(other).max(initial=0.0))
                np.testing.assert_allclose(found.asnumpy(), other, rtol=1e-11, atol=1e-11 * size)
