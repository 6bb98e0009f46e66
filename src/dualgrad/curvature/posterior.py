"""Laplace's approximation: a Gaussian around the most probable point, from the curvature at that point."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import ops
from .._engine.transforms.inputs import as_input
from .._settings import described, one_of
from ..operators.estimators import random_signs
from ..ops import linalg
from ..tensor import Tensor
from ..transforms.gradient import grad
from ..transforms.jacobians import jacrev
from ..transforms.selection import Selection
from ..transforms.transformed import transformation
from ._checks import informative, positive
from ._linear import SymmetricOperator, symmetric_operator
from ._space import Space, kept, selected, selection_of
from .diagonals import hessian_diagonal
from .estimates import diagonal
from .krylov import process
from .probes import checked_count
from .products import hessian_operator, one_element

__all__ = ["Posterior", "laplace"]

FORMS = ("full", "diagonal", "low_rank")


class _Full:
    """A precision matrix P = L L^T."""

    def __init__(self, curvature: Tensor, prior: Tensor) -> None:
        matrix = (curvature + curvature.T) * 0.5 + ops.diag(prior)
        self.factor = linalg.cholesky(matrix)
        self.logdet = 2.0 * ops.log(ops.diagonal(self.factor)).sum()

    def half(self, rows: Tensor) -> Tensor:
        """Multiply rows z (k, n) by a root R of the covariance, R R^T = P^-1: R z."""
        return linalg.solve_triangular(self.factor.T, rows.T, lower=False).T

    def half_transposed(self, rows: Tensor) -> Tensor:
        """The rows R^T v, whose squares add up to v^T P^-1 v."""
        return linalg.solve_triangular(self.factor, rows.T, lower=True).T


class _Diagonal:
    """A diagonal precision matrix."""

    def __init__(self, curvature: Tensor, prior: Tensor) -> None:
        precision = positive(curvature + prior)
        self.scale = 1.0 / ops.sqrt(precision)
        self.logdet = ops.log(precision).sum()

    def half(self, rows: Tensor) -> Tensor:
        return rows * self.scale

    half_transposed = half


class _LowRank:
    """P = S^-1 (1 + V^T T V) S^-1: S^-2 is the prior's precision, and V^T T V the Lanczos projection of S H S."""

    def __init__(self, curvature: SymmetricOperator, prior: Tensor, rank: int) -> None:
        self.scale = 1.0 / ops.sqrt(prior)
        product = lambda v: self.scale * curvature.along(self.scale * v)  # noqa: E731
        scaled = symmetric_operator(product, ops.zeros((curvature.size,), curvature.dtype))
        found = process(scaled, rank, random_signs((curvature.size,), curvature.dtype))
        values, self.vectors, _ = found.ritz_pairs()
        self.values = positive(1.0 + values)
        self.logdet = ops.log(self.values).sum() + ops.log(prior).sum()

    def _root(self, rows: Tensor) -> Tensor:
        return rows + ((rows @ self.vectors.T) * (1.0 / ops.sqrt(self.values) - 1.0)) @ self.vectors

    def half(self, rows: Tensor) -> Tensor:
        return self.scale * self._root(rows)

    def half_transposed(self, rows: Tensor) -> Tensor:
        return self._root(rows * self.scale)


