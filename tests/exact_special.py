"""Special functions and their derivatives in as many digits as mpmath works with.

Differences of mpmath's functions need thousands of digits, which takes minutes for these. So their derivatives are
stated in closed form, and functions that mpmath has no fast or no exact way to are written out: inverses of the error
function by Newton's method, the last step in full precision; the zeta function by the formula of Euler and Maclaurin;
Bessel functions of the second kind by their power series, in which further digits cover the cancellation, and for large
arguments by Hankel's asymptotic series. ``test_special.py`` compares all of it with mpmath's own functions and with
differences at a few points.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mpmath

mp = mpmath.mp


def erfinv(x: Any) -> mpmath.mpf:
    """The y with erf(y) = x."""
    return _newton(x, mp.erf, mp.erfinv) if abs(x) <= 0.5 else mp.sign(x) * erfcinv(1 - abs(x))


def erfcinv(q: Any) -> mpmath.mpf:
    """The y with erfc(y) = q, for q from 0 to 2."""
    if q > 0.5:
        return erfinv(1 - q) if q <= 1.5 else -erfcinv(2 - q)
    return _newton(-mp.log(q), lambda y: -mp.log(mp.erfc(y)), lambda s: mp.sqrt(s), lambda y: mp.erfc(y))


def _newton(
    target: mpmath.mpf,
    f: Callable[..., mpmath.mpf],
    start: Callable[..., mpmath.mpf],
    divisor: Callable[..., mpmath.mpf] = lambda y: mpmath.mpf(1),
) -> mpmath.mpf:
    """Solve f(y) = target, where the slope of f is 2 / sqrt(pi) exp(-y*y) / divisor(y); digits double at each step."""
    with mp.workprec(60):
        y = start(+target)
        for _ in range(60):
            step = (f(y) - target) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y) * divisor(y)
            y -= step
            if abs(step) <= abs(y) * mpmath.mpf(2) ** -50:
                break
    known = 48
    while known < mp.prec + 10:
        known *= 2
        with mp.workprec(min(known, mp.prec) + 40):
            y -= (f(y) - target) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y) * divisor(y)
    return +y


def _kept(f: Callable[[int, Any], mpmath.mpf]) -> Callable[[int, Any], mpmath.mpf]:
    """Remember values for each precision: derivatives of many orders are sums of the same neighbours."""
    values = functools.cache(lambda n, x, precision: f(n, x))
    return lambda n, x: values(n, x, mp.prec)


@_kept
def bessel_y(n: int, x: Any) -> mpmath.mpf:
    """Bessel function of the second kind, of whole order n >= 0."""
    if x > mp.prec / 2 + 10 + n * n:
        p, q = _hankel(n, x, -1)
        with mp.workprec(mp.prec + max(0, int(mp.mag(x)))):
            phase = x - (2 * n + 1) * mp.pi / 4
            return mp.sqrt(2 / (mp.pi * x)) * (p * mp.sin(phase) + q * mp.cos(phase))
    with mp.workprec(mp.prec + int(3 * x) + 40):
        finite, log_part, sums = _second_kind(n, x, -1)
        value = (2 * log_part - finite - sums) / mp.pi
    return +value


@_kept
def bessel_k(n: int, x: Any) -> mpmath.mpf:
    """Modified Bessel function of the second kind, of whole order n >= 0."""
    if x > mp.prec / 2 + 10 + n * n:
        p, q = _hankel(n, x, 1)
        return mp.sqrt(mp.pi / (2 * x)) * mp.exp(-x) * (p + q)
    with mp.workprec(mp.prec + int(6 * x) + 40):
        finite, log_part, sums = _second_kind(n, x, 1)
        value = (finite + (-1) ** n * (sums - 2 * log_part)) / 2
    return +value


def _second_kind(n: int, x: mpmath.mpf, sign: int) -> tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf]:
    """The three parts of the power series: finite, with the logarithm, and with the digamma function."""
    half, q = x / 2, sign * x * x / 4
    finite = sum(((-q) ** k * mp.factorial(n - k - 1) / mp.factorial(k) for k in range(n)), mpmath.mpf(0)) / half**n
    digammas = -2 * mp.euler + mp.harmonic(n)
    term = half**n / mp.factorial(n)
    plain, weighted, k = mpmath.mpf(0), mpmath.mpf(0), 0
    while True:
        plain, weighted = plain + term, weighted + digammas * term
        k += 1
        term *= q / (k * (n + k))
        digammas += mpmath.mpf(1) / k + mpmath.mpf(1) / (n + k)
        if abs(term) * (1 + abs(digammas)) < abs(plain) * mpmath.mpf(2) ** (-mp.prec - 20) and k > abs(q) ** 0.5:
            return finite, plain * mp.log(half), weighted


def _hankel(n: int, x: mpmath.mpf, sign: int) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Even and odd terms of the asymptotic series; even terms alternate for sign -1, and so do odd ones."""
    even, odd, term, k = mpmath.mpf(1), mpmath.mpf(0), mpmath.mpf(1), 0
    while abs(term) > mpmath.mpf(2) ** (-mp.prec - 10):
        k += 1
        term *= mpmath.mpf(4 * n * n - (2 * k - 1) ** 2) / (8 * k * x)
        signed = term if sign > 0 or k % 4 in (0, 1) else -term
        if k % 2:
            odd += signed
        else:
            even += signed
    return even, odd


