"""The differential of a Cholesky factorisation and its adjoint, on NumPy arrays.

A change of a = l l^T moves l by the lower triangular x of x l^T + l x^T = da. This linear map and its adjoint are
computed by halves, with products of matrices: about n^3 multiplications for a matrix of n rows (I. Murray,
arXiv:1602.07527). Triangular systems alone would take four times as many.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .solving import BLOCK, substitute

__all__ = ["differential", "pullback"]

Array = np.ndarray[Any, Any]


def differential(factor: Array, da: Array) -> Array:
    """The lower triangular x with x l^T + l x^T = da, for symmetric da; stacks of matrices broadcast."""
    x = np.zeros(np.broadcast_shapes(factor.shape, da.shape), da.dtype)
    _differential(factor, da, x)
    return x


def _differential(factor: Array, da: Array, x: Array) -> None:
    n, h = factor.shape[-1], factor.shape[-1] // 2
    if n <= BLOCK:
        x[...] = da
        _divide_both_sides(factor, x, True)
        x[...] = factor @ _lower_half(x)
        return
    first, below, last = factor[..., :h, :h], factor[..., h:, :h], factor[..., h:, h:]
    top, side = x[..., :h, :h], x[..., h:, :h]
    _differential(first, da[..., :h, :h], top)
    side[...] = da[..., h:, :h]
    side -= below @ _transposed(top)
    substitute(first, _transposed(side), True)
    mixed = side @ _transposed(below)
    rest = da[..., h:, h:] - mixed
    rest -= _transposed(mixed)
    _differential(last, rest, x[..., h:, h:])


def pullback(factor: Array, ct: Array) -> Array:
    """The symmetric s for which 2 s l has the lower triangle of ct: the adjoint of `differential`."""
    s = np.empty(np.broadcast_shapes(factor.shape, ct.shape), ct.dtype)
    _pullback(factor, ct, s)
    return s


def _pullback(factor: Array, ct: Array, s: Array) -> None:
    n, h = factor.shape[-1], factor.shape[-1] // 2
    if n <= BLOCK:
        half = _lower_half(_transposed(factor) @ np.tril(ct))
        s[...] = 0.5 * (half + _transposed(half))
        _divide_both_sides(_transposed(factor), s, False)
        return
    first, below, last = factor[..., :h, :h], factor[..., h:, :h], factor[..., h:, h:]
    side, end = s[..., h:, :h], s[..., h:, h:]
    _pullback(last, ct[..., h:, h:], end)
    side[...] = 0.5 * ct[..., h:, :h]
    side -= end @ below
    substitute(_transposed(first), _transposed(side), False)
    s[..., :h, h:] = _transposed(side)
    rest = _transposed(side) @ below
    rest *= -2.0
    rest += ct[..., :h, :h]
    _pullback(first, rest, s[..., :h, :h])


def _divide_both_sides(a: Array, x: Array, lower: bool) -> None:
    """Replace a symmetric x, in place, by a^-1 x a^-T for a triangular a."""
    substitute(a, x, lower)
    x[...] = _transposed(x).copy()
    substitute(a, x, lower)


def _transposed(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def _lower_half(x: Array) -> Array:
    """The lower triangle with half the diagonal."""
    return np.tril(x) - x * (0.5 * np.eye(x.shape[-1], dtype=x.dtype))
