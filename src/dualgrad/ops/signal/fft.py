"""Discrete Fourier transforms, with MindSpore's names and NumPy's conventions.

Transforms are computed by NumPy. They are linear, so derivatives of every order and in every mode are transforms again.
``docs/complex.md`` defines derivatives by complex numbers. Float32 and Complex64 are computed in single precision.

Three arguments are common to all:

* `n` or `s`: the number of points along each axis. A smaller number cuts off the rest, a larger one appends zeros. By
  default (and for -1) all points.
* `axis`, also spelled `dim`: the axis, or the axes. Several axes are by default the last, as many as `s` has entries,
  or all.
* `norm`: ``"backward"`` (the default) divides the inverse transform by the number of points, ``"forward"`` the forward
  transform, ``"ortho"`` divides each by its square root.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from . import _spectra
from ._fourier import along, from_half, to_half
from ._spectra import *  # noqa: F403

__all__ = [
    "fft", "fft2", "fftn", "ifft", "ifft2", "ifftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftn",
]  # fmt: skip
__all__ += _spectra.__all__


# ------------------------------------------------------------------------------------------------ complex numbers


def fft(input: Any, n: Any = None, axis: int = -1, norm: str | None = None, **other: Any) -> Tensor:
    """Fourier transform along an axis: y_k = Σ_j x_j exp(-2πi j k / n).

    Parameters
    ----------
    input : Tensor
        Real or complex, at least one axis; integers become float32.
    n : int, optional
        Number of points; elements are cut off or zeros appended. All elements by default.
    axis : int, default -1
        The axis. Also spelled `dim`.
    norm : {"backward", "forward", "ortho"}, optional
        The place of the division by n: in the inverse (the default), in the forward transform, or half in each.

    Returns
    -------
    Tensor
        Complex64, Complex128 for Float64 and Complex128.

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
    >>> print(ops.fft(dg.Tensor([1.0, 0.0, 0.0, 0.0])))
    [1.+0.j 1.+0.j 1.+0.j 1.+0.j]

    The derivative of a periodic function on a grid:

    >>> import numpy as np
    >>> x = np.arange(8) * (2 * np.pi / 8)
    >>> k = np.fft.fftfreq(8, 1 / 8)
    >>> u = dg.Tensor(np.sin(2 * x))
    >>> print(np.abs(ops.real(ops.ifft(1j * k * ops.fft(u))).asnumpy() - 2 * np.cos(2 * x)).max() < 1e-14)
    True
    """
    return along("fft", input, n, axis, norm, other, False)


def ifft(input: Any, n: Any = None, axis: int = -1, norm: str | None = None, **other: Any) -> Tensor:
    """Inverse of `fft`: x_j = (1/n) Σ_k y_k exp(2πi j k / n); arguments and types as there.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ifft(dg.Tensor([1.0, 1.0, 1.0, 1.0])))
    [1.+0.j 0.+0.j 0.+0.j 0.+0.j]
    """
    return along("ifft", input, n, axis, norm, other, True)


def fftn(input: Any, s: Any = None, axis: Any = None, norm: str | None = None, **other: Any) -> Tensor:
    """Fourier transform along several axes.

    Parameters
    ----------
    input : Tensor
        Real or complex; integers become float32.
    s : tuple of int, optional
        Number of points along each axis; -1 for all points.
    axis : tuple of int, optional
        The axes. Also spelled `dim`. By default the last ones, as many as `s` has entries, or all.
    norm : {"backward", "forward", "ortho"}, optional
        As for `fft`.

    Returns
    -------
    Tensor
        Complex64, Complex128 for Float64 and Complex128.

    Raises
    ------
    numpy.exceptions.AxisError
        If the axis does not exist.
    ValueError
        If an axis comes twice, or `s` does not fit the axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.fftn(dg.Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [[10.+0.j -2.+0.j]
     [-4.+0.j  0.+0.j]]
    """
    return along("fftn", input, s, axis, norm, other, False)


def ifftn(input: Any, s: Any = None, axis: Any = None, norm: str | None = None, **other: Any) -> Tensor:
    """Inverse of `fftn`; arguments and types as there.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ifftn(dg.Tensor([[4.0, 0.0], [0.0, 0.0]])))
    [[1.+0.j 1.+0.j]
     [1.+0.j 1.+0.j]]
    """
    return along("ifftn", input, s, axis, norm, other, True)


def fft2(input: Any, s: Any = None, axis: Any = (-2, -1), norm: str | None = None, **other: Any) -> Tensor:
    """Fourier transform along two axes, the last ones by default; otherwise as `fftn`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.fft2(ops.ones((5, 3, 4))).shape
    (5, 3, 4)
    """
    return along("fft2", input, s, axis, norm, other, False)


def ifft2(input: Any, s: Any = None, axis: Any = (-2, -1), norm: str | None = None, **other: Any) -> Tensor:
    """Inverse of `fft2`; arguments and types as for `fftn`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.ifft2(ops.ones((5, 3, 4)), s=(2, 2)).shape
    (5, 2, 2)
    """
    return along("ifft2", input, s, axis, norm, other, True)


# --------------------------------------------------------------------------------------------------- real numbers


def rfft(input: Any, n: Any = None, axis: int = -1, norm: str | None = None, **other: Any) -> Tensor:
    """Fourier transform of real numbers: the frequencies 0 to n/2; the other half are conjugates.

    Parameters
    ----------
    input : Tensor
        Real, at least one axis; integers become float32.
    n, axis, norm
        As for `fft`.

    Returns
    -------
    Tensor
        Complex64, Complex128 for Float64; n // 2 + 1 elements along the axis.

    Raises
    ------
    TypeError
        If the numbers are complex.
    numpy.exceptions.AxisError
        If the axis does not exist.
    ValueError
        If n is not positive, or for another norm.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.rfft(dg.Tensor([1.0, 2.0, 3.0, 4.0])))
    [10.+0.j -2.+2.j -2.+0.j]
    """
    return to_half("rfft", input, n, axis, norm, other)


def irfft(input: Any, n: Any = None, axis: int = -1, norm: str | None = None, **other: Any) -> Tensor:
    """Inverse of `rfft`: the real numbers with these frequencies 0 to n/2.

    Parameters
    ----------
    input : Tensor
        Real or complex, at least one axis. The imaginary parts at frequency 0, and for even n at n/2, do not count.
    n : int, optional
        Number of points of the result; by default ``2 * (m - 1)`` for m frequencies. An odd number must be given.
    axis, norm
        As for `fft`.

    Returns
    -------
    Tensor
        Float32 or Float64; n elements along the axis.

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
    >>> x = dg.Tensor([1.0, 2.0, 4.0])
    >>> print(ops.irfft(ops.rfft(x), 3))
    [1. 2. 4.]
    """
    return from_half("irfft", input, n, axis, norm, other)


def rfftn(input: Any, s: Any = None, axis: Any = None, norm: str | None = None, **other: Any) -> Tensor:
    """Fourier transform of real numbers along several axes: half of the frequencies along the last axis.

    Arguments as for `fftn`, operand and types as for `rfft`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.rfftn(ops.ones((5, 3, 4))).shape
    (5, 3, 3)
    """
    return to_half("rfftn", input, s, axis, norm, other)


def irfftn(input: Any, s: Any = None, axis: Any = None, norm: str | None = None, **other: Any) -> Tensor:
    """Inverse of `rfftn`; `s` is the number of points of the result.

    Arguments and errors are as in `fftn`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0, 4.0]])
    >>> print(ops.irfftn(ops.rfftn(x), x.shape))
    [[1. 2. 4.]]
    """
    return from_half("irfftn", input, s, axis, norm, other)


def rfft2(input: Any, s: Any = None, axis: Any = (-2, -1), norm: str | None = None, **other: Any) -> Tensor:
    """Fourier transform of real numbers along two axes, the last ones by default; otherwise as `rfftn`.

    Arguments and errors are as in `fftn`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.rfft2(ops.ones((5, 3, 4))).shape
    (5, 3, 3)
    """
    return to_half("rfft2", input, s, axis, norm, other)


def irfft2(input: Any, s: Any = None, axis: Any = (-2, -1), norm: str | None = None, **other: Any) -> Tensor:
    """Inverse of `rfft2`; `s` is the number of points of the result.

    Arguments and errors are as in `fftn`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.irfft2(ops.rfft2(ops.ones((5, 3, 4)))).shape
    (5, 3, 4)
    """
    return from_half("irfft2", input, s, axis, norm, other)


METHODS: dict[str, Callable[..., Any]] = {}
