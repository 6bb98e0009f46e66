"""Discrete Fourier transforms as primitives, and the settling of their arguments.

There are three maps: the complex transform over some axes, the transform of real numbers to one half of their spectrum,
and its inverse. Padding and cropping are slices before; shifts and conjugates are operators of their own.

All three are linear over the reals, so every derivative is a transform again. Their transposes, under the pairing
Re(ct * dz) of ``docs/complex.md``, with c the factor that the norm puts before the sum and φ = 2π/n:

===============================  ===============================================================================
y_k = c Σ_j x_j exp(∓iφjk)       the matrix is symmetric, so it is the same transform (its real part for real x)
the half k ≤ n/2 of it, real x   c Re Σ_k ct_k exp(-iφjk): the inverse, of conj(ct) with its inner frequencies
                                 halved, because the inverse counts them twice
the inverse, z to real x         c m_k conj(Σ_j ct_j exp(-iφjk)), with m_k = 2 for inner frequencies, else 1
===============================  ===============================================================================
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ... import extend
from ..._engine.transforms import tensor as _engine
from ..._settings import one_of
from ...dtype import complex64, complex128, float16, float32, float64
from ...tensor import Tensor
from .._arguments import floating, integer, lengths, one_axis, respelled_axis, several_axes
from ..math.complex import conj, real
from ..shape._padding import surrounded

SWAPPED: dict[str, Any] = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
"""The norm that gives the inverse transform the factor of the forward one."""

Counts: TypeAlias = tuple[int | None, ...]
"""The number of points along each axis; None if not given."""


# -------------------------------------------------------------------------------------------------- primitives
# Axes are counted from the end: batch axes may come before them.


def _transform_kernel(x: np.ndarray, axes: tuple[int, ...], inverse: bool, norm: Any) -> np.ndarray:
    for axis in axes:
        x = (np.fft.ifft if inverse else np.fft.fft)(x, axis=axis, norm=norm)
    return x


def _transform_transpose(ct: Tensor, x: Tensor, **settings: Any) -> Tensor:
    back = _transform(ct, **settings)
    return back if x.dtype.is_complex else real(back)


def _half_kernel(x: np.ndarray, axis: int, norm: Any) -> np.ndarray:
    return np.fft.rfft(x, axis=axis, norm=norm)


def _half_transpose(ct: Tensor, x: Tensor, axis: int, norm: str) -> Tensor:
    n = x.shape[axis]
    return _half_inverse(conj(ct) * _weights(ct, n, axis, 0.5), n=n, axis=axis, norm=SWAPPED[norm])


def _half_inverse_kernel(z: np.ndarray, n: int, axis: int, norm: Any) -> np.ndarray:
    return np.fft.irfft(z, n, axis=axis, norm=norm)


def _half_inverse_transpose(ct: Tensor, z: Tensor, n: int, axis: int, norm: str) -> Tensor:
    spectrum = _half(ct, axis=axis, norm=SWAPPED[norm])
    return conj(spectrum) * _weights(spectrum, n, axis, 2.0)


def _weights(spectrum: Tensor, n: int, axis: int, inner: float) -> np.ndarray:
    """A weight for each frequency of a half spectrum: 1 for frequencies that are their own conjugates, else `inner`."""
    weights = np.full(spectrum.shape[axis], inner, np.float32 if spectrum.dtype is complex64 else np.float64)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    return weights.reshape((-1,) + (1,) * (-axis - 1))


_transform = extend.linear(
    "fft", _transform_kernel, _transform_transpose, core=(1,), summary="Fourier transform over axes, or its inverse"
)
_half = extend.linear(
    "rfft", _half_kernel, _half_transpose, core=(1,), summary="half of the Fourier transform of real numbers"
)
_half_inverse = extend.linear(
    "irfft", _half_inverse_kernel, _half_inverse_transpose, core=(1,), summary="real numbers of half of their transform"
)


# ------------------------------------------------------------------------------------- transforms of the user's words


def along(name: str, x: Any, n: Any, axis: Any, norm: Any, other: dict[str, Any], inverse: bool) -> Tensor:
    """The complex transform."""
    x, norm = _numbers(name, x), direction(name, norm)
    counts, axes = _places(name, x, n, axis, other)
    return _transform(_resized(name, x, counts, axes), axes=axes, inverse=inverse, norm=norm)


def to_half(name: str, x: Any, n: Any, axis: Any, norm: Any, other: dict[str, Any]) -> Tensor:
    """The transform of real numbers: its half along the last of the axes."""
    x, norm = _numbers(name, x), direction(name, norm)
    if x.dtype.is_complex:
        raise TypeError(f"{name}: expected real numbers, got type {x.dtype}; take ops.real(x), or use ops.fftn")
    counts, axes = _places(name, x, n, axis, other)
    y = _half(_resized(name, x, counts, axes), axis=axes[-1], norm=norm)
    return _transform(y, axes=axes[:-1], inverse=False, norm=norm) if axes[:-1] else y


def from_half(name: str, z: Any, n: Any, axis: Any, norm: Any, other: dict[str, Any]) -> Tensor:
    """The inverse of `to_half`; n is the number of points of the result."""
    z, norm = _numbers(name, z), direction(name, norm)
    if not z.dtype.is_complex:
        z = _engine.convert(z, (complex128 if z.dtype is float64 else complex64).num)
    counts, axes = _places(name, z, n, axis, other)
    points = 2 * (z.shape[axes[-1]] - 1) if counts[-1] is None else counts[-1]
    if points < 1:
        raise ValueError(
            f"{name}: {z.shape[axes[-1]]} frequencies along axis {axes[-1]} stand for {points} points; give two "
            "frequencies or more, or state the number of points"
        )
    z = _resized(name, z, (*counts[:-1], points // 2 + 1), axes)
    if axes[:-1]:
        z = _transform(z, axes=axes[:-1], inverse=True, norm=norm)
    return _half_inverse(z, n=points, axis=axes[-1], norm=norm)


def direction(name: str, norm: Any) -> str:
    """Check the norm; None is 'backward'."""
    if norm is None:
        return "backward"
    if not one_of(norm, SWAPPED):
        raise ValueError(f"{name}: norm is {norm!r}; expected 'backward', 'forward', 'ortho' or None")
    return norm


def _numbers(name: str, x: Any) -> Tensor:
    """An operand as Float32, Float64 or complex numbers."""
    x = floating(name, x)
    return _engine.convert(x, float32.num) if x.dtype is float16 else x


def _places(name: str, x: Tensor, n: Any, axis: Any, other: dict[str, Any]) -> tuple[Counts, tuple[int, ...]]:
    """The numbers of points and the axes, for functions of one axis (...fft), of two (...fft2) or of all (...fftn).

    In a tuple -1 keeps the number of points. Axes are counted from the end.
    """
    ending = name[-1]
    if other:
        usual: Any = {"n": None, "2": (-2, -1)}.get(ending, -1)
        axis = respelled_axis(name, other, axis, usual)
    if ending == "t":
        return (None if n is None else integer(name, "n", n),), (one_axis(name, axis, x.shape) - x.ndim,)
    counts = None if n is None else lengths(name, n)
    axes = several_axes(name, tuple(range(x.ndim)) if axis is None else axis, x.shape)
    if axis is None and counts is not None:
        axes = axes[max(x.ndim - len(counts), 0) :]
    if not axes:
        raise ValueError(f"{name}: no axis to transform; the tensor has shape {x.shape}, the axes are {axis!r}")
    places = tuple([k - x.ndim for k in axes])
    if counts is None:
        return (None,) * len(axes), places
    if len(counts) != len(axes):
        raise ValueError(
            f"{name}: {len(counts)} numbers of points {counts} for {len(axes)} axes {axes} of a tensor of shape "
            f"{x.shape}; expected one for each axis"
        )
    return tuple([x.shape[k] if count == -1 else count for k, count in zip(axes, counts, strict=True)]), places


def _resized(name: str, x: Tensor, counts: Counts, axes: tuple[int, ...]) -> Tensor:
    """Append zeros to axes, or cut elements off, to reach the given lengths."""
    widths = [(0, 0)] * x.ndim
    for n, axis in zip(counts, axes, strict=True):
        points = x.shape[axis] if n is None else n
        if points < 1:
            raise ValueError(f"{name}: {points} points along axis {axis} of shape {x.shape}; expected one at least")
        widths[axis] = (0, points - x.shape[axis])
    return surrounded(name, x, tuple(widths), 0)
