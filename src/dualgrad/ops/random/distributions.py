"""Random numbers of named distributions.

Where tensors shift and scale a distribution, derivatives go to them: a sample is ``mean + stddev * z``, and only z is
drawn. Distributions that are drawn by rejection (gamma, Poisson) have no derivative by their parameters and raise an
error for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ...dtype import as_dtype
from ...tensor import Tensor
from .._arguments import floating, new_shape, operand
from ._samples import _gamma, _laplace, _poisson, _shaped, _type, _uniform, _whole
from .drawing import _drawn, _source, rand, randn

__all__ = [
    "gamma", "laplace", "normal", "poisson", "rand_like", "randn_like", "random_gamma", "random_poisson",
    "standard_laplace", "standard_normal", "uniform",
]  # fmt: skip


# ---------------------------------------------------------------------------------------- moved and stretched


def standard_normal(shape: Any, seed: int | None = None) -> Tensor:
    """Draw numbers from the standard normal distribution.

    Parameters
    ----------
    shape : int or tuple of int
        The shape.
    seed : int, optional
        Draw from a source of its own with this seed; by default from the source that `dualgrad.set_seed` seeds.

    Returns
    -------
    Tensor
        Type Float32.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.standard_normal((2, 3)).shape
    (2, 3)
    """
    return randn(new_shape("standard_normal", shape), seed=seed)


def standard_laplace(shape: Any, seed: int | None = None) -> Tensor:
    """Draw numbers from the Laplace distribution with mean 0 and scale 1.

    Parameters
    ----------
    shape, seed
        As in `standard_normal`.

    Returns
    -------
    Tensor
        Type Float32.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.standard_laplace((2, 3)).shape
    (2, 3)
    """
    return _laplace(_source(seed), new_shape("standard_laplace", shape), _dtype.float32)


def normal(shape: Any, mean: Any, stddev: Any, seed: int | None = None) -> Tensor:
    """Draw numbers from normal distributions; derivatives go to `mean` and `stddev`.

    Parameters
    ----------
    shape : int or tuple of int
        The shape, which broadcasts with the shapes of the parameters.
    mean, stddev : Tensor or number
        Mean and standard deviation.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.normal((2,), dg.Tensor([1.0, 5.0]), 0.0))
    [1. 5.]
    """
    mean, stddev = floating("normal", mean), floating("normal", stddev)
    return mean + stddev * randn(_shaped("normal", shape, mean, stddev), dtype=_type(mean, stddev), seed=seed)


def laplace(shape: Any, mean: Any, lambda_param: Any, seed: int | None = None) -> Tensor:
    """Draw numbers from Laplace distributions; derivatives go to `mean` and `lambda_param`.

    Parameters
    ----------
    shape : int or tuple of int
        The shape, which broadcasts with the shapes of the parameters.
    mean, lambda_param : Tensor or number
        Mean and scale.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.laplace((2,), dg.Tensor([1.0, 5.0]), 0.0))
    [1. 5.]
    """
    mean, scale = floating("laplace", mean), floating("laplace", lambda_param)
    return mean + scale * _laplace(_source(seed), _shaped("laplace", shape, mean, scale), _type(mean, scale))


def uniform(shape: Any, minval: Any, maxval: Any, seed: int | None = None, dtype: Any = _dtype.float32) -> Tensor:
    """Draw numbers that are uniform from `minval` to `maxval`, without the last; derivatives go to both.

    Parameters
    ----------
    shape : int or tuple of int
        The shape, which broadcasts with the shapes of the limits.
    minval, maxval : Tensor or number
        The limits. For an integer type they are single numbers, and all integers from `minval` on are equally likely.
    seed : int, optional
        As in `standard_normal`.
    dtype : type, default float32
        A float type, Int32 or Int64.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the lower integer limit is not below the upper.

    Examples
    --------
    >>> from dualgrad import ops
    >>> x = ops.uniform((100,), 2.0, 5.0)
    >>> bool(((x >= 2) & (x < 5)).all())
    True
    """
    target = as_dtype(dtype, where="uniform")
    if target.is_int:
        return _whole("uniform", _source(seed), shape, minval, maxval, target)
    target = _drawn("uniform", target)
    low, high = [floating("uniform", x).astype(target) for x in (minval, maxval)]
    u = _uniform(_source(seed), _shaped("uniform", shape, low, high), target)
    return low + (high - low) * u


def rand_like(input: Any, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Draw numbers that are uniform on [0, 1), in the shape of another tensor.

    Parameters
    ----------
    input : Tensor
        Gives the shape, and by default the type, of the result.
    seed : int, optional
        As in `standard_normal`.
    dtype : type, optional
        A float type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.rand_like(ops.ones((2, 3))).shape
    (2, 3)
    """
    x = operand("rand_like", input)
    return rand(x.shape, dtype=x.dtype if dtype is None else dtype, seed=seed)


