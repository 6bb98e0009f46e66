"""Trace and diagonal of an operator: exact with one product for each variable, or estimated with random probes."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import ops
from .._settings import one_of
from ..ops import linalg
from ..tensor import Tensor
from ..transforms.gradient import stop_gradient
from ._linear import SymmetricOperator, symmetric_operator
from .probes import checked_count, probes_of

__all__ = ["Estimate", "diagonal", "trace"]


class Estimate(NamedTuple):
    """An estimate and its standard error.

    Attributes
    ----------
    value : Tensor, or pytree of Tensors
    error : Tensor, or pytree of Tensors
        The standard error from the spread of the probes. It is nan for a single probe, and for Hadamard probes, which
        are not independent.

    Examples
    --------
    >>> import dualgrad as dg
    >>> value, error = dg.curvature.trace(dg.ops.eye(3, 3, dg.float32), samples=10)
    >>> print(value, error)
    3.0 0.0
    """

    value: Any
    error: Any


def mean_of(terms: Tensor, independent: bool) -> Estimate:
    """The mean over the first axis, and its standard error."""
    count = len(terms)
    mean = terms.mean(0)
    if count == 1 or not independent:
        return Estimate(mean, ops.full_like(mean, float("nan")))
    return Estimate(mean, root(((terms - mean) ** 2).sum(0) / (count * (count - 1))))


def root(x: Tensor) -> Tensor:
    """The square root of a variance, as a constant of derivatives: it has no slope where the variance is zero."""
    return ops.sqrt(stop_gradient(x))


def trace(
    A: Any, samples: int | None = None, *, method: str = "hutchinson", probes: Any = "rademacher", like: Any = None
) -> Any:
    """The trace of an operator.

    Parameters
    ----------
    A, like
        As for `symmetric_operator`.
    samples : int, optional
        The number of products in an estimate. By default the trace is exact, with one product for each variable.
    method : {"hutchinson", "hutch++"}
        The method of estimation. Hutch++ computes the trace on a random subspace exactly and estimates the rest; each
        of its three steps takes a third of the products. Its error falls with 1 / samples instead of 1 / sqrt(samples).
    probes : {"rademacher", "gaussian", "hadamard"} or array (samples, n)
        Signs, normal numbers, or (for Hutchinson's method) rows of a Hadamard matrix with a random sign for each
        variable; as many of them as variables make the estimate exact. Given probes z need E[z z^T] = 1.

    Returns
    -------
    Tensor or Estimate
        Exact: a Tensor of shape (). Estimated: ``Estimate(value, error)``.

    Raises
    ------
    TypeError, ValueError
        If `A` is not an operator, `samples` is not a positive int (at least 3 for Hutch++), or an option is unknown.

    See Also
    --------
    laplacian : The trace of a Hessian in one forward sweep.

    Notes
    -----
    Hutchinson (1990): E[z^T A z] = tr A. Meyer, Musco, Musco, Woodruff, "Hutch++: optimal stochastic trace estimation"
    (2021). Derivatives treat the draws, the subspace of Hutch++ and the errors as constants: the derivative of an
    estimate is an unbiased estimate of the trace's derivative. Draws come from dualgrad's generator (`set_seed`).

    Examples
    --------
    >>> import dualgrad as dg
    >>> f = lambda x: (x**3).sum() + x[0] * x[1]
    >>> x = dg.Tensor([1.0, 2.0, 3.0], dg.float64)
    >>> print(dg.curvature.trace(dg.curvature.hessian_operator(f)(x)))
    36.0
    >>> print(dg.grad(lambda x: dg.curvature.trace(dg.curvature.hessian_operator(f)(x)))(x))
    [6. 6. 6.]
    >>> dg.set_seed(0)
    >>> value, error = dg.curvature.trace(dg.curvature.hessian_operator(f)(x), samples=100)
    >>> print(abs(value - 36.0) < 3 * error)
    True
    """
    A = symmetric_operator(A, like)
    if not one_of(method, ("hutchinson", "hutch++")):
        raise ValueError(f"trace: method is {method!r}; expected 'hutchinson' or 'hutch++'")
    if samples is None and isinstance(probes, str):
        return A.over_unit_vectors(lambda v, product: (v * product).sum()).sum()
    if method == "hutch++":
        return _hutch_plus_plus(A, samples, probes)
    z, independent = _drawn("trace", A, samples, probes)
    return mean_of((z * A.rows(z)).sum(1), independent)


def _drawn(name: str, A: SymmetricOperator, samples: int | None, probes: Any) -> tuple[Tensor, bool]:
    count = 0 if samples is None else checked_count(name, "samples", samples)
    z, independent = probes_of(name, probes, count, A.size, A.dtype)
    if samples is not None and len(z) != count:
        raise ValueError(f"{name}: samples is {count}, and there are {len(z)} probes; leave one of them out")
    return z, independent


def _hutch_plus_plus(A: SymmetricOperator, samples: int | None, probes: Any) -> Estimate:
    if (
        not isinstance(probes, str)
        or probes == "hadamard"
        or samples is None
        or checked_count("trace", "samples", samples) < 3
    ):
        raise ValueError("trace: Hutch++ takes samples >= 3 and probes 'rademacher' or 'gaussian'")
    k = min(samples // 3, A.size)
    sketch, _ = probes_of("trace", probes, k, A.size, A.dtype)
    z, _ = probes_of("trace", probes, samples - 2 * k, A.size, A.dtype)
    q = linalg.qr(stop_gradient(A.rows(sketch)).T)[0].T  # orthonormal rows (k, n)
    rest = z - (z @ q.T) @ q
    found = mean_of((rest * A.rows(rest)).sum(1), True)
    return Estimate((q * A.rows(q)).sum() + found.value, found.error)


def diagonal(A: Any, samples: int | None = None, *, probes: Any = "rademacher", like: Any = None) -> Any:
    """Compute or estimate the diagonal of an operator, in the structure of a gradient.

    Parameters
    ----------
    A, like
        As for `symmetric_operator`.
    samples : int, optional
        The number of products in an estimate. By default the diagonal is exact, with one product for each variable.
    probes
        As for `trace`.

    Returns
    -------
    pytree of Tensors, or Estimate
        Exact: the structure of a gradient. Estimated: ``Estimate(value, error)``, both in that structure.

    Raises
    ------
    TypeError, ValueError
        As for `trace`.

    See Also
    --------
    hessian_diagonal : Cheaper for Hessians, since it forms no product.

    Notes
    -----
    Bekas, Kokiopoulou, Saad, "An estimator for the diagonal of a matrix" (2007): sum z * A z / sum z * z, element by
    element. For signs it is the mean of z * A z, Hutchinson's estimator.

    Examples
    --------
    >>> import dualgrad as dg
    >>> A = dg.Tensor([[2.0, 1.0], [1.0, 5.0]])
    >>> print(dg.curvature.diagonal(A))
    [2. 5.]
    >>> print(dg.curvature.diagonal(A, 2, probes="hadamard").value)
    [2. 5.]
    """
    A = symmetric_operator(A, like)
    if samples is None and isinstance(probes, str):
        found = A.over_unit_vectors(lambda v, product: (v * product).sum())
        return A.space.nest(found)
    z, independent = _drawn("diagonal", A, samples, probes)
    squares = (z * z).sum(0)
    terms = z * A.rows(z)
    value = terms.sum(0) / squares
    error = ops.full_like(value, float("nan"))
    if independent and len(z) > 1:
        away = terms - z * z * value
        error = root((away * away).sum(0) * (len(z) / (len(z) - 1.0))) / squares
    return Estimate(A.space.nest(value), A.space.nest(error))
