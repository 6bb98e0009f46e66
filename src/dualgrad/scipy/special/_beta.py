"""Rows of the incomplete beta function, differentiable by its parameters, and of its inverse.

Let p(t) be the density of the beta distribution, an exponential family in a and b. Its derivative of order (j, k) by
them is p times a polynomial P_jk in u = log t - E log t and v = log(1 - t) - E log(1 - t). P_jk is the complete Bell
polynomial of u, v and the cumulants from the second on, which are differences of polygamma functions. So

    d^(j+k) I_x(a, b) / da^j db^k  =  the integral of P_jk p from 0 to x  =  - the integral from x to 1.

The kernel integrates over the side on which u (or v) keeps its sign. Then the first derivatives do not cancel at all,
and the others no more than Hermite polynomials do. The variable of integration is the distance d of logit(t) from its
value at t0 = a / (a + b), the mode of p t (1 - t). The integrand is analytic on the scale 1 of d. The exponent comes
from the exact differences expm1(d) - d, not from logarithms of gamma functions, which cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from ..._table.row import INF, UNDEFINED
from ._gamma import digamma_excess, polygamma, stirling
from ._quadrature import over_intervals
from ._rows import ORDERS, Entry, inner, special
from ._scipy import sp

_POSITIVE, _UNIT = (0, INF), (0, 1)


def _excess(a: np.ndarray) -> np.ndarray:
    """digamma(a) - log(a)."""
    return np.where(a >= 12, digamma_excess(a), sp.digamma(a) - np.log(a))


def _tail(z: np.ndarray, f: np.ufunc, first: int) -> np.ndarray:
    """expm1(z) - z, or z - log1p(z); by the series from z**2 on where the difference would cancel."""
    near = np.where(np.abs(z) < 0.3, z, 0.0)
    series, power = np.zeros(z.shape), near * near
    for n in range(2, 32):
        series = series + power * (1 / math.factorial(n) if first else (-1) ** n / n)
        power = power * near
    return np.where(np.abs(z) < 0.3, series, f(z) - z if first else z - f(z))


class _Density:
    """The density p(t) t (1 - t) and log-moments of the beta distribution at distance d from t0; needs a <= b."""

    def __init__(self, a: np.ndarray, b: np.ndarray, order: int) -> None:
        self.a, self.b, self.middle = a, b, a / (a + b)
        self.height = np.sqrt(a * self.middle_b / (2 * np.pi)) * np.exp(stirling(a + b) - stirling(a) - stirling(b))
        both = _excess(a + b)
        self.mean_u, self.mean_v = _excess(a) - both, _excess(b) - both  # minus log(t0) and log(1 - t0)
        self.cumulants = {
            (j, k): (polygamma(j - 1, a) if k == 0 else 0)
            + (polygamma(k - 1, b) if j == 0 else 0)
            - polygamma(j + k - 1, a + b)
            for j in range(order + 1)
            for k in range(order + 1 - j)
            if j + k >= 2
        }

    @property
    def middle_b(self) -> np.ndarray:
        return self.b / (self.a + self.b)

    def weight(self, d: np.ndarray) -> np.ndarray:
        """The weight, with exponent a d - (a + b) log(1 + t0 (exp(d) - 1)); near d = 0 from exact differences."""
        near = np.clip(d, -1, 1)
        close = (self.a + self.b) * _tail(self.middle * np.expm1(near), np.log1p, 0) - self.a * _tail(near, np.expm1, 1)
        return self.height * np.exp(np.where(near == d, close, self.a * d + (self.a + self.b) * self._log_v(d)))

    def _log_v(self, d: np.ndarray) -> np.ndarray:
        """The logarithm of (1 - t) / (1 - t0)."""
        up = np.maximum(d, 1)
        return -np.where(d < 1, np.log1p(self.middle * np.expm1(np.minimum(d, 1))), up + self._log_u(up))

    def _log_u(self, d: np.ndarray) -> np.ndarray:
        """Minus the logarithm of t / t0, for d >= 1."""
        return np.log(self.middle + self.middle_b * np.exp(-d))

    def logs(self, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The variables u and v."""
        v = self._log_v(d)
        return np.where(d < 1, d + v, -self._log_u(np.maximum(d, 1))) - self.mean_u, v - self.mean_v

    def polynomial(self, d: np.ndarray, j: int, k: int) -> np.ndarray:
        """P_jk by the recurrence P_(j+1)k = sum of binomials, cumulants and lower polynomials."""
        u, v = self.logs(d)
        of: dict[tuple[int, int], np.ndarray] = {(0, 0): np.ones(d.shape)}
        for m in range(j + k + 1):
            for n in range(m + 1):
                q, r = n, m - n
                if (q, r) == (0, 0) or q > j or r > k:
                    continue
                by_u = q > 0
                total = np.zeros(d.shape)
                for i in range(q if by_u else 1):
                    for s in range(r + 1 if by_u else r):
                        at = (i + 1, s) if by_u else (0, s + 1)
                        first = (u if by_u else v) if sum(at) == 1 else -self.cumulants[at]
                        ways = math.comb(q - 1, i) * math.comb(r, s) if by_u else math.comb(r - 1, s)
                        total = total + ways * first * of[(q - at[0], r - at[1])]
                of[(q, r)] = total
        return of[(j, k)]


