"""MindSpore's primitives for gradients: the pullback of each primitive, as forward mode has it, and differentiable."""

import numpy as np
import pytest
from derivatives import assert_derivatives_agree
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.mindspore import _gradient_primitives as G
from dualgrad.ops.composed import fractional

pytestmark = pytest.mark.usefixtures("mode")
RNG = np.random.default_rng(3)


def near(low, high, *shape):
    return RNG.uniform(low, high, shape)


X, Y = near(0.1, 0.8, 3, 4), near(0.1, 0.8, 3, 4)
IMAGE, WEIGHT = near(-1, 1, 2, 3, 6, 6), near(-1, 1, 4, 3, 3, 3)
CASES = {}


def case(name, forward, values, settings=(), order=None):
    """A gradient primitive, the function whose gradient it is, and where.

    `values` are the operands by which there are gradients. `order` makes the operands of the gradient of those, the
    result, and the gradient by the result.
    """
    CASES[name] = (forward, values, settings, order or (lambda dy, out, *x: (*x, dy)))


def elementwise(name, function, values, order, settings=()):
    case(name, function, (values,), settings, order)


OPERAND_FIRST = lambda dy, out, x: (x, dy)
SLOPE_FIRST = lambda dy, out, x: (dy, x)
RESULT_FIRST = lambda dy, out, x: (out, dy)
SLOPE_AND_RESULT = lambda dy, out, x: (dy, out)

SIGNED = near(-2, 2, 3, 4)
elementwise("AbsGrad", ops.abs, SIGNED, OPERAND_FIRST)
elementwise("ACosGrad", ops.acos, X, OPERAND_FIRST)
elementwise("AsinGrad", ops.asin, X, OPERAND_FIRST)
elementwise("AtanGrad", ops.atan, SIGNED, OPERAND_FIRST)
elementwise("AcoshGrad", ops.acosh, 1 + X, RESULT_FIRST)
elementwise("AsinhGrad", ops.asinh, SIGNED, RESULT_FIRST)
elementwise("EluGrad", ops.elu, SIGNED, SLOPE_AND_RESULT)
elementwise("FastGeLUGrad", ops.FastGeLU(), SIGNED, SLOPE_FIRST)
elementwise("GeLUGrad", ops.GeLU(), SIGNED, lambda dy, out, x: (dy, x, out))
elementwise("HShrinkGrad", ops.HShrink(0.3), SIGNED, SLOPE_FIRST, settings=(0.3,))
elementwise("HSigmoidGrad", ops.HSigmoid(), SIGNED, SLOPE_FIRST)
elementwise("HSwishGrad", ops.HSwish(), SIGNED, SLOPE_FIRST)
elementwise("InvGrad", ops.inv, 1 + X, RESULT_FIRST)
elementwise("LogitGrad", ops.logit, X, SLOPE_FIRST)
elementwise("ReciprocalGrad", ops.reciprocal, 1 + X, RESULT_FIRST)
elementwise("ReLU6Grad", ops.relu6, 4 * SIGNED, SLOPE_FIRST)
elementwise("ReluGrad", ops.relu, SIGNED, SLOPE_FIRST)
elementwise("RsqrtGrad", ops.rsqrt, X, RESULT_FIRST)
elementwise("SigmoidGrad", ops.sigmoid, SIGNED, RESULT_FIRST)
elementwise("SiLUGrad", ops.silu, SIGNED, SLOPE_FIRST)
elementwise("SoftplusGrad", ops.softplus, SIGNED, SLOPE_FIRST)
elementwise("SoftShrinkGrad", ops.SoftShrink(0.3), SIGNED, SLOPE_FIRST, settings=(0.3,))
elementwise("SqrtGrad", ops.sqrt, X, RESULT_FIRST)
elementwise("TanhGrad", ops.tanh, SIGNED, RESULT_FIRST)
elementwise("LogSoftmaxGrad", ops.LogSoftmax(0), X, RESULT_FIRST, settings=(0,))
elementwise("L2NormalizeGrad", ops.L2Normalize(1), X, lambda dy, out, x: (x, out, dy), settings=(1,))

