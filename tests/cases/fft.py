"""Fourier transforms: every function, norm and direction; cropping, padding, odd and even numbers of points."""

import numpy as np

from cases import Case, normal
from cases.complex import of_parts
from dualgrad import ops

SINGLE = ("float32",)  # float16 is transformed in single precision: the result has another type


def complex_case(name, label, shape, *args, **settings):
    """A transform of complex numbers."""
    f = of_parts(lambda z: getattr(ops, name)(z, *args, **settings))
    return Case(name, label, f, (normal(*shape), normal(*shape, seed=1)), narrow=SINGLE)


def real_case(name, label, shape, *args, **settings):
    """A transform of real numbers."""

    def f(x):
        y = getattr(ops, name)(x, *args, **settings)
        return ops.view_as_real(y) if y.dtype.is_complex else y

    return Case(name, label, f, (normal(*shape),), narrow=SINGLE)


def spectral_derivative(u):
    """The sum u u_x + u_xx / 100 for samples of a periodic function."""
    k = 1j * 2.0 * np.pi * ops.fftfreq(u.shape[-1], 1.0 / u.shape[-1])
    spectrum = ops.fft(u)
    return u * ops.real(ops.ifft(k * spectrum)) + ops.real(ops.ifft(k * k * spectrum)) * 0.01


def framed_case(label, length, width, *args, **settings):
    """A short-time transform of a real signal by a real window."""
    return Case("stft", label, lambda x, w: ops.stft(x, 4, *args, window=w, win_length=width, **settings),
                (normal(*length), normal(width, seed=1)), narrow=SINGLE)  # fmt: skip


FORWARD, BACK = ("fft", "ifft", "irfft", "hfft"), ("rfft", "ihfft")

CASES = [
    *[complex_case(name, f"complex, norm {norm}", (5,), norm=norm)
      for name in FORWARD for norm in ("backward", "forward", "ortho")],
    *[real_case(name, f"real, norm {norm}", (5,), norm=norm)
      for name in FORWARD + BACK for norm in ("backward", "forward", "ortho")],
    *[complex_case(name, f"{n} points along axis {axis}", (4, 3), n, axis)
      for name in FORWARD for n, axis in ((2, 0), (5, -2), (6, 1), (1, 1))],
    *[real_case(name, f"{n} points along axis {axis}", (4, 3), n, axis)
      for name in BACK for n, axis in ((2, 0), (5, -2), (6, 1), (1, 1))],
    *[complex_case(name, "", (2, 3, 2)) for name in ("fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn", "hfft2")],
    *[real_case(name, "", (2, 3, 2)) for name in ("rfft2", "rfftn", "ihfft2", "ihfftn", "fftn", "ifft2", "irfftn")],
    *[complex_case(name, "some points, axes in reverse", (2, 3, 2), (3, 2), (2, 0), "ortho")
      for name in ("fftn", "ifft2", "irfftn", "hfftn")],
    *[real_case(name, "some points, axes in reverse", (2, 3, 2), (3, 2), (2, 0), "forward")
      for name in ("rfftn", "rfft2", "ihfftn", "fft2")],
    complex_case("fftshift", "", (3, 4)),
    complex_case("ifftshift", "one axis", (3, 4), 0),
    Case("FFTWithSize", "to real numbers",
         of_parts(ops.FFTWithSize(2, True, True, "ortho", signal_sizes=(2, 3))), (normal(2, 2), normal(2, 2, seed=1)),
         narrow=SINGLE),
    Case("rfft", "and back", lambda x: ops.irfft(ops.rfft(x) ** 2, 5), (normal(5),), narrow=SINGLE),
    Case("fft", "convolution theorem", lambda x, y: ops.real(ops.ifft(ops.fft(x, 6) * ops.fft(y, 6))),
         (normal(4), normal(3)), narrow=SINGLE),
    framed_case("one frame in each place", (5,), 4, 1, center=False),
    framed_case("signals side by side, mirrored, short window", (2, 5), 3, normalized=True),
    framed_case("mirrored with the last element", (3,), 1, 3, pad_mode="SYMMETRIC", onesided=False),
    framed_case("zeros at the ends, no overlap", (5,), 2, 4, pad_mode="CONSTANT"),
    Case("stft", "complex", of_parts(lambda x, w: ops.stft(x, 3, 2, window=w, return_complex=True)),
         (normal(5), normal(5, seed=1), normal(3, seed=2), normal(3, seed=3)), narrow=SINGLE),
    Case("STFT", "power", lambda x: ops.abs(ops.STFT(3, 1, 3, False, True, True)(x, ops.ones((3,)))) ** 2,
         (normal(4),), narrow=SINGLE),
    Case("fft", "spectral derivative", spectral_derivative, (normal(6),), narrow=SINGLE),
]  # fmt: skip
