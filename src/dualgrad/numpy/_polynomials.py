"""NumPy's functions of polynomials for tensors: coefficients, the highest power first.

Leading zeros are kept, so the length of a result does not depend on its numbers. The derivative of the roots is
implicit: p(r) = 0 gives dr = -dp(r) / p'(r).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtype as _dtype
from .. import extend
from .._settings import number_or_tensor
from ..ops._arguments import alike, beside, floating, integer, operand, to_shape
from ..ops.linalg import inverse, vander
from ..ops.linalg._matrices import identity
from ..ops.math.elementwise import sqrt
from ..ops.math.reductions import sum as _sum
from ..ops.shape.creation import zeros, zeros_like
from ..ops.shape.reshaping import cat, narrow, ravel, stack
from ..ops.signal._convolve import convolve
from ..tensor import Tensor
from ._creation import tensor_of
from ._entries import implements
from ._least_squares import least_squares

__all__: list[str] = []


def _coefficients(name: str, p: Any) -> Tensor:
    p = operand(name, tensor_of(p))
    if p.ndim > 1:
        raise ValueError(f"{name}: coefficients of shape {p.shape}; expected a vector")
    return to_shape(p, (p.size,))


def _pair(name: str, a: Any, b: Any) -> tuple[Tensor, Tensor]:
    first, second = alike([_coefficients(name, a), _coefficients(name, b)])
    return first, second


def _ahead(p: Tensor, count: int) -> Tensor:
    """Put zeros in front."""
    return cat([zeros((count,), p.dtype), p], 0) if count else +p


# ----------------------------------------------------------------------------------------- values, sums, products


@implements(np.polyval)
def _np_polyval(p: Any, x: Any) -> Tensor:
    p = [number_or_tensor("np.polyval", "a coefficient", c) for c in p] if isinstance(p, list | tuple) else tensor_of(p)
    # a number takes its type from the tensor beside it
    x = beside("polyval", x, p) if isinstance(p, Tensor) and not isinstance(x, list | tuple) else tensor_of(x)
    found = zeros_like(x)
    for k in range(len(p)):  # Horner's scheme
        found = found * x + p[k]
    return found


@implements(np.polyadd)
def _np_polyadd(a1: Any, a2: Any) -> Tensor:
    a, b = _pair("np.polyadd", a1, a2)
    return _ahead(a, max(b.size - a.size, 0)) + _ahead(b, max(a.size - b.size, 0))


@implements(np.polysub)
def _np_polysub(a1: Any, a2: Any) -> Tensor:
    a, b = _pair("np.polysub", a1, a2)
    return _ahead(a, max(b.size - a.size, 0)) - _ahead(b, max(a.size - b.size, 0))


@implements(np.polymul)
def _np_polymul(a1: Any, a2: Any) -> Tensor:
    return convolve(*_pair("np.polymul", a1, a2))


@implements(np.polydiv)
def _np_polydiv(u: Any, v: Any) -> tuple[Tensor, Tensor]:
    """Quotient and remainder. The remainder has one coefficient less than `v`, with leading zeros kept."""
    u, v = alike([floating("np.polydiv", x) for x in _pair("np.polydiv", u, v)])
    n = v.size
    steps = u.size - n + 1
    if steps < 1:
        return zeros((1,), u.dtype), +u
    quotient, rest = [], u
    for _ in range(steps):
        factor = rest[0] / v[0]
        quotient.append(factor)
        # the leading coefficient is 0 from now on: drop it
        rest = cat([rest[1:n] - factor * v[1:], rest[n:]], 0)
    return stack(quotient), rest if n > 1 else zeros((1,), u.dtype)


# ------------------------------------------------------------------------------------- derivatives and integrals


@implements(np.polyder)
def _np_polyder(p: Any, m: int = 1) -> Tensor:
    p, times = _coefficients("np.polyder", p), integer("np.polyder", "m", m)
    if times < 0:
        raise ValueError(f"np.polyder: m is {times}; expected 0 or more")
    for _ in range(min(times, p.size)):
        p = narrow(p, 0, 0, max(p.size - 1, 0)) * np.arange(p.size - 1, 0, -1).astype(p.dtype.numpy)
    return +p


@implements(np.polyint)
def _np_polyint(p: Any, m: int = 1, k: Any = None) -> Tensor:
    p, times = floating("np.polyint", _coefficients("np.polyint", p)), integer("np.polyint", "m", m)
    if not 0 <= times <= 10_000:
        raise ValueError(f"np.polyint: m is {times}; expected 0 or more, at most 10000")
    constants = zeros((1,), p.dtype) if k is None else to_shape(tensor_of(k), (np.size(k),))
    if constants.size == 1 and times > 1:
        constants = cat([constants] * times, 0)
    if constants.size < times:
        raise ValueError(f"np.polyint: {constants.size} constants for {times} integrals; expected one, or one for each")
    p, constants = alike([p, constants])
    for step in range(times):
        p = cat([p / np.arange(p.size, 0, -1).astype(p.dtype.numpy), narrow(constants, 0, step, 1)], 0)
    return +p


# ---------------------------------------------------------------------------------------------------------- roots

_WORST = 1e-2


def _roots_kernel(p: np.ndarray, caller: str) -> np.ndarray:
    found = np.empty((*p.shape[:-1], p.shape[-1] - 1), p.dtype)
    for index in np.ndindex(p.shape[:-1]):
        if not np.isfinite(p[index]).all() or p[index][0] == 0:
            raise ValueError(
                f"{caller}: the first coefficient is {p[index][0]}, of {p[index].size}; expected finite ones, the "
                "first of them not 0: how many roots there are follows from the shape (cut off zeros in front)"
            )
        found[index] = np.roots(p[index])
    return found


def _slope_kernel(p: np.ndarray, r: np.ndarray, caller: str) -> np.ndarray:
    """The slope p'(r). Raises at multiple roots, where the derivative of a root does not exist."""
    p, r = p[..., None, :], r
    n = p.shape[-1]
    value = slope = bend = np.zeros_like(r)
    size = np.zeros(r.shape)
    for k in range(n):
        bend, slope, value = bend * r + 2 * slope, slope * r + value, value * r + p[..., k]
        size = size * np.abs(r) + np.abs(p[..., k])
    noise = n * np.finfo(r.dtype).eps * size  # error of p(r); over |p'| error of r, times |p''| error of p'
    bad = np.abs(slope) ** 2 * _WORST < noise * np.abs(bend)
    if bad.any():
        raise np.linalg.LinAlgError(
            f"{caller}: the root {r[bad][0]:.6g} is a multiple one, or nearly so; its derivative does not "
            "exist, or has no correct digits"
        )
    return slope


