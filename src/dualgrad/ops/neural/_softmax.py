"""Activation functions along an axis: softmax and its kin (see `_exponentials.py`), and the gated linear unit."""

from __future__ import annotations

from typing import Any

from ..._engine.transforms import tensor as _engine
from ..._settings import one_of
from ...tensor import Tensor
from .._arguments import OP, Primitive, floating, one_axis, respell, type_or
from ..math._exponentials import Exponentials

__all__ = ["LogSoftmax", "Softmax", "glu", "log_softmax", "softmax", "softmin"]

_SIGMOID, _SLICE = OP["sigmoid"], OP["slice"]


def _exponentials(name: str, x: Any, axis: Any, dtype: Any) -> Exponentials:
    """The exponentials along the axis; a number is the only element of its axis."""
    x = floating(name, x)
    if dtype is not None:
        x = _engine.convert(x, type_or(name, dtype, x.dtype).num)
    axes = () if x.ndim == 0 and one_of(axis, (0, -1)) else (one_axis(name, axis, x.shape),)
    return Exponentials.of(x, axes if x.size else ())  # an empty axis has no maximum, and nothing to share


def softmax(x: Any, axis: int = -1, *, dtype: Any = None, **other: Any) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    axis : int, default -1
        The axis along which the results add up to 1. Also spelled `dim`.
    dtype : type, optional
        Convert `x` to this type first.

    Returns
    -------
    Tensor
        The shape of `x`.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis (an error that is both a ValueError and an IndexError).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.softmax(dg.Tensor([[1.0, 1.0], [0.0, 1000.0]])))
    [[0.5 0.5]
     [0.  1. ]]
    """
    if other:
        axis = respell("softmax", other, axis=None if axis == -1 else axis)
    return _exponentials("softmax", x, axis, dtype).shares()


def log_softmax(x: Any, axis: int = -1, *, dtype: Any = None, **other: Any) -> Tensor:
    """Logarithm of softmax along an axis.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    axis : int, default -1
        The axis along which the exponentials of the results add up to 1. Also spelled `dim`.
    dtype : type, optional
        Convert `x` to this type first.

    Returns
    -------
    Tensor
        The shape of `x`.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.log_softmax(dg.Tensor([0.0, 1000.0])))
    [-1000. 0.]
    """
    if other:
        axis = respell("log_softmax", other, axis=None if axis == -1 else axis)
    return _exponentials("log_softmax", x, axis, dtype).log_shares()


def softmin(x: Any, axis: int = -1, *, dtype: Any = None, **other: Any) -> Tensor:
    """``softmax(-x)``: the smallest element has the largest share.

    The parameters are as in `softmax`.

    Returns
    -------
    Tensor
        The shape of `x`.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.softmin(dg.Tensor([[1.0, 1.0], [0.0, 1000.0]])))
    [[0.5 0.5]
     [1.  0. ]]
    """
    if other:
        axis = respell("softmin", other, axis=None if axis == -1 else axis)
    return softmax(-floating("softmin", x), axis, dtype=dtype)


def glu(x: Any, axis: int = -1, **other: Any) -> Tensor:
    """Gated linear unit: the first half along an axis, times the sigmoid of the second half.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        At least one axis; integers become float32.
    axis : int, default -1
        The axis, of even length. Also spelled `dim`.

    Returns
    -------
    Tensor
        The shape of `x` with half the length along the axis.

    Raises
    ------
    ValueError
        If the axis has an odd length.
    numpy.exceptions.AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.glu(dg.Tensor([[2.0, 4.0, 0.0, 800.0]])))
    [[1. 4.]]
    """
    if other:
        axis = respell("glu", other, axis=None if axis == -1 else axis)
    x = floating("glu", x)
    axis = one_axis("glu", axis, x.shape)
    shape = x.shape
    if shape[axis] % 2:
        raise ValueError(f"glu: axis {axis} of shape {shape} has odd length {shape[axis]}; expected an even one")
    half = shape[axis] // 2
    value, gate = (
        _engine.apply(_SLICE, tuple([(start, half, 1) if k == axis else (0, n, 1) for k, n in enumerate(shape)]), x)
        for start in (0, half)
    )
    return value * _engine.unary(_SIGMOID, gate)


# ------------------------------------------------------------------------------------------ primitive classes


class Softmax(Primitive):
    """Primitive class of `softmax`: ``ops.Softmax(axis=-1)(x)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Softmax(0)(dg.Tensor([[1.0, 2.0], [1.0, 2.0]])))
    [[0.5 0.5]
     [0.5 0.5]]
    """

    __slots__ = ("axis",)

    def __init__(self, axis: int = -1) -> None:
        self.axis: int = axis

    def __call__(self, x: Any) -> Tensor:
        return softmax(x, self.axis)


class LogSoftmax(Primitive):
    """Primitive class of `log_softmax`: ``ops.LogSoftmax(axis=-1)(x)``.

    Parameters
    ----------
    axis : int, default -1
        The axis along which the exponentials of the results add up to 1.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.LogSoftmax()(dg.Tensor([1.0, 1.0])))
    [-0.6931472 -0.6931472]
    """

    __slots__ = ("axis",)

    def __init__(self, axis: int = -1) -> None:
        self.axis: int = axis

    def __call__(self, x: Any) -> Tensor:
        return log_softmax(x, self.axis)
