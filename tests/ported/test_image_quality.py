"""Similarity of images against sums over windows that are written out here, and numbers of MindSpore 2.10."""

import numpy as np
import pytest
from support import assert_close, assert_raises, f32, f64

import dualgrad as dg
from dualgrad import nn, ops

pytestmark = pytest.mark.usefixtures("mode")
RNG = np.random.default_rng(8)
X = RNG.uniform(size=(2, 3, 14, 13))
Y = np.clip(X + 0.2 * RNG.standard_normal(X.shape), 0, 1)


def window(size, sigma):
    places = np.arange(size) - (size - 1) // 2
    found = np.exp(-(places[:, None] ** 2 + places**2) / (2 * sigma**2))
    return found / found.sum()


def compared(x, y, size, sigma, k1, k2, most):
    """Similarity and structure of one channel, window by window, from deviations of the means."""
    w, c1, c2 = window(size, sigma), (k1 * most) ** 2, (k2 * most) ** 2
    both = []
    for i, j in np.ndindex(x.shape[0] - size + 1, x.shape[1] - size + 1):
        a, b = x[i : i + size, j : j + size], y[i : i + size, j : j + size]
        m, n = (w * a).sum(), (w * b).sum()
        variances = (w * (a - m) ** 2).sum() + (w * (b - n) ** 2).sum()
        structure = (2 * (w * (a - m) * (b - n)).sum() + c2) / (variances + c2)
        both.append(((2 * m * n + c1) / (m * m + n * n + c1) * structure, structure))
    return np.mean(both, 0)


def each(x, y, function):
    """The mean over the channels of each sample."""
    return np.array([np.mean([function(a, b) for a, b in zip(*pair, strict=True)]) for pair in zip(x, y, strict=True)])


SETTINGS = {
    "as it is": {},
    "a small window": {"filter_size": 4, "filter_sigma": 0.8},
    "other constants": {"max_val": 2.0, "filter_size": 5, "k1": 0.1, "k2": 0.2},
}


def settings_of(name):
    given = {"max_val": 1.0, "filter_size": 11, "filter_sigma": 1.5, "k1": 0.01, "k2": 0.03, **SETTINGS[name]}
    return [given[key] for key in ("filter_size", "filter_sigma", "k1", "k2", "max_val")]


@pytest.mark.parametrize("name", SETTINGS)
def test_structural_similarity(name):
    expected = each(X, Y, lambda a, b: compared(a, b, *settings_of(name))[0])
    assert_close(nn.SSIM(**SETTINGS[name])(f64(X), f64(Y)), expected, rtol=1e-10)
    assert_close(nn.SSIM(**SETTINGS[name])(f64(X), f64(X)), np.ones(2), rtol=1e-12)


def halved(x):
    return x[: len(x) // 2 * 2, : x.shape[1] // 2 * 2].reshape(len(x) // 2, 2, -1, 2).mean((1, 3))


@pytest.mark.parametrize("powers", [(0.4,), (0.3, 0.7), (0.2, 0.5, 0.3)], ids=str)
def test_structural_similarity_on_scales(powers):
    settings = (3, 0.9, 0.01, 0.03, 1.0)

    def product(a, b):
        found = 1.0
        for scale, power in enumerate(powers, 1):
            found *= max(compared(a, b, *settings)[0 if scale == len(powers) else 1], 0.0) ** power
            a, b = halved(a), halved(b)
        return found

    net = nn.MSSSIM(power_factors=powers, filter_size=3, filter_sigma=0.9)
    assert_close(net(f64(X), f64(Y)), each(X, Y, product), rtol=1e-10)


@pytest.mark.parametrize("most", [1.0, 255.0])
def test_signal_and_noise(most):
    expected = 20 * np.log10(most / np.sqrt(((X - Y) ** 2).mean((1, 2, 3))))
    assert_close(nn.PSNR(most)(f64(X), f64(Y)), expected)
    integers = [np.rint(255 * a).astype(np.uint8) for a in (X, Y)]
    differences = np.subtract(*integers, dtype=float)
    expected = 20 * np.log10(most / np.sqrt((differences**2).mean((1, 2, 3))))
    assert_close(nn.PSNR(most)(*map(dg.Tensor, integers)), expected, dtype=dg.float32)


def test_the_numbers_of_mindspore():
    """`PSNR` and `SSIM` of MindSpore 2.10 on a CPU, in Float32, on images that a formula gives."""
    i, j = np.indices((12, 12))
    x = f32(np.cos(0.3 * i + 0.1 * j * j)[None, None])
    y = f32(np.cos(0.3 * i + 0.1 * j * j + 0.2)[None, None])
    assert_close(nn.PSNR()(x, y), np.array([PSNR]), dtype=dg.float32, rtol=1e-5)
    assert_close(nn.SSIM()(x, y), np.array([SSIM]), dtype=dg.float32, rtol=1e-5)


PSNR, SSIM = 17.092632293701172, 0.686882495880127


@pytest.mark.parametrize("net", [nn.SSIM(filter_size=3), nn.MSSSIM(power_factors=(0.5, 0.5), filter_size=3), nn.PSNR()])
def test_slopes(net):
    x, y, v = [f64(a[:1, :, :8, :8]) for a in (X, Y, RNG.standard_normal(X.shape))]
    of_x = lambda x: net(x, y)[0]
    slope = ops.sum(dg.grad(of_x)(x) * v)
    step = 1e-6
    assert_close(slope, (of_x(x + step * v) - of_x(x - step * v)) / (2 * step), rtol=1e-6)
    assert_close(dg.jvp(of_x, x, v)[1], slope, rtol=1e-9)
    _, curved = dg.jvp(lambda x: ops.sum(dg.grad(of_x)(x) * v), x, v)
    change = [ops.sum(dg.grad(of_x)(x + sign * step * v) * v) for sign in (1, -1)]
    assert_close(curved, (change[0] - change[1]) / (2 * step), rtol=1e-5)


WRONG = {
    "max_val": (lambda: nn.SSIM(max_val=0.0), "SSIM", "max_val"),
    "sigma": (lambda: nn.MSSSIM(filter_sigma=-1.0), "MSSSIM", "filter_sigma"),
    "filter": (lambda: nn.SSIM(filter_size=0), "SSIM", "filter_size"),
    "no scale": (lambda: nn.MSSSIM(power_factors=()), "MSSSIM", "power_factors"),
    "peak": (lambda: nn.PSNR(0.0), "PSNR", "max_val"),
    "small images": (lambda: nn.SSIM()(f64(X[..., :10]), f64(Y[..., :10])), "11 rows"),
    "small images of a scale": (lambda: nn.MSSSIM(power_factors=(1, 1))(f64(X), f64(Y)), "22 rows"),
    "shapes": (lambda: nn.PSNR()(f64(X), f64(Y[:1])), "one type and shape"),
    "types": (lambda: nn.SSIM()(f64(X), f32(Y)), "one type and shape"),
    "axes": (lambda: nn.PSNR()(f64(X[0]), f64(Y[0])), "(N, C, H, W)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused(name):
    call, *words = WRONG[name]
    assert_raises(ValueError, call, *words)
