"""Short-time Fourier transforms: spectra of the windows of a signal.

The frames of a signal are gathered into the rows of a matrix, multiplied by the window and transformed. Every part is
linear in the signal and in the window, so derivatives by both are exact to any order. ``docs/complex.md`` defines
derivatives by complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._settings import room
from ...dtype import float16, float32
from ...tensor import Tensor
from .._arguments import OP, Primitive, floating, integer, permuted
from ..index.gather import gather
from ..shape._padding import extended, surrounded
from .fft import fft, rfft

__all__ = ["STFT", "stft"]

_VIEW_AS_REAL = OP["view_as_real"]
_PAD_MODES = ("REFLECT", "SYMMETRIC", "CONSTANT")


def stft(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "REFLECT",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Tensor:
    """Short-time Fourier transform: X[ω, m] = Σ_k w[k] x[m h + k] exp(-2πi ω k / n) for frames m = 0, 1, ...

    Parameters
    ----------
    x : Tensor
        One signal or a row for each, shape (L,) or (B, L), real or complex; integers and float16 become float32.
    n_fft : int
        n, the number of points of a frame and of its transform.
    hop_length : int, optional
        h, the distance of neighbouring frames, a quarter of `n_fft` by default.
    win_length : int, optional
        The length of the window, `n_fft` by default and at most.
    window : Tensor, optional
        w, shape (win_length,), real or complex; ones by default. A window shorter than a frame is put in its middle,
        between zeros.
    center : bool, default True
        Add ``n_fft // 2`` elements at both ends of the signal first, so that frame m is centered at ``x[m h]``.
    pad_mode : {"REFLECT", "SYMMETRIC", "CONSTANT"}, default "REFLECT"
        The elements to add: the signal mirrored at its last element, the same with this element repeated, or zeros.
    normalized : bool, default False
        Divide by the square root of `n_fft`.
    onesided : bool, optional
        Only the frequencies 0 to n/2; the other half are conjugates. True by default if signal and window are real, and
        only possible then.
    return_complex : bool, optional
        Complex numbers, or real ones with real and imaginary parts along a last axis; by default complex numbers if
        signal or window are complex.

    Returns
    -------
    Tensor
        Shape (N, T) or (B, N, T), with a last axis of length 2 if it is real. N is ``n_fft``, or ``n_fft // 2 + 1`` if
        one-sided, and T = 1 + (L - n_fft) // hop_length with the length L of the signal after padding. Double
        precision if signal or window have it.

    Raises
    ------
    TypeError
        If a setting is not an int or not a bool.
    ValueError
        If shapes or lengths do not fit, for another mode of padding, or one-sided for complex numbers.

    Notes
    -----
    As MindSpore computes it; the formula in its documentation has ``win_length`` in place of n, and ones beside a
    shorter window.

    Examples
    --------
    A wave of three periods in eight points has its power at frequency 3 in every frame:

    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor(np.cos(2 * np.pi * 3 / 8 * np.arange(16)))
    >>> z = ops.stft(x, 8, 4, center=False, return_complex=True)
    >>> z.shape, ops.argmax(ops.abs(z), 0).tolist()
    ((5, 3), [3, 3, 3])
    >>> power = lambda x: (ops.abs(ops.stft(x, 8, 4, return_complex=True)) ** 2).sum()
    >>> dg.grad(power)(x).shape
    (16,)
    """
    name = "stft"
    n = _length(name, "n_fft", n_fft, None)
    hop = _length(name, "hop_length", n // 4 if hop_length is None else hop_length, None)
    width = _length(name, "win_length", n if win_length is None else win_length, n)
    x = _signal(name, x)
    w = Tensor(np.ones(width), float32) if window is None else _window(name, window, width)
    if _flag(name, "center", center):
        x = _padded(name, x, n // 2, pad_mode)
    real = not (x.dtype.is_complex or w.dtype.is_complex)
    half = real if onesided is None else onesided
    return _spectra(name, x, w, n, hop, normalized, half, not real if return_complex is None else return_complex)


class STFT(Primitive):
    """Short-time Fourier transform without padding; see `stft`: ``ops.STFT(n_fft, ...)(x, window)``.

    Parameters
    ----------
    n_fft, hop_length, win_length : int
        The number of points of a frame, the distance of neighbouring frames, and the length of the window.
    normalized, onesided, return_complex : bool
        As in `stft`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.STFT(64, 16, 64, False, True, True)(ops.ones((2, 7192)), ops.ones((64,))).shape
    (2, 33, 446)
    """

    __slots__ = ("hop_length", "n_fft", "normalized", "onesided", "return_complex", "win_length")

    def __init__(
        self, n_fft: int, hop_length: int, win_length: int, normalized: bool, onesided: bool, return_complex: bool
    ) -> None:
        self.n_fft: int = _length("STFT", "n_fft", n_fft, None)
        self.hop_length: int = _length("STFT", "hop_length", hop_length, None)
        self.win_length: int = _length("STFT", "win_length", win_length, self.n_fft)
        self.normalized: bool = _flag("STFT", "normalized", normalized)
        self.onesided: bool = _flag("STFT", "onesided", onesided)
        self.return_complex: bool = _flag("STFT", "return_complex", return_complex)

    def __call__(self, x: Any, window: Any) -> Tensor:
        x, w = _signal("STFT", x), _window("STFT", window, self.win_length)
        settings = self.normalized, self.onesided, self.return_complex
        return _spectra("STFT", x, w, self.n_fft, self.hop_length, *settings)


def _spectra(
    name: str, x: Tensor, w: Tensor, n: int, hop: int, normalized: Any, onesided: Any, return_complex: Any
) -> Tensor:
    """The transforms of the frames, frequencies before frames."""
    norm = "ortho" if _flag(name, "normalized", normalized) else "backward"
    frames = _frames(name, x, n, hop) * _in_the_middle(name, w, n)
    if _flag(name, "onesided", onesided) and frames.dtype.is_complex:
        raise ValueError(
            f"{name}: onesided is True for a signal of type {x.dtype} and a window of type {w.dtype}; half of a "
            "spectrum has all of it only where both are real"
        )
    z = (rfft if onesided else fft)(frames, norm=norm)
    order = tuple(range(z.ndim))
    z = permuted(z, (*order[:-2], order[-1], order[-2]))
    return z if _flag(name, "return_complex", return_complex) else _engine.apply(_VIEW_AS_REAL, None, z)


def _frames(name: str, x: Tensor, n: int, hop: int) -> Tensor:
    """Gather the frames of signals into the rows of matrices."""
    length = x.shape[-1]
    if n > length:
        raise ValueError(f"{name}: n_fft is {n}, but the signal has {length} elements; expected no more than these")
    first = np.arange(0, length - n + 1, hop)
    return gather(x, first[:, None] + np.arange(n), -1)


def _in_the_middle(name: str, w: Tensor, n: int) -> Tensor:
    """Put zeros around a window."""
    before = (n - w.shape[0]) // 2
    return surrounded(name, w, ((before, n - w.shape[0] - before),), 0)


def _padded(name: str, x: Tensor, width: int, mode: Any) -> Tensor:
    """Make signals longer at both ends."""
    if not isinstance(mode, str):
        raise TypeError(f"{name}: pad_mode must be a str, got {type(mode).__name__}")
    if mode.upper() not in _PAD_MODES:
        raise ValueError(f"{name}: pad_mode is {mode!r}; expected one of {', '.join(_PAD_MODES)}")
    widths = ((0, 0),) * (x.ndim - 1) + ((width, width),)
    if mode.upper() == "CONSTANT":
        return surrounded(name, x, widths, 0)
    room = x.shape[-1] - (mode.upper() == "REFLECT")
    if width > room:
        raise ValueError(
            f"{name}: {width} elements are added at each end of a signal of {x.shape[-1]}, but its mirror image in "
            f"mode {mode!r} has {room}; take a smaller n_fft, pad_mode='CONSTANT' or center=False"
        )
    return extended(name, x, widths, mode.lower())


# ----------------------------------------------------------------------------------------------------- arguments


def _wide(x: Tensor) -> Tensor:
    return _engine.convert(x, float32.num) if x.dtype is float16 else x


def _signal(name: str, x: Any) -> Tensor:
    x = _wide(floating(name, x))
    if x.ndim not in (1, 2):
        raise ValueError(f"{name}: the signal has shape {x.shape}; expected (L,), or (B, L) with a row for each signal")
    return x


def _window(name: str, window: Any, width: int) -> Tensor:
    w = _wide(floating(name, window))
    if w.shape != (width,):
        raise ValueError(f"{name}: the window has shape {w.shape}; expected ({width},), the length of the window")
    return w


def _length(name: str, what: str, value: Any, most: int | None) -> int:
    found = integer(name, what, value)
    room(name, (max(found, 0),))
    if found < 1 or (most is not None and found > most):
        end = "" if most is None else f" and {most} at most, the number of points of a frame"
        raise ValueError(f"{name}: {what} is {found}; expected one at least{end}")
    return found


def _flag(name: str, what: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name}: {what} must be a bool, got {type(value).__name__}")
    return value


METHODS: dict[str, Callable[..., Any]] = {}
