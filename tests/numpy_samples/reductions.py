"""Reductions, quantiles, statistics, scans, differences and integrals."""

import numpy as np
from cases import normal, positive, spread

from numpy_samples import sample

A, S, V, CUBE = normal(3, 4), spread(3, 4), normal(5), normal(2, 3, 2)
MASK = np.arange(12).reshape(3, 4) % 6 != 2
HOLES = np.arange(12).reshape(3, 4) % 5 == 1
UNEVEN = np.array([0.0, 0.5, 2.0, 2.25, 4.0])
COUNTS = np.array([1, 2, 1, 3])


def holes(m, a):
    return m.where(HOLES, np.nan, a)


PLAIN = [
    ("sum prod", {"dtype": "float64", "initial": 1.5}, A),
    ("mean", {"dtype": "float64"}, A),
    ("std var", {"dtype": "float64", "ddof": 1}, A),
    ("max min amax amin", {"initial": 0.05}, S),
]
REDUCTIONS = [
    *(
        sample(
            name, lambda m, a, name=name, more=more: getattr(m, name)(a, axis=1, keepdims=True, where=MASK, **more), a
        )
        for names, more, a in PLAIN
        for name in names.split()
    ),
    *(
        sample(
            f"nan{name}",
            lambda m, a, name=name, more=more: getattr(m, f"nan{name}")(
                holes(m, a), axis=1, keepdims=True, where=MASK, **more
            ),
            a,
        )
        for names, more, a in PLAIN
        for name in names.split()
        if not name.startswith("am")
    ),
    *(
        sample(name, lambda m, a, name=name: getattr(m, name)(a), S)
        for name in "sum prod mean std var max min amax amin median ptp nanmedian".split()
    ),
    *(
        sample(f"nan{name}", lambda m, a, name=name: getattr(m, f"nan{name}")(holes(m, a)), S)
        for name in "sum prod mean std var max min median".split()
    ),
    *(
        sample(name, lambda m, a, name=name: getattr(m, name)(a, axis=1, mean=m.mean(a, axis=1, keepdims=True)), A)
        for name in ("std", "var", "nanstd", "nanvar")
    ),
    *(
        sample(name, lambda m, a, name=name: getattr(m, name)(a, correction=0.5), A)
        for name in ("std", "var", "nanstd", "nanvar")
    ),
    sample("var", lambda m, a, b: m.var(a + 1j * b, axis=0, where=MASK), A, normal(3, 4, seed=1)),
    sample("sum", lambda m, a: m.sum(a, axis=()), A),
    sample("ptp", lambda m, a: m.ptp(a, axis=1, keepdims=True), S),
    *(
        sample(
            name,
            lambda m, a, name=name: getattr(m, name)(holes(m, a), axis=(0, 1), overwrite_input=True, keepdims=True),
            S,
        )
        for name in ("nanmedian",)
    ),
    sample("median", lambda m, a: m.median(a, axis=1, overwrite_input=False, keepdims=True), S),
    sample("nancumsum", lambda m, a: m.nancumsum(holes(m, a), axis=1, dtype="float64"), A),
    sample("nancumprod", lambda m, a: m.nancumprod(holes(m, a), axis=0, dtype="float64"), A),
    sample("nancumprod", lambda m, a: m.nancumprod(holes(m, a)), A),
    sample("nancumsum", lambda m, a: m.nancumsum(holes(m, a)), A),
    sample("cumsum", lambda m, a: m.cumsum(a, axis=1, dtype="float64"), A),
    sample("cumprod", lambda m, a: m.cumprod(a, axis=0, dtype="float64"), A),
    sample("cumulative_sum", lambda m, a: m.cumulative_sum(a, axis=1, dtype="float64", include_initial=True), A),
    sample("cumulative_prod", lambda m, a: m.cumulative_prod(a, axis=1, dtype="float64", include_initial=True), A),
]

METHODS = """inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull linear
    median_unbiased normal_unbiased lower higher midpoint nearest""".split()


