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