class Posterior:
    """A Gaussian around the most probable variables; `laplace` makes it.

    Attributes
    ----------
    size : int
        The number n of variables.
    log_joint : Tensor of shape ()
        Logarithm of the likelihood times the prior at the point.
    log_evidence : Tensor of shape ()
        Laplace's approximation of the logarithm of the marginal likelihood.
    gradient : pytree of Tensors
        The gradient of ``-log_joint`` at the point. The approximation assumes that it is zero.
    decrement : Tensor of shape ()
        Half of g^T P^-1 g with the gradient g and the precision P: the distance of `log_joint` from its maximum, if it
        is quadratic. Far below 1 at a good point.

    Examples
    --------
    >>> import dualgrad as dg
    >>> loss = lambda w: 1.5 * (w**2).sum()
    >>> posterior = dg.curvature.laplace(loss, prior_precision=1.0)(dg.Tensor([0.0, 0.0], dg.float64))
    >>> print(posterior.variances(), posterior.covariance())
    [0.25 0.25] [[0.25 0.  ]
     [0.   0.25]]
    """

    size: int
    log_joint: Tensor
    log_evidence: Tensor
    gradient: Any
    decrement: Tensor

    def __init__(
        self, space: Space, selection: Selection, prior: Tensor, loss: Tensor, slope: Tensor, form: Any
    ) -> None:
        if not isinstance(space, Space):
            raise TypeError(f"Posterior is made by dualgrad.curvature.laplace, got {type(space).__name__}")
        self.size = space.size
        self._space, self._selection, self._form = space, selection, form
        self._mean = mean = space.vector(space.call.leaves)
        self.log_joint = (
            0.5 * (ops.log(prior).sum() - self.size * math.log(2.0 * math.pi) - (prior * mean * mean).sum()) - loss
        )
        self.log_evidence = self.log_joint + 0.5 * (self.size * math.log(2.0 * math.pi) - form.logdet)
        slope = slope + prior * mean
        self.gradient = space.nest(slope)
        self.decrement = 0.5 * (form.half_transposed(slope.reshape((1, -1))) ** 2).sum()

    def __repr__(self) -> str:
        return f"<Posterior of {self.size} variables, {type(self._form).__name__[1:]}>"

    def variances(self) -> Any:
        """The variance of each variable, in the structure of a gradient."""
        if isinstance(self._form, _Diagonal):
            return self._space.nest(self._form.scale**2)
        return self._space.nest((self._form.half(self._unit()) ** 2).sum(0))

    def covariance(self) -> Tensor:
        """The covariance matrix of the flat variables, (n, n)."""
        root = self._form.half(self._unit())
        return root.T @ root

    def _unit(self) -> Tensor:
        return ops.eye(self.size, self.size, self._space.dtype)

    def sample(self, count: int) -> Any:
        """Draw variables, in the structure of a gradient, with a first axis of `count` draws."""
        count = checked_count("Posterior.sample", "count", count)
        z = ops.randn((count, self.size)).astype(self._space.dtype)
        drawn = self._mean + self._form.half(z)
        found, start = [], 0
        for shape, dtype, leaf in zip(self._space.shapes, self._space.dtypes, self._space.call.leaves, strict=True):
            found.append(drawn[:, start : start + leaf.size].reshape((count, *shape)).astype(dtype))
            start += leaf.size
        return self._space.arranged(found)

    def predictive(
        self, model: Callable[..., Any], *, covariance: bool = False
    ) -> Callable[..., tuple[Tensor, Tensor]]:
        """Make the function that computes a model's outputs and variances, with the model linearised at the point.

        Parameters
        ----------
        model : callable
            Returns one Tensor; it takes the variables in the same places as the loss, or reads the same Parameters.
        covariance : bool, default False
            Return the covariances of all outputs, (m, m) for m elements, instead of their variances.

        Returns
        -------
        callable
            Takes the inputs of `model`; the values of variables among them are not read. Returns the outputs, and the
            variances J P^-1 J^T in their shape, without the noise of data.
        """
        name = "Posterior.predictive"
        selection = Selection(name, model, *self._asked())

        def predict(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
            space = Space(selected(selection, model, args, kwargs))
            if space.shapes != self._space.shapes:
                raise ValueError(
                    f"{name}: the variables of the model have shapes {space.shapes}; expected those of "
                    f"the loss, {self._space.shapes}"
                )

            def outputs(z: Tensor) -> Tensor:
                found = space.call(*space.pieces(z))
                if not isinstance(found, Tensor):
                    raise TypeError(f"{name}: the model returned a {type(found).__name__}; expected one Tensor")
                return found

            value = outputs(self._mean)
            rows = jacrev(lambda z: outputs(z).reshape((-1,)))(self._mean)
            root = self._form.half_transposed(rows.astype(self._space.dtype))
            spread = root @ root.T if covariance else (root * root).sum(1).reshape(value.shape)
            return value, spread

        return predict

    def _asked(self) -> tuple[Any, Any, bool]:
        """The settings grad_position, weights and has_aux, as given to `laplace`."""
        s = self._selection
        positions = s.positions if s.several else s.positions[0] if s.positions else None
        weights = (s.parameters[0] if s.single else s.parameters) if s.weighted else None
        return positions, weights, False


@transformation
def laplace(
    loss: Callable[..., Any],
    prior_precision: Any,
    grad_position: int | tuple[int, ...] | None = None,
    weights: Any = None,
    *,
    form: str = "full",
    rank: int | None = None,
    curvature: Callable[..., SymmetricOperator] | None = None,
) -> Callable[..., Posterior]:
    """Make Laplace's approximation of a posterior distribution, at its most probable point.

    Parameters
    ----------
    loss : callable
        The negative log-likelihood of all data, one element, with its normalising terms, without the prior. A mean over
        samples is not a log-likelihood.
    prior_precision : float, Tensor, or pytree of Tensors in the structure of a gradient
        The inverse variance of the Gaussian prior with mean zero: one for all variables, or one for each.
    grad_position, weights
        The variables, as for `hessian_operator`; their values are the most probable ones. If the weights are only the
        Parameters of a last layer, the layers before it are constant.
    form : {"full", "diagonal", "low_rank"}
        The precision matrix P: the curvature H plus the prior's precision; its diagonal; or H projected by `rank`
        Lanczos steps, in the scales of the prior.
    rank : int, optional
        The number of Lanczos steps for the form ``low_rank``, at most n.
    curvature : callable, optional
        Takes the inputs of `loss` and returns the operator H. By default the Hessian of `loss`. A Gauss-Newton or
        Fisher operator is positive semidefinite even if the Hessian is not.

    Returns
    -------
    callable
        Takes the inputs of `loss` and returns a `Posterior`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the precision matrix is not positive definite.
    TypeError, ValueError, IndexError
        As for `hessian_operator`, if `loss` does not return one element, the prior does not fit or an option is wrong.

    Notes
    -----
    log p(data) = log p(data, w) + n / 2 log(2 pi) - 1 / 2 log det P, exact if the joint density is Gaussian in w
    (MacKay, "A practical Bayesian framework for backpropagation networks", 1992; Daxberger et al., "Laplace redux",
    2021). Derivatives pass through ``log_evidence`` to the prior's precision and to the data of `loss`, at a fixed
    point. That is the whole derivative if the curvature does not depend on the point; otherwise make the point depend
    on them as well (`argmin`).

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.1, 0.9, 2.1, 2.9])
    >>> def loss(w):
    ...     return 0.5 * (((w * x - y) / 0.1) ** 2 + np.log(2.0 * np.pi * 0.01)).sum()
    >>> best = dg.Tensor((x @ y) / (x @ x + 0.01), dg.float64)
    >>> posterior = dg.curvature.laplace(loss, prior_precision=1.0)(best)
    >>> print(posterior.variances().round(6), posterior.decrement < 1e-20)
    0.000714 True
    >>> C = 0.01 * np.eye(4) + np.outer(x, x)  # the data are Gaussian with this covariance
    >>> exact = -0.5 * (y @ np.linalg.solve(C, y) + np.linalg.slogdet(2.0 * np.pi * C)[1])
    >>> print(posterior.log_evidence.round(6), exact.round(6))
    -0.430497 -0.430497
    >>> slope = dg.grad(lambda t: dg.curvature.laplace(loss, t)(best).log_evidence)
    >>> print(slope(dg.Tensor(1.0, dg.float64)).round(6))
    0.01452
    """
    name = "laplace"
    weights = kept(weights)
    selection = selection_of(name, loss, grad_position, weights)
    if not one_of(form, FORMS):
        raise ValueError(f"{name}: form is {form!r}; expected one of {', '.join(FORMS)}")
    if (rank is None) == (form == "low_rank"):
        raise ValueError(f"{name}: rank is {rank!r} for the form {form!r}; it belongs to 'low_rank', and only to it")
    if rank is not None:
        rank = checked_count(name, "rank", rank)
    if not (curvature is None or callable(curvature)):
        raise TypeError(f"{name}: curvature must be a function, got {described(curvature)}")
    operator = curvature or hessian_operator(loss, grad_position, weights)

    def posterior(*args: Any, **kwargs: Any) -> Posterior:
        space = Space(selected(selection, loss, args, kwargs))
        prior = _prior(space, prior_precision)
        value = one_element(name, "the loss", space.call(*space.call.leaves)).astype(space.dtype)
        everything = tuple(range(len(space.call.leaves)))
        slope = space.vector(_as_tuple(grad(space.call, everything)(*space.call.leaves)))
        found: Any
        if form == "diagonal" and curvature is None:
            entries = hessian_diagonal(loss, grad_position, weights)(*args, **kwargs)
            found = _Diagonal(space.vector(space.flattened(entries, "the diagonal")), prior)
        else:
            H = operator(*args, **kwargs)
            if not isinstance(H, SymmetricOperator) or H.size != space.size:
                raise TypeError(f"{name}: curvature returned {H!r}; expected an operator of {space.size} variables")
            if form == "diagonal":
                found = _Diagonal(space.vector(space.flattened(diagonal(H), "the diagonal")), prior)
            elif form == "full":
                found = _Full(H.dense(), prior)
            else:
                if rank is None or rank > space.size:
                    raise ValueError(f"{name}: rank is {rank} for {space.size} variables; expected no more than those")
                found = _LowRank(H, prior, rank)
        return Posterior(space, selection, prior, value, slope, found)

    return posterior


def _as_tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def _prior(space: Space, precision: Any) -> Tensor:
    """The prior's precision for each variable, as a flat vector."""
    precision = as_input("laplace", "prior_precision", precision)
    if isinstance(precision, int) and not isinstance(precision, bool):
        precision = float(precision)
    if isinstance(precision, float) or (isinstance(precision, Tensor) and precision.size == 1):
        each = precision if isinstance(precision, float) else precision.reshape(()).astype(space.dtype)
        return informative(ops.ones((space.size,), space.dtype) * each)
    if isinstance(precision, Tensor) and precision.shape == (space.size,):
        return informative(precision.astype(space.dtype))
    return informative(space.vector(space.flattened(precision, "prior_precision")))
