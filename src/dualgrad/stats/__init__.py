"""Densities and distribution functions of `scipy.stats`, on tensors, with derivatives by every argument.

Each distribution is an object with SciPy's functions and signatures: ``norm.logpdf(x, loc=0, scale=1)``, ``gamma.cdf(x,
a, loc=0, scale=1)``, ``binom.logpmf(k, n, p, loc=0)``. Tails are accurate to all digits, and outside the support a
log-density is -inf with slope 0. `bijections` maps constrained parameters to free ones for samplers.

SciPy is needed: ``pip install 'dualgrad[scipy]'``.

Examples
--------
>>> import dualgrad as dg
>>> from dualgrad import stats
>>> print(stats.norm.logsf(dg.Tensor([0.0, 30.0], dg.float64)))
[  -0.69314718 -454.32124396]
>>> print(dg.grad(lambda df: stats.t.logpdf(1.5, df))(dg.Tensor(4.0, dg.float64)))
0.0170426
"""

from __future__ import annotations

from . import bijections
from ._counts import bernoulli, betabinom, binom, geom, nbinom, poisson
from ._family import Continuous, Discrete
from ._half_line import chi2, expon, gamma, halfnorm, invgamma, lognorm, pareto, weibull_min
from ._interval import beta, truncnorm, uniform, wrapcauchy
from ._kde import gaussian_kde
from ._line import cauchy, gennorm, gumbel_l, gumbel_r, laplace, logistic, norm, t, vonmises
from ._vectors import dirichlet, multinomial, multivariate_normal

__all__ = [
    "Continuous", "Discrete", "bernoulli", "beta", "betabinom", "bijections", "binom", "cauchy", "chi2", "dirichlet",
    "expon", "gamma", "gaussian_kde", "gennorm", "geom", "gumbel_l", "gumbel_r", "halfnorm", "invgamma", "laplace",
    "logistic", "lognorm", "multinomial", "multivariate_normal", "nbinom", "norm", "pareto", "poisson", "t",
    "truncnorm", "uniform", "vonmises", "weibull_min", "wrapcauchy",
]  # fmt: skip