_checked_slope = extend.primitive(
    "polynomial_slope",
    _slope_kernel,
    arity=2,
    jvp=(
        lambda dp, out, p, r, caller: _slope_at(dp, r),
        lambda dr, out, p, r, caller: _bend_at(p, r) * dr,
    ),
    core=(1, 1),
    summary="the slope of a polynomial at its roots",
)


def _columns(p: Tensor) -> list[Tensor]:
    """The coefficients, each as a column to broadcast with the roots."""
    return [p[..., k : k + 1] for k in range(p.shape[-1])]


def _value_at(p: Tensor, r: Tensor) -> Tensor:
    found = zeros_like(r)
    for c in _columns(p):
        found = found * r + c
    return found


def _derived(p: Tensor) -> Tensor:
    n = p.shape[-1]
    return p[..., : n - 1] * np.arange(n - 1, 0, -1).astype(p.dtype.numpy)


def _slope_at(p: Tensor, r: Tensor) -> Tensor:
    return _value_at(_derived(p), r)


def _bend_at(p: Tensor, r: Tensor) -> Tensor:
    return _value_at(_derived(_derived(p)), r) if p.shape[-1] > 2 else zeros_like(r)


_roots = extend.primitive(
    "polynomial_roots",
    _roots_kernel,
    jvp=(lambda dp, out, p, caller: -(_value_at(dp, out) / _checked_slope(p, out, caller=caller)),),
    core=(1,),
    summary="roots of a polynomial with complex coefficients",
)


@implements(np.roots)
def _np_roots(p: Any) -> Tensor:
    p = floating("np.roots", _coefficients("np.roots", p))
    if p.size < 2:
        return zeros((0,), p.dtype)
    if not p.dtype.is_complex:
        p = p.astype(_dtype.complex128 if p.dtype is _dtype.float64 else _dtype.complex64)
    return _roots(p, caller="np.roots")


