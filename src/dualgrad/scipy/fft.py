"""Cosine transforms with MindSpore's signatures: of type 2, orthonormal, and their inverses.

They are linear, so derivatives of every order and in every mode are transforms, too. All share four arguments:

* `type`: 2, the only one.
* `n` or `s`: the number of points along each axis, by default all. A smaller number cuts elements off; a larger one
  appends zeros.
* `axis` or `axes`: by default the last axis. Several by default: one for each entry of `s`, from the last axis
  backwards, or all axes without `s`.
* `norm`: "ortho", the only one. None means the same, as in MindSpore; SciPy's transforms are not scaled then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtype as mstype
from .._settings import array_of, one_of
from ..ops._arguments import floating, integer, one_axis, several_axes
from ..ops.axes._order import narrow
from ..ops.math._parts import imag, real
from ..ops.math.complex import complex as complex_of
from ..ops.signal.fft import fft
from ..tensor import Tensor

__all__ = ["dct", "dctn", "idct", "idctn"]


def _weights(n: int, x: Tensor, axis: int, count: int) -> Tensor:
    """The factors that turn a Fourier transform of 2 n points into the first `count` rows of the cosine transform."""
    k = np.arange(count)
    scale = np.where(k == 0, np.sqrt(1 / n), np.sqrt(2 / n))
    weights = (scale * np.exp(-0.5j * np.pi * k / n)).reshape([-1 if at == axis else 1 for at in range(x.ndim)])
    return Tensor(weights.astype(np.complex128 if x.dtype == mstype.float64 else np.complex64))


def _forward(x: Tensor, n: int, axis: int) -> Tensor:
    spectrum = narrow(fft(x, 2 * n, axis), axis, 0, n)
    return real(spectrum * _weights(n, x, axis, n))


def _inverse(x: Tensor, n: int, axis: int) -> Tensor:
    """The transpose, and so the inverse, of the forward transform, which is orthogonal."""
    spectrum = fft(x * _weights(n, x, axis, x.shape[axis]), 2 * n, axis)
    return real(narrow(spectrum, axis, 0, n))


def _transformed(
    name: str, along: Callable[[Tensor, int, int], Tensor], x: Any, type: int, n: Any, axis: int, norm: str | None
) -> Tensor:
    """One transform along an axis; complex numbers by their parts."""
    if not one_of(type, (2,)):
        raise ValueError(f"{name}: got type={type!r}; expected 2, the only type of cosine transform here")
    if not one_of(norm, (None, "ortho")):
        raise ValueError(f"{name}: got norm={norm!r}; expected 'ortho', the only scale here")
    x = floating(name, x)
    if x.dtype.is_complex:
        parts = [_transformed(name, along, part, type, n, axis, norm) for part in (real(x), imag(x))]
        return complex_of(*parts)
    if x.dtype == mstype.float16:
        x = x.astype(mstype.float32)
    place = one_axis(name, axis, x.shape)
    points = x.shape[place] if n is None else integer(name, "n", n)
    if points < 1:
        raise ValueError(f"{name}: a transform needs one point at least, got {points}")
    return along(narrow(x, place, 0, min(points, x.shape[place])), points, place)


def _of_several(
    name: str, along: Callable[[Tensor, int, int], Tensor], x: Any, type: int, s: Any, axes: Any, norm: str | None
) -> Tensor:
    """Transform along one axis after the other."""
    x = floating(name, x)
    s = None if s is None else np.atleast_1d(array_of(name, "s", s)).tolist()
    if axes is None:
        axes = tuple(range(x.ndim))[x.ndim - len(s) :] if s is not None else tuple(range(x.ndim))
    places = several_axes(name, axes, x.shape)
    points = (None,) * len(places) if s is None else tuple(s)
    if len(points) != len(places):
        raise ValueError(f"{name}: s has {len(points)} entries for {len(places)} axes; expected one for each")
    for place, n in zip(places, points, strict=True):
        x = _transformed(name, along, x, type, n, place, norm)
    return x


def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Orthonormal cosine transform along an axis: y_k = s_k Σ_j x_j cos(π k (2j + 1) / 2n).

    The scale s_k is the square root of 2/n, and of 1/n for k = 0.

    Parameters
    ----------
    x : Tensor
        Real or complex; integers and Float16 become Float32.
    type : {2}
        The type of the transform.
    n : int, optional
        Number of points.
    axis : int, default -1
        The axis.
    norm : {None, "ortho"}
        The scale; both are the same.

    Returns
    -------
    Tensor
        With `n` points along the axis.

    Raises
    ------
    ValueError
        For another type or scale, or fewer than one point.
    numpy.exceptions.AxisError
        If the tensor does not have the axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy.fft import dct, idct
    >>> x = dg.Tensor([1.0, 2.0, 4.0])
    >>> print(idct(dct(x)))
    [1. 2. 4.]
    """
    return _transformed("dct", _forward, x, type, n, axis, norm)


def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Inverse of `dct`, with the same arguments.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy.fft import idct
    >>> print(idct(dg.Tensor([2.0, 0.0, 0.0, 0.0])))
    [1. 1. 1. 1.]
    """
    return _transformed("idct", _inverse, x, type, n, axis, norm)


def dctn(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """`dct` along several axes.

    Raises
    ------
    ValueError
        As for `dct`, and if `s` and `axes` have different lengths.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy.fft import dctn
    >>> print(dctn(dg.ops.ones((2, 2)))[0, 0])
    2.0
    """
    return _of_several("dctn", _forward, x, type, s, axes, norm)


def idctn(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """Inverse of `dctn`, with the same arguments.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy.fft import idctn
    >>> print(idctn(dg.Tensor([[4.0, 0.0], [0.0, 0.0]], dg.float64)).round())
    [[2. 2.]
     [2. 2.]]
    """
    return _of_several("idctn", _inverse, x, type, s, axes, norm)
