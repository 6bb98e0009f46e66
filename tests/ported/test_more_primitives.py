"""Primitive classes and functions that ported programs call, against NumPy; derivatives by finite differences."""

import numpy as np
import pytest
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import Tensor, nn, ops
from dualgrad.testing import check

IN_BOTH_MODES = pytest.mark.usefixtures("mode")
RNG = np.random.default_rng(11)
X = RNG.normal(size=(4, 3))
A, B = RNG.integers(-20, 20, (2, 5))
WIDE = np.array([0.5, -1.5, 2.5, np.inf, -np.inf, np.nan])
SORTED, VALUES = np.array([1.0, 3.0, 3.0, 8.0]), np.array([[0.0, 3.0], [7.0, 9.0]])
ELEMENTS = {
    "BitwiseAnd": ((), (A, B), A & B),
    "BitwiseOr": ((), (A, B), A | B),
    "BitwiseXor": ((), (A, B), A ^ B),
    "Invert": ((), (A,), ~A),
    "IsInf": ((), (WIDE,), np.isinf(WIDE)),
    "Rint": ((), (WIDE,), np.rint(WIDE)),
    "CeLU": ((0.5,), (X,), np.where(X > 0, X, 0.5 * np.expm1(X / 0.5))),
    "SearchSorted": ((), (SORTED, VALUES), np.searchsorted(SORTED, VALUES)),
    "Padding": ((4,), (X[..., None],), np.concatenate((X[..., None], np.zeros((4, 3, 3))), -1)),
}


@IN_BOTH_MODES
@pytest.mark.parametrize("name", ELEMENTS)
def test_classes_are_what_numpy_has(name):
    settings, operands, expected = ELEMENTS[name]
    assert_close(getattr(ops, name)(*settings)(*map(Tensor, operands)), expected)


@IN_BOTH_MODES
@pytest.mark.parametrize("right", [False, True])
def test_places_have_the_type_that_was_asked_for(right):
    side = "right" if right else "left"
    found = ops.SearchSorted(dg.int32, right)(Tensor(SORTED), Tensor(VALUES))
    assert found.dtype == dg.int32
    assert_close(found, np.searchsorted(SORTED, VALUES, side).astype(np.int32))


@IN_BOTH_MODES
@pytest.mark.parametrize("bounds", [(0, 7, 2), (5, -4, -3), (3, 3, 1), (0.5, 2.0, 0.5)])
def test_ranges(bounds):
    for found in (ops.range(*bounds), ops.Range()(*map(Tensor, bounds))):
        assert_close(found, np.arange(*bounds).astype(found.asnumpy().dtype))


@IN_BOTH_MODES
@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("keep_prob", [0.0, 0.5, 1.0])
def test_channels_stay_whole_or_become_0(axes, keep_prob):
    x = RNG.uniform(1.0, 2.0, (20, 10, *[2] * axes))
    output, mask = getattr(ops, f"Dropout{axes}D")(keep_prob)(f64(x))
    stay = mask.asnumpy()
    assert stay.dtype == np.bool_
    spatial = tuple(range(2, axes + 2))
    assert (stay.all(spatial) == stay.any(spatial)).all()
    assert abs(stay.mean() - keep_prob) < 0.2
    assert_close(output, np.where(stay, x / (keep_prob or 1.0), 0.0))
    dg.set_seed(3)
    slope = dg.grad(lambda x: getattr(ops, f"Dropout{axes}D")(keep_prob)(x)[0].sum())(f64(x)).asnumpy()
    assert set(np.unique(slope)) <= {0.0, 1.0 / (keep_prob or 1.0)}


SEGMENTS = np.array([[1, 0, 1], [-1, 3, 1]])


def products(x, count=4):
    found = np.ones((count, *x.shape[2:]))
    for place in np.ndindex(*SEGMENTS.shape):
        if SEGMENTS[place] >= 0:
            found[SEGMENTS[place]] *= x[place]
    return found


@IN_BOTH_MODES
def test_products_of_segments():
    x = RNG.normal(size=(2, 3, 2))
    for call in (ops.unsorted_segment_prod, ops.UnsortedSegmentProd()):
        assert_close(call(f64(x), Tensor(SEGMENTS), 4), products(x))


def test_derivatives():
    x = RNG.normal(size=(2, 3, 2))
    zeros = x.copy()
    zeros[0, 0], zeros[0, 2, 0] = 0.0, 0.0
    for point in (x, zeros):
        check(lambda x: ops.unsorted_segment_prod(x, Tensor(SEGMENTS), 4), (point,), order=2, narrow=False)
    check(lambda x: ops.padding(x[..., None], 3), (X,), order=2, narrow=False)
    check(ops.CeLU(0.5), (X,), order=2, narrow=False)


