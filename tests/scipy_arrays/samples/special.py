"""Special functions: by every argument that has a derivative, beside mpmath."""

from __future__ import annotations

import mpmath as mp
import numpy as np

from ..sample import Sample, sample

__all__ = ["SAMPLES"]

P = [0.3, 0.7, 1.9, 6.5]  # positive
S = [-2.1, -0.4, 0.6, 3.2]  # both signs
U = [0.08, 0.35, 0.6, 0.93]  # between 0 and 1
UNIT = [-0.9, -0.3, 0.2, 0.8]
A, B = [0.6, 1.4, 3.0, 7.5], [2.2, 0.8, 1.6, 4.0]
N = [3, 5, 2, 7]


def _call(f, c, *xs):
    return f(*xs)


def _by_last(*fixed):
    """A call whose first arguments are integers that are not differentiated."""
    return lambda f, c, x: f(*(c(np.array(a, np.float64)) for a in fixed), x)


def _with(exact, *fixed):
    return lambda x: exact(*fixed, x)


# elementwise: the points of each argument, and the function in mpmath
FUNCTIONS = {
    "boxcox": ((P, S), lambda x, a: (x**a - 1) / a),
    "boxcox1p": ((P, S), lambda x, a: ((1 + x) ** a - 1) / a),
    "inv_boxcox": ((U, P), lambda y, a: (1 + a * y) ** (1 / a)),
    "inv_boxcox1p": ((U, P), lambda y, a: (1 + a * y) ** (1 / a) - 1),
    "cbrt": ((P,), lambda x: mp.cbrt(x)),
    "cosdg": ((S,), lambda x: mp.cos(x * mp.pi / 180)),
    "sindg": ((S,), lambda x: mp.sin(x * mp.pi / 180)),
    "tandg": ((S,), lambda x: mp.tan(x * mp.pi / 180)),
    "cotdg": ((S,), lambda x: mp.cot(x * mp.pi / 180)),
    "cosm1": ((S,), lambda x: mp.cos(x) - 1),
    "ellipk": ((U,), mp.ellipk),
    "ellipkm1": ((U,), lambda p: mp.ellipk(1 - p)),
    "entr": ((P,), lambda x: -x * mp.log(x)),
    "erf": ((S,), mp.erf),
    "erfc": ((S,), mp.erfc),
    "erfcx": ((S,), lambda x: mp.exp(x * x) * mp.erfc(x)),
    "erfinv": ((UNIT,), mp.erfinv),
    "exp1": ((P,), mp.e1),
    "exp10": ((S,), lambda x: mp.power(10, x)),
    "exp2": ((S,), lambda x: mp.power(2, x)),
    "expi": ((P,), mp.ei),
    "expit": ((S,), lambda x: 1 / (1 + mp.exp(-x))),
    "exprel": ((S,), lambda x: mp.expm1(x) / x),
    "gamma": ((P,), mp.gamma),
    "gammaln": ((P,), mp.loggamma),
    "loggamma": ((P,), mp.loggamma),
    "rgamma": ((S,), mp.rgamma),
    "gammainc": ((A, B), lambda a, x: mp.gammainc(a, 0, x, regularized=True)),
    "gammaincc": ((A, B), lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True)),
    "huber": (([1.0, 1.0, 1.0, 1.0], S), None),
    "pseudo_huber": ((P, S), lambda d, r: d**2 * (mp.sqrt(1 + (r / d) ** 2) - 1)),
    "i0": ((S,), lambda x: mp.besseli(0, x)),
    "i1": ((S,), lambda x: mp.besseli(1, x)),
    "i0e": ((P,), lambda x: mp.exp(-x) * mp.besseli(0, x)),
    "i1e": ((P,), lambda x: mp.exp(-x) * mp.besseli(1, x)),
    "j0": ((S,), lambda x: mp.besselj(0, x)),
    "j1": ((S,), lambda x: mp.besselj(1, x)),
    "k0": ((P,), lambda x: mp.besselk(0, x)),
    "k1": ((P,), lambda x: mp.besselk(1, x)),
    "k0e": ((P,), lambda x: mp.exp(x) * mp.besselk(0, x)),
    "k1e": ((P,), lambda x: mp.exp(x) * mp.besselk(1, x)),
    "y0": ((P,), lambda x: mp.bessely(0, x)),
    "y1": ((P,), lambda x: mp.bessely(1, x)),
    "kl_div": ((P, A), lambda x, y: x * mp.log(x / y) - x + y),
    "rel_entr": ((P, A), lambda x, y: x * mp.log(x / y)),
    "log_ndtr": ((S,), lambda x: mp.log(mp.ncdf(x))),
    "ndtr": ((S,), mp.ncdf),
    "ndtri": ((U,), lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1)),
    "logit": ((U,), lambda p: mp.log(p / (1 - p))),
    "poch": ((A, B), lambda z, m: mp.gamma(z + m) / mp.gamma(z)),
    "binom": (([4.5, 6.2], [1.3, 2.6]), mp.binomial),
    "betaln": ((A, B), lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)),
    "psi": ((P,), mp.digamma),
    "radian": ((P, A, B), lambda d, m, s: (d + m / 60 + s / 3600) * mp.pi / 180),
    "sinc": ((S,), mp.sincpi),
    "spence": ((P,), lambda z: mp.re(mp.polylog(2, 1 - z))),
    "xlog1py": ((S, P), lambda x, y: x * mp.log(1 + y)),
    "xlogy": ((S, P), lambda x, y: x * mp.log(y)),
    "zeta": (([2.5, 4.0, 1.7, 6.0], P), mp.zeta),
    "zetac": (([2.5, 4.0, 1.7, 6.0],), lambda x: mp.zeta(x) - 1),
    "hyp1f1": ((A, B, S), mp.hyp1f1),
    "betainc": ((A, B, U), lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True)),
    "betaincc": ((A, B, U), lambda a, b, x: mp.betainc(a, b, x, 1, regularized=True)),
    "chdtr": ((A, B), lambda v, x: mp.gammainc(v / 2, 0, x / 2, regularized=True)),
    "chdtrc": ((A, B), lambda v, x: mp.gammainc(v / 2, x / 2, mp.inf, regularized=True)),
    "fdtr": ((A, B, P), None),
    "fdtrc": ((A, B, P), None),
    "gdtr": ((A, B, P), lambda a, b, x: mp.gammainc(b, 0, a * x, regularized=True)),
    "gdtrc": ((A, B, P), lambda a, b, x: mp.gammainc(b, a * x, mp.inf, regularized=True)),
    "stdtr": ((A, S), None),
    "stdtrit": ((A, U), None),
    "betaincinv": ((A, B, U), None),
    "gammaincinv": ((A, U), None),
    "gammainccinv": ((A, U), None),
    "chdtri": ((A, U), None),
    "fdtri": ((A, B, U), None),
    "bdtr": ((U,), None),
    "bdtrc": ((U,), None),
    "bdtri": ((U,), None),
    "nbdtr": ((U,), None),
    "nbdtrc": ((U,), None),
    "nbdtri": ((U,), None),
    "pdtr": ((P,), None),
    "pdtrc": ((P,), None),
    "pdtri": ((U,), None),
    "expn": ((P,), lambda x: mp.expint(3, x)),
    "yn": ((P,), lambda x: mp.bessely(2, x)),
    "lpmv": ((UNIT,), lambda x: -1.5 * (5 * x * x - 1) * mp.sqrt(1 - x * x)),
    "polygamma": ((P,), lambda x: mp.polygamma(2, x)),
    "gammasgn": (([-2.5, -1.5, 0.5, 3.5],), None),
}  # fmt: skip
FIXED = {
    "bdtr": ([2, 2, 2, 2], [5, 5, 5, 5]), "bdtrc": ([2, 2, 2, 2], [5, 5, 5, 5]), "bdtri": ([2, 2, 2, 2], [5, 5, 5, 5]),
    "nbdtr": (N, A[::-1]), "nbdtrc": (N, A[::-1]), "nbdtri": (N, N),
    "pdtr": (N,), "pdtrc": (N,), "pdtri": (N,), "expn": ([3] * 4,), "yn": ([2] * 4,), "lpmv": ([1.0] * 4, [3.0] * 4),
    "polygamma": ([2] * 4,),
}  # fmt: skip
LAST = {
    "gammainc": "x", "gammaincc": "x", "betainc": "x", "betaincc": "x", "chdtr": "x", "chdtrc": "x", "zeta": "q",
    "gdtr": "x", "gdtrc": "x", "hyp1f1": "x", "stdtr": "t", "fdtr": "x", "fdtrc": "x", "boxcox": "lmbda", "huber": "r",
}  # fmt: skip
"""Functions that are looked at by their last argument alone, too."""


