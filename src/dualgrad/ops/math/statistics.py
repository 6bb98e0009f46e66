"""Covariance and correlation of variables that were observed together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._settings import array_of, real_number, truth_value
from ...tensor import Tensor
from .._arguments import floating, integer, operand, permuted, to_shape, total
from ..index.choice import clip, where
from ..shape.reshaping import diag
from .complex import complex, conj, imag, real
from .elementwise import sqrt

__all__ = ["cov"]


def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """Covariances of variables; each row holds the observations of one variable.

    Parameters
    ----------
    input : Tensor
        Shape (variables, observations), or (observations,) for one variable; integers become float32.
    correction : int, default 1
        The number subtracted from the number of observations in the divisor.
    fweights : Tensor of int, optional
        How many times each observation was made.
    aweights : Tensor, optional
        The weight of each observation. Derivatives go to these weights.

    Returns
    -------
    Tensor
        Shape (variables, variables), or () for one variable. For complex variables the second is conjugated.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    TypeError
        If `fweights` are not integers.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
    >>> print(ops.cov(x))
    [[ 1. -1.]
     [-1.  1.]]
    >>> print(ops.cov(x[0], aweights=dg.Tensor([1.0, 0.0, 1.0])))
    2.0
    """
    x = observations("cov", input, True)
    return covariance("cov", x, integer("cov", "correction", correction), fweights, aweights)


def observations(name: str, x: Any, rowvar: bool) -> Tensor:
    """Observations with a row for each variable."""
    x = floating(name, x)
    if x.ndim > 2:
        raise ValueError(f"{name}: a tensor of shape {x.shape} has too many axes; expected at most 2")
    truth_value(name, "rowvar", rowvar)
    if x.ndim == 2 and not rowvar:
        return permuted(x, (1, 0))
    return to_shape(x, (1,) * (2 - x.ndim) + x.shape)


def covariance(name: str, x: Tensor, ddof: int, fweights: Any, aweights: Any) -> Tensor:
    """Covariances of the rows of a matrix, by NumPy's formula for weights."""
    count = x.shape[1]
    kinds = (("fweights", fweights), ("aweights", aweights))
    given = [_weights(name, word, w, x) for word, w in kinds if w is not None]
    if given:
        weights = given[0] if len(given) == 1 else given[0] * given[1]
        number = total(weights, (0,), False)
        free: Any = number - ddof
        if aweights is not None and ddof:
            free = number - ddof * total(weights * given[-1], (0,), False) / number
        free = where(free > 0, free, 0.0)
        residual = x - total(x * weights, (1,), True) / number
        second = residual * weights
    else:
        free = max(count - real_number(name, "ddof", ddof), 0)
        residual = second = x - total(x, (1,), True) / count
    found = residual @ permuted(conj(second), (1, 0)) / free
    return to_shape(found, ()) if found.size == 1 else found


def _weights(name: str, word: str, weights: Any, x: Tensor) -> Tensor:
    """Weights of observations as real numbers of the precision of the observations."""
    w = operand(name, array_of(name, word, weights) if isinstance(weights, list | tuple) else weights)
    if word == "fweights" and not w.dtype.is_int:
        raise TypeError(f"{name}: fweights have type {w.dtype}; expected integers")
    if w.shape != (x.shape[1],):
        raise ValueError(f"{name}: {word} of shape {w.shape} for {x.shape[1]} observations; expected one for each")
    if not isinstance(weights, Tensor) and (np.asarray(weights) < 0).any():
        raise ValueError(f"{name}: {word} have negative numbers")
    return _engine.convert(w, real(x)._typenum)


def correlation(covariances: Tensor) -> Tensor:
    """Covariances divided by the deviations of both variables.

    Rounding may give numbers just above 1. They are cut off without changing the derivative: a perfect correlation is a
    maximum, not a corner.
    """
    if covariances.ndim == 0:
        return covariances / covariances
    n = covariances.shape[0]
    deviations = sqrt(real(diag(covariances)))
    found = covariances / to_shape(deviations, (n, 1)) / deviations
    held = _engine.stop(found)
    parts = [clip(part, -1.0, 1.0) for part in ((real(held), imag(held)) if held.dtype.is_complex else (held,))]
    return found + ((complex(*parts) if len(parts) == 2 else parts[0]) - held)


METHODS: dict[str, Callable[..., Any]] = {"cov": cov}
