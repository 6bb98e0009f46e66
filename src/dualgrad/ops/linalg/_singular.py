"""Changes of the singular values and vectors of a matrix.

The singular values of a are the upper eigenvalues of the symmetric matrix [[0, a], [a^T, 0]], and their derivatives are
taken from it. Repeated and vanishing singular values are equal eigenvalues there, with the rules for equal eigenvalues.
For a matrix that is much longer than wide this would be wasteful, so its singular values are differentiated through its
thin factors.

The vectors turn by skew matrices. With p = u^T da v and singular values s_i, u^T du = f + g and v^T dv = f - g,

    f_ij = (p_ij + p_ji) / 2 (s_j - s_i),    g_ij = (p_ij - p_ji) / 2 (s_j + s_i),

and leave the space they span by the part of da v outside of it, divided by s.
"""

from __future__ import annotations

import numpy as np

from ... import extend
from ...tensor import Tensor
from .._arguments import expanded, to_shape
from ._matrices import (
    as_column,
    as_diagonal,
    as_row,
    block,
    blocks,
    diagonal_of,
    joined,
    largest,
    spectrum,
    transposed,
)
from ._perturbation import gaps, off_diagonal, quotient, slopes, weighted

__all__: list[str] = []

_EQUAL = (
    "has equal or vanishing singular values, where singular vectors have no derivative (any basis would do); functions "
    "of the singular values alone have them through svd(..., compute_uv=False)"
)
_LONG, _SMALL = 4, 256  # matrices of more than _SMALL rows and columns together are long above this ratio


# ---------------------------------------------------------------------------------------------------- vectors


def _factors_kernel(a: np.ndarray, full: bool, caller: str) -> np.ndarray:
    """Singular values, left vectors as columns, right vectors as columns, all in one row."""
    u, s, vt = spectrum(caller, lambda a: np.linalg.svd(a, full), a)
    stack = s.shape[:-1]
    v = np.swapaxes(vt, -1, -2)
    return np.concatenate(
        [s, u.reshape(*stack, u.shape[-2] * u.shape[-1]), v.reshape(*stack, v.shape[-2] * v.shape[-1])], -1
    )