LOSSES = {
    "BinaryCrossEntropyGrad": (ops.BinaryCrossEntropy, lambda dy, out, x: (x, f64(Y), dy, f64(np.ones((3, 4)))),
                               (f64(Y), f64(np.ones((3, 4))))),
    "KLDivLossGrad": (ops.KLDivLoss, lambda dy, out, x: (dy, x, f64(Y)), (f64(Y),)),
    "SoftMarginLossGrad": (ops.SoftMarginLoss, lambda dy, out, x: (x, f64(Y), dy), (f64(Y),)),
}  # fmt: skip
for _name, (_class, _order, _rest) in LOSSES.items():
    for _reduction in ("mean", "sum", "none"):
        _forward = (lambda primitive, rest: lambda x: primitive(x, *rest))(_class(_reduction), _rest)
        CASES[f"{_name} {_reduction}"] = (_forward, (X,), (_reduction,), _order)
case("SigmoidCrossEntropyWithLogitsGrad", lambda x: ops.SigmoidCrossEntropyWithLogits()(x, f64(Y)), (X,),
     order=lambda dy, out, x: (x, f64(Y), dy))  # fmt: skip
case("SmoothL1LossGrad", lambda x: ops.SmoothL1Loss(0.3, "none")(x, f64(Y)), (X,), (0.3, "none"),
     order=lambda dy, out, x: (x, f64(Y), dy))  # fmt: skip
case("CdistGrad", lambda x: ops.Cdist(2.0)(x, f64(Y)), (X,), (2.0,), order=lambda dy, out, x: (dy, x, f64(Y), out))
case("MaximumGrad", ops.maximum, (X, Y))
case("MinimumGrad", ops.minimum, (X, Y))
case("PReLUGrad", ops.PReLU(), (IMAGE, near(0, 1, 3)), order=lambda dy, out, x, w: (dy, x, w))
case("LRNGrad", ops.LRN(2, 1.0, 0.3, 0.5), (IMAGE,), (2, 1.0, 0.3, 0.5), order=lambda dy, out, x: (dy, x, out))
case("AvgPoolGrad", ops.AvgPool(2, 2), (IMAGE,), (2, 2), order=lambda dy, out, x: (x, out, dy))
case("MaxPoolGrad", ops.MaxPool(2, 2), (IMAGE,), (2, 2), order=lambda dy, out, x: (x, out, dy))
case(
    "LayerNormGrad",
    lambda x, gamma, beta: ops.LayerNorm(1, 1, 1e-7)(x, gamma, beta)[0],
    (X, near(0, 1, 4), np.ones(4)),
    (1, 1),
    order=lambda dy, out, x, gamma, beta: (x, dy, x.var(1, keepdims=True), x.mean(1, keepdims=True), gamma),
)
CONVOLUTIONS = {
    "valid": {},
    "same": {"pad_mode": "same", "stride": 2},
    "pad": {"pad_mode": "pad", "pad": 1, "group": 1},
}
for _mode, _settings in CONVOLUTIONS.items():
    _conv = ops.Conv2D(4, 3, **_settings)
    CASES[f"Conv2DBackpropInput {_mode}"] = (
        (lambda conv: lambda x: conv(x, f64(WEIGHT)))(_conv), (IMAGE,), ((4, 3), _settings),
        lambda dy, out, x: (dy, f64(WEIGHT), x.shape))  # fmt: skip
    CASES[f"Conv2DBackpropFilter {_mode}"] = (
        (lambda conv: lambda w: conv(f64(IMAGE), w))(_conv), (WEIGHT,), ((4, 3), _settings),
        lambda dy, out, w: (dy, f64(IMAGE), w.shape))  # fmt: skip
