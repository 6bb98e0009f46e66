"""Functions with settings, composed of rows and `dualgrad.ops`: sums of exponentials, counts, constants."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import ops
from ..._settings import truth_value, whole_number
from ...ops._arguments import operand
from ...tensor import Tensor
from ._rows import real, row_applied
from ._scipy import sp

__all__ = ["bernoulli", "comb", "log_softmax", "logit", "logsumexp", "multigammaln", "softmax", "zeta"]


def comb(n: Any, k: Any) -> Tensor:
    """The number of ways to choose k of n things, for real n and k: `binom`, and 0 for k > n or k < 0.

    Parameters
    ----------
    n, k : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.comb(dg.Tensor([5.0, 1.0]), 2))
    [10.  0.]
    """
    n, k = real("comb", n, k)
    inside = ops.logical_and(k <= n, k >= 0)
    return ops.where(inside, row_applied("binom", n, ops.where(inside, k, 0.0 * n)), 0.0 * n)


def multigammaln(a: Any, d: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension d; see `dualgrad.ops.mvlgamma`.

    Parameters
    ----------
    a : Tensor or numpy.ndarray
        Above ``(d - 1) / 2``.
    d : int
        The dimension.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.multigammaln(dg.Tensor([3.0]), 3))
    [2.694925]
    """
    return ops.mvlgamma(a, d)


def bernoulli(n: int) -> np.ndarray:
    """The Bernoulli numbers from 0 to n, which are constants.

    Parameters
    ----------
    n : int
        The last index.

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> from dualgrad.scipy import special
    >>> special.bernoulli(2).round(6)
    array([ 1.      , -0.5     ,  0.166667])
    """
    n = whole_number("bernoulli", "n", n)
    if n > 10_000:
        raise ValueError(f"bernoulli: n is {n}; expected at most 10000")
    return np.asarray(sp.bernoulli(n))


def zeta(x: Any, q: Any = None) -> Tensor:
    """Hurwitz's zeta function, the sum of (k + q)**-x over k = 0, 1, ...; Riemann's for q = 1.

    Parameters
    ----------
    x : Tensor, numpy.ndarray or number
        The exponent, above 1.
    q : Tensor, numpy.ndarray or number, optional
        The start of the sum; None means 1.

    Returns
    -------
    Tensor

    Raises
    ------
    NotImplementedError
        If it is differentiated by `x`, for which no formula is known.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.zeta(dg.Tensor([2.0], dg.float64)).round(6))
    [1.644934]
    """
    x, q = real("zeta", x, 1.0 if q is None else q)
    return ops.zeta(x, q)


def logit(x: Any) -> Tensor:
    """The logarithm of the odds, ``log(x / (1 - x))``.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Between 0 and 1, any shape; integers become float32.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.logit(dg.Tensor([0.5, 0.75])))
    [0.       1.098612]
    """
    return ops.log(x) - ops.log1p(-x)


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """The logarithm of the sum of exponentials, with weights.

    Parameters
    ----------
    a : Tensor or numpy.ndarray
        The exponents.
    axis : int or tuple of int, optional
        The axes to sum over; None means all.
    b : Tensor or numpy.ndarray, optional
        Weights of a shape that broadcasts with `a`; they may be negative.
    keepdims : bool, default False
        Keep the axes with length 1.
    return_sign : bool, default False
        Return the logarithm of the absolute value, and the sign.

    Returns
    -------
    Tensor, or tuple of two
        nan where the sum is negative, unless its sign is returned.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.logsumexp(dg.Tensor([1000.0, 1000.0]), b=dg.Tensor([1.0, 2.0])))
    1001.0986
    """
    if b is None and not truth_value("logsumexp", "return_sign", return_sign):
        return ops.logsumexp(a, axis, keepdims)
    a, b = real("logsumexp", a, 1.0 if b is None else b)
    a = a + 0.0 * b
    axes = tuple(range(a.ndim)) if axis is None else axis
    seen = ops.where(b == 0, -math.inf + 0.0 * b, a)
    top = ops.stop_gradient(ops.amax(seen, axes, keepdims=True))
    top = ops.where(ops.isfinite(top), top, 0.0 * ops.zeros_like(top))
    total = ops.sum(b * ops.exp(ops.where(b == 0, 0.0 * b, a - top)), axes, keepdims=True)
    out = ops.log(ops.abs(total) if return_sign else total) + top
    sign = ops.sign(total)
    if not keepdims:
        out, sign = ops.squeeze(out, axes), ops.squeeze(sign, axes)
    return (out, sign) if return_sign else out


def softmax(x: Any, axis: Any = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis, or over all.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    axis : int, optional
        None for all elements together.

    Returns
    -------
    Tensor
        The shape of `x`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.softmax(dg.Tensor([1.0, 1.0])))
    [0.5 0.5]
    """
    return _along(ops.softmax, x, axis)


def log_softmax(x: Any, axis: Any = None) -> Tensor:
    """The logarithm of `softmax`.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    axis : int, optional
        None for all elements together.

    Returns
    -------
    Tensor
        The shape of `x`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.log_softmax(dg.Tensor([1.0, 1.0])))
    [-0.693147 -0.693147]
    """
    return _along(ops.log_softmax, x, axis)


def _along(f: Callable[..., Tensor], x: Any, axis: Any) -> Tensor:
    if axis is not None:
        return f(x, axis)
    x = operand(f.__name__, x)
    return ops.reshape(f(ops.reshape(x, (-1,)), 0), x.shape)