def zeta(s: Any, q: Any) -> mpmath.mpf:
    """Hurwitz zeta function for s > 1, q > 0."""
    s, w, total = mpmath.mpf(s), mpmath.mpf(q), mpmath.mpf(0)
    least = s + mp.prec / 4
    while w < least:
        term = w**-s
        total += term
        w += 1
        if term * (1 + w / (s - 1)) < total * mpmath.mpf(2) ** (-mp.prec - 10):
            return total
    tail = mpmath.mpf(1) / 2 + w / (s - 1)
    factor, k = s / w, 1
    while abs(factor) > mpmath.mpf(2) ** (-mp.prec - 10) * tail and k < mp.prec:
        tail += mp.bernoulli(2 * k) / (2 * k) * factor
        factor *= (s + 2 * k - 1) * (s + 2 * k) / (2 * k * (2 * k + 1) * w * w)
        k += 1
    return total + tail * w**-s


def bessel_i_decay(n: int, x: Any) -> mpmath.mpf:
    """1/pi times the integral of (1 - cos t)^n exp(-x (1 - cos t)) over half a turn, for x >= 0."""
    if x > mp.prec / 2 + 10 + n * n:  # the asymptotic series, in which all terms are positive
        term = mp.gamma(n + mpmath.mpf(1) / 2) / (mp.pi * mp.sqrt(2) * x ** (n + mpmath.mpf(1) / 2))
        total, j = mpmath.mpf(0), 0
        while term > total * mpmath.mpf(2) ** (-mp.prec - 10):
            total += term
            term *= mpmath.mpf(2 * j + 1) / (4 * (j + 1)) * (n + j + mpmath.mpf(1) / 2) / x
            j += 1
        return total
    half = mpmath.mpf(1) / 2
    scale = mpmath.mpf(2) ** n * mp.rf(half, n) / mp.factorial(n)
    return scale * mp.exp(-2 * x) * mp.hyp1f1(half, n + 1, 2 * x)


def bessel_k_decay(n: int, x: Any) -> mpmath.mpf:
    """The integral of (cosh t - 1)^n exp(-x (cosh t - 1)) over t > 0."""
    with mp.workprec(mp.prec + 10 * max(0, int(mp.mag(x))) + 40):
        total = mpmath.mpf(0)  # (-1)^n times the n-th derivative of exp(x) K_0(x), by Leibniz' rule
        for k in range(n + 1):
            total += (-1) ** n * mp.binomial(n, k) * _neighbours(bessel_k, -1, 0, k, x)
        return mp.exp(x) * total


def _neighbours(family: Callable[..., mpmath.mpf], sign: int, n: int, k: int, x: Any, flip: int = 1) -> mpmath.mpf:
    """The k-th derivative of a Bessel function by those of neighbouring orders; `flip` relates orders n and -n.

    J and Y: (f_{n-1} - f_{n+1}) / 2; I: (f_{n-1} + f_{n+1}) / 2; K: -(f_{n-1} + f_{n+1}) / 2.
    """
    values: dict[int, mpmath.mpf] = {}

    def at(m: int) -> mpmath.mpf:
        if abs(m) not in values:
            values[abs(m)] = family(abs(m), x)
        return values[abs(m)] * (flip ** abs(m) if m < 0 else 1)

    alternating = flip if sign > 0 else 1
    total = sum(alternating**j * mp.binomial(k, j) * at(n - k + 2 * j) for j in range(k + 1))
    return mpmath.mpf(sign) ** k * total / mpmath.mpf(2) ** k


