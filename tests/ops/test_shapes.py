"""Padding, patches, rotations, blocks, spreads, NumPy's functions of sequences: values beside NumPy's, and errors."""

import numpy as np
import pytest
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import Tensor, ops

X = np.random.default_rng(0).standard_normal((3, 4, 5))
NUMPYS = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", NUMPYS)
def test_padding(mode):
    for widths in ((1, 2), (0, 3, 2, 0), (3, 1, 0, 2, 1, 0)):
        pairs = [(0, 0)] * (3 - len(widths) // 2) + list(zip(widths[-2::-2], widths[::-2], strict=True))
        assert_close(ops.pad(Tensor(X), widths, mode), np.pad(X, pairs, NUMPYS[mode]))
    assert_close(ops.pad(Tensor(X), (-2, 1), mode), np.pad(X, [(0, 0), (0, 0), (0, 1)], NUMPYS[mode])[..., 2:])


def test_padding_with_a_number_and_by_classes():
    assert_close(ops.pad(f64([1.0, 2.0]), (1, -1), value=9), [9.0, 1.0])
    assert_close(ops.pad(f64([1.0]), Tensor([-1, 2]), value=9.0), [9.0, 9.0])
    assert_close(dg.grad(lambda v: ops.pad(f64([1.0]), (1, 2), value=v))(f64(3.0)), 3.0)
    widths = ((0, 1), (2, 0), (1, 1))
    assert_close(ops.Pad(widths)(Tensor(X)), np.pad(X, widths))
    for mode in ("reflect", "symmetric"):
        assert_close(ops.MirrorPad(mode.upper())(Tensor(X), Tensor(np.array(widths))), np.pad(X, widths, mode))


@pytest.mark.parametrize("settings", [(2, 1, 0, 1), ((2, 3), (2, 1), (1, 0), (1, 2)), (1, 1, 1, 3)], ids=str)
def test_patches(settings):
    kernel, dilation, padding, stride = [(s, s) if isinstance(s, int) else s for s in settings]
    images = np.random.default_rng(1).standard_normal((2, 3, 5, 6))
    around = np.pad(images, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(around, spans, (2, 3))
    windows = windows[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]
    expected = windows.transpose(0, 1, 4, 5, 2, 3).reshape(2, 3 * kernel[0] * kernel[1], -1)
    columns = ops.unfold(Tensor(images), *settings)
    assert_close(columns, expected)
    # fold is the transpose of unfold, so <fold(c), x> = <c, unfold(x)>
    c = np.random.default_rng(2).standard_normal(expected.shape)
    folded = ops.fold(Tensor(c), (5, 6), *settings).asnumpy()
    np.testing.assert_allclose(np.sum(folded * images), np.sum(c * expected), rtol=1e-13)
    assert_close(dg.grad(lambda x: ops.sum(ops.unfold(x, *settings) * c))(Tensor(images)), folded, scale=1.0)


def test_rotations_and_blocks():
    for k in range(-4, 5):
        assert_close(ops.rot90(Tensor(X), k, (2, 0)), np.rot90(X, k, (2, 0)))
    assert_close(Tensor(X).roll((1, -7), (0, -1)), np.roll(X, (1, -7), (0, -1)))
    assert_close(ops.Roll(4)(Tensor(X)), np.roll(X, 4))
    blocks = ops.block_diag(f64(5.0), f64([[6.0], [7.0]]), f64([1.0, 2.0]), ops.ones((0, 1), dg.float64))
    assert_close(blocks, [[5, 0.0, 0, 0, 0], [0, 6, 0, 0, 0], [0, 7, 0, 0, 0], [0, 0, 1, 2, 0]])


def test_spreads():
    for f, names in ((ops.std_mean, (ops.std, ops.mean)), (ops.var_mean, (ops.var, ops.mean))):
        for axis in (None, 1, (0, -1)):
            found = f(Tensor(X), axis, ddof=0, keepdims=True)
            assert_close(found, tuple(np.asarray(g(Tensor(X), axis, keepdims=True).asnumpy()) for g in names))
    assert_close(ops.var_mean(Tensor(X), 0, 1), (X.var(0, ddof=1), X.mean(0)), scale=1.0)
    assert_close(dg.grad(ops.std)(f64([2.0, 2.0, 2.0])), [0.0, 0.0, 0.0])
    assert_close(Tensor(X).aminmax(), (X.min(0), X.max(0)))
    assert_close(ops.aminmax(Tensor(X), dim=None, keepdim=True), (X.min(keepdims=True), X.max(keepdims=True)))
    holes = np.where(X > 1, np.nan, X)
    assert_close(ops.nansum(Tensor(holes), dim=(0, 2)), np.nansum(holes, (0, 2)), scale=1.0)
    assert_close(dg.grad(lambda x: ops.nansum(x * x))(f64([1.0, np.nan])), [2.0, 0.0])
    assert ops.nansum(Tensor([1, 2])).tolist() == 3


SEQUENCES = {
    "cumsum": lambda x: np.cumsum(x, 1),
    "cumprod": lambda x: np.cumprod(x, 1),
    "cumprod flat": np.cumprod,
    "sort": lambda x: np.sort(x, 0),
    "sort flat": lambda x: np.sort(x, axis=None),
    "median": np.median,
    "median of axes": lambda x: np.median(x, (0, 2), keepdims=True),
    "ptp": lambda x: np.ptp(x, 1),
    "rot90": lambda x: np.rot90(x, 3, axes=(1, 2)),
    "fliplr": np.fliplr,
    "flipud": np.flipud,
    "roll": lambda x: np.roll(x, 1, 2),
    "take": lambda x: np.take(x, [0, 2], 1),
    "pad": lambda x: np.pad(x, 2),
    "pad by a number": lambda x: np.pad(x, ((0, 1), (2, 0), (1, 1)), constant_values=3.0),
    # Older versions of NumPy take no dict.
    "pad some axes": lambda x: np.pad(x, {-1: (1, 2), 0: 1} if isinstance(x, Tensor) else ((1, 1), (0, 0), (1, 2))),
    "pad reflect": lambda x: np.pad(x, ((5, 6),), mode="reflect"),
    "pad wrap": lambda x: np.pad(x, (1, 2), "wrap"),
    "pad symmetric": lambda x: np.pad(x, 3, "symmetric"),
    "pad edge": lambda x: np.pad(x, 1, "edge"),
    "diff": lambda x: np.diff(x, 2, 0),
    "diff with ends": lambda x: np.diff(x, prepend=0.0, append=x),
    "trapezoid": lambda x: np.trapezoid(x, [0.0, 1.0, 3.0], axis=0),
    "interp": lambda x: np.interp(x, [-1.0, 0.0, 2.0], [3.0, 4.0, 4.5]),
    "nansum": lambda x: np.nansum(x, 0, keepdims=True),
    "add.accumulate": np.add.accumulate,
    "multiply.accumulate": lambda x: np.multiply.accumulate(x, 2),
    "maximum.accumulate": lambda x: np.maximum.accumulate(x, axis=1),
    "minimum.accumulate": np.minimum.accumulate,
    "logaddexp.reduce": lambda x: np.logaddexp.reduce(x, 1, keepdims=True),
    "logaddexp.accumulate": lambda x: np.logaddexp.accumulate(x, axis=1),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_numpys_functions_of_sequences(name):
    f = SEQUENCES[name]
    assert_close(f(Tensor(X)), f(X), scale=1.0)
    direction, h = np.random.default_rng(5).standard_normal(X.shape), 1e-6
    slope = dg.jvp(f, Tensor(X), Tensor(direction))[1].asnumpy()
    np.testing.assert_allclose(slope, (f(X + h * direction) - f(X - h * direction)) / (2 * h), rtol=1e-6, atol=1e-7)


IMAGE = np.ones((1, 1, 2, 2))
ERRORS = {
    "odd": (lambda: ops.pad(f64([1.0]), (1,)), ValueError, ("pad", "(1,)", "two numbers")),
    "too many": (lambda: ops.pad(f64([1.0]), (1, 1, 1, 1)), ValueError, ("pad", "(1,)")),
    "mode": (lambda: ops.pad(f64([1.0]), (1, 1), "edge"), ValueError, ("pad", "'edge'", "replicate")),
    "value": (lambda: ops.pad(f64([1.0]), (1, 1), "replicate", 2.0), ValueError, ("pad", "value", "replicate")),
    "values": (lambda: ops.pad(f64([1.0]), (1, 1), value=f64([2.0])), ValueError, ("pad", "(1,)", "single")),
    "reflect": (lambda: ops.pad(f64([1.0, 2.0]), (2, 0), "reflect"), ValueError, ("pad", "axis 0", "1 to take")),
    "circular": (lambda: ops.pad(f64([1.0]), (2, 0), "circular"), ValueError, ("pad", "axis 0")),
    "empty": (lambda: ops.pad(f64([]), (1, 0), "replicate"), ValueError, ("pad", "no element")),
    "cut": (lambda: ops.pad(f64([1.0]), (-2, 0)), ValueError, ("pad", "cuts off")),
    "negative": (lambda: ops.Pad(((-1, 0),))(f64([1.0])), ValueError, ("Pad", "negative")),
    "pairs": (lambda: ops.Pad(((1, 0), (1, 0)))(f64([1.0])), ValueError, ("Pad", "(1,)", "pair")),
    "mirror": (lambda: ops.MirrorPad("EDGE"), ValueError, ("MirrorPad", "EDGE", "SYMMETRIC")),
    "mirrored": (lambda: ops.MirrorPad()(f64([1.0]), ((1, 0),)), ValueError, ("MirrorPad", "fewer")),
    "image": (lambda: ops.unfold(f64([1.0]), 2), ValueError, ("unfold", "(1,)", "(N, C, H, W)")),
    "patch": (lambda: ops.unfold(Tensor(IMAGE), 3), ValueError, ("unfold", "(3, 3)", "(2, 2)")),
    "stride": (lambda: ops.unfold(Tensor(IMAGE), 1, stride=0), ValueError, ("unfold", "stride")),
    "fold": (lambda: ops.fold(f64(np.ones((1, 4, 3))), (3, 3), 2), ValueError, ("fold", "(1, 4, 3)", "4 patches")),
    "plane": (lambda: ops.rot90(Tensor(X), 1, (0, 1, 2)), ValueError, ("rot90", "two axes")),
    "blocks": (lambda: ops.block_diag(Tensor(X)), ValueError, ("block_diag", "(3, 4, 5)")),
    "no block": (lambda: ops.block_diag(), ValueError, ("block_diag", "one at least")),
    "np.pad widths": (lambda: np.pad(Tensor(X), -1), ValueError, ("np.pad", "negative")),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, kind, words = ERRORS[name]
    assert_raises(kind, call, *words)