for _layout, _shape in (("NCHW", (1, -1, 1, 1)), ("NHWC", (-1,))):
    CASES[f"BiasAddGrad {_layout}"] = (
        (lambda shape: lambda b: f64(IMAGE[:, :, :3, :3]) + b.reshape(shape))(_shape), (near(0, 1, 3),), (_layout,),
        lambda dy, out, b: (dy,))  # fmt: skip
MASK = (X > 0.4).astype(float)
case("DropoutGrad", lambda x: x * f64(MASK) / 0.4, (X,), (0.4,), order=lambda dy, out, x: (dy, f64(MASK)))
case("SliceGrad", lambda x: x[1:3, 1:3], (X,), order=lambda dy, out, x: (dy, x, (1, 1), (2, 2)))
case("StridedSliceGrad", lambda x: x[::2, ::2], (X,), order=lambda dy, out, x: (dy, x.shape, (0, 0), (3, 4), (2, 2)))
case("ResizeBilinearGrad", lambda x: ops.ResizeBilinearV2()(x, (4, 5)), (IMAGE,), order=lambda dy, out, x: (dy, x))
case(
    "ResizeNearestNeighborGrad", ops.ResizeNearestNeighbor((4, 5)), (IMAGE,), order=lambda dy, out, x: (dy, x.shape[2:])
)
REGIONS = np.array([[[0.0], [1.0], [1.0], [9.0], [9.0]], [[1.0], [2.0], [0.0], [11.0], [7.0]]])
case("PSROIPoolingGrad", lambda x: ops.PSROIPooling(0.5, 2, 1)(x, f64(REGIONS)), (near(-1, 1, 2, 4, 6, 6),),
     ((6, 6), 0.5, 2, 1), order=lambda dy, out, x: (dy, f64(REGIONS)))  # fmt: skip


def places_of(pool, x):
    """The places that a pooling tells for an image; they are constants of its gradient."""
    return pool(f64(x))[1]


VOLUME = near(-1, 1, 1, 2, 4, 5, 4)
SAMPLES = near(0, 1, 2, 3, 2), near(0, 1, 1, 2, 3)
LOCATED = {
    "MaxPoolGradWithArgmax": (ops.MaxPoolWithArgmax(2, 1, "same"), IMAGE, (2, 1, "same")),
    "MaxPoolGradWithArgmaxV2": (ops.MaxPoolWithArgmaxV2((3, 2), (2, 1), 1), IMAGE, ((3, 2), (2, 1), 1)),
    "MaxPool3DGradWithArgmax": (ops.MaxPool3DWithArgmax(2, 1, 0), VOLUME, (2, 1, 0)),
    "FractionalMaxPoolGradWithFixedKsize": (
        lambda x: ops.FractionalMaxPoolWithFixedKsize(2, 3)(x, f64(SAMPLES[0])), IMAGE, ()),
    "FractionalMaxPool3DGradWithFixedKsize": (
        lambda x: ops.FractionalMaxPool3DWithFixedKsize(2, 3)(x, f64(SAMPLES[1])), VOLUME, ()),
}  # fmt: skip
for _name, (_pool, _x, _settings) in LOCATED.items():
    case(_name, (lambda pool: lambda x: pool(x)[0])(_pool), (_x,), _settings,
         order=(lambda pool, x: lambda dy, out, t: (t, dy, places_of(pool, x)))(_pool, _x))  # fmt: skip
BOUNDS = Tensor([0, 2, 4, 6]), Tensor([0, 3, 6])
for _overlapping in (False, True):
    case(f"FractionalMaxPoolGrad {_overlapping}",
         (lambda o: lambda x: fractional.largest_between("", x, BOUNDS, o))(_overlapping), (near(-1, 1, 2, 6, 6, 3),),
         (_overlapping,), order=lambda dy, out, x: (x, out, dy, *BOUNDS))  # fmt: skip
    case(f"FractionalAvgPoolGrad {_overlapping}",
         (lambda o: lambda x: fractional.average_between("", x, BOUNDS, o))(_overlapping), (near(-1, 1, 2, 6, 6, 3),),
         (_overlapping,), order=lambda dy, out, x: (x.shape, dy, *BOUNDS))  # fmt: skip
