"""Short-time Fourier transforms: values against a plain loop and SciPy, types, transforms of functions, errors.

Derivatives of every order, forwards, in reverse and against finite differences: tests/cases/fft.py.
"""

import itertools

import numpy as np
import pytest
import scipy.signal
from support import assert_close, assert_raises, f32, f64

import dualgrad as dg
from dualgrad import Tensor, ops

RNG = np.random.default_rng(8)
LENGTH = 11
SIGNALS = {
    "one": RNG.standard_normal(LENGTH),
    "rows": RNG.standard_normal((3, LENGTH)),
    "complex": RNG.standard_normal((2, LENGTH)) + 1j * RNG.standard_normal((2, LENGTH)),
}
WINDOWS = {None: None, "real": RNG.standard_normal(9), "complex": RNG.standard_normal(9) + 1j * RNG.standard_normal(9)}
MODES = {"REFLECT": "reflect", "SYMMETRIC": "symmetric", "CONSTANT": "constant", None: None}


def by_a_loop(x, n, hop, width, window, mode, normalized):
    """Every sum of the definition by itself, for all frequencies; `mode` None: no padding."""
    w = np.zeros(n, complex)
    first = (n - width) // 2
    w[first : first + width] = 1 if window is None else window
    if mode is not None:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n // 2, n // 2)], mode)
    frames = 1 + (x.shape[-1] - n) // hop
    out = np.zeros((*x.shape[:-1], n, frames), complex)
    for k, m, j in itertools.product(range(n), range(frames), range(n)):
        out[..., k, m] += w[j] * x[..., m * hop + j] * np.exp(-2j * np.pi * k * j / n)
    return out / np.sqrt(n) if normalized else out


def settings():
    for signal, window, mode in itertools.product(SIGNALS, WINDOWS, MODES):
        for n, hop, width in ((4, None, None), (5, 2, 4), (9, 4, 9), (6, 7, 3), (1, 1, 1)):
            yield signal, window, mode, n, hop, width


def called(x, w, mode, n, hop, width, **others):
    centered = {"center": False} if mode is None else {"pad_mode": mode}
    return ops.stft(x, n, hop, width, None if w is None else Tensor(w), **centered, **others)


