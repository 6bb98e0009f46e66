"""NumPy's functions of signals for tensors: convolution, correlation, Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._device import on_cpu
from ..ops.signal._convolve import convolve, correlate
from ..ops.signal._spectra import fftfreq, fftshift, hfft, ifftshift, ihfft, rfftfreq
from ..ops.signal.fft import fft, fft2, fftn, ifft, ifft2, ifftn, irfft, irfft2, irfftn, rfft, rfft2, rfftn
from ..tensor import Tensor
from ._entries import FUNCTIONS, standard

FUNCTIONS[np.convolve] = convolve
FUNCTIONS[np.correlate] = correlate


def _along_one(ours: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda a, n=None, axis=-1, norm=None: ours(a, n, axis, norm)


def _along_two(ours: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda a, s=None, axes=(-2, -1), norm=None: ours(a, s, axes, norm)


def _along_many(ours: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda a, s=None, axes=None, norm=None: ours(a, s, axes, norm)


def _shift(ours: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda x, axes=None: ours(x, axes)


for _form, _family in (
    (_along_one, (fft, ifft, rfft, irfft, hfft, ihfft)),
    (_along_two, (fft2, ifft2, rfft2, irfft2)),
    (_along_many, (fftn, ifftn, rfftn, irfftn)),
    (_shift, (fftshift, ifftshift)),
):
    for _ours in _family:
        FUNCTIONS[getattr(np.fft, _ours.__name__)] = _form(_ours)


@standard("fft.fftfreq")
def _fftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Frequencies of the elements of `fft`: 0, 1, ..., -2, -1, divided by n d.

    Parameters
    ----------
    n : int
        Number of points.
    d : float, default 1.0
        Distance between neighbouring points.
    dtype : dtype, default float32
        Type of the result.
    device : 'cpu', optional
        The device.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If n is not positive.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.fft.fftfreq(4, d=0.25))
    [ 0.  1. -2. -1.]
    """
    on_cpu("fftfreq", device)
    return fftfreq(n, d, dtype)


@standard("fft.rfftfreq")
def _rfftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Frequencies of the elements of `rfft`: 0, 1, ..., n // 2, divided by n d; arguments as for `fftfreq`.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.fft.rfftfreq(5, d=0.2))
    [0. 1. 2.]
    """
    on_cpu("rfftfreq", device)
    return rfftfreq(n, d, dtype)
