"""Rows of Kummer's function 1F1(a; b; x), differentiable by its parameters where its series does not cancel.

Each term of the series is the previous one times (a + n) x / ((b + n) (n + 1)). With a + da and b + db in place of a
and b, truncated in powers of da and db, the same recurrence gives the derivatives by a and b. For positive a, b and x
every coefficient keeps one sign, so the sums are accurate to the last digits. For negative x the series is exp(x) 1F1(b
- a; b; -x). The sum of absolute values shows how much cancels. A derivative by a parameter is refused if more than half
of the digits would be lost or the series is too long.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from ..._table.row import INF, UNDEFINED
from ._rows import ORDERS, Entry, inner, not_above, special
from ._scipy import sp

_ANY, _POSITIVE = (-INF, INF), (0, INF)
_TERMS = 3000
_LOST = 1e8  # the largest allowed ratio of the sum of absolute values to the absolute sum

Coefficients = dict[tuple[int, int], np.ndarray]


def _times(term: Coefficients, a: np.ndarray, b: np.ndarray, ratio: np.ndarray | float) -> None:
    """Multiply a truncated power series by ratio (a + da) / (b + db)."""
    for i, j in reversed(term):
        term[i, j] = (term[i, j] * a + (term[i - 1, j] if i else 0.0)) * ratio
    for i, j in term:
        term[i, j] = (term[i, j] - (term[i, j - 1] if j else 0.0)) / b


def _one(shape: tuple[int, ...], order: int) -> Coefficients:
    at = [(i, j) for i in range(order + 1) for j in range(order + 1 - i)]
    return {k: np.ones(shape) if k == (0, 0) else np.zeros(shape) for k in at}


def _series(a: np.ndarray, b: np.ndarray, x: np.ndarray, order: int) -> tuple[Coefficients, Coefficients]:
    """The coefficients of powers of da and db, and the sums of the absolute values of their terms."""
    term, total, sizes = (_one(x.shape, order) for _ in range(3))
    for n in range(_TERMS):
        _times(term, a + n, b + n, x / (n + 1))
        for k, v in term.items():
            total[k] = total[k] + v
            sizes[k] = sizes[k] + np.abs(v)
        if n > 2 * order and all(np.all(np.abs(v) <= 1e-18 * sizes[k]) for k, v in term.items()):
            return total, sizes
    raise NotImplementedError(
        f"special.hyp1f1: its series has more than {_TERMS} terms that count, so there is no derivative by a "
        "parameter; pass dualgrad.stop_gradient(...) of the first two operands"
    )


def _for_negative(of: Coefficients, scale: np.ndarray, sign: int) -> Coefficients:
    """Coefficients of exp(x) f(b - a, b) from the coefficients of f; for the sums of absolute values, sign is 1."""
    out = {k: np.zeros(scale.shape) for k in of}
    for (i, j), v in of.items():
        for k in range(i + 1):  # (db - da)**i
            out[k, i - k + j] = out[k, i - k + j] + sign**k * math.comb(i, k) * v * scale
    return out


def _derivative(i: int, j: int, k: int) -> Callable[..., np.ndarray]:
    """Make the derivative of order i by a, j by b and k by x, from (a)_k / (b)_k times 1F1(a + k; b + k; x)."""

    def kernel(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
        out = np.full(x.shape, np.nan)
        fine = np.isfinite(a) & np.isfinite(b) & np.isfinite(x) & ~((b <= 0) & (b == np.rint(b)))
        for below in (False, True):
            here = fine & ((x < 0) == below)
            if here.any():
                out[here] = of_one_sign(a[here], b[here], x[here], below)
        return out

    def of_one_sign(a: np.ndarray, b: np.ndarray, x: np.ndarray, below: bool) -> np.ndarray:
        found, sizes = _series(b - a if below else a + k, b + k, np.abs(x), i + j)
        if below:
            found, sizes = _for_negative(found, np.exp(x), -1), _for_negative(sizes, np.exp(x), 1)
        first = _one(x.shape, i + j)
        for n in range(k):
            _times(first, a + n, b + n, 1.0)
        pairs = [((p, q), (i - p, j - q)) for p in range(i + 1) for q in range(j + 1)]
        value = sum((first[p] * found[q] for p, q in pairs), np.zeros(x.shape))
        size = sum((np.abs(first[p]) * sizes[q] for p, q in pairs), np.zeros(x.shape))
        _check(a, b, x, value, size)
        return value * math.factorial(i) * math.factorial(j)

    return kernel


def _check(a: np.ndarray, b: np.ndarray, x: np.ndarray, value: np.ndarray, size: np.ndarray) -> None:
    wrong = ~(size <= _LOST * np.abs(value)) & (size != 0)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise NotImplementedError(
            f"special.hyp1f1: its derivative by a parameter loses more than half of its digits at ({a[k]:g}, {b[k]:g}, "
            f"{x[k]:g}); expected positive a, b and x, or b > a > 0 for x < 0; pass dualgrad.stop_gradient(...) of the "
            "first two operands"
        )


def _rows() -> Iterator[Entry]:
    for i, j, k in itertools.product(range(ORDERS + 1), repeat=3):
        if 0 < i + j and i + j + k <= ORDERS:
            last = i + j + k == ORDERS
            further = [
                UNDEFINED if last else f"hyp1f1_by_{i + p}_{j + q}_{k + r}(x, y, z)"
                for p, q, r in ((1, 0, 0), (0, 1, 0), (0, 0, 1))
            ]
            yield inner(f"hyp1f1_by_{i}_{j}_{k}", _derivative(i, j, k), *further, domain=(_ANY, _POSITIVE, _ANY),
                        summary=f"derivative of order ({i}, {j}, {k}) of 1F1(x; y; z)")  # fmt: skip


def _hyp1f1(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """SciPy's function, which takes ever more steps beyond these limits."""
    not_above("hyp1f1", "the third operand", x, 1e12)
    not_above("hyp1f1", "the first operand beside a negative third one", a[x < 0], 1e8)
    return sp.hyp1f1(a, b, x)


KUMMER = (
    special("hyp1f1", _hyp1f1, "hyp1f1_by_1_0_0(x, y, z)", "hyp1f1_by_0_1_0(x, y, z)",
            "x * hyp1f1(x + 1, y + 1, z) / y", domain=(_ANY, _POSITIVE, _ANY),
            sampled=((0.2, 4), (4.5, 8), (-8, 20)), within=1e4, summary="Kummer's function 1F1(x; y; z)",
            slope_note=f"up to total order {ORDERS} where x or y is among them; for positive x, y and z, for "
            "y > x > 0 and negative z, and wherever else the series does not cancel; else refused",
            exact="mp.hyp1f1(x, y, z)",
            example=("[0.5, 2.0], [1.5, 1.0], [1.0, -3.0]", "[ 1.46265 -0.0995741]")),
    *_rows(),
)  # fmt: skip