def test_values_are_those_of_the_definition():
    for count, (signal, window, mode, n, hop, width) in enumerate(settings()):
        x, w = SIGNALS[signal], WINDOWS[window]
        length = n if width is None else width
        w = None if w is None else w[:length]
        hop = 1 if hop is None and n < 4 else hop
        normalized = bool(count % 2)
        full = by_a_loop(x, n, n // 4 if hop is None else hop, length, w, MODES[mode], normalized)
        real = not (np.iscomplexobj(x) or np.iscomplexobj(w))
        for onesided in (None, False, True) if real else (None, False):
            half = real if onesided is None else onesided
            expected = full[..., : n // 2 + 1, :] if half else full
            parts = np.stack([expected.real, expected.imag], -1)
            for as_complex in (None, True, False):
                found = called(
                    Tensor(x), w, mode, n, hop, width, normalized=normalized, onesided=onesided,
                    return_complex=as_complex,
                )  # fmt: skip
                wanted = expected if as_complex or (as_complex is None and not real) else parts
                assert_close(found, wanted, 1e-13, scale=np.abs(full).max())


def test_values_are_those_of_scipy():
    x, w = RNG.standard_normal((2, 64)), scipy.signal.get_window("hann", 16)
    transform = scipy.signal.ShortTimeFFT(w, 4, 1.0, fft_mode="onesided", phase_shift=None)
    first = transform.lower_border_end[1]  # the first frame that lies inside
    inside = 1 + (64 - 16) // 4
    expected = transform.stft(x)[..., first - transform.p_min :][..., :inside]
    found = ops.stft(f64(x), 16, 4, window=f64(w), center=False, return_complex=True)
    assert_close(found, expected, 1e-12, scale=np.abs(expected).max())
    _, _, scaled = scipy.signal.stft(x, window=w, nperseg=16, noverlap=12, boundary="even", padded=False)
    found = ops.stft(f64(x), 16, 4, window=f64(w), return_complex=True) / w.sum()
    assert_close(found, scaled, 1e-12, scale=np.abs(scaled).max())


def test_types_are_those_of_signal_and_window():
    pairs = itertools.product(("float16", "float32", "float64", "complex64", "complex128", "int32"), repeat=2)
    for first, second in pairs:
        x, w = np.ones(8, first), np.ones(4, second)
        wide = {first, second} & {"float64", "complex128"}
        for as_complex, name in (
            (True, "complex128" if wide else "complex64"),
            (False, "float64" if wide else "float32"),
        ):
            found = ops.stft(Tensor(x), 4, window=Tensor(w), return_complex=as_complex)
            assert found.asnumpy().dtype == name, (first, second)
    made = ops.STFT(4, 1, 4, False, True, True)
    assert made(f32(np.ones(8)), f32(np.ones(4))).dtype == dg.complex64


def test_the_class_is_the_function_without_padding():
    x, w = f64(SIGNALS["rows"]), f64(WINDOWS["real"][:5])
    for normalized, onesided, as_complex in itertools.product((False, True), repeat=3):
        made = ops.STFT(6, 2, 5, normalized, onesided, as_complex)
        expected = ops.stft(x, 6, 2, 5, w, False, "REFLECT", normalized, onesided, as_complex)
        assert np.array_equal(made(x, w).asnumpy(), expected.asnumpy())
    assert "n_fft=6" in repr(made)


def test_the_energy_of_frames_that_tile_a_signal_is_that_of_the_signal():
    """Parseval's theorem; its gradient is 2 x, its Hessian 2 times the identity."""
    x = f64(RNG.standard_normal(12))
    energy = lambda x: (ops.abs(ops.stft(x, 4, 4, center=False, normalized=True, onesided=False,
                                         return_complex=True)) ** 2).sum()  # fmt: skip
    assert_close(energy(x), np.sum(x.asnumpy() ** 2), 1e-13)
    assert_close(dg.grad(energy)(x), 2 * x.asnumpy(), 1e-13)
    assert_close(dg.hessian(energy)(x), 2 * np.eye(12), 1e-13, scale=1.0)


def test_forwards_in_reverse_batched_and_recorded():
    x, w = f64(SIGNALS["rows"]), f64(np.hanning(8)[1:-1])
    loss = lambda x, w: ops.log(ops.square(ops.stft(x, 6, 2, window=w)).sum(-1) + 0.1).sum()
    gradient = dg.grad(loss, (0, 1))
    both = gradient(x, w)
    dx, dw = f64(RNG.standard_normal(x.shape)), f64(RNG.standard_normal(w.shape))
    slope = dg.jvp(loss, (x, w), (dx, dw))[1]
    assert_close(slope, float((both[0] * dx).sum() + (both[1] * dw).sum()), 1e-12)
    rows = dg.vmap(dg.grad(loss, (0, 1)), (0, None))(x, w)
    assert_close(rows[0], both[0].asnumpy(), 1e-12, scale=1.0)
    assert_close(rows[1].sum(0), both[1].asnumpy(), 1e-12, scale=1.0)
    along = lambda t: gradient(x + t * dx, w + t * dw)
    second = dg.jvp(along, f64(0.0), f64(1.0))[1]
    step = 1e-5
    ends = [along(f64(t)) for t in (step, -step)]
    for k in range(2):
        difference = (ends[0][k] - ends[1][k]).asnumpy() / (2 * step)
        assert np.abs(second[k].asnumpy() - difference).max() < 1e-7 * np.abs(difference).max()
    recorded = dg.jit(gradient)
    for _ in range(4):
        assert_close(recorded(x, w), tuple(part.asnumpy() for part in both), 1e-12, scale=1.0)


X, W = np.ones(8), np.ones(4)
REFUSED = {
    "axes": (ValueError, lambda: ops.stft(f64(np.ones((2, 2, 8))), 4), "(2, 2, 8)", "(B, L)"),
    "too short": (ValueError, lambda: ops.stft(f64(X), 9, center=False), "n_fft is 9", "8 elements"),
    "points": (ValueError, lambda: ops.stft(f64(X), 0), "n_fft is 0"),
    "no hop": (ValueError, lambda: ops.stft(f64(X), 3), "hop_length is 0"),
    "long window": (ValueError, lambda: ops.stft(f64(X), 4, win_length=5), "win_length is 5", "4 at most"),
    "window": (ValueError, lambda: ops.stft(f64(X), 4, window=f64(np.ones(3))), "(3,)", "(4,)"),
    "half": (ValueError, lambda: ops.stft(Tensor(X + 0j), 4, onesided=True), "onesided", "omplex128"),
    "half of it": (ValueError, lambda: ops.stft(f64(X), 4, window=Tensor(W + 0j), onesided=True), "onesided"),
    "mode": (ValueError, lambda: ops.stft(f64(X), 4, pad_mode="wrap"), "'wrap'", "REFLECT"),
    "mirror": (ValueError, lambda: ops.stft(f64(X[:2]), 4), "2 elements are added", "has 1"),
    "int": (TypeError, lambda: ops.stft(f64(X), 4.0), "n_fft", "float"),
    "bool": (TypeError, lambda: ops.stft(f64(X), 4, center=1), "center", "int"),
    "parts": (TypeError, lambda: ops.stft(f64(X), 4, return_complex=1), "return_complex", "int"),
    "name": (TypeError, lambda: ops.stft(f64(X), 4, pad_mode=0), "pad_mode", "int"),
    "text": (TypeError, lambda: ops.stft("x", 4), "stft", "str"),
    "class": (TypeError, lambda: ops.STFT(4, 1, 4, 0, True, True), "normalized", "int"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_errors(case):
    assert_raises(*case)