LAYERS = {
    "elementwise": (lambda: nn.Tanh(), (4, 3, 2), (0, 2)),
    "dense": (lambda: nn.Dense(2, 5), (4, 3, 2), (0,)),
    "convolution": (lambda: nn.Conv1d(2, 3, 2), (4, 5, 2, 6), (0,)),
    "flattened": (lambda: nn.Flatten(), (4, 5, 2, 6), (0,)),
}


@IN_BOTH_MODES
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_for_each_time(name):
    make, shape, batches = LAYERS[name]
    layer, x = make(), RNG.normal(size=shape).astype(np.float32)
    parts = [layer(Tensor(x[:, t])).asnumpy() for t in range(shape[1])]
    expected = np.stack(parts, 1)
    for batch in (None, *batches):
        assert_close(nn.TimeDistributed(layer, 1, batch)(Tensor(x)), expected, rtol=1e-5)
    last = np.stack(parts, -1)
    assert_close(nn.TimeDistributed(layer, -1)(Tensor(np.moveaxis(x, 1, -1))), last, rtol=1e-5)
    assert_close(nn.TimeDistributed(layer, -1, 0)(Tensor(np.moveaxis(x, 1, -1))), last, rtol=1e-5)
    first = nn.TimeDistributed(layer, 0, 1)(Tensor(np.moveaxis(x, 1, 0)))
    assert_close(first, np.stack(parts), rtol=1e-5)


def test_derivatives_of_a_layer_for_each_time():
    x = RNG.normal(size=(2, 3, 4))
    for batch in (None, 0, 2):
        check(nn.TimeDistributed(nn.Softsign(), 1, batch), (x,), order=2, narrow=False)


