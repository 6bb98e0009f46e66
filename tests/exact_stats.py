"""Densities and distribution functions by mpmath, for what `dualgrad.stats` gives; and where tests take them."""

import mpmath as mp

DIGITS = 18  # of the result: derivatives are taken with several times as many

# By distribution: shapes, the standard density, and the standard distribution function (None: there is no formula).
CONTINUOUS = {
    "norm": ((), lambda z: mp.npdf(z), lambda z: mp.ncdf(z)),
    "cauchy": ((), lambda z: 1 / (mp.pi * (1 + z * z)), lambda z: mp.atan2(1, -z) / mp.pi),
    "laplace": (
        (),
        lambda z: mp.exp(-abs(z)) / 2,
        lambda z: mp.exp(z) / 2 if z < 0 else 1 - mp.exp(-z) / 2,
    ),
    "logistic": ((), lambda z: mp.sech(z / 2) ** 2 / 4, lambda z: 1 / (1 + mp.exp(-z))),
    "gumbel_r": ((), lambda z: mp.exp(-z - mp.exp(-z)), lambda z: mp.exp(-mp.exp(-z))),
    "gumbel_l": ((), lambda z: mp.exp(z - mp.exp(z)), lambda z: -mp.expm1(-mp.exp(z))),
    "t": (
        (3.5,),
        lambda z, v: (1 + z * z / v) ** (-(v + 1) / 2) / (mp.sqrt(v) * mp.beta(v / 2, mp.mpf(1) / 2)),
        lambda z, v: (
            mp.betainc(v / 2, mp.mpf(1) / 2, 0, v / (v + z * z), regularized=True) / 2
            if z < 0
            else 1 - mp.betainc(v / 2, mp.mpf(1) / 2, 0, v / (v + z * z), regularized=True) / 2
        ),
    ),
    "gennorm": (
        (1.7,),
        lambda z, b: b / (2 * mp.gamma(1 / b)) * mp.exp(-(abs(z) ** b)),
        lambda z, b: (1 + mp.sign(z) * mp.gammainc(1 / b, 0, abs(z) ** b, regularized=True)) / 2,
    ),
    "vonmises": ((2.3,), lambda z, k: mp.exp(k * mp.cos(z)) / (2 * mp.pi * mp.besseli(0, k)), None),
    "expon": ((), lambda z: mp.exp(-z), lambda z: -mp.expm1(-z)),
    "halfnorm": ((), lambda z: 2 * mp.npdf(z), lambda z: mp.erf(z / mp.sqrt(2))),
    "gamma": (
        (2.3,),
        lambda z, a: z ** (a - 1) * mp.exp(-z) / mp.gamma(a),
        lambda z, a: mp.gammainc(a, 0, z, regularized=True),
    ),
    "chi2": (
        (5.0,),
        lambda z, v: z ** (v / 2 - 1) * mp.exp(-z / 2) / (2 ** (v / 2) * mp.gamma(v / 2)),
        lambda z, v: mp.gammainc(v / 2, 0, z / 2, regularized=True),
    ),
    "invgamma": (
        (3.1,),
        lambda z, a: z ** (-a - 1) * mp.exp(-1 / z) / mp.gamma(a),
        lambda z, a: mp.gammainc(a, 1 / z, regularized=True),
    ),
    "lognorm": ((0.7,), lambda z, s: mp.npdf(mp.log(z) / s) / (s * z), lambda z, s: mp.ncdf(mp.log(z) / s)),
    "pareto": ((2.6,), lambda z, b: b / z ** (b + 1), lambda z, b: 1 - z ** (-b)),
    "weibull_min": (
        (1.8,),
        lambda z, c: c * z ** (c - 1) * mp.exp(-(z**c)),
        lambda z, c: -mp.expm1(-(z**c)),
    ),
    "uniform": ((), lambda z: mp.mpf(1) + 0 * z, lambda z: z),
    "beta": (
        (2.2, 3.4),
        lambda z, a, b: z ** (a - 1) * (1 - z) ** (b - 1) / mp.beta(a, b),
        lambda z, a, b: mp.betainc(a, b, 0, z, regularized=True),
    ),
    "truncnorm": (
        (-1.2, 2.1),
        lambda z, a, b: mp.npdf(z) / (mp.ncdf(b) - mp.ncdf(a)),
        lambda z, a, b: (mp.ncdf(z) - mp.ncdf(a)) / (mp.ncdf(b) - mp.ncdf(a)),
    ),
    "wrapcauchy": (
        (0.4,),
        lambda z, c: (1 - c * c) / (2 * mp.pi * (1 + c * c - 2 * c * mp.cos(z))),
        lambda z, c: mp.atan2((1 + c) * mp.sin(z / 2), (1 - c) * mp.cos(z / 2)) / mp.pi,
    ),
}

# Shapes of which whole numbers come first, how many of them, and the probability of k.
DISCRETE = {
    "bernoulli": ((0.3,), 0, lambda k, p: p if k else 1 - p),
    "binom": ((9.0, 0.35), 1, lambda k, n, p: mp.binomial(n, k) * p**k * (1 - p) ** (n - k)),
    "betabinom": (
        (9.0, 1.7, 2.4),
        1,
        lambda k, n, a, b: mp.binomial(n, k) * mp.beta(k + a, n - k + b) / mp.beta(a, b),
    ),
    "geom": ((0.2,), 0, lambda k, p: (1 - p) ** (k - 1) * p),
    "nbinom": ((4.5, 0.4), 0, lambda k, n, p: mp.gamma(k + n) / mp.gamma(n) / mp.factorial(k) * p**n * (1 - p) ** k),
    "poisson": ((3.7,), 0, lambda k, mu: mu**k * mp.exp(-mu) / mp.factorial(k)),
}


def function(name, f, lowest=0):
    """The function `f` (logpdf, cdf, logsf, ...) of a distribution, of mpmath's numbers x, *shapes, loc, scale."""
    if name in DISCRETE:
        probability = DISCRETE[name][2]
        total = lambda k, *shapes: mp.fsum(probability(mp.mpf(j), *shapes) for j in range(lowest, int(k) + 1))
        density, place = (lambda k, *rest: probability(k - rest[-1], *rest[:-1])), 1
        cdf = lambda k, *rest: total(k - rest[-1], *rest[:-1])
    else:
        _, standard, between = CONTINUOUS[name]
        place = 2
        density = lambda x, *rest: standard((x - rest[-2]) / rest[-1], *rest[:-place]) / rest[-1]
        cdf = lambda x, *rest: between((x - rest[-2]) / rest[-1], *rest[:-place])
    of = {"pdf": density, "pmf": density, "cdf": cdf, "sf": lambda *given: 1 - cdf(*given)}[f.removeprefix("log")]
    return (lambda *given: mp.log(of(*given))) if f.startswith("log") else of


def derivatives(f, given, place, order, digits=DIGITS):
    """Value and derivatives up to `order` of f by its operand `place`."""
    with mp.workdps(digits):
        exact = [mp.mpf(float(x)) for x in given]
        along = lambda x: f(*exact[:place], x, *exact[place + 1 :])
        return [float(c * mp.factorial(k)) for k, c in enumerate(mp.taylor(along, exact[place], order))]
