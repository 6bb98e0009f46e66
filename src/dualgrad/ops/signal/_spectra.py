"""Relatives of the Fourier transform: for real spectra, shifts, frequencies, and MindSpore's primitive class.

A signal whose spectrum is real is Hermitian, x[-j] = conj(x[j]). Its transform is the inverse transform of the
conjugate without the division; the norms are exchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._dtypes import default_float
from ..._settings import one_of, room
from ...dtype import DTypeLike, as_dtype
from ...tensor import Tensor
from .._arguments import Primitive, integer, operand, respell, several_axes
from ..math.complex import conj
from ..shape.reshaping import roll
from ._fourier import SWAPPED, along, direction, from_half, to_half

__all__ = [
    "FFTWithSize", "fftfreq", "fftshift", "hfft", "hfft2", "hfftn", "ifftshift", "ihfft", "ihfft2", "ihfftn",
    "rfftfreq",
]  # fmt: skip


# ----------------------------------------------------------------------------------------------- Hermitian signals


def _real_spectrum(name: str, x: Any, n: Any, axis: Any, norm: Any, other: dict[str, Any]) -> Tensor:
    return from_half(name, conj(operand(name, x)), n, axis, SWAPPED[direction(name, norm)], other)


def _of_real_spectrum(name: str, x: Any, n: Any, axis: Any, norm: Any, other: dict[str, Any]) -> Tensor:
    return conj(to_half(name, x, n, axis, SWAPPED[direction(name, norm)], other))


def hfft(input: Any, n: Any = None, axis: int = -1, norm: str | None = None, **other: Any) -> Tensor:
    """Fourier transform of a Hermitian signal, given by one half: a real spectrum.

    Parameters
    ----------
    input : Tensor
        Elements 0 to n/2 of the signal, real or complex.
    n : int, optional
        Number of points of the result; by default ``2 * (m - 1)`` for m elements.
    axis, norm
        As for `fft`.

    Returns
    -------
    Tensor
        Float32 or Float64.

    Raises
    ------
    numpy.exceptions.AxisError
        If the axis does not exist.
    ValueError
        If n is not positive, or for another norm.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.hfft(dg.Tensor([1.0, 2.0j, 0.0])))
    [ 1.  5.  1. -3.]
    """
    return _real_spectrum("hfft", input, n, axis, norm, other)


def ihfft(input: Any, n: Any = None, axis: int = -1, norm: str | None = None, **other: Any) -> Tensor:
    """Inverse of `hfft`: one half of the signal with this real spectrum.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ihfft(dg.Tensor([1.0, 5.0, 1.0, -3.0])))
    [1.-0.j 0.+2.j 0.-0.j]
    """
    return _of_real_spectrum("ihfft", input, n, axis, norm, other)


def hfftn(input: Any, s: Any = None, axis: Any = None, norm: str | None = None, **other: Any) -> Tensor:
    """Fourier transform of a Hermitian signal along several axes, given by one half along the last axis.

    Arguments and errors are as in `fftn`; `s` is the number of points of the result.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.hfftn(ops.ones((5, 3, 4))).shape
    (5, 3, 6)
    """
    return _real_spectrum("hfftn", input, s, axis, norm, other)


def ihfftn(input: Any, s: Any = None, axis: Any = None, norm: str | None = None, **other: Any) -> Tensor:
    """Inverse of `hfftn`.

    Arguments and errors are as in `fftn`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.ihfftn(ops.ones((5, 3, 6))).shape
    (5, 3, 4)
    """
    return _of_real_spectrum("ihfftn", input, s, axis, norm, other)


def hfft2(input: Any, s: Any = None, axis: Any = (-2, -1), norm: str | None = None, **other: Any) -> Tensor:
    """Fourier transform of a Hermitian signal along two axes, the last ones by default; see `hfftn`.

    Arguments and errors are as in `fftn`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.hfft2(ops.ones((5, 3, 4))).shape
    (5, 3, 6)
    """
    return _real_spectrum("hfft2", input, s, axis, norm, other)


def ihfft2(input: Any, s: Any = None, axis: Any = (-2, -1), norm: str | None = None, **other: Any) -> Tensor:
    """Inverse of `hfft2`.

    Arguments and errors are as in `fftn`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.ihfft2(ops.ones((5, 3, 6))).shape
    (5, 3, 4)
    """
    return _of_real_spectrum("ihfft2", input, s, axis, norm, other)


# ------------------------------------------------------------------------------------------- frequencies and shifts


def fftshift(input: Any, axis: Any = None, **other: Any) -> Tensor:
    """Move frequency 0 from the front to the middle.

    Parameters
    ----------
    input : Tensor
        Any shape and type.
    axis : int or tuple of int, optional
        The axes; all by default. Also spelled `dim`.

    Returns
    -------
    Tensor

    Raises
    ------
    numpy.exceptions.AxisError
        If the axis does not exist.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.fftshift(dg.Tensor([0, 1, 2, -2, -1])))
    [-2 -1  0  1  2]
    """
    return _shifted("fftshift", input, axis, other, lambda n: n // 2)


def ifftshift(input: Any, axis: Any = None, **other: Any) -> Tensor:
    """Move frequency 0 from the middle to the front; the inverse of `fftshift`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ifftshift(dg.Tensor([-2, -1, 0, 1, 2])))
    [ 0  1  2 -2 -1]
    """
    return _shifted("ifftshift", input, axis, other, lambda n: -(n // 2))


def _shifted(name: str, x: Any, axis: Any, other: dict[str, Any], distance: Any) -> Tensor:
    x = operand(name, x)
    if other:
        axis = respell(name, other, axis=axis)
    axes = several_axes(name, tuple(range(x.ndim)) if axis is None else axis, x.shape)
    return roll(x, tuple([distance(x.shape[k]) for k in axes]), axes)


def fftfreq(n: int, d: float = 1.0, dtype: DTypeLike | None = None) -> Tensor:
    """Frequencies of the elements of `fft`: 0, 1, ..., -2, -1, divided by n d.

    Parameters
    ----------
    n : int
        Number of points.
    d : float, default 1.0
        Distance of neighbouring points.
    dtype : optional
        Type of the result, float32 by default.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If n is not positive.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.fftfreq(4, 0.25))
    [ 0.  1. -2. -1.]
    """
    return _frequencies("fftfreq", np.fft.fftfreq, n, d, dtype)


def rfftfreq(n: int, d: float = 1.0, dtype: DTypeLike | None = None) -> Tensor:
    """Frequencies of the elements of `rfft`: 0, 1, ..., n // 2, divided by n d; arguments as for `fftfreq`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.rfftfreq(5, 0.2))
    [0. 1. 2.]
    """
    return _frequencies("rfftfreq", np.fft.rfftfreq, n, d, dtype)


def _frequencies(name: str, numbers: Any, n: Any, d: float, dtype: DTypeLike | None) -> Tensor:
    n = integer(name, "n", n)
    if n < 1:
        raise ValueError(f"{name}: n is {n}; expected one point at least")
    room(name, (n,), 16)
    if not isinstance(d, int | float | np.number) or isinstance(d, bool):
        raise TypeError(f"{name}: d must be a number, got {type(d).__name__}")
    if d == 0:
        raise ValueError(f"{name}: d is 0; expected the distance between the points")
    return Tensor(numbers(n, d), default_float() if dtype is None else as_dtype(dtype, where=name))


class FFTWithSize(Primitive):
    """Fourier transform along the last axes.

    Parameters
    ----------
    signal_ndim : int
        The number of axes, 1 to 3.
    inverse : bool
        The inverse transform.
    real : bool
        True for real numbers: the input forwards, the result backwards; otherwise complex both ways.
    norm : {"backward", "forward", "ortho"}, default "backward"
        As for `fft`.
    onesided : bool, default True
        With `real`: half of the frequencies along the last axis, as for `rfftn`; otherwise all.
    signal_sizes : tuple of int, default ()
        Number of points of the inverse transform to real numbers along each axis.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.FFTWithSize(1, False, True)(dg.Tensor([1.0, 2.0, 3.0, 4.0])))
    [10.+0.j -2.+2.j -2.+0.j]
    """

    __slots__ = ("inverse", "norm", "onesided", "real", "signal_ndim", "signal_sizes")

    def __init__(
        self,
        signal_ndim: int,
        inverse: bool,
        real: bool,
        norm: str = "backward",
        onesided: bool = True,
        signal_sizes: tuple[int, ...] = (),
    ) -> None:
        if not one_of(signal_ndim, (1, 2, 3)):
            raise ValueError(f"FFTWithSize: signal_ndim is {signal_ndim!r}; expected 1, 2 or 3")
        self.signal_ndim = signal_ndim
        self.inverse: bool = inverse
        self.real: bool = real
        self.norm: str = direction("FFTWithSize", norm)
        self.onesided: bool = onesided
        self.signal_sizes: tuple[int, ...] = signal_sizes

    def __call__(self, x: Any) -> Tensor:
        axes = tuple(range(-self.signal_ndim, 0))
        sizes = tuple(self.signal_sizes) or None
        if not self.real:
            return along("ifftn" if self.inverse else "fftn", x, None, axes, self.norm, {}, self.inverse)
        if self.onesided:
            if self.inverse:
                return from_half("irfftn", x, sizes, axes, self.norm, {})
            return to_half("rfftn", x, None, axes, self.norm, {})
        whole = along(
            "ifftn" if self.inverse else "fftn", x, sizes if self.inverse else None, axes, self.norm, {}, self.inverse
        )
        return whole.real() if self.inverse else whole