def _inverse(value: mpmath.mpf, k: int, sign: int) -> mpmath.mpf:
    """The k-th derivative of an inverse of the error function with the given value: c^k exp(k y^2) P_k(y), where
    P_1 = 1 and P_{k+1} = P_k' + 2 k y P_k.
    """
    if k == 0:
        return value
    polynomial = [mpmath.mpf(1)]
    for m in range(1, k):
        slope = [i * c for i, c in enumerate(polynomial)][1:]
        polynomial = [
            (slope[i] if i < len(slope) else 0) + (2 * m * polynomial[i - 1] if i else 0)
            for i in range(len(polynomial) + 1)
        ]
    scale = (sign * mp.sqrt(mp.pi) / 2) ** k * mp.exp(k * value * value)
    return scale * sum(c * value**i for i, c in enumerate(polynomial))


def _odd_even(k: int, x: Any, at: Callable[[int, Any], mpmath.mpf]) -> mpmath.mpf:
    """The k-th derivative of an even function whose derivatives are (-1)^k at(k, x) for x > 0."""
    return (-mp.sign(x)) ** k * at(k, abs(x))


def bessel_i1_decay(n: int, x: Any) -> mpmath.mpf:
    """1/pi times the integral of (1 - cos t)^n cos(t) exp(-x (1 - cos t)) over half a turn, for x >= 0."""
    with mp.workprec(mp.prec + abs(int(mp.mag(x))) + 40):
        return bessel_i_decay(n, x) - bessel_i_decay(n + 1, x)


def bessel_k1_decay(n: int, x: Any) -> mpmath.mpf:
    """The integral of (cosh t - 1)^n cosh(t) exp(-x (cosh t - 1)) over t > 0."""
    return bessel_k_decay(n, x) + bessel_k_decay(n + 1, x)


#: Rows with values or slopes that are 0 at points which no formula knows.
OSCILLATING = {"bessel_j", "bessel_j0", "bessel_j1", "bessel_y", "bessel_y0", "bessel_y1", "bessel_i1e"}

#: The k-th derivative of a row by its last operand: arguments k, then the operands.
DERIVATIVES: dict[str, Callable[..., mpmath.mpf]] = {
    "erfinv": lambda k, x: _inverse(erfinv(x), k, 1),
    "erfinv_slope": lambda k, x: _inverse(erfinv(x), k + 1, 1),
    "erfcinv": lambda k, x: _inverse(erfcinv(x), k, -1),
    "erfcinv_slope": lambda k, x: _inverse(erfcinv(x), k + 1, -1),
    "lgamma": lambda k, x: mp.loggamma(x) if k == 0 else polygamma(k - 1, x),
    "digamma": lambda k, x: polygamma(k, x),
    "polygamma": lambda k, n, x: polygamma(int(n) + k, x),
    "zeta": lambda k, s, q: (-1) ** k * mp.rf(s, k) * zeta(s + k, q),
    "bessel_j0": lambda k, x: _neighbours(mp.besselj, 1, 0, k, x, -1),
    "bessel_j1": lambda k, x: _neighbours(mp.besselj, 1, 1, k, x, -1),
    "bessel_j": lambda k, n, x: _neighbours(mp.besselj, 1, int(n), k, x, -1),
    "bessel_y0": lambda k, x: _neighbours(bessel_y, 1, 0, k, x, -1),
    "bessel_y1": lambda k, x: _neighbours(bessel_y, 1, 1, k, x, -1),
    "bessel_y": lambda k, n, x: _neighbours(bessel_y, 1, int(n), k, x, -1),
    "bessel_i0": lambda k, x: _neighbours(mp.besseli, 1, 0, k, x),
    "bessel_i1": lambda k, x: _neighbours(mp.besseli, 1, 1, k, x),
    "bessel_i": lambda k, n, x: _neighbours(mp.besseli, 1, int(n), k, x),
    "bessel_k0": lambda k, x: _neighbours(bessel_k, -1, 0, k, x),
    "bessel_k1": lambda k, x: _neighbours(bessel_k, -1, 1, k, x),
    "bessel_k": lambda k, n, x: _neighbours(bessel_k, -1, int(n), k, x),
    "bessel_i0e": lambda k, x: _odd_even(k, x, bessel_i_decay),
    "bessel_i1e": lambda k, x: mp.sign(x) * _odd_even(k, x, bessel_i1_decay),
    "bessel_k0e": lambda k, x: (-1) ** k * bessel_k_decay(k, x),
    "bessel_k1e": lambda k, x: (-1) ** k * bessel_k1_decay(k, x),
}


def polygamma(n: int, x: Any) -> mpmath.mpf:
    """The n-th derivative of digamma for x > 0."""
    return mp.digamma(x) if n == 0 else (-1) ** (n + 1) * mp.factorial(n) * zeta(n + 1, x)