def _integral(a: np.ndarray, b: np.ndarray, d: np.ndarray, odds: np.ndarray, j: int, k: int) -> np.ndarray:
    """The derivative of order (j, k) for a <= b; d is the distance of x from t0, odds is log(a / b)."""
    p = _Density(a, b, j + k)
    u, v = p.logs(d)
    down = u < 0 if k == 0 else v > 0 if j == 0 else d < 0
    way = np.where(down, -1.0, 1.0)
    rate = np.abs(a - (a + b) * _fraction(p, d))
    first = 1 / np.maximum(np.maximum(1.0, rate), np.sqrt(a * p.middle_b))
    total, gone, largest = np.zeros(d.shape), np.zeros(d.shape), np.zeros(d.shape)

    def inside(from_d: np.ndarray) -> np.ndarray:
        at = d + way * from_d
        return p.weight(at) * p.polynomial(at, j, k)

    for _ in range(2000):
        place = d + way * gone + odds
        length = np.maximum(first, np.minimum(gone, np.maximum(1.5, 0.4 * np.abs(place))))
        total += over_intervals(inside, gone, length)
        gone = gone + length
        left = np.abs(inside(gone)) * np.maximum(gone, 1)
        largest = np.maximum(largest, np.abs(total))
        if np.all((left <= 1e-19 * largest) & (gone > 2 * first)):
            break
    return np.where(down, total, -total)


def _fraction(p: _Density, d: np.ndarray) -> np.ndarray:
    grown = p.middle * np.exp(np.minimum(d, 700))
    return grown / (p.middle_b + grown)