def _samples(name: str) -> list[Sample]:
    points, exact = FUNCTIONS[name]
    if name in FIXED:
        return [sample(_by_last(*FIXED[name]), *points, exact=exact, reach=0.05)]
    if name == "huber":  # a kink in both where |r| = delta
        exact = lambda d, r: r**2 / 2 if abs(r) <= d else d * (abs(r) - d / 2)
    found = [sample(_call, *points, exact=exact, reach=0.05, label="by all" if name in LAST else "")]
    if name in LAST:
        *fixed, last = points
        found.append(sample(_by_last(*fixed), last, reach=0.05, label=f"by {LAST[name]}"))
    return found


MATRIX = np.array([[0.3, -1.2, 2.0], [1.1, 0.4, -0.7]])

SAMPLES = {
    **{f"scipy.special.{name}": _samples(name) for name in FUNCTIONS},
    "scipy.special.logsumexp": [
        sample(lambda f, c, x: f(x, axis=1), MATRIX),
        sample(lambda f, c, x, b: f(x, b=b), MATRIX, np.abs(MATRIX) + 0.1, label="weights b"),
    ],
    "scipy.special.softmax": [sample(lambda f, c, x: f(x, axis=1), MATRIX)],
    "scipy.special.log_softmax": [sample(lambda f, c, x: f(x, axis=1), MATRIX)],
    "scipy.special.multigammaln": [
        sample(lambda f, c, x: f(x, 3), [1.4, 2.5, 7.0],
               exact=lambda a: mp.log(mp.pi) * 1.5 + mp.loggamma(a) + mp.loggamma(a - 0.5) + mp.loggamma(a - 1))
    ],
}  # fmt: skip