def of_method(name, method):
    scale = 100 if "percentile" in name else 1
    return lambda m, a: getattr(m, name)(
        holes(m, a) if "nan" in name else a, [0.12 * scale, 0.57 * scale], axis=1, method=method, keepdims=True
    )


QUANTILES = [
    *(
        sample(name, of_method(name, method), S, label=method)
        for name in ("quantile", "percentile", "nanquantile", "nanpercentile")
        for method in METHODS
    ),
    *(
        sample(
            "quantile",
            lambda m, a, q, method=method: m.quantile(a, 0.5 + 0.45 * m.sin(q), 0, method=method),
            S,
            [0.31, 0.77],
            label=f"{method}, by q too",
        )
        for method in METHODS
    ),
    *(
        sample(
            name,
            lambda m, a, name=name, scale=scale, axis=axis: getattr(m, name)(
                a, 0.6 * scale, axis=axis, overwrite_input=True, method="inverted_cdf", weights=1.0 + MASK
            ),
            S,
            since=since,
        )
        for name, scale in (("quantile", 1), ("percentile", 100), ("nanquantile", 1), ("nanpercentile", 100))
        for axis, since in ((1, "2.0.0"), ((0, 1), "2.4.0"))  # weights of several axes were those of other elements
    ),
    sample("quantile", lambda m, a: m.quantile(a, [[0.2, 0.4], [0.9, 1.0]], axis=0), S),
    sample("quantile", lambda m, a: m.quantile(a, 0.4, 1, method="inverted_cdf", weights=COUNTS), S),
]

STATISTICS = [
    sample("average", lambda m, a, w: m.average(a, weights=w, keepdims=True), A, positive(3, 4)),
    sample("average", lambda m, a, w: list(m.average(a, axis=0, weights=w, returned=True)), A, positive(3)),
    sample("average", lambda m, a, w: m.average(a, axis=(2, 0), weights=w), CUBE, positive(2, 2)),
    sample(
        "cov",
        lambda m, a, b, w: m.cov(a, b, True, False, fweights=COUNTS, aweights=w, dtype="float64"),
        A,
        A[:1] ** 2,
        positive(4),
    ),
    sample("cov", lambda m, a: m.cov(a, rowvar=False, bias=True), A),
    sample("cov", lambda m, a: m.cov(a, ddof=0), V),
    sample("corrcoef", lambda m, a, b: m.corrcoef(a, b, rowvar=False, dtype="float64"), A, normal(3, 2), rtol=1e-12),
]

SAMPLED = [
    sample("diff", lambda m, a, b, c: m.diff(a, n=2, axis=0, prepend=b, append=c), A, normal(1, 4), normal(2, 4)),
    sample("ediff1d", lambda m, a, b, c: m.ediff1d(a, to_end=b, to_begin=c), A, normal(2), normal(1)),
    sample("trapezoid", lambda m, y, x: m.trapezoid(y, x=x, axis=0), A, normal(3)),
    sample("trapezoid", lambda m, y: m.trapezoid(y, dx=0.25), A),
    sample("gradient", lambda m, f, h: list(m.gradient(f, h, h * h, edge_order=2)), A, 0.5),
    sample("gradient", lambda m, f, x: m.gradient(f, x, axis=0), normal(5, 2), UNEVEN),
    sample(
        "interp",
        lambda m, x, xp, fp, l, r: m.interp(x, xp, fp, left=l, right=r),
        [-1.0, 0.7, 2.1, 9.0],
        UNEVEN,
        V,
        0.5,
        2.0,
    ),
    sample("interp", lambda m, x, xp, fp: m.interp(x, xp, fp, period=4.5), [-1.0, 0.7, 2.1, 9.2], UNEVEN, V),
    sample("convolve", lambda m, a, v: m.convolve(a, v, mode="same"), V, normal(3)),
    sample("correlate", lambda m, a, v: m.correlate(a, v, mode="full"), V, normal(3)),
]

SAMPLES = [*REDUCTIONS, *QUANTILES, *STATISTICS, *SAMPLED]
