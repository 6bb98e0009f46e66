"""Unbiased estimates of operators in very many variables, from random directions or terms.

They draw from dualgrad's generator: `set_seed` makes them repeatable.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .. import ops
from .._engine.primitives.execute import unrepeatable
from .._engine.transforms.forward import run_forward
from .._engine.values.algebra import jets, quadratic_algebra
from ..dtype import DType
from ..random import generator
from ..tensor import Tensor
from ..transforms.vectorize import vmap
from .evaluation import checked_result
from .symbols import Symbol

__all__: list[str] = []


def random_signs(shape: tuple[int, ...], dtype: DType) -> Tensor:
    """Independent signs, 1 or -1."""
    return ops.where(ops.rand(shape) < 0.5, -1.0, 1.0).astype(dtype)


def hutchinson(name: str, f: Callable[..., Any], x: Tensor, rest: tuple[Any, ...], samples: int) -> Tensor:
    """Estimate the trace of the Hessian by the mean of v . H v over random signs v (Hutchinson, 1990).

    One sweep of samples + 2 channels covers all directions, since only the sum of their second derivatives is needed.
    Each point has its own directions.
    """
    lead = (samples,) if samples > 1 else ()
    signs = random_signs(lead + tuple(x.shape), x.dtype)
    parts = run_forward(
        name, quadratic_algebra(samples, 0), lambda y: checked_result(name, f(y, *rest), x), [[x, signs, None]]
    )
    return ops.zeros_like(parts[0]) if parts[2] is None else parts[2] * (2.0 / samples)


def gaussian_biharmonic(name: str, f: Callable[..., Any], x: Tensor, rest: tuple[Any, ...], samples: int) -> Tensor:
    """A third of the mean fourth derivative along Gaussian directions, since E v_i v_j v_k v_l pairs the indices."""

    def fourth(v: Tensor) -> Tensor:
        parts = [x, v, None, None, None]
        found = run_forward(name, jets(4), lambda y: checked_result(name, f(y, *rest), x), [parts])
        return ops.zeros_like(found[0]) if found[4] is None else found[4]

    return vmap(fourth)(ops.randn((samples, *x.shape)).astype(x.dtype)).sum(0) * (24.0 / (3.0 * samples))


def drawn_symbol(symbol: Symbol, samples: int) -> Symbol:
    """A random operator whose expectation is the given one: terms drawn in proportion to their coefficients.

    It is evaluated exactly, in its own smallest algebra, so terms that share derivatives share work.
    """
    unrepeatable("terms of an operator are drawn at random")
    sizes = np.array([abs(float(c)) for c in symbol.values()])
    if not sizes.any():
        return symbol
    counts = generator().multinomial(samples, sizes / sizes.sum())
    total = sum((abs(c) for c in symbol.values()), Fraction(0))
    return {
        index: total * int(n) / samples * (1 if c > 0 else -1)
        for (index, c), n in zip(symbol.items(), counts, strict=True)
        if n
    }
