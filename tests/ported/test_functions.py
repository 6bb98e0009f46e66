"""Functions with a gradient of their own: `Function`, `custom_vjp`, `bprop`; and derivatives as Cells.

The rules are wrong on purpose, by a factor, so that every use of one shows; what follows is stated with NumPy.
"""

import itertools

import numpy as np
import pytest
from support import assert_close, assert_raises, f64, repeated_grad

import dualgrad as dg
from dualgrad import Parameter, nn, ops
from dualgrad.common._grad_function import _Function

pytestmark = pytest.mark.usefixtures("mode")
with_effects = pytest.mark.filterwarnings("ignore:.*runs eagerly")

X = np.array([0.7, -1.2, 2.0])
Y = np.array([1.5, 0.25, -3.0])


class OfInput(dg.Function):
    """x^2 with the slope 5 x^2; the input is saved."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 5 * x * x * gradient


class OfOutput(dg.Function):
    """exp(x) with the slope 7 exp(x); the output is saved."""

    @staticmethod
    def forward(ctx, x):
        y = ops.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        return (7 * ctx.saved_tensors[0] * gradient,)


class OfNeither(dg.Function):
    """sin(x)^2 with the slope 3 sin(x); what is between input and output is saved."""

    @staticmethod
    def forward(ctx, x):
        t = ops.sin(x)
        ctx.save_for_backward(None, t)
        return t * t

    @staticmethod
    def backward(ctx, gradient):
        return 3 * ctx.saved_tensors[1] * gradient


class OfAttribute(OfNeither):
    """The same with an attribute."""

    @staticmethod
    def forward(ctx, x):
        ctx.t = ops.sin(x)
        return ctx.t * ctx.t

    @staticmethod
    def backward(ctx, gradient):
        return 3 * ctx.t * gradient


class SetUp(OfInput):
    """x^2 with the slope 5 x^2, `forward` without a context."""

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)


SLOPES = {
    OfInput: (lambda x: 5 * x**2, lambda x: 10 * x, lambda x: 10 + 0 * x),
    SetUp: (lambda x: 5 * x**2, lambda x: 10 * x, lambda x: 10 + 0 * x),
    OfOutput: tuple(lambda x, n=n: 7.0**n * np.exp(x) for n in (1, 2, 3)),
    OfNeither: (lambda x: 3 * np.sin(x), lambda x: 3 * np.cos(x), lambda x: -3 * np.sin(x)),
    OfAttribute: (lambda x: 3 * np.sin(x), lambda x: 3 * np.cos(x), lambda x: -3 * np.sin(x)),
}
functions = pytest.mark.parametrize("function", SLOPES)


@functions
@pytest.mark.parametrize("order", [1, 2, 3])
def test_at_every_order(function, order):
    assert_close(repeated_grad(function.apply, order)(f64(X)), SLOPES[function][order - 1](X), scale=1.0)


@functions
@pytest.mark.parametrize(
    "ways",
    [
        lambda f: lambda x: dg.vmap(dg.grad(lambda x: f(x).sum()))(ops.stack((x, x)))[0],
        lambda f: lambda x: ops.GradOperation()(f)(x),
        lambda f: lambda x: dg.vjp(f, x)[1](ops.ones_like(x))[0],
        lambda f: dg.jit(dg.grad(f)),
        lambda f: lambda x: ops.diag(dg.jacrev(f)(x)),
    ],
)
def test_in_every_reverse_mode(function, ways):
    for _ in range(3):
        assert_close(ways(function.apply)(f64(X)), SLOPES[function][0](X), scale=1.0)


@functions
def test_forward_mode_is_the_transpose_of_the_rule(function):
    direction = np.array([1.0, -2.0, 0.5])
    tangent = dg.jvp(function.apply, f64(X), f64(direction))[1]
    assert_close(tangent, SLOPES[function][0](X) * direction, scale=1.0)
    tangent = dg.jvp(dg.grad(function.apply), f64(X), f64(direction))[1]
    assert_close(tangent, SLOPES[function][1](X) * direction, scale=1.0)


def test_the_name_of_ported_code():
    assert _Function is dg.Function


SEEN = []  # which inputs are differentiated, at each call


class Scaled(dg.Function):
    """k x y, with twice the slope in x and three times the slope in y."""

    @staticmethod
    def forward(ctx, x, k, y):
        ctx.save_for_backward(x, y)
        ctx.k = k
        SEEN.append(ctx.needs_input_grad)
        return k * x * y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return 2 * ctx.k * gradient * y, None, 3 * ctx.k * gradient * x


@with_effects
def test_which_inputs_are_differentiated():
    x, y, w = f64(X), f64(Y), Parameter(Y, name="w")
    both = dg.grad(lambda x, y: Scaled.apply(x, 5, y), (0, 1))
    assert_close(both(x, y), (10 * Y, 15 * X))
    assert SEEN[-1] == (True, False, True)
    assert_close(dg.grad(lambda x: Scaled.apply(x, 5, y))(x), 10 * Y)
    assert SEEN[-1] == (True, False, False)
    assert_close(dg.grad(lambda x: Scaled.apply(x, 5, w), None, w)(x), 15 * X)
    assert SEEN[-1] == (False, False, True)
    Scaled.apply(x, 5, y)
    assert SEEN[-1] == (False, False, False)
    dg.jvp(lambda x: Scaled.apply(x, 5, y), x, x)
    assert SEEN[-1] == (True, False, False)


@with_effects
def test_mixed_second_derivatives():
    both = dg.grad(lambda x, y: Scaled.apply(x, 5, y), (0, 1))
    assert_close(dg.grad(lambda x, y: both(x, y)[0], (0, 1))(f64(X), f64(Y)), (0 * X, 10 + 0 * X))
    assert_close(dg.grad(lambda x, y: both(x, y)[1], (0, 1))(f64(X), f64(Y)), (15 + 0 * X, 0 * X))


def given(backward, forward=lambda ctx, x, y: x * y):
    """A Function of two inputs."""

    class Given(dg.Function):
        @staticmethod
        def forward(ctx, *args):
            return forward(ctx, *args)

        @staticmethod
        def backward(ctx, *gradients):
            return backward(ctx, *gradients)

    return Given


BAD = {
    "one of two": (lambda ctx, g: g, RuntimeError, "1 gradients for 2"),
    "a list": (lambda ctx, g: [g, g], RuntimeError, "1 gradients for 2"),
    "three of two": (lambda ctx, g: (g, g, g), RuntimeError, "3 gradients for 2"),
    "a number": (lambda ctx, g: (g, 3.0), TypeError, "float"),
    "another shape": (lambda ctx, g: (g, ops.concat((g, g))), ValueError, "shape"),
    "a scalar": (lambda ctx, g: (g, g.sum()), ValueError, "shape"),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_backward_returns_is_checked(bad):
    backward, kind, word = BAD[bad]
    call = lambda: dg.grad(given(backward).apply, (0, 1))(f64(X), f64(Y))
    assert_raises(kind, call, "Given", word)


def test_none_is_no_gradient():
    assert_close(dg.grad(given(lambda ctx, g: (None, g, None)).apply, (0, 1))(f64(X), f64(Y)), (0 * X, 1 + 0 * X))
    number = given(lambda ctx, g: (g, g), lambda ctx, x, k: x * k)
    assert_raises(RuntimeError, lambda: dg.grad(lambda x: number.apply(x, 3.0))(f64(X)), "argument 1", "float")


@with_effects
def test_outputs_without_a_gradient():
    met = []

    def forward(ctx, x, y, zeros=True):
        ctx.set_materialize_grads(zeros)
        return x * y, x + y

    for zeros in (True, False):
        function = given(
            lambda ctx, g, h: (met.append(h), (g, g))[1], lambda ctx, x, y, zeros=zeros: forward(ctx, x, y, zeros)
        )
        dg.grad(lambda x, y, function=function: function.apply(x, y)[0], (0, 1))(f64(X), f64(Y))
        assert (met[-1] is None) is not zeros
    assert_close(met[0], 0 * X)
    assert_raises(TypeError, lambda: dg.Function().set_materialize_grads(1), "True or False")


def test_outputs_that_are_constants():
    def forward(ctx, x, y):
        total = x + y
        ctx.mark_non_differentiable(total)
        return x * y, total

    function = given(lambda ctx, g, h: (g + h, 2 * g), forward)
    gradients = dg.grad(lambda x, y: sum(function.apply(x, y)), (0, 1))(f64(X), f64(Y))
    assert_close(gradients, (1 + 0 * X, 2 + 0 * X))
    assert_close(dg.grad(lambda x, y: function.apply(x, y)[1], (0, 1))(f64(X), f64(Y)), (0 * X, 0 * X))


def test_inputs_changed_in_place():
    def forward(ctx, x, y):
        x[:] = x + y
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    function = given(lambda ctx, g: (2 * g * ctx.saved_tensors[0], 3 * g), forward)

    def f(x, y):
        z = x * 1.0
        function.apply(z, y)
        return z  # now x + y, with the slopes of the rule

    assert_close(f(f64(X), f64(Y)), X + Y)
    assert_close(dg.grad(f, (0, 1))(f64(X), f64(Y)), (2 * (X + Y), 3 + 0 * X))
    other = given(lambda ctx, g: (g, g), lambda ctx, x, y: (ctx.mark_dirty(x), x * y)[1])
    assert_raises(RuntimeError, lambda: other.apply(f64(X), f64(Y)), "mark_dirty", "not returned")


def test_keywords_and_defaults():
    class Power(dg.Function):
        @staticmethod
        def forward(x, n=2):
            return x**n

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, gradient):
            return 10 * ctx.n * ctx.saved_tensors[0] ** (ctx.n - 1) * gradient, None

    assert_close(dg.grad(lambda x: Power.apply(x))(f64(X)), 20 * X)
    assert_close(dg.grad(lambda x: Power.apply(x, n=3))(f64(X)), 30 * X**2)
    assert_raises(TypeError, lambda: OfInput.apply(x=f64(X)), "OfInput", "by position")


@pytest.mark.parametrize("method", ["forward", "backward"])
def test_a_method_that_is_missing(method):
    function = given(lambda ctx, g: (g, g))
    delattr(function, method)
    assert_raises(NotImplementedError, lambda: dg.grad(function.apply)(f64(X), f64(Y)), method)


def test_only_tensors_are_saved():
    function = given(lambda ctx, g: (g, g), lambda ctx, x, y: ctx.save_for_backward(3))
    assert_raises(TypeError, lambda: function.apply(f64(X), f64(Y)), "save_for_backward", "int")


@with_effects
def test_forward_may_leave_the_derivative():
    """Numbers of inputs may be taken out in `forward`, for the rule stands for it; not where it is run again."""

    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return f64(np.hypot(x.asnumpy(), y.asnumpy()))

    hypotenuse = given(lambda ctx, g: tuple(g * t / ops.hypot(*ctx.saved_tensors) for t in ctx.saved_tensors), forward)
    assert_close(dg.grad(hypotenuse.apply)(f64(X), f64(Y)), X / np.hypot(X, Y))

    def kept(ctx, x, y):
        ctx.t = x * float(x.sum())
        return x * y

    function = given(lambda ctx, g: (g * ctx.t, g), kept)
    assert_raises(dg.LeavesDerivativeError, lambda: repeated_grad(function.apply, 2)(f64(X), f64(Y)), "float()")


# ------------------------------------------------------------------------------------------- sums down to shapes


class Product(nn.Cell):
    def construct(self, x, y):
        return x * y

    def bprop(self, x, y, out, dout):
        return dout * y, dout * x


@dg.custom_vjp
def product(x, y):
    return x * y


product.defbwd(lambda x, y, out, dout: (dout * y, dout * x))
PRODUCTS = {
    "bprop": Product(),
    "custom_vjp": product,
    "Function": given(lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]),
                      lambda ctx, x, y: (ctx.save_for_backward(x, y), x * y)[1]).apply,
}  # fmt: skip
SHAPES = [(), (1,), (3,), (2, 1), (1, 3), (2, 3), (4, 2, 3), (4, 1, 1)]


@pytest.mark.eager("programs that tests share add up in another order")
@pytest.mark.parametrize("rule", PRODUCTS)
@pytest.mark.parametrize("shapes", list(itertools.combinations(SHAPES, 2)))
def test_gradients_are_summed_down_to_the_shape_of_the_input(rule, shapes):
    rng = np.random.default_rng(len(shapes[0]) + 7)
    x, y = (f64(rng.normal(size=shape)) for shape in shapes)
    out = x * y
    sens = f64(rng.normal(size=out.shape))
    f, plain = PRODUCTS[rule], lambda x, y: x * y
    for transform in (
        lambda f: dg.grad(f, (0, 1), sens_param=True)(x, y, sens),
        lambda f: dg.jvp(f, (x, y), (y.sum() * ops.ones_like(x), x.sum() * ops.ones_like(y)))[1],
        lambda f: dg.grad(lambda *a: dg.grad(f)(*a).sum(), (0, 1))(x, y),
    ):
        found, expected = transform(f), transform(plain)
        expected = tuple(e.asnumpy() for e in expected) if isinstance(expected, tuple) else expected.asnumpy()
        assert_close(found, expected, scale=10.0)


@pytest.mark.parametrize(
    ("given", "shape"), [((), (2, 1)), ((3, 2), (2, 1)), ((2,), (2, 1)), ((2, 2), (3,)), ((1, 2), (2, 2))]
)
def test_shapes_that_do_not_fit(given, shape):
    class Misfit(nn.Cell):
        def construct(self, x):
            return x * 1.0

        def bprop(self, x, out, dout):
            return ops.ones(given, dg.float64)

    call = lambda: dg.grad(Misfit())(f64(np.ones(shape)))
    assert_raises(ValueError, call, "Misfit.bprop", str(given), str(shape))


# ---------------------------------------------------------------------------------------------------------- custom_vjp


def test_custom_vjp():
    @dg.custom_vjp
    def scaled(x, y):
        """The product."""
        return x * y

    assert scaled.__doc__ == "The product."
    assert_close(scaled(f64(X), f64(Y)), X * Y)
    assert_raises(TypeError, lambda: dg.grad(scaled)(f64(X), f64(Y)), "scaled", "defbwd")
    assert_raises(TypeError, lambda: scaled.defbwd(3), "int")
    scaled.defbwd(lambda x, y, out, dout: (x + dout, None))
    assert_close(dg.grad(scaled, (0, 1))(f64(X), f64(Y)), (X + 1, 0 * X))
    assert_close(dg.grad(dg.grad(scaled))(f64(X), f64(Y)), 1 + 0 * X)
    assert dg.custom_vjp() is not None
    assert ops.custom_vjp is dg.custom_vjp
    assert_raises(TypeError, lambda: dg.custom_vjp(3), "custom_vjp", "int")


# ------------------------------------------------------------------------------------------------ derivatives as Cells

CALLS = {
    "one": (lambda x: ops.sin(x), (X,)),
    "two": (lambda x, y: x * ops.exp(y), (X, Y)),
    "tuple out": (lambda x, y: (x * y, ops.sin(x)), (X, Y)),
    "dict out": (lambda x: {"a": x * x}, (X,)),
}


@pytest.mark.parametrize("call", CALLS)
def test_jvp_and_vjp_as_cells(call):
    """Against central differences, and each against the other: v^T (J u) = (J^T v)^T u."""
    f, arrays = CALLS[call]
    inputs = [f64(a) for a in arrays]
    along = [f64(np.cos(i + np.arange(3.0))) for i in range(len(inputs))]
    output, moved = nn.Jvp(f)(*inputs, along[0] if len(inputs) == 1 else tuple(along))
    step = 1e-6
    ahead, behind = (f(*[x + sign * step * u for x, u in zip(inputs, along, strict=True)]) for sign in (1.0, -1.0))
    flat = lambda nest: np.concatenate([t.asnumpy() for t in _leaves(nest)])
    np.testing.assert_allclose(flat(moved), (flat(ahead) - flat(behind)) / (2 * step), rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal(flat(output), flat(f(*inputs)))
    value, gradients = nn.Vjp(f)(*inputs, output)  # the output itself as v
    np.testing.assert_array_equal(flat(value), flat(output))
    assert isinstance(gradients, tuple) is (len(inputs) > 1)
    pairs = zip(_leaves(gradients), along, strict=True)
    np.testing.assert_allclose(flat(output) @ flat(moved), sum(g.asnumpy() @ u.asnumpy() for g, u in pairs), rtol=1e-12)


def _leaves(nest):
    if isinstance(nest, dict):
        nest = tuple(nest.values())
    return [leaf for part in nest for leaf in _leaves(part)] if isinstance(nest, tuple) else [nest]


@pytest.mark.parametrize("kind", [nn.Jvp, nn.Vjp])
def test_errors_of_derivatives_as_cells(kind):
    assert_raises(TypeError, lambda: kind(3), kind.__name__, "int")
    assert_raises(TypeError, lambda: kind(ops.sin)(f64(X)), kind.__name__, "v after them")
    assert_raises(ValueError, lambda: kind(ops.sin)(f64(X), f64(X[:2])), "shape")
    net = nn.Dense(3, 2, dtype=dg.float64)
    assert list(kind(net).get_parameters()) == list(net.get_parameters())


def test_outputs_that_are_no_tensors_have_no_gradient():
    seen = []

    class Several(dg.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x, 4, None, (ops.sin(x), "text")

        @staticmethod
        def backward(ctx, *gradients):
            seen.append([type(g).__name__ for g in gradients])
            return 2 * gradients[0] + 3 * gradients[3]

    found = dg.grad(lambda x: Several.apply(x)[0] + Several.apply(x)[3][0])(f64(X))
    assert_close(found, np.full(3, 5.0))
    assert {tuple(names) for names in seen} == {("Tensor", "NoneType", "NoneType", "Tensor", "NoneType")}
