"""Spectral densities and traces of functions of an operator, by stochastic Lanczos quadrature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from ..ops import linalg
from ..tensor import Tensor
from ..transforms.vectorize import vmap
from ._checks import positive
from ._linear import symmetric_operator
from .estimates import Estimate, mean_of
from .krylov import process
from .probes import checked_count, probes_of

__all__ = ["Spectrum", "logdet", "spectral_density"]


class Spectrum(NamedTuple):
    """The spectrum of an operator as quadrature rules, one for each probe.

    Attributes
    ----------
    nodes : Tensor of shape (samples, steps)
        Ritz values, ascending.
    weights : Tensor of shape (samples, steps)
        The number of eigenvalues that each node stands for; the sum is n on average.
    independent : bool
        True if the probes are independent draws, whose spread gives an error.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> dg.set_seed(0)
    >>> spectrum = dg.curvature.spectral_density(dg.Tensor(np.diag([1.0, 1.0, 2.0, 4.0])), 20, 4)
    >>> print(spectrum.trace(lambda x: x).value.round(6), spectrum.trace(dg.ops.log).value.round(6))
    8.0 2.079442
    >>> print(spectrum(np.array([1.0, 2.0]), width=0.1).round(3))  # two eigenvalues of four, and one
    [1.995 0.997]
    """

    nodes: Tensor
    weights: Tensor
    independent: bool

    def trace(self, f: Callable[[Tensor], Tensor]) -> Estimate:
        """Estimate the trace of f(A), for an elementwise function f."""
        return mean_of((self.weights * f(self.nodes)).sum(1), self.independent)

    def __call__(self, points: Any, width: Any = None) -> Tensor:
        """The density of the spectrum at some points, with integral 1.

        Parameters
        ----------
        points : Tensor or array of shape (k,)
        width : float, optional
            The standard deviation of the Gaussian that replaces each node; by default a fiftieth of the range of the
            nodes, or of the largest one if all are equal.
        """
        points = points if isinstance(points, Tensor) else Tensor(np.asarray(points), self.nodes.dtype)
        if width is None:
            width = _width(self.nodes.max() - self.nodes.min(), ops.abs(self.nodes).max())
        away = (points.reshape((-1, 1, 1)) - self.nodes) / width
        bumps = ops.exp(-0.5 * away * away) / (width * float(np.sqrt(2.0 * np.pi)))
        return (self.weights * bumps).sum((1, 2)) / self.weights.sum()


def _width(spread: Tensor, largest: Tensor) -> Tensor:
    """A fiftieth of the range; for a single value a fiftieth of that value, or of 1 if it is zero."""
    scale = ops.where(spread > 1e-6 * largest, spread, ops.where(largest > 0.0, largest, 1.0))
    return scale / 50.0


def spectral_density(
    A: Any, samples: int = 10, steps: int = 50, *, probes: Any = "rademacher", like: Any = None
) -> Spectrum:
    """Estimate the density of the eigenvalues of an operator, by stochastic Lanczos quadrature.

    Parameters
    ----------
    A, like
        As for `symmetric_operator`.
    samples : int, default 10
        The number of probes; ignored if probes are given.
    steps : int, default 50
        Lanczos steps for each probe: exact for polynomials up to degree 2 steps - 1. At most n.
    probes
        As for `trace`.

    Returns
    -------
    Spectrum
        A call with points gives the smoothed density; ``trace(f)`` estimates the trace of f(A).

    Raises
    ------
    TypeError, ValueError
        As for `trace`.

    Notes
    -----
    The Lanczos process from a probe z gives Gauss quadrature for the measure of z over the eigenvalues: z^T f(A) z is
    about ``|z|^2 sum_j (e_1 . s_j)^2 f(theta_j)``, with eigenpairs (theta_j, s_j) of T (Golub, Welsch, 1969; Ubaru,
    Chen, Saad, "Fast estimation of tr(f(A)) via stochastic Lanczos quadrature", 2017). All probes run as one batch,
    with samples * steps * n numbers for their bases.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> dg.set_seed(0)
    >>> chain = lambda x: 0.5 * ((x[1:] - x[:-1]) ** 2).sum()
    >>> spectrum = dg.curvature.spectral_density(dg.curvature.hessian_operator(chain)(np.zeros(500)), steps=40)
    >>> points = np.linspace(-1.0, 5.0, 601)
    >>> print((spectrum(points, width=0.1).sum() * 0.01).round(6))
    1.0
    """
    A = symmetric_operator(A, like)
    count = min(checked_count("spectral_density", "steps", steps), A.size)
    samples = checked_count("spectral_density", "samples", samples)
    z, independent = probes_of("spectral_density", probes, samples, A.size, A.dtype)

    def quadrature(z: Tensor) -> tuple[Tensor, Tensor]:
        nodes, vectors = linalg.eigh(process(A, count, z).matrix())
        return nodes, vectors[0] ** 2 * (z * z).sum()

    nodes, weights = vmap(quadrature)(z)
    return Spectrum(nodes, weights, independent)


def logdet(A: Any, samples: int | None = None, steps: int = 50, *, probes: Any = "rademacher", like: Any = None) -> Any:
    """Compute or estimate the logarithm of the determinant of a positive definite operator.

    Parameters
    ----------
    A, like
        As for `symmetric_operator`.
    samples : int, optional
        The number of probes in an estimate by stochastic Lanczos quadrature. By default the result is exact, from the
        Cholesky factor of the matrix.
    steps, probes
        As for `spectral_density`.

    Returns
    -------
    Tensor or Estimate
        Exact: a Tensor of shape (). Estimated: ``Estimate(value, error)``. The error measures the random probes, but
        not the quadrature, whose error falls exponentially with the steps, slower for a larger condition number.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the operator is not positive definite.
    TypeError, ValueError
        As for `trace`.

    Notes
    -----
    log det A = tr log A. Both ways are differentiable. Derivatives of an estimate pass through all Lanczos steps, with
    constant probes.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> A = dg.Tensor(np.diag([1.0, 2.0, 4.0]))
    >>> print(dg.curvature.logdet(A).round(6), dg.curvature.logdet(A, samples=5).value.round(6))
    2.079442 2.079442
    """
    A = symmetric_operator(A, like)
    if samples is None and isinstance(probes, str):
        matrix = A.dense()
        factor = linalg.cholesky((matrix + matrix.T) * 0.5)
        return 2.0 * ops.log(ops.diagonal(factor)).sum()
    found = spectral_density(A, 1 if samples is None else samples, steps, probes=probes)
    return found.trace(lambda nodes: ops.log(positive(nodes)))