REFUSED = {
    "no layer": (TypeError, lambda: nn.TimeDistributed(3, 0), "function"),
    "one axis twice": (ValueError, lambda: nn.TimeDistributed(nn.Tanh(), 0, -2)(f64(X)), "two axes"),
    "no time": (ValueError, lambda: nn.TimeDistributed(nn.Tanh(), 0)(f64(X[:0])), "empty"),
    "merged away": (ValueError, lambda: nn.TimeDistributed(ops.sum, 0, 1)(f64(X)), "merged"),
    "no axis": (ValueError, lambda: nn.TimeDistributed(nn.Tanh(), 2)(f64(X)), "axis"),
    "long": (ValueError, lambda: ops.range(0, 10, 1, maxlen=9), "maxlen"),
    "last axis": (ValueError, lambda: ops.padding(f64(X), 4), "length 1"),
    "one axis": (ValueError, lambda: ops.padding(f64([1.0]), 4), "two axes"),
    "length": (ValueError, lambda: ops.Padding(0)(f64(X[..., None])), "1 or more"),
    "channels": (ValueError, lambda: ops.Dropout2D()(f64(X)), "4 axes"),
    "probability": (ValueError, lambda: ops.Dropout3D(1.5)(f64(np.ones((1, 1, 1, 1, 1)))), "probability"),
    "type of places": (TypeError, lambda: ops.SearchSorted(dg.float32)(f64(SORTED), f64(VALUES)), "int32"),
    "bits of floats": (TypeError, lambda: ops.BitwiseAnd()(f64(X), f64(X)), "integers"),
    "distance of integers": (TypeError, lambda: ops.eps(Tensor(A)), "floats"),
    "distance of complex numbers": (TypeError, lambda: ops.Eps()(Tensor(X + 1j)), "floats"),
    "segments": (ValueError, lambda: ops.unsorted_segment_prod(f64(X), Tensor([0, 1]), 2), "(4, 3)"),
    "too many segments": (IndexError, lambda: ops.unsorted_segment_prod(f64(X), Tensor([0, 1, 2, 0]), 2), "2 segments"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(case):
    assert_raises(*case)


@IN_BOTH_MODES
@pytest.mark.parametrize("dtype", [dg.float16, dg.float32, dg.float64], ids=str)
def test_the_distance_from_1_to_the_next_number(dtype):
    x = Tensor(X, dtype)
    one = np.ones((), dtype.numpy)
    for call in (ops.eps, ops.Eps()):
        found = call(x)
        assert (found.dtype, found.shape) == (dtype, x.shape)
        assert_close(found, np.broadcast_to(np.nextafter(one, 2 * one) - one, x.shape))


PADDINGS = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "circular": "circular"}


@pytest.mark.parametrize("mode", PADDINGS)
@pytest.mark.parametrize("paddings", [(1, 2), (1, 2, 0, 1)])
def test_padding_by_class(mode, paddings):
    x = dg.Tensor(np.arange(12.0).reshape(1, 3, 4))
    value = (7.0,) if mode == "constant" else ()
    expected = ops.pad(x, paddings, PADDINGS[mode], *value).asnumpy()
    assert_close(ops.PadV3(mode)(x, dg.Tensor(paddings), *value), expected)
    apart = (*paddings[::2], *paddings[1::2])
    assert_close(ops.PadV3(mode, False)(x, apart, *value), expected)
    slope = dg.grad(lambda t: (ops.PadV3(mode)(t, paddings, *value) ** 2).sum())(x)
    assert_close(slope, dg.grad(lambda t: (ops.pad(t, paddings, PADDINGS[mode], *value) ** 2).sum())(x).asnumpy())


def test_wrong_padding_by_class():
    assert_raises(ValueError, lambda: ops.PadV3("replicate"), "'replicate'", "'edge'")


@pytest.mark.parametrize("values", [[5, 2, 5, 1], [3, 3, 3], [4]])
def test_distinct_values_with_padding(values):
    found, which = ops.UniqueWithPad()(dg.Tensor(values), -1)
    distinct = list(dict.fromkeys(values))
    assert_close(found, np.array(distinct + [-1] * (len(values) - len(distinct))))
    assert_close(which, np.array([distinct.index(value) for value in values]))
    x = dg.Tensor(np.array(values, float))
    first = [float(values.index(value) == place) for place, value in enumerate(values)]
    assert_close(dg.grad(lambda t: ops.UniqueWithPad()(t, 9)[0].sum())(x), np.array(first))


@pytest.mark.parametrize("primitive", [ops.EmbeddingLookup(), ops.LayerNorm(), ops.Adam(), ops.Softmax()], ids=repr)
def test_what_primitives_are_told_about_compilers(primitive):
    assert primitive.set_device("CPU").add_prim_attr("primitive_target", "CPU") is primitive


LISTED = np.array([5, 2, 5, 7, -1])
BITS = np.array([0, 13, 65, -1, -128])


@IN_BOTH_MODES
@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64])
def test_bits_that_are_ones(kind):
    x = BITS.astype(kind)
    expected = [f"{int(n) % 2 ** (8 * x.itemsize):b}".count("1") for n in x]
    assert_close(ops.PopulationCount()(Tensor(x)), np.array(expected, np.uint8))
    assert_close(dg.vmap(ops.PopulationCount())(Tensor(np.stack([x, x]))), np.array([expected] * 2, np.uint8))


def test_elements_that_are_not_in_another_vector():
    found = ops.ListDiff(dg.int64)(Tensor(LISTED), Tensor([2, 9]))
    assert_close(found, (np.array([5, 5, 7, -1]), np.array([0, 2, 3, 4])))
    x = f64([1.0, 2.0, 3.0])
    assert_close(dg.grad(lambda x: (ops.ListDiff()(x, f64([2.0]))[0] ** 2).sum())(x), [2.0, 0.0, 6.0])


@IN_BOTH_MODES
def test_conjugate_transposes():
    x = RNG.normal(size=(2, 3, 4)) + 1j * RNG.normal(size=(2, 3, 4))
    assert_close(ops.ConjugateTranspose()(Tensor(x), (2, 0, 1)), x.transpose(2, 0, 1).conj())


@IN_BOTH_MODES
@pytest.mark.parametrize(("source", "target"), [("NHWC", "NCHW"), ("NCHW", "NHWC"), ("NHWC", "NHWC")])
def test_axes_in_another_order(source, target):
    """They are what `transpose` needs to go from one order to the other."""
    found = ops.DataFormatDimMap(source, target)(Tensor(np.arange(-4, 4, dtype=np.int32)))
    assert found.dtype == dg.int32
    assert "".join(source[k] for k in found.tolist()) == 2 * target


