"""Cells that state their own gradient: alone, inside other functions, and differentiated further."""

import itertools

import numpy as np
import pytest
from support import assert_close, assert_raises, f64, repeated_grad

import dualgrad as dg
from dualgrad import Parameter, nn, ops

pytestmark = pytest.mark.usefixtures("mode")

X = np.array([0.7, -1.2, 2.0])


class FiveSquares(nn.Cell):
    """x^2 with the slope 5 x^2 in place of 2 x, so that every use of the wrong rule shows."""

    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (5 * x * x * dout,)


class Bare(FiveSquares):
    """The same with a gradient that is not in a tuple."""

    def bprop(self, x, out, dout):
        return 5 * x * x * dout


class Scaled(nn.Cell):
    """x * y, with twice the slope in x and three times the slope in y."""

    def construct(self, x, y):
        return x * y

    def bprop(self, x, y, out, dout):
        return 2 * dout * y, 3 * dout * x


@pytest.mark.parametrize("cell", [FiveSquares, Bare])
def test_the_own_gradient_is_used_at_every_order(cell):
    assert_close(cell()(f64(X)), X * X)
    for order, expected in (1, 5 * X**2), (2, 10 * X), (3, np.full(3, 10.0)), (4, np.zeros(3)):
        assert_close(repeated_grad(cell(), order)(f64(X)), expected)


def test_with_every_way_to_ask():
    net, x = FiveSquares(), f64(X)
    sens = f64([1.0, 0.5, -2.0])
    assert_close(ops.GradOperation()(net)(x), 5 * X**2)
    assert_close(ops.GradOperation(get_all=True)(net)(x), (5 * X**2,))
    assert_close(ops.GradOperation(sens_param=True)(net)(x, sens), 5 * X**2 * sens.asnumpy())
    assert_close(dg.value_and_grad(net)(x), (X * X, 5 * X**2))


def test_inside_a_composed_function():
    net = FiveSquares()

    def f(x):
        return ops.sin(net(x) * 2.0)

    square = X * X
    assert_close(f(f64(X)), np.sin(2 * square))
    assert_close(dg.grad(f)(f64(X)), 10 * square * np.cos(2 * square))
    second = 20 * X * np.cos(2 * square) - 100 * X**4 * np.sin(2 * square)
    assert_close(repeated_grad(f, 2)(f64(X)), second, scale=10.0)


def test_applied_to_its_own_result():
    net = FiveSquares()
    # The outer slope is 5 (x^2)^2, the inner one 5 x^2.
    assert_close(dg.grad(lambda x: net(net(x)))(f64(X)), 25 * X**6)
    # Differentiated as written: 25 x^2 u^2 with u = x^2, whose slope by the rule of the Cell is 5 x^2.
    assert_close(repeated_grad(lambda x: net(net(x)), 2)(f64(X)), 50 * X**5 + 250 * X**6)


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_two_inputs():
    x, y = np.array([0.5, 2.0]), np.array([-1.0, 3.0])
    both = dg.grad(Scaled(), (0, 1))
    assert_close(both(f64(x), f64(y)), (2 * y, 3 * x))
    assert_close(dg.grad(both, (0, 1))(f64(x), f64(y)), (np.full(2, 3.0), np.full(2, 2.0)))
    assert_close(dg.grad(lambda x: Scaled()(x, x))(f64(x)), 5 * x)


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_one_of_two_inputs_is_a_constant():
    y = f64([-1.0, 3.0])
    assert_close(dg.grad(lambda x: Scaled()(x, y))(f64([0.5, 2.0])), [-2.0, 6.0])
    assert_close(dg.grad(lambda x: Scaled()(y, x))(f64([0.5, 2.0])), [-3.0, 9.0])


def test_the_output_is_handed_over():
    class Exponential(nn.Cell):
        def construct(self, x):
            return ops.exp(x)

        def bprop(self, x, out, dout):
            return (7 * out * dout,)

    # The output that the rule reads is itself a result of this Cell, so each order brings another factor 7.
    for order in 1, 2, 3:
        assert_close(repeated_grad(Exponential(), order)(f64(X)), 7.0**order * np.exp(X))


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_several_outputs():
    class Split(nn.Cell):
        def construct(self, x):
            return x * x, x + 1.0

        def bprop(self, x, out, dout):
            return (100.0 * dout[0] + 10.0 * dout[1] * out[1],)

    def f(x):
        square, successor = Split()(x)
        return 3.0 * square + 2.0 * successor

    assert_close(dg.grad(f)(f64(X)), 300 + 20 * (X + 1))


