"""`scipy.signal` and its windows: convolutions, filters, and their design."""

from __future__ import annotations

import numpy as np

from ..sample import also, sample

__all__ = ["SAMPLES"]

X = np.array([0.31, 1.74, -0.92, 2.63, 1.13, -0.58, 3.41, 2.05, 0.4, -1.2, 0.7, 1.6])
LONG = np.concatenate([X, 0.6 * X[::-1] + 0.1, 0.3 * X + 0.2])
K = np.array([0.5, 1.2, -0.3])
M = np.array([[0.3, -1.2, 2.0, 0.8], [1.1, 0.4, -0.7, 1.9], [0.2, 2.1, 0.9, -1.4], [0.5, 0.1, -0.8, 1.3]])
WIDE = np.sin(np.arange(400.0)).reshape(20, 20)
K2 = np.array([[0.5, 1.2], [-0.3, 0.8]])
B, A = np.array([0.2, 0.3, 0.1]), np.array([1.0, -0.5, 0.2])
ZEROS, POLES = np.array([-1.0, -0.5]), np.array([0.3, 0.6])
NUMERATORS = np.array([[0.2, 0.3, 0.1], [1.0, 0.4, 0.2]])
DENOMINATORS = np.array([[-0.5, 0.2], [-0.3, 0.1]])
W = np.array([0.3, 0.9, 1.7, 2.4])


def _space(c):
    import dualgrad.numpy as mnp

    return np if c is np.asarray else mnp


def _sections(c, b, a):
    """Filters of second order; the first coefficient of each denominator is 1, as SciPy wants it."""
    return _space(c).concat([b, c(np.ones((2, 1))), a], axis=1)


def _powers(roots):
    """Sums of powers, which do not depend on the order of the roots."""
    return [(roots**k).sum() for k in range(1, roots.shape[0] + 1)]


def _window(*values, **more):
    """A window of seven numbers, which have no array among their arguments."""
    return lambda f, c: f(7, *values, xp=_space(c), **more)


def _parameter(f, c, p):
    return f(7, p, xp=_space(c))


VIEWS = "SciPy adds to a view of an array, and tensors are not views; fftconvolve"
SKIPS = "SciPy does not divide by a[0] where it is 1"

S, N = "scipy.signal.", "scipy.signal.windows."
WINDOWS = {
    **also([N + name for name in "barthann bartlett blackman blackmanharris bohman boxcar cosine flattop hamming hann "
            "lanczos nuttall parzen triang taylor tukey exponential".split()], _window()),
    **also([N + name for name in "general_hamming".split()], _parameter, 0.7),
    N + "kaiser": [sample(_parameter, 3.1)],
    N + "gaussian": [sample(_parameter, 1.7)],
    N + "general_gaussian": [sample(lambda f, c, p, s: f(7, p, s, xp=_space(c)), 1.3, 1.7)],
    N + "general_cosine": [sample(lambda f, c, a: f(7, a), [0.4, 0.5, 0.1])],
    N + "kaiser_bessel_derived": [sample(lambda f, c, p: f(8, p, xp=_space(c)), 3.1)],
    N + "chebwin": [sample(_window(60.0))],
    N + "get_window": [sample(lambda f, c: f("hann", 7, xp=_space(c)))],
}  # fmt: skip