def factors_of(out: Tensor, m: int, n: int, full: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Split a result into singular values, left and right vectors."""
    p, stack = min(m, n), out.shape[:-1]
    k, l = (m, n) if full else (p, p)
    s, u, v = (out[..., :p], out[..., p : p + m * k], out[..., p + m * k :])
    return s, to_shape(u, (*stack, m, k)), to_shape(v, (*stack, n, l))


def _flat(x: Tensor) -> Tensor:
    return to_shape(x, (*x.shape[:-2], x.shape[-2] * x.shape[-1]))


def _ratio(y: Tensor, s: Tensor, size: Tensor, caller: str) -> Tensor:
    """Columns divided by their singular values."""
    return quotient(y, as_row(s), s, size, caller, _EQUAL)


def _turns(sym: Tensor, skew: Tensor, s: Tensor, size: Tensor, caller: str) -> tuple[Tensor, Tensor]:
    """The symmetric part divided by differences of singular values, the skew part by sums."""
    f = quotient(off_diagonal(sym), gaps(s), s, size, caller, _EQUAL)
    g = quotient(off_diagonal(skew), as_row(s) + as_column(s), s, size, caller, _EQUAL)
    return off_diagonal(f), off_diagonal(g)


def _factors_jvp(da: Tensor, out: Tensor, a: Tensor, full: bool, caller: str) -> Tensor:
    m, n = a.shape[-2:]
    p = min(m, n)
    s, u, v = factors_of(out, m, n, full)
    u1, v1 = block(u, (0, m), (0, p)), block(v, (0, n), (0, p))
    right, left = da @ v1, transposed(da) @ u1
    inner = transposed(u1) @ right
    size = largest(inner, 2)
    f, g = _turns((inner + transposed(inner)) * 0.5, (inner - transposed(inner)) * 0.5, s, size, caller)
    du = _vectors_jvp(u, u1, f + g, right, inner, s, caller)
    dv = _vectors_jvp(v, v1, f - g, left, transposed(inner), s, caller)
    return joined([diagonal_of(inner), _flat(du), _flat(dv)], -1)


def _vectors_jvp(u: Tensor, u1: Tensor, turn: Tensor, moved: Tensor, inner: Tensor, s: Tensor, caller: str) -> Tensor:
    """Vectors turn among each other and out of the space they span; the other vectors turn against them."""
    m, k = u.shape[-2:]
    p = u1.shape[-1]
    du = u1 @ turn
    if m > p:
        outside = _ratio(moved - u1 @ inner, s, largest(moved, 2), caller)
        du = du + outside
        if k > p:
            u2 = block(u, (0, m), (p, k))
            du = joined([du, -(u1 @ (transposed(outside) @ u2))], -1)
    return du


def _factors_vjp(ct: Tensor, out: Tensor, a: Tensor, full: bool, caller: str) -> Tensor:
    m, n = a.shape[-2:]
    p = min(m, n)
    s, u, v = factors_of(out, m, n, full)
    ds, du, dv = factors_of(ct, m, n, full)
    u1, v1 = block(u, (0, m), (0, p)), block(v, (0, n), (0, p))
    mu = transposed(u1) @ block(du, (0, m), (0, p))
    mv = transposed(v1) @ block(dv, (0, n), (0, p))
    plus, minus = mu + mv, mu - mv
    size = largest(mu, 2) + largest(mv, 2)
    f, g = _turns((plus - transposed(plus)) * 0.5, (minus - transposed(minus)) * 0.5, s, size, caller)
    _require_smooth(ds, s, m != n, caller)
    found = u1 @ (as_diagonal(ds) + f + g) @ transposed(v1)
    if m > p:
        found = found + _vectors_vjp(du, u, u1, mu, s, caller) @ transposed(v1)
    if n > p:
        found = found + u1 @ transposed(_vectors_vjp(dv, v, v1, mv, s, caller))
    return found


def _vectors_vjp(du: Tensor, u: Tensor, u1: Tensor, mu: Tensor, s: Tensor, caller: str) -> Tensor:
    m, k = u.shape[-2:]
    p = u1.shape[-1]
    outside = block(du, (0, m), (0, p)) - u1 @ mu
    if k > p:
        outside = outside - block(u, (0, m), (p, k)) @ (transposed(block(du, (0, m), (p, k))) @ u1)
    return _ratio(outside, s, largest(du, 2), caller)


def _require_smooth(ds: Tensor, s: Tensor, rectangular: bool, caller: str) -> None:
    """Raise an error if the cotangents of singular values depend on the choice of the vectors."""
    size = as_row(largest(ds, 1))
    quotient(gaps(ds), gaps(s), s, size, caller, _EQUAL)
    p = s.shape[-1]
    each = expanded(as_row(ds), (*s.shape, p))
    quotient(off_diagonal(each), as_row(s) + as_column(s), s, size, caller, _EQUAL)
    if rectangular:
        quotient(as_row(ds), as_row(s), s, size, caller, _EQUAL)


factors = extend.primitive(
    "singular_factors",
    _factors_kernel,
    jvp=(_factors_jvp,),
    vjp=(_factors_vjp,),
    core=(2,),
    summary="singular values and vectors",
)


# -------------------------------------------------------------------------------------------------- values alone


def _is_long(a: Tensor) -> bool:
    m, n = a.shape[-2:]
    return max(m, n) > _LONG * min(m, n) and m + n > _SMALL


def _both_sides(a: Tensor) -> Tensor:
    """The symmetric matrix [[0, a], [a^T, 0]]."""
    m, n = a.shape[-2:]
    zero = Tensor(np.zeros((1, 1), a.dtype.numpy))
    first, last = expanded(zero, (*a.shape[:-2], m, m)), expanded(zero, (*a.shape[:-2], n, n))
    return blocks([[first, a], [transposed(a), last]])


def _values_jvp(da: Tensor, out: Tensor, a: Tensor, caller: str) -> Tensor:
    m, n = a.shape[-2:]
    if _is_long(a):
        _, u, v = factors_of(factors(a, full=False, caller=caller), m, n, False)
        return (u * (da @ v)).sum(-2)
    return slopes(_both_sides(da), _both_sides(a), caller)[..., : -min(m, n) - 1 : -1]


def _values_vjp(ct: Tensor, out: Tensor, a: Tensor, caller: str) -> Tensor:
    m, n = a.shape[-2:]
    if _is_long(a):
        _, u, v = factors_of(factors(a, full=False, caller=caller), m, n, False)
        small = 8 * m * n * np.finfo(a.dtype.numpy).eps
        smooth = (out > largest(out, 1) * small).astype(a.dtype)
        return (u * as_row(ct * smooth)) @ transposed(v)
    rest = expanded(Tensor(np.zeros(1, a.dtype.numpy)), (*a.shape[:-2], max(m, n)))
    both = weighted(joined([rest, ct[..., ::-1]], -1), _both_sides(a), caller=caller)
    return block(both, (0, m), (m, m + n)) + transposed(block(both, (m, m + n), (0, m)))


def _values_kernel(a: np.ndarray, caller: str) -> np.ndarray:
    return spectrum(caller, lambda a: np.linalg.svd(a, compute_uv=False), a)


values = extend.primitive(
    "singular_values",
    _values_kernel,
    jvp=(_values_jvp,),
    vjp=(_values_vjp,),
    core=(2,),
    summary="singular values, largest first",
)
