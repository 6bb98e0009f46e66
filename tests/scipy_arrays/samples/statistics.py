"""`scipy.stats`: summary statistics, tests, and what is made of draws."""

from __future__ import annotations

import numpy as np

from ..sample import also, sample

__all__ = ["SAMPLES"]

X = np.array([0.31, 1.74, 0.92, 2.63, 1.13, 0.58, 3.41, 2.05])
Y = np.array([1.22, 0.45, 2.71, 1.98, 0.83, 3.02, 1.41, 0.66])
Z = np.array([2.2, 1.7, 3.6, 2.9, 4.1, 1.2, 2.4, 3.3])
M = np.column_stack([X, Y + 0.3, Z])
P = np.array([0.02, 0.4, 0.13, 0.71, 0.05])
ANGLES = np.array([0.3, 1.2, 0.7, 2.4, 5.9])
LONG = np.concatenate([X, Y + 0.013, Z + 0.021])


def both(result):
    return (result.statistic, result.pvalue)


def _tested(f, c, *xs):
    return both(f(*xs))


def _plain(f, c, *xs):
    return f(*xs)


def _along(f, c, x):
    return f(x, axis=0)


def _draws(f, c, x):
    mean = lambda sample, axis: sample.mean(axis=axis)
    result = f((x,), mean, n_resamples=30, rng=np.random.default_rng(3), method="percentile", vectorized=True)
    return (result.confidence_interval.low, result.confidence_interval.high)


def _monte_carlo(f, c, x):
    rng = np.random.default_rng(3)
    rvs = lambda size: c(rng.standard_normal(size))
    return both(f(x, rvs, lambda sample, axis: (sample**2).sum(axis=axis), n_resamples=40, vectorized=True))


def _permutations(f, c, x, y):
    difference = lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis)
    return both(f((x, y), difference, n_resamples=40, rng=np.random.default_rng(3), vectorized=True))


def _power(f, c, x):
    rng = np.random.default_rng(3)
    rvs = lambda size: c(rng.standard_normal(size))
    test = lambda sample, axis: (sample.mean(axis=axis) + x[0]) ** 2 * 0.1
    return f(test, rvs, 8, n_resamples=20, vectorized=True).power


def _logistic(t):
    return 1 / (1 + (-t * 1.0).exp()) if hasattr(t, "exp") else 1 / (1 + np.exp(-t))


NAMES_PLAIN = """differential_entropy entropy gmean gstd hmean iqr kurtosis median_abs_deviation sem skew tmean tstd
tvar tsem variation lmoment kstat kstatvar moment"""

PLAIN = {f"scipy.stats.{name}": [sample(_plain, X)] for name in NAMES_PLAIN.split()}
TESTED = {
    f"scipy.stats.{name}": [sample(_tested, *given)]
    for name, given in {
        "alexandergovern": (X, Y, Z), "ansari": (X, Y), "bartlett": (X, Y, Z), "brunnermunzel": (X, Y),
        "cramervonmises_2samp": (X, Y), "f_oneway": (X, Y, Z),
        "fligner": (X, Y, Z), "friedmanchisquare": (X, Y, Z), "jarque_bera": (X,), "kruskal": (X, Y, Z),
        "kurtosistest": (LONG,), "levene": (X, Y, Z), "mannwhitneyu": (X, Y), "mood": (X, Y), "normaltest": (LONG,),
        "pearsonr": (X, Y), "skewtest": (X,), "spearmanrho": (X, Y), "ttest_ind": (X, Y), "ttest_rel": (X, Y),
        "wilcoxon": (X, Y), "chatterjeexi": (X, Y),
    }.items()
}  # fmt: skip

