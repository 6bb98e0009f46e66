"""Signals: Fourier transforms, spectra, convolution of sequences."""

from . import fft

MODULES = (fft,)