DEFORMED = ((1, 1, 2, 1), (1, 0, 1, 1), (2, 3))
case("DeformableOffsetsGrad", ops.DeformableOffsets(*DEFORMED), (IMAGE, near(-2, 2, 2, 18, 3, 6)), DEFORMED,
     order=lambda dy, out, x, offsets: (dy, x, offsets))  # fmt: skip
for _mode, _ends in (("constant", (1, 2)), ("reflect", (2, 1)), ("edge", (1, 1)), ("circular", (2, 3))):
    case(f"PadV3Grad {_mode}", (lambda mode, ends: lambda x: ops.PadV3(mode)(x, ends))(_mode, _ends), (X,), (_mode,),
         order=(lambda ends: lambda dy, out, x: (dy, ends))(_ends))  # fmt: skip
case("PadV3Grad apart", lambda x: ops.PadV3("circular", False)(x, (1, 0, 1, 2)), (IMAGE,), ("circular", False),
     order=lambda dy, out, x: (dy, (1, 0, 1, 2)))  # fmt: skip


def made(name, settings):
    """The primitive with its settings, which may be positional ones and named ones."""
    positional, named = settings if settings and isinstance(settings[-1], dict) else (settings, {})
    return getattr(G, name.split()[0])(*positional, **named)


def test_every_primitive_has_a_case():
    assert {name.split()[0] for name in CASES} | {
        "MaxPoolGradGrad",
        "MaxPool3DGradGrad",
        "MaxPoolGradGradWithArgmax",
    } == {*G.__all__}


@pytest.mark.parametrize("name", CASES)
def test_gradient_is_the_pullback(name):
    """The pairing of the gradient with a direction is that of the slope with the derivative along the direction."""
    forward, values, settings, order = CASES[name]
    operands = [f64(value) for value in values]
    moves = [f64(RNG.standard_normal(value.shape)) for value in values]
    out, along = dg.jvp(forward, tuple(operands), tuple(moves))
    dy = f64(RNG.standard_normal(out.shape))
    found = made(name, settings)(*order(dy, out, *operands))
    found = found if isinstance(found, tuple) else (found,)
    assert [one.shape for one in found] == [value.shape for value in values]
    pairing = sum((one * move).sum() for one, move in zip(found, moves, strict=True))
    assert_close(pairing, float((dy * along).sum().asnumpy()), rtol=1e-10, scale=1.0)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_differentiable(name):
    """By the slope and, where the operands are given, by them: to the second order, in every mode."""
    forward, values, settings, order = CASES[name]
    out = forward(*[f64(value) for value in values])
    dy = RNG.standard_normal(out.shape)
    primitive = made(name, settings)
    assert_derivatives_agree(lambda t, *x: primitive(*order(t, forward(*x), *x)), (dy, *values), 2, rtol=1e-8)


def test_gradient_of_the_gradient_of_a_pooling():
    """The elements of the direction at the places of the largest elements."""
    image, move = near(-1, 1, 2, 1, 4, 6), near(-1, 1, 2, 1, 4, 6)
    windows = [a.reshape(2, 2, 2, 3, 2).transpose(0, 1, 3, 2, 4).reshape(2, 2, 3, 4) for a in (image, move)]
    expected = np.take_along_axis(windows[1], windows[0].argmax(-1)[..., None], -1)[..., 0]
    x, v = f64(image), f64(move)
    assert_close(G.MaxPoolGradGrad(2, 2)(x, ops.MaxPool(2, 2)(x), v), expected[:, None])
    volume = lambda t: t.reshape((1, 2, 1, 4, 6))
    primitive = G.MaxPool3DGradGrad((1, 1, 1, 2, 2), (1, 1, 1, 2, 2))
    assert_close(primitive(volume(x), None, volume(v)), expected[None, :, None])