DESIGN = {
    S + "butter": [sample(lambda f, c, w: f(3, w), 0.3)],
    S + "bessel": [sample(lambda f, c, w: f(3, w), 0.3)],
    S + "cheby1": [sample(lambda f, c, w: f(3, 1.0, w), 0.3)],
    S + "cheby2": [sample(lambda f, c, w: f(3, 30.0, w), 0.3)],
    S + "ellip": [sample(lambda f, c, w: f(3, 1.0, 30.0, w), 0.3)],
    S + "iirfilter": [sample(lambda f, c, w: f(3, w, btype="lowpass"), 0.3)],
    S + "iirdesign": [sample(lambda f, c, w: f(w[0], w[1], 1.0, 30.0), [0.2, 0.4])],
    S + "iirnotch": [sample(lambda f, c, w: f(w, 5.0), 0.3)],
    S + "iirpeak": [sample(lambda f, c, w: f(w, 5.0), 0.3)],
    S + "iircomb": [sample(lambda f, c, w: f(w, 5.0), 0.25)],
    **also([S + name for name in "buttord cheb1ord cheb2ord ellipord".split()],
           lambda f, c, w: f(w[0], w[1], 1.0, 30.0), [0.2, 0.4], reach=0.02),
    **also([S + name for name in "besselap buttap".split()], lambda f, c: f(3, xp=_space(c))),
    S + "cheb1ap": [sample(lambda f, c: f(3, 1.0, xp=_space(c)))],
    S + "cheb2ap": [sample(lambda f, c: f(3, 30.0, xp=_space(c)))],
    S + "ellipap": [sample(lambda f, c: f(3, 1.0, 30.0, xp=_space(c)))],
    S + "firwin": [sample(lambda f, c, w: f(5, w), 0.3)],
    S + "firwin2": [sample(lambda f, c, g: f(9, c(np.array([0.0, 0.4, 1.0])), g), [1.0, 0.8, 0.1])],
    S + "firls": [sample(lambda f, c, d: f(5, c(np.array([0.0, 0.3, 0.5, 1.0])), d), [1.0, 1.0, 0.1, 0.05])],
    S + "remez": [sample(lambda f, c, d: f(7, c(np.array([0.0, 0.2, 0.3, 0.5])), d), [1.0, 0.1])],
    S + "gammatone": [sample(lambda f, c, w: f(w, "iir", fs=10.0), 1.3)],
    S + "minimum_phase": [sample(lambda f, c, h: f(h), [0.1, 0.3, 0.6, 0.3, 0.1])],
    S + "get_window": [sample(lambda f, c: f("hann", 7, xp=_space(c)))],
    S + "savgol_coeffs": [sample(lambda f, c: f(5, 2, xp=_space(c)))],
    S + "lp2lp": [sample(lambda f, c, b, a: f(b, a, 1.3), B, A + 0.1)],
    S + "lp2hp": [sample(lambda f, c, b, a: f(b, a, 1.3), B, A + 0.1)],
    **also([S + name for name in "lp2bp lp2bs".split()], lambda f, c, b, a: f(b, a, 1.3, 0.4), B, A + 0.1),
    **also([S + name for name in "lp2lp_zpk lp2hp_zpk".split()], lambda f, c, z, p: f(z, p, 0.7, 1.3), ZEROS, POLES),
    **also([S + name for name in "lp2bp_zpk lp2bs_zpk".split()], lambda f, c, z, p: f(z, p, 0.7, 1.3, 0.4), ZEROS,
           POLES),
    S + "bilinear": [sample(lambda f, c, b, a: f(b, a, 2.0), B, A)],
    S + "bilinear_zpk": [sample(lambda f, c, z, p: f(z, p, 0.7, 2.0), ZEROS, POLES)],
    S + "normalize": [sample(lambda f, c, b, a: f(b, a), B, A + 0.1)],
    S + "abcd_normalize": [
        sample(lambda f, c, a, b: f(a, b, c(np.array([[1.0, 0.0]])), c(np.array([[0.0]]))), K2, [[1.0], [0.5]])
    ],
    S + "place_poles": [
        sample(lambda f, c, a: f(a, c(np.array([[1.0], [0.5]])), c(np.array([-1.0, -2.0]))).gain_matrix, K2)
    ],
    S + "tf2zpk": [sample(lambda f, c, b, a: [_powers(x) for x in f(b, a)[:2]], B, A + 0.1)],
    S + "tf2sos": [sample(lambda f, c, b, a: f(b, a), B, A)],
    S + "zpk2tf": [sample(lambda f, c, z, p: f(z, p, 0.7), ZEROS, POLES)],
    S + "zpk2sos": [sample(lambda f, c, z, p: f(z, p, 0.7), ZEROS, POLES)],
    S + "sos2tf": [sample(lambda f, c, b, a: f(_sections(c, b, a)), NUMERATORS, DENOMINATORS)],
    S + "sos2zpk": [
        sample(lambda f, c, b, a: _powers(f(_sections(c, b, a))[0]), NUMERATORS, DENOMINATORS)
    ],
    S + "sosfilt_zi": [sample(lambda f, c, b, a: f(_sections(c, b, a)), NUMERATORS, DENOMINATORS)],
    S + "lfilter_zi": [sample(lambda f, c, b, a: f(b, a), B, A)],
    S + "lfiltic": [
        sample(lambda f, c, b, a, y: f(b, a, y), B, A + 0.1, [0.3, 0.5]),
        sample(lambda f, c, b, a, y: f(b, a, y), B, A, [0.3, 0.5], label="where a[0] is 1", wrong=SKIPS),
    ],
}  # fmt: skip

