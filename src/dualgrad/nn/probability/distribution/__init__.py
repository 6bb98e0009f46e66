"""Distributions as Cells: densities, distribution functions, moments, entropies, divergences and samples.

Parameters are given when a distribution is made, or left out and given to each call, after the value. Densities are
formulas of differentiable operators, so derivatives of every order go to values and parameters. Samples of the gamma
family and of Poisson distributions are drawn by rejection; their derivatives raise an error.
"""

from dualgrad.nn.probability.distribution._base import Distribution
from dualgrad.nn.probability.distribution._bounded import Beta, Exponential, Gamma, HalfNormal, LogNormal, Uniform
from dualgrad.nn.probability.distribution._discrete import Bernoulli, Categorical, Geometric, Poisson
from dualgrad.nn.probability.distribution._unbounded import Cauchy, Gumbel, Laplace, Logistic, Normal, StudentT

__all__ = [
    "Bernoulli", "Beta", "Categorical", "Cauchy", "Distribution", "Exponential", "Gamma", "Geometric", "Gumbel",
    "HalfNormal", "Laplace", "LogNormal", "Logistic", "Normal", "Poisson", "StudentT", "Uniform",
]  # fmt: skip