SAMPLES = {
    **PLAIN,
    **TESTED,
    "scipy.stats.epps_singleton_2samp": [
        sample(lambda f, c, x, y: both(f(x, y, t=(0.7, 2.1))), LONG, LONG[::-1] * 1.3, reach=0.05)
    ],
    "scipy.stats.bootstrap": [sample(_draws, X)],
    "scipy.stats.monte_carlo_test": [sample(_monte_carlo, X)],
    "scipy.stats.permutation_test": [sample(_permutations, X, Z)],
    "scipy.stats.power": [sample(_power, X)],
    "scipy.stats.chisquare": [
        sample(lambda f, c, x: both(f(x)), X),
        sample(lambda f, c, x: f(x, c(np.full(8, X.mean())), sum_check=False).statistic, X, label="statistic"),
    ],
    "scipy.stats.power_divergence": [
        sample(lambda f, c, x: both(f(x, lambda_="log-likelihood")), X),
        sample(lambda f, c, x: f(x, lambda_=2 / 3).statistic, X, label="statistic"),
    ],
    "scipy.stats.boxcox_llf": [sample(lambda f, c, x: f(0.4, x), X)],
    "scipy.stats.yeojohnson_llf": [sample(lambda f, c, x: f(0.4, x), X)],
    **also("scipy.stats.circmean scipy.stats.circvar scipy.stats.circstd", _plain, ANGLES),
    "scipy.stats.combine_pvalues": [
        sample(lambda f, c, p: both(f(p)), P, reach=0.01),
        sample(lambda f, c, p: f(p, method="pearson").statistic, P, reach=0.01, label="statistic"),
    ],
    "scipy.stats.cramervonmises": [
        sample(lambda f, c, x: both(f(x, _logistic)), X),
        sample(lambda f, c, x: f(x, _logistic).statistic, X, label="statistic"),
    ],
    "scipy.stats.ks_1samp": [
        sample(lambda f, c, x: both(f(x, _logistic)), X),
        sample(lambda f, c, x: f(x, _logistic, method="asymp").statistic, X, label="statistic"),
    ],
    "scipy.stats.describe": [sample(lambda f, c, x: tuple(f(x, axis=0))[2:], M)],
    "scipy.stats.directional_stats": [sample(lambda f, c, x: (f(x).mean_direction, f(x).mean_resultant_length), M)],
    "scipy.stats.false_discovery_control": [sample(_plain, P, reach=0.01)],
    **also("scipy.stats.zscore scipy.stats.gzscore", _along, M),
    "scipy.stats.zmap": [sample(lambda f, c, x, y: f(x, y), X, Y)],
    "scipy.stats.mode": [sample(lambda f, c, x: tuple(f(x)), np.array([1.0, 2.5, 2.5, 0.5]))],
    "scipy.stats.pmean": [sample(lambda f, c, x: f(x, 2.5), X)],
    "scipy.stats.quantile": [
        sample(lambda f, c, x: f(x, c(np.array([0.2, 0.65]))), X),
        sample(lambda f, c, x, p: f(x, p), X, [0.2, 0.65], label="by p too"),
    ],
    "scipy.stats.rankdata": [sample(_plain, X)],
    "scipy.stats.sigmaclip": [sample(lambda f, c, x: tuple(f(x, 1.2, 1.2)), X)],
    **also("scipy.stats.tmax scipy.stats.tmin", lambda f, c, x: f(x, 2.0 if "max" in f.__name__ else 0.6), X),
    "scipy.stats.trim_mean": [sample(lambda f, c, x: f(x, 0.2), X)],
    "scipy.stats.ttest_1samp": [
        sample(lambda f, c, x: both(f(x, 0.7)), X),
        sample(lambda f, c, x: f(x, 0.7).statistic, X, label="statistic"),
    ],
    "scipy.stats.ttest_ind_from_stats": [
        sample(lambda f, c, m: both(f(m[0], m[1], 8, m[2], m[3], 9)), [1.2, 0.5, 1.7, 0.8]),
        sample(lambda f, c, m: f(m[0], m[1], 8, m[2], m[3], 9).statistic, [1.2, 0.5, 1.7, 0.8], label="statistic"),
    ],
}
for _name in (
    "alexandergovern bartlett brunnermunzel f_oneway jarque_bera kurtosistest levene "
    "normaltest pearsonr skewtest ttest_ind ttest_rel"
).split():
    _whole = SAMPLES[f"scipy.stats.{_name}"][0]
    SAMPLES[f"scipy.stats.{_name}"].append(
        sample(lambda f, c, *xs: f(*xs).statistic, *_whole.inputs, label="statistic")
    )