def _distance(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """logit(x) - log(a / b); near t0 from the exact difference."""
    ratio = (x * b - (1 - x) * a) / ((1 - x) * a)
    return np.where(np.abs(ratio) < 0.5, np.log1p(ratio), np.log(x) - np.log1p(-x) - np.log(a / b))


def _inside(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a) & np.isfinite(b)


#: The largest loss of accuracy of a derivative for small parameters, as a factor.
_LOST = 1e7


def _check(name: str, a: np.ndarray, b: np.ndarray, j: int, k: int) -> None:
    """Refuse orders that cancel for small parameters: there u is 1 / a, and its powers cancel to a number of size 1."""
    for parameter, order in ((a, j), (b, k)):
        wrong = (parameter > 0) & (parameter ** (j + k - 1) < 1 / _LOST) if order else np.zeros(a.shape, bool)
        if wrong.any():
            raise NotImplementedError(
                f"special.{name}: the derivative of order ({j}, {k}) by its parameters loses half of its digits for a "
                f"parameter of {parameter[wrong][0]:g}; expected one of {_LOST ** (-1 / (j + k - 1)):.2g} or more, or "
                "pass dualgrad.stop_gradient(...) of it"
            )


def betainc_derivative(j: int, k: int, name: str = "betainc") -> Callable[..., np.ndarray]:
    """Make a kernel for the derivative of order (j, k) by the parameters; errors name the public function."""

    def kernel(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
        _check(name, a, b, j, k)
        out = np.where((a > 0) & (b > 0) & ((x == 0) | (x == 1)), 0.0, np.nan)
        for swapped in (False, True):
            here = _inside(a, b, x) & ((a > b) == swapped)
            if here.any():
                a1, b1, d = a[here], b[here], _distance(a, b, x)[here]
                found = (
                    -_integral(b1, a1, -d, np.log(b1 / a1), k, j)
                    if swapped
                    else _integral(a1, b1, d, np.log(a1 / b1), j, k)
                )
                out[here] = found
        return out

    return kernel


def _density(j: int, k: int) -> Callable[..., np.ndarray]:
    def kernel(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
        _check("betainc", a, b, j, k)
        out = np.full(x.shape, np.nan)
        if j == k == 0:
            ends = (a > 0) & (b > 0) & ((x == 0) | (x == 1))
            power = np.where(x == 0, 0.0 ** (a - 1), 0.0 ** (b - 1))
            out[ends] = (power / sp.beta(a, b))[ends]
        for swapped in (False, True):
            here = _inside(a, b, x) & ((a > b) == swapped)
            if here.any():
                d = _distance(a, b, x)[here]
                p = _Density(b[here], a[here], j + k) if swapped else _Density(a[here], b[here], j + k)
                shape = p.polynomial(-d, k, j) if swapped else p.polynomial(d, j, k)
                out[here] = p.weight(-d if swapped else d) * shape / (x * (1 - x))[here]
        return out

    return kernel


def _rows() -> Iterator[Entry]:
    """The derivatives by a and b of the function and of the density, up to a total order."""
    for j in range(ORDERS + 1):
        for k in range(ORDERS + 1 - j):
            last = j + k == ORDERS
            for name, kernel, summary in (
                ("betainc_by", betainc_derivative(j, k), "the regularised incomplete beta function at z"),
                ("beta_density", _density(j, k), "the density of the beta distribution at z"),
            ):
                if name == "betainc_by":
                    if j == k == 0:
                        continue
                    by_x = f"beta_density_{j}_{k}(x, y, z)"
                else:
                    by_x = f"absorb_mul((x - 1) / z - (y - 1) / (1 - z), beta_density_{j}_{k}(x, y, z))"
                    by_x += f" + {j} * beta_density_{j - 1}_{k}(x, y, z) / z" if j else ""
                    by_x += f" - {k} * beta_density_{j}_{k - 1}(x, y, z) / (1 - z)" if k else ""
                yield inner(f"{name}_{j}_{k}", kernel,
                            UNDEFINED if last else f"{name}_{j + 1}_{k}(x, y, z)",
                            UNDEFINED if last else f"{name}_{j}_{k + 1}(x, y, z)", by_x,
                            domain=(_POSITIVE, _POSITIVE, _UNIT), sampled=((0.1, 30), (0.1, 30), (0.01, 0.99)),
                            within=1000,
                            summary=f"derivative of order ({j}, {k}) by x and y of {summary}")  # fmt: skip


_NOTE = f"up to total order {ORDERS} by x and y, from the second on refused for tiny ones; inside, 0 < z < 1"

BETA = (
    special("betainc", sp.betainc, "betainc_by_1_0(x, y, z)", "betainc_by_0_1(x, y, z)", "beta_density_0_0(x, y, z)",
            domain=(_POSITIVE, _POSITIVE, _UNIT), sampled=((0.1, 30), (0.1, 30), (0.01, 0.99)), within=1000,
            summary="regularised incomplete beta function of parameters x and y at z", slope_note=_NOTE,
            exact="_betainc(x, y, z)", example=("[0.5, 2.0], [1.5, 3.0], [0.25, 0.5]", "[0.608998 0.6875 ]")),
    special("betaincc", sp.betaincc, "-betainc_by_1_0(x, y, z)", "-betainc_by_0_1(x, y, z)",
            "-beta_density_0_0(x, y, z)",
            domain=(_POSITIVE, _POSITIVE, _UNIT), sampled=((0.1, 30), (0.1, 30), (0.01, 0.99)), within=1000,
            summary="complement of the regularised incomplete beta function", slope_note=_NOTE,
            exact="_betainc(y, x, 1 - z)", example=("[0.5, 2.0], [1.5, 3.0], [0.25, 0.5]", "[0.391002 0.3125 ]")),
    special("betaincinv", sp.betaincinv, "-(betainc_by_1_0(x, y, out) / beta_density_0_0(x, y, out))",
            "-(betainc_by_0_1(x, y, out) / beta_density_0_0(x, y, out))", "1 / beta_density_0_0(x, y, out)",
            domain=(_POSITIVE, _POSITIVE, _UNIT), sampled=((0.5, 10), (0.5, 10), (0.05, 0.95)), within=1e4,
            summary="inverse of betainc in its last operand", slope_note=_NOTE, exact="_betaincinv(x, y, z)",
            example=("[0.5, 2.0], [1.5, 3.0], [0.25, 0.5]", "[0.0390631 0.385728]")),
    special("betainccinv", sp.betainccinv, "-(betainc_by_1_0(x, y, out) / beta_density_0_0(x, y, out))",
            "-(betainc_by_0_1(x, y, out) / beta_density_0_0(x, y, out))", "-(1 / beta_density_0_0(x, y, out))",
            domain=(_POSITIVE, _POSITIVE, _UNIT), sampled=((0.5, 10), (0.5, 10), (0.05, 0.95)), within=1e4,
            summary="inverse of betaincc in its last operand", slope_note=_NOTE, exact="_betaincinv(x, y, 1 - z)",
            example=("[0.5, 2.0], [1.5, 3.0], [0.25, 0.5]", "[0.40285 0.385728]")),
    *_rows(),
    special("gammaincinv", sp.gammaincinv, "-(igamma_by_a(1, x, out) / gamma_density(0, x, out))",
            "1 / gamma_density(0, x, out)", domain=(_POSITIVE, _UNIT), sampled=((0.5, 20), (0.05, 0.95)), within=1e4,
            summary="inverse of gammainc in its last operand", exact="_gammaincinv(x, y)",
            example=("[0.5, 2.0], [0.25, 0.5]", "[0.0507655 1.67835 ]")),
    special("gammainccinv", sp.gammainccinv, "-(igamma_by_a(1, x, out) / gamma_density(0, x, out))",
            "-(1 / gamma_density(0, x, out))", domain=(_POSITIVE, _UNIT), sampled=((0.5, 20), (0.05, 0.95)), within=1e4,
            summary="inverse of gammaincc in its last operand", exact="_gammaincinv(x, 1 - y)",
            example=("[0.5, 2.0], [0.25, 0.5]", "[0.661652 1.67835 ]")),
)  # fmt: skip
