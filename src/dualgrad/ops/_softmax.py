"""Activation functions along an axis: softmax and its kin, and the gated linear unit.

Softmax is shifted by its largest element, which then is 0 whatever it was: what is left depends on the differences
to it only. So neither a probability close to 1 nor its derivatives are formed by subtracting from 1, and they keep
their digits where the others are tiny.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._engine import tensor as _engine
from ..tensor import Tensor
from ._arguments import OP, Primitive, floating, one_axis, respell, total, type_or
from .choice import where

__all__ = ["LogSoftmax", "Softmax", "glu", "log_softmax", "softmax", "softmin"]

_ARGMAX, _EQ, _EXP, _LOG1P, _SIGMOID = OP["argmax"], OP["eq"], OP["exp"], OP["log1p"], OP["sigmoid"]
_SLICE = OP["slice"]


def _shifted(name: str, x: Any, axis: Any, dtype: Any) -> tuple[Tensor, Tensor | None, int]:
    """Subtract from x its largest element along the axis; say where that was, and count the axis from the front."""
    x = floating(name, x)
    if dtype is not None:
        x = _engine.convert(x, type_or(name, dtype, x.dtype).num)
    shape = x.shape
    axis = one_axis(name, axis, shape) if shape or axis not in (0, -1) else -1
    if axis < 0 or not x.size:  # a number is the only one of its axis
        return x - x, None, axis
    ruler = np.arange(shape[axis]).reshape([-1 if k == axis else 1 for k in range(len(shape))])
    largest = _engine.binary_op(_EQ, _engine.apply(_ARGMAX, (axis, True), x), ruler)
    top = total(where(largest, x, 0), (axis,), True)
    return where(largest, 0, x - top), largest, axis


def softmax(x: Any, axis: int = -1, *, dtype: Any = None, **other: Any) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    axis : int, default -1
        The axis along which the results add up to 1. Also spelled `dim`.
    dtype : type, optional
        Convert `x` to this type before.

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
    shifted, _, axis = _shifted("softmax", x, axis, dtype)
    raised = _engine.unary(_EXP, shifted)
    return raised if axis < 0 else raised / total(raised, (axis,), True)


def log_softmax(x: Any, axis: int = -1, *, dtype: Any = None, **other: Any) -> Tensor:
    """Logarithm of softmax along an axis.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    axis : int, default -1
        The axis along which the exponentials of the results add up to 1. Also spelled `dim`.
    dtype : type, optional
        Convert `x` to this type before.

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
    shifted, largest, axis = _shifted("log_softmax", x, axis, dtype)
    if largest is None:
        return shifted
    others = total(where(largest, 0, _engine.unary(_EXP, shifted)), (axis,), True)
    return shifted - _engine.unary(_LOG1P, others)


def softmin(x: Any, axis: int = -1, *, dtype: Any = None, **other: Any) -> Tensor:
    """``softmax(-x)``: the smallest element has the largest share.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    axis : int, default -1
        The axis along which the results add up to 1. Also spelled `dim`.
    dtype : type, optional
        Convert `x` to this type before.

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
        self.axis = axis

    def __call__(self, x: Any) -> Tensor:
        return softmax(x, self.axis)


class LogSoftmax(Primitive):
    """Primitive class of `log_softmax`: ``ops.LogSoftmax(axis=-1)(x)``."""

    __slots__ = ("axis",)

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def __call__(self, x: Any) -> Tensor:
        return log_softmax(x, self.axis)