@IN_BOTH_MODES
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8])
def test_labels_that_would_repeat(n):
    labels, scores = RNG.integers(0, 4, (2, 5, 7)), RNG.normal(size=(2, 5, 6))
    expected = scores.copy()
    for place in np.ndindex(2, 5):
        row = labels[place].tolist()
        for k in range(len(row) - n + 1):
            if row[k : k + n - 1] == row[len(row) - n + 1 :]:
                expected[(*place, row[k + n - 1])] = np.finfo(float).min
    found = ops.NoRepeatNGram(n)(Tensor(labels), f64(scores))
    assert_close(found, expected)
    assert_close(dg.vmap(ops.NoRepeatNGram(n))(Tensor(labels), f64(scores)), expected)
    slope = dg.grad(lambda x: ops.maximum(ops.NoRepeatNGram(n)(Tensor(labels), x), -1e3).sum())(f64(scores))
    assert_close(slope, (expected > -1e3).astype(float))


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_medians_by_class(axis, keep):
    x = RNG.permutation(np.arange(24.0)).reshape(4, 6)
    gaps = np.where(x % 5 == 0, np.nan, x)
    lower = np.take(np.sort(x, axis), (x.shape[axis] - 1) // 2, axis)
    lower = np.expand_dims(lower, axis) if keep else lower
    value, place = ops.Median(axis=axis, keep_dims=keep)(f64(x))
    assert_close(value, lower)
    at = place.asnumpy() if keep else np.expand_dims(place.asnumpy(), axis)
    assert_close(value, np.take_along_axis(x, at, axis).reshape(value.shape))
    value, _ = ops.Median(axis=axis, keep_dims=keep, ignore_nan=True)(f64(gaps))
    assert_close(value, np.nanquantile(gaps, 0.5, axis, keepdims=keep, method="lower"))
    assert np.isnan(ops.Median(True)(f64(gaps))[0].item())
    assert ops.Median(True, ignore_nan=True)(f64(gaps))[0].item() == np.nanquantile(gaps, 0.5, method="lower")


def test_medians_of_nothing():
    assert np.isnan(ops.Median(True)(f64(np.zeros((2, 0))))[0].item())
    assert [part.shape for part in ops.Median(axis=1, keep_dims=True)(f64(np.zeros((2, 0))))] == [(2, 1)] * 2
    assert ops.Median(axis=0, ignore_nan=True)(f64(np.zeros((2, 0))))[0].shape == (0,)
    assert_raises(ValueError, lambda: ops.Median(True, ignore_nan=True)(Tensor(np.zeros(0, np.int64))), "median")


@IN_BOTH_MODES
def test_drawn_slopes():
    x = f64(RNG.normal(size=(50, 40)))
    dg.set_seed(1)
    y = nn.RReLU(0.25, 0.5)(x).asnumpy()
    ratio = (y / x.asnumpy())[x.asnumpy() < 0]
    assert (y[x.asnumpy() >= 0] == x.asnumpy()[x.asnumpy() >= 0]).all()
    assert ratio.min() >= 0.25
    assert ratio.max() <= 0.5
    assert len({*ratio.round(6).tolist()}) > 500
    assert_close(nn.RReLU(-1, -1)(x), np.abs(x.asnumpy()))
    assert_close(dg.grad(lambda x: nn.RReLU(0.5, 0.5)(x).sum())(x), np.where(x.asnumpy() < 0, 0.5, 1.0))


REFUSED = {
    "bits": (TypeError, lambda: ops.PopulationCount()(f64([1.0])), "PopulationCount", "Float64"),
    "vectors": (ValueError, lambda: ops.ListDiff()(Tensor([[1]]), Tensor([1])), "ListDiff", "(1, 1)"),
    "types": (TypeError, lambda: ops.ListDiff()(Tensor([1]), f64([1.0])), "ListDiff", "Float64"),
    "type of positions": (TypeError, lambda: ops.ListDiff(dg.float32), "out_idx"),
    "order": (ValueError, lambda: ops.DataFormatDimMap("NHCW"), "NHCW", "NHWC"),
    "axis": (IndexError, lambda: ops.DataFormatDimMap()(Tensor([4])), "DataFormatDimMap", "4"),
    "axis as a float": (TypeError, lambda: ops.DataFormatDimMap()(f64([1.0])), "integers"),
    "size": (ValueError, lambda: ops.NoRepeatNGram(0), "ngram_size", "0"),
    "labels": (ValueError, lambda: ops.NoRepeatNGram(2)(Tensor([[1, 2]]), f64([1.0])), "(1, 2)", "(..., V)"),
    "slopes": (ValueError, lambda: nn.RReLU(0.5, 0.25), "lower", "0.25"),
    "slope": (TypeError, lambda: nn.RReLU("0.5"), "RReLU", "str"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_classes_refuse(name):
    assert_raises(REFUSED[name][0], REFUSED[name][1], *REFUSED[name][2:])
