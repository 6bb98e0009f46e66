"""NumPy's functions of signals for tensors: convolution, correlation, Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ops.signal._convolve import convolve, correlate
from ..ops.signal._spectra import fftshift, hfft, ifftshift, ihfft
from ..ops.signal.fft import fft, fft2, fftn, ifft, ifft2, ifftn, irfft, irfft2, irfftn, rfft, rfft2, rfftn
from ..tensor import Tensor
from ._entries import FUNCTIONS

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