def test_a_straight_through_estimator():
    class Rounded(nn.Cell):
        def construct(self, x):
            return ops.round(x)

        def bprop(self, x, out, dout):
            return (dout,)

    net = Rounded()
    assert_close(dg.value_and_grad(net)(f64(X)), (np.round(X), np.ones(3)))
    assert_close(dg.grad(lambda x: net(x) ** 2)(f64(X)), 2 * np.round(X))


# ------------------------------------------------------------------------------------------- under a gradient


def test_a_gradient_inside_a_loss():
    net = FiveSquares()
    assert_close(dg.grad(lambda x: dg.grad(net)(x) ** 2)(f64(X)), 100 * X**3)
    assert_close(repeated_grad(lambda x: dg.grad(net)(x) ** 2, 2)(f64(X)), 300 * X**2)
    assert_close(repeated_grad(lambda x: dg.grad(net)(x) ** 2, 3)(f64(X)), 600 * X)


def test_weights_through_a_gradient_of_the_inputs():
    class Weighted(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(np.array([3.0]), name="w")
            self.custom = FiveSquares()

        def construct(self, x):
            return self.w * self.custom(x)

    net = Weighted()

    def loss(x):
        return dg.grad(net)(x) ** 2  # (5 w x^2)^2

    dx, dw = dg.grad(loss, 0, net.w)(f64(X))
    assert_close(dx, 900 * X**3)
    assert_close(dw, np.sum(150 * X**4, keepdims=True))
    by_list = ops.GradOperation(get_by_list=True)(loss, net.trainable_params())(f64(X))
    assert_close(by_list, (np.sum(150 * X**4, keepdims=True),))


def test_beside_ordinary_functions_at_third_order():
    net = FiveSquares()
    # First 5x^2 + cos x, second 10x - sin x, third 10 - cos x.
    third = repeated_grad(lambda x: net(x) + ops.sin(x), 3)(f64(X))
    assert_close(third, 10 - np.cos(X))


def test_a_gradient_cell_around_it():
    class Gradient(nn.Cell):
        def __init__(self, net):
            super().__init__()
            self.net = net
            self.operation = ops.GradOperation()

        def construct(self, x):
            return self.operation(self.net)(x)

    assert_close(Gradient(Gradient(FiveSquares()))(f64(X)), 10 * X)
    assert_close(Gradient(Gradient(Gradient(Bare())))(f64(X)), np.full(3, 10.0))


# ----------------------------------------------------------------------------------------------------- errors


def test_fewer_gradients_than_inputs():
    class Short(Scaled):
        def bprop(self, x, y, out, dout):
            return (dout * y,)

    class ShortBare(Scaled):
        def bprop(self, x, y, out, dout):
            return dout * y

    for net in Short(), ShortBare():
        words = type(net).__name__, "bprop", ("2", "two"), ("1", "one")
        assert_raises(RuntimeError, lambda net=net: dg.grad(net, (0, 1))(f64(X), f64(X)), *words)
        assert_raises(RuntimeError, lambda net=net: dg.grad(net)(f64(X), f64(X)), *words)
    assert_close(Short()(f64(X), f64(X)), X * X)


def test_an_error_inside_a_bprop_surfaces():
    class Failing(FiveSquares):
        def bprop(self, x, out, dout):
            raise KeyError("the error of the rule")

    assert_raises(KeyError, lambda: dg.grad(Failing())(f64(X)), "the error of the rule")
    assert_close(dg.grad(FiveSquares())(f64(X)), 5 * X**2)


class SumOfSquares(nn.Cell):
    """A rule on a nest of tensors: twice the true gradient, so that it is seen to be used."""

    def construct(self, xs, scale):
        return scale * (xs[0] * xs[0] + xs[1]["second"] * xs[1]["second"])

    def bprop(self, xs, scale, out, dout):
        return [4 * scale * xs[0] * dout, {"second": 4 * scale * xs[1]["second"] * dout}], None


def test_inputs_that_are_nests_of_tensors():
    cell = SumOfSquares()
    f = lambda x, y: cell([x, {"second": y}], 3.0)
    x, y = f64([1.0, 2.0]), f64([5.0, -1.0])
    dx, dy = dg.grad(f, (0, 1))(x, y)
    assert_close(dx, [12.0, 24.0])
    assert_close(dy, [60.0, -12.0])
    assert_close(dg.grad(dg.grad(f, 1), 1)(x, y), [12.0, 12.0])
    assert_close(dg.jvp(f, (x, y), (f64([1.0, 1.0]), f64([0.0, 1.0])))[1], [12.0, 12.0])


ARRAYS = {
    "a function's result": dg.numpy.sin,
    "a product with an array": lambda x: dg.numpy.ones(2) * x,
    "a NumPy number times one": lambda x: np.float64(2) * dg.numpy.sin(x),
    "joined": lambda x: dg.numpy.concatenate([x[:1] * x[1:], x[1:]]),
    "chosen": lambda x: dg.numpy.where(x > 1.0, x * x, x),
    "negated": lambda x: -dg.numpy.sin(x),
    "reshaped": lambda x: dg.numpy.reshape(dg.numpy.sin(x), (2,)),
    "part of one": lambda x: dg.numpy.concatenate([dg.numpy.sin(x), x])[1:3],
}
NESTED = {
    "alone": lambda x: FiveSquares()(x),
    "in a nest": lambda x: SumOfSquares()([x, {"second": 2.0 * x}], 3.0),
    "in a dict": lambda x: OneOfTwo()({"a": x, "b": ops.sin(x)}),
    "twice": lambda x: Scaled()(x, x),
}
ASKED = {
    "grad": lambda f, x: dg.grad(f)(x),
    "second": lambda f, x: repeated_grad(f, 2)(x),
    "vjp": lambda f, x: dg.vjp(f, x)[1](ops.cos(x)),
    "jacrev": lambda f, x: dg.jacrev(f)(x),
    "jvp": lambda f, x: dg.jvp(f, x, ops.cos(x)),
    "jacfwd": lambda f, x: dg.jacfwd(f)(x),
    "linearize": lambda f, x: dg.linearize(f, x)[1](ops.cos(x)),
    "grad of jvp": lambda f, x: dg.grad(lambda x: dg.jvp(f, x, ops.cos(x))[1])(x),
    "vmap": lambda f, x: dg.vmap(dg.grad(f))(ops.stack([x, 2.0 * x])),
    "loop": lambda f, x: dg.grad(lambda x: dg.fori_loop(0, 3, lambda i, c: 0.1 * f(c), x))(x),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("nested", NESTED)
@pytest.mark.parametrize("array", ARRAYS)
def test_arrays_are_inputs_like_other_tensors(array, nested, asked):
    make, rule, ask = ARRAYS[array], NESTED[nested], ASKED[asked]
    x = f64([0.6, 1.1])
    found = ask(lambda x: rule(make(x)), x)
    plain = ask(lambda x: rule(dg.Tensor(make(x))), x)
    assert_close(found, tuple(t.asnumpy() for t in plain) if isinstance(plain, tuple) else plain.asnumpy())


class OneOfTwo(nn.Cell):
    """A rule that gives its gradients in a dict which holds more than they."""

    def construct(self, xs):
        return xs["a"] * xs["b"]

    def bprop(self, xs, out, dout):
        return ({"c": dout, "b": 3 * xs["a"] * dout, "a": 3 * xs["b"] * dout, "d": None},)


def test_a_dict_of_gradients_may_have_other_keys_than_the_input():
    cell = OneOfTwo()
    dx, dy = dg.grad(lambda x, y: cell({"a": x, "b": y}), (0, 1))(f64([2.0]), f64([5.0]))
    assert_close(dx, [15.0])
    assert_close(dy, [6.0])


def test_a_differentiated_tensor_by_keyword_is_refused():
    cell = SumOfSquares()
    with pytest.raises(TypeError, match="position"):
        dg.grad(lambda x: cell([x, {"second": x}], scale=x))(f64([1.0, 2.0]))


class HalfSlope(nn.Cell):
    """sin(x) w with half of its slope as the rule, whose tangents and cotangents are easy to tell from true ones."""

    def construct(self, x, w):
        return ops.sin(x) * w

    def bprop(self, x, w, out, dout):
        return 0.5 * ops.cos(x) * w * dout, ops.sin(x) * dout


def test_a_forward_derivative_inside_a_gradient():
    cell = HalfSlope()
    x, w = 0.7, 1.3
    # y = cell(x, w) x^2: tangent along 1 is 0.5 cos(x) w x^2 + 2 x cell; of that the gradient by x and w, by the rule
    f = lambda x, w: dg.jvp(lambda z: cell(z, w) * z * z, x, f64(1.0))[1]
    sin, cos = np.sin(x), np.cos(x)
    by_x = -0.5 * sin * w * x**2 + cos * w * x + 2 * sin * w + 2 * x * 0.5 * cos * w
    by_w = 0.5 * cos * x**2 + 2 * x * sin
    dx, dw = dg.grad(f, (0, 1))(f64(x), f64(w))
    assert_close(dx, by_x)
    assert_close(dw, by_w)
    # beside a level that has nothing to do with it
    assert_close(dg.grad(lambda s: s * f(f64(x), f64(w)))(f64(2.0)), 0.5 * cos * w * x**2 + 2 * x * sin * w)


class Sine(nn.Cell):
    """A sine with the rule that it has anyway."""

    def construct(self, x):
        return ops.sin(x)

    def bprop(self, x, out, dout):
        return dout * ops.cos(x)


TRANSFORMS = {
    "grad": lambda f, x: dg.grad(f)(x),
    "hessian": lambda f, x: dg.grad(dg.grad(f))(x),
    "vmap": lambda f, x: dg.vmap(f)(x),
    "jvp": lambda f, x: dg.jvp(f, x, ops.cos(x))[1],
    "value of jvp": lambda f, x: dg.jvp(f, x, ops.cos(x))[0],
}


@pytest.mark.rotated("inner")
@pytest.mark.parametrize("inner", TRANSFORMS)
@pytest.mark.parametrize("outer", TRANSFORMS)
def test_transforms_that_read_a_result_of_the_cell(outer, inner):
    """Tapes that hold only exact rules are lifted with the one around them, whatever they are tapes of."""
    outer, inner = TRANSFORMS[outer], TRANSFORMS[inner]

    def closed_over(sine):
        def f(x):
            s = sine(x)
            return ops.sin(outer(lambda w: inner(lambda y: s * ops.sin(y * w) * ops.cos(s), f64(X)), f64(X))).sum()

        return f

    def passed_on(sine):
        def f(x):
            s = sine(x)
            return ops.sin(outer(lambda w: inner(lambda y: ops.cos(s) * ops.sin(y * w), s), s)).sum()

        return f

    for make in closed_over, passed_on:
        for order in 1, 2, 3:
            expected = repeated_grad(make(ops.sin), order)(f64(X))
            assert_close(repeated_grad(make(Sine()), order)(f64(X)), expected, rtol=1e-12, scale=1.0)


# ------------------------------------------------- an own rule gives the cotangent or tangent of an inner derivative

ONE = f64(1.0)


class SquareFunction(dg.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dout):
        return 2 * ctx.saved_tensors[0] * dout


class SquareCell(nn.Cell):
    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (2 * x * dout,)


def ruled_square():
    square = dg.custom_vjp(lambda x: x * x)
    square.defbwd(lambda x, out, dout: 2 * x * dout)
    return square


def hooked_square(x):
    y = x * x
    y.register_hook(lambda g: g * 1.0)
    return y


SQUARES = {
    "custom_vjp": ruled_square(),
    "Function": SquareFunction.apply,
    "bprop": SquareCell(),
    "hook": hooked_square,
}

# name -> a function that a derivative runs again, or whose rule is a function, and the same without such parts
BLOCKS = {
    "sin": (ops.sin, ops.sin),
    "recompute": (dg.recompute(lambda q: ops.sin(q)), ops.sin),
    "recompute of grad": (
        dg.recompute(lambda q: dg.grad(lambda a: ops.sin(a) * q)(q)),
        lambda q: ops.cos(q) * q,
    ),
    "recompute of vmap": (
        dg.recompute(lambda q: dg.vmap(lambda a: ops.sin(a) * q)(ops.stack([q, 2 * q])).sum()),
        lambda q: (ops.sin(q) + ops.sin(2 * q)) * q,
    ),
    "scan": (
        lambda q: dg.scan(lambda c, _: (ops.sin(c), None), q, length=2, checkpoints=1)[0],
        lambda q: ops.sin(ops.sin(q)),
    ),
    "while_loop": (
        lambda q: dg.while_loop(lambda s: s[1] < 2, lambda s: (ops.sin(s[0]), s[1] + 1), (q, 0), checkpoints=1)[0],
        lambda q: ops.sin(ops.sin(q)),
    ),
    "fixed_point": (lambda q: dg.fixed_point(lambda y, q: 0.5 * y + ops.sin(q), 0 * q, q), lambda q: 2 * ops.sin(q)),
    "root": (lambda q: dg.root(lambda y, q: y - ops.sin(q), 0 * q, q), ops.sin),
}

# name -> a derivative of a block whose cotangent, tangent or factor comes from a square
INNER = {
    "grad": lambda b, s: lambda x: dg.grad(lambda q: b(q) * s(x))(x),
    "grad of grad": lambda b, s: lambda x: dg.grad(dg.grad(lambda q: b(q) * s(x)))(x),
    "grad, inside": lambda b, s: lambda x: dg.grad(lambda q: b(q * s(x)))(x),
    "sens_param": lambda b, s: lambda x: ops.GradOperation(sens_param=True)(b)(x, s(x)),
    "vjp": lambda b, s: lambda x: dg.vjp(b, x)[1](s(x))[0],
    "linearize": lambda b, s: lambda x: dg.linearize(b, x)[1](s(x)),
    "jvp": lambda b, s: lambda x: dg.jvp(b, x, s(x))[1],
    "recompute": lambda b, s: lambda x: dg.recompute(lambda x: dg.grad(lambda q: b(q) * s(x))(x))(x),
}

OUTER = {
    "grad": (1, dg.grad),
    "grad of grad": (2, lambda f: dg.grad(dg.grad(f))),
    "third": (3, lambda f: dg.grad(dg.grad(dg.grad(f)))),
    "jvp of grad": (2, lambda f: lambda x: dg.jvp(dg.grad(f), x, ONE)[1]),
    "grad of jvp": (2, lambda f: dg.grad(lambda x: dg.jvp(f, x, ONE)[1])),
    "vmap": (2, lambda f: lambda x: dg.vmap(dg.grad(dg.grad(f)))(ops.stack([x, x]))[1]),
    "of vmap": (2, lambda f: dg.grad(dg.grad(lambda x: dg.vmap(f)(ops.stack([x, x]))[1]))),
}


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("block", BLOCKS)
def test_inside_the_cotangent_of_an_inner_derivative(block, inner):
    ruled, plain = BLOCKS[block]
    x, right = f64(0.6), 0
    expected = {n: repeated_grad(INNER[inner](plain, lambda x: x * x), n)(x) for n in (1, 2, 3)}
    for (square, own), (outer, (order, derivative)) in itertools.product(SQUARES.items(), OUTER.items()):
        try:
            found = derivative(INNER[inner](ruled, own))(x)
        except NotImplementedError:
            assert "vmap" in outer or "jvp" in outer, (square, outer)
            continue
        np.testing.assert_allclose(found, expected[order], rtol=1e-9, err_msg=f"{square}, {outer}")
        right += 1
    assert right >= 12, "gradients of gradients are not refused"


class Squared(nn.Cell):
    """x^2 with its own slope, so that a plain product is the reference."""

    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (2.0 * x * dout,)


ALSO_INSIDE = {
    "tangent": lambda s, x: dg.linearize(lambda q: q * q * s, x)[1](x),
    "tangent along a constant": lambda s, x: dg.linearize(lambda q: ops.sin(q * s), x)[1](f64(0.3)),
    "pullback by its cotangent": lambda s, x: dg.grad(lambda c: dg.vjp(lambda q: q * s, x)[1](c)[0] * x)(f64(0.0)),
    "gradients nested": lambda s, x: dg.grad(lambda c: dg.grad(lambda q: ops.sin(q * c) * s)(x) * x)(f64(0.4)),
    "at a constant": lambda s, x: dg.grad(lambda c: dg.grad(lambda q: ops.atan2(q * s, c))(x))(f64(0.7)),
    "recomputed": lambda s, x: dg.grad(lambda q: dg.recompute(lambda z: ops.sin(z) * q * q)(s))(x),
    "loop that runs again": lambda s, x: dg.grad(
        lambda q: dg.scan(lambda c, _: (ops.sin(c) * q, None), s, length=3, checkpoints=1)[0]
    )(x),
    "jvp": lambda s, x: dg.jvp(lambda q: ops.sin(q * s), x, f64(1.0))[1],
    "hvp": lambda s, x: dg.hvp(lambda q: ops.sin(q * s))(x, f64(0.5)),
    "loop": lambda s, x: dg.grad(lambda q: dg.fori_loop(0, 4, lambda i, c: ops.sin(c) * q * s, f64(0.3)))(x),
    "samples": lambda s, x: dg.vmap(dg.grad(lambda c: ops.sin(c * s)))(f64([0.3, 0.4])).sum() * x,
}


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("inside", ALSO_INSIDE)
def test_derivatives_of_the_result_inside(inside, order):
    """A derivative by something else, which reads the result of a rule, is differentiated by its input."""
    f = lambda square: repeated_grad(lambda x: ALSO_INSIDE[inside](square(x), x), order)
    for x in (f64(0.6), f64(-0.8)):
        assert_close(f(Squared())(x), f(lambda x: x * x)(x).asnumpy(), rtol=1e-10)