def test_gradient_of_the_gradient_at_positions():
    """The elements of the direction at the positions that a pooling tells, which count channels."""
    x, v = f64(IMAGE), f64(near(-1, 1, *IMAGE.shape))
    pool = ops.MaxPoolWithArgmax(3, 2, "same")
    expected = dg.jvp(lambda x: pool(x)[0], x, v)[1]
    assert_close(G.MaxPoolGradGradWithArgmax(3, 2, "same")(x, v, pool(x)[1]), expected.asnumpy())
    assert_raises(ValueError, lambda: G.MaxPoolGradGradWithArgmax()(x, v, pool(x)[1][0]), "argmax", "equal axes")


def test_gradients_of_pools_of_integers():
    """Slopes that are integers go where the largest elements are; parts of one are dropped."""
    x = Tensor(np.arange(16).reshape(1, 4, 4, 1))
    dy, rows = Tensor(np.arange(4).reshape(1, 2, 2, 1) + 8), Tensor([0, 2, 4])
    found = G.FractionalMaxPoolGrad()(x, None, dy, rows, rows).asnumpy()
    assert found.dtype == np.int64
    assert found[found > 0].tolist() == [8, 9, 10, 11]
    found = G.FractionalAvgPoolGrad()(x.shape, dy, rows, rows).asnumpy()
    assert found.dtype == np.int64
    assert found[0, ::2, ::2, 0].tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("shape", [(2, 2), (4,), (1, 4, 1)])
def test_slopes_in_another_shape(shape):
    """Have the shape of the result, if there are as many."""
    x, dy = f64(X), np.arange(4.0)
    expected = np.zeros(X.shape)
    expected[1:3, 1:3] = dy.reshape(2, 2)
    assert_close(G.SliceGrad()(f64(dy).reshape(shape), x, (1, 1), (2, 2)), expected)
    assert_raises(ValueError, lambda: G.SliceGrad()(f64([1.0]), x, (1, 1), (2, 2)), "shape")


def test_corners_of_formulas_in_results():
    """Where the operand is beyond all floats the result still tells the slope, and slopes of slopes."""
    one, dy = f64([0.0, 1.0]), f64([1.0, 1.0])
    assert_close(G.SigmoidGrad()(one, dy), np.zeros(2))
    assert_close(dg.grad(lambda y: G.SigmoidGrad()(y, dy).sum())(one), np.array([1.0, -1.0]))
    assert_close(dg.grad(lambda y: G.TanhGrad()(y, dy).sum())(one), np.array([0.0, -2.0]))
    assert_close(G.SqrtGrad()(one, dy), np.array([np.inf, 0.5]))


def test_loss_without_weights():
    x, target, dy = f64(X), f64(Y), f64(np.ones((3, 4)))
    expected = G.BinaryCrossEntropyGrad("none")(x, target, dy, f64(np.ones((3, 4)))).asnumpy()
    assert_close(G.BinaryCrossEntropyGrad("none")(x, target, dy), expected)


def test_errors():
    assert_raises(TypeError, lambda: G.AbsGrad()(f64(X)), "AbsGrad", "1 operands", "x, dy")
    assert_raises(ValueError, lambda: G.BiasAddGrad("CHWN"), "CHWN", "NHWC")
    assert_raises(ValueError, lambda: G.DropoutGrad(0.0), "keep_prob", "0")


def test_where_the_alias_has_them():
    import dualgrad.mindspore

    dualgrad.mindspore.install()
    try:
        from mindspore.ops import Conv2DBackpropInput
        from mindspore.ops.auto_generate import SigmoidGrad
        from mindspore.ops.operations import _grad_ops

        assert _grad_ops.SigmoidGrad is SigmoidGrad is G.SigmoidGrad
        assert Conv2DBackpropInput is G.Conv2DBackpropInput
        assert issubclass(SigmoidGrad, ops.Primitive)
        assert repr(SigmoidGrad()) == "SigmoidGrad()"
    finally:
        dualgrad.mindspore.uninstall()