def randn_like(input: Any, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Draw standard normal numbers in the shape of another tensor; parameters are as in `rand_like`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.randn_like(ops.ones((2, 3))).shape
    (2, 3)
    """
    x = operand("randn_like", input)
    return randn(x.shape, dtype=x.dtype if dtype is None else dtype, seed=seed)


# -------------------------------------------------------------------------------------------------- rejection


def gamma(shape: Any, alpha: Any, beta: Any, seed: int | None = None) -> Tensor:
    """Draw numbers from gamma distributions; derivatives go to `beta`.

    Parameters
    ----------
    shape : int or tuple of int
        Stands in front of the shape to which `alpha` and `beta` broadcast.
    alpha : Tensor or float
        The shape parameter, above 0. It may not carry a derivative.
    beta : Tensor or float
        The rate, above 0.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor

    Raises
    ------
    LeavesDerivativeError
        If `alpha` carries a derivative.
    ValueError
        If `alpha` is not positive.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.gamma((2, 3), dg.Tensor([1.0, 2.0]), 3.0).shape
    (2, 3, 2)
    """
    a, b = floating("gamma", alpha), floating("gamma", beta)
    whole = (*new_shape("gamma", shape), *np.broadcast_shapes(a.shape, b.shape))
    return _gamma("gamma", a, whole, _type(a, b), _source(seed)) / b


def random_gamma(shape: Any, alpha: Any, seed: int | None = None) -> Tensor:
    """Draw numbers from gamma distributions of rate 1.

    Parameters
    ----------
    shape : int or tuple of int
        Stands in front of the shape of `alpha`.
    alpha : Tensor
        The shape parameter, above 0. It may not carry a derivative.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor
        The type of `alpha`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.random_gamma((3,), dg.Tensor([1.0, 2.0])).shape
    (3, 2)
    """
    a = floating("random_gamma", alpha)
    return _gamma("random_gamma", a, (*new_shape("random_gamma", shape), *a.shape), a.dtype, _source(seed))


def random_poisson(shape: Any, rate: Any, seed: int | None = None, dtype: Any = _dtype.float32) -> Tensor:
    """Draw numbers from Poisson distributions.

    Parameters
    ----------
    shape : int or tuple of int
        Stands in front of the shape of `rate`.
    rate : Tensor or float
        The mean, 0 or more. It may not carry a derivative.
    seed : int, optional
        As in `standard_normal`.
    dtype : type, default float32
        The type of the result.

    Returns
    -------
    Tensor

    Raises
    ------
    LeavesDerivativeError
        If `rate` carries a derivative.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.random_poisson((2,), 0.0))
    [0. 0.]
    """
    mean = floating("random_poisson", rate)
    target = as_dtype(dtype, where="random_poisson")
    whole = (*new_shape("random_poisson", shape), *mean.shape)
    return _poisson("random_poisson", "rate", mean, whole, target, _source(seed))


def poisson(shape: Any, mean: Any, seed: int | None = None) -> Tensor:
    """Draw numbers from Poisson distributions.

    Parameters
    ----------
    shape : int or tuple of int
        The shape, which broadcasts with the shape of `mean`.
    mean : Tensor
        The mean, 0 or more. It may not carry a derivative.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor
        Type Float32.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.poisson((2,), dg.Tensor([0.0])))
    [0. 0.]
    """
    mean = floating("poisson", mean)
    return _poisson("poisson", "mean", mean, _shaped("poisson", shape, mean), _dtype.float32, _source(seed))


METHODS: dict[str, Callable[..., Any]] = {}