def _characteristic_kernel(a: np.ndarray) -> np.ndarray:
    """Compute the characteristic polynomial from the eigenvalues, as NumPy does."""
    found = np.empty((*a.shape[:-2], a.shape[-1] + 1), a.dtype)
    for index in np.ndindex(a.shape[:-2]):
        coefficients = np.poly(a[index])
        found[index] = coefficients if a.dtype.kind == "c" else coefficients.real
    return found


def _characteristic_jvp(da: Tensor, out: Tensor, a: Tensor) -> Tensor:
    """-tr(b dA) for each coefficient b of the adjugate of x - A, computed by Horner's scheme."""
    unit = identity(a, a.shape[-1])
    b: Any = Tensor(unit) + zeros_like(a)
    n = a.shape[-1]
    moved = [zeros_like(out[..., :1])]
    for k in range(1, n + 1):
        moved.append(-_trace(b, da))
        if k < n:
            b = a @ b + to_shape(out[..., k], (*out.shape[:-1], 1, 1)) * unit
    return cat(moved, -1)


def _trace(b: Tensor, da: Tensor) -> Tensor:
    """Traces of products, as a last axis of length 1."""
    found = _sum(b * da.swapaxes(-1, -2), (-2, -1))
    return to_shape(found, (*found.shape, 1))


_characteristic = extend.primitive(
    "characteristic_polynomial",
    _characteristic_kernel,
    jvp=(_characteristic_jvp,),
    core=(2,),
    summary="coefficients of the characteristic polynomial of a matrix",
)


@implements(np.poly)
def _np_poly(seq_of_zeros: Any) -> Tensor:
    zeros_of = floating("np.poly", tensor_of(seq_of_zeros))
    if zeros_of.ndim == 2 and zeros_of.shape[0] == zeros_of.shape[1] and zeros_of.size:
        return _characteristic(zeros_of)
    if zeros_of.ndim > 1:
        raise ValueError(f"np.poly: a tensor of shape {zeros_of.shape}; expected a vector of roots or a square matrix")
    roots = ravel(zeros_of)
    found = Tensor(np.ones(1, roots.dtype.numpy))
    nothing = zeros((1,), roots.dtype)
    for k in range(roots.size):
        found = cat([found, nothing], 0) - roots[k] * cat([nothing, found], 0)
    return found


# ----------------------------------------------------------------------------------------------------------- fits


@implements(np.polyfit)
def _np_polyfit(
    x: Any, y: Any, deg: Any, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    name, order = "np.polyfit", integer("np.polyfit", "deg", deg) + 1
    x, y = alike([floating(name, tensor_of(x)), floating(name, tensor_of(y))])
    if order < 1:
        raise ValueError(f"{name}: deg is {order - 1}; expected 0 or more")
    if x.ndim != 1 or not x.size or y.ndim not in (1, 2) or y.shape[0] != x.size:
        raise ValueError(
            f"{name}: x of shape {x.shape} and y of shape {y.shape}; expected a vector that is not empty, and as many "
            "values, or rows of values"
        )
    rcond = x.size * float(np.finfo(x.dtype.numpy).eps) if rcond is None else rcond
    lhs, rhs = vander(x, order), y
    if w is not None:
        weights = tensor_of(w).astype(x.dtype)
        if weights.shape != x.shape:
            raise ValueError(f"{name}: weights of shape {weights.shape} for {x.size} points")
        column = to_shape(weights, (x.size, 1))
        lhs, rhs = lhs * column, rhs * (weights if y.ndim == 1 else column)
    scale = sqrt(_sum(lhs * lhs, 0))  # columns of norm 1 give the system a good condition
    lhs = lhs / scale
    found, residuals, rank, singular = least_squares(name, lhs, rhs, rcond)
    found = found / (scale if y.ndim == 1 else to_shape(scale, (order, 1)))
    if full:
        return found, residuals, rank, singular, rcond
    if cov is False:
        return found
    base = inverse(lhs.T @ lhs) / (to_shape(scale, (order, 1)) * scale)
    if cov == "unscaled":
        return found, base if y.ndim == 1 else to_shape(base, (order, order, 1))
    if x.size <= order:
        raise ValueError(f"{name}: {x.size} points leave no freedom to estimate the covariance of {order} coefficients")
    share = residuals / (x.size - order)
    return found, base * share if y.ndim == 1 else to_shape(base, (order, order, 1)) * share