RESPONSES = {
    S + "freqs": [sample(lambda f, c, b, a: f(b, a, c(W))[1], B, A)],
    S + "freqs_zpk": [sample(lambda f, c, z, p: f(z, p, 0.7, c(W))[1], ZEROS, POLES)],
    S + "freqz": [
        sample(lambda f, c, b, a: f(b, a, c(W))[1], B, A),
        sample(lambda f, c, w: f(c(B), c(A), w)[1], W, label="by w"),
    ],
    S + "freqz_zpk": [sample(lambda f, c, z, p: f(z, p, 0.7, c(W))[1], ZEROS, POLES)],
    S + "freqz_sos": [sample(lambda f, c, b, a: f(_sections(c, b, a), c(W))[1], NUMERATORS, DENOMINATORS)],
    S + "sosfreqz": [sample(lambda f, c, b, a: f(_sections(c, b, a), c(W))[1], NUMERATORS, DENOMINATORS)],
    S + "group_delay": [sample(lambda f, c, b, a: f((b, a), c(W))[1], B, A)],
    S + "bode": [sample(lambda f, c, b, a: f((b, a), c(W))[1:], B, A)],
    S + "impulse": [sample(lambda f, c, b, a: f((b, a), T=c(np.arange(4) * 0.5))[1], B[1:], A)],
}  # fmt: skip

FILTERING = {
    **also([S + name for name in "convolve correlate fftconvolve".split()], lambda f, c, x, k: f(x, k), X, K),
    **also([S + name for name in "convolve2d correlate2d".split()], lambda f, c, x, k: f(x, k), M, K2),
    S + "oaconvolve": [
        sample(lambda f, c, x, k: f(x, k), LONG, K, wrong=VIEWS),
        sample(lambda f, c, x, k: f(x, k), X[:5], K, label="short ones"),
    ],
    S + "choose_conv_method": [sample(lambda f, c, x, k: f(x, k), X, K)],
    S + "deconvolve": [sample(lambda f, c, x, k: f(x, k), X, K)],
    S + "cspline1d": [sample(lambda f, c, x: f(x), X)],
    S + "qspline1d": [sample(lambda f, c, x: f(x), X)],
    **also([S + name for name in "cspline1d_eval qspline1d_eval".split()], lambda f, c, x: f(x, c(W)), X),
    S + "cspline2d": [sample(lambda f, c, x: f(x), WIDE)],
    S + "spline_filter": [sample(lambda f, c, x: f(x, 0.0), WIDE)],
    S + "gauss_spline": [sample(lambda f, c, x: f(x, 3), X)],
    S + "detrend": [sample(lambda f, c, x: f(x), X)],
    S + "envelope": [sample(lambda f, c, x: f(x), X)],
    S + "hilbert": [sample(lambda f, c, x: f(x), X)],
    S + "hilbert2": [sample(lambda f, c, x: f(x), M)],
    S + "filtfilt": [sample(lambda f, c, b, x: f(b, c(A), x), B, LONG)],
    S + "lfilter": [sample(lambda f, c, b, a, x: f(b, a, x), B, A, X)],
    S + "sosfilt": [sample(lambda f, c, b, a, x: f(_sections(c, b, a), x), NUMERATORS, DENOMINATORS, X)],
    S + "sosfiltfilt": [sample(lambda f, c, b, a, x: f(_sections(c, b, a), x), NUMERATORS, DENOMINATORS, LONG)],
    S + "upfirdn": [sample(lambda f, c, h, x: f(h, x, up=2), K, X)],
    S + "medfilt": [sample(lambda f, c, x: f(x, 3), X)],
    S + "medfilt2d": [sample(lambda f, c, x: f(x, 3), M)],
    S + "order_filter": [sample(lambda f, c, x: f(x, c(np.ones(3)), 1), X)],
    S + "wiener": [sample(lambda f, c, x: f(x, 3), X)],
    S + "resample": [sample(lambda f, c, x: f(x, 9), X)],
    S + "resample_poly": [sample(lambda f, c, x: f(x, 3, 2), X)],
    S + "savgol_filter": [sample(lambda f, c, x: f(x, 5, 2), X)],
    S + "vectorstrength": [
        sample(lambda f, c, x: f(x, 2.3), X),
        sample(lambda f, c, x: f(x, c(np.array(2.3))), X, label="a tensor as period"),
    ],
}  # fmt: skip

SAMPLES = {**WINDOWS, **DESIGN, **RESPONSES, **FILTERING}
