"""Gradients of gradients: through every kind of operator, through levels, weights and Cells.

Where a closed form would be long, ``exact`` differentiates the same function by differences in 80 digits.
"""

import functools

import exact
import numpy as np
import pytest
from support import assert_close, f64, repeated_grad

import dualgrad as dg
from dualgrad import Parameter, nn, ops

pytestmark = pytest.mark.usefixtures("mode")

MATRIX = np.array([[0.9, -0.4], [1.3, 0.6]])
POSITIVE = np.array([[0.9, 0.4], [1.3, 0.6]])


TALL = np.array([[0.9, -0.4], [1.3, 0.6], [-0.7, 1.1]])


def pairwise(x):
    y = x * x
    d = y[:, None, :] - y[None, :, :]
    return (d**4).sum(-1)


def exact_var(x):
    return ((x - x.mean(0)) ** 2).mean(0)


# name: (point, the function on tensors, the same on arrays of high-precision numbers)
# Repeated gradients run along (1, ..., 1), so what a shift does not change is taken of x * x in place of x.
FUNCTIONS = {
    "sin of a sum": (MATRIX, lambda x: ops.sin(x.sum()), lambda x: exact.sin(x.sum())),
    "root of a sum of squares": (
        MATRIX,
        lambda x: ops.sqrt((x * x).sum()),
        lambda x: exact.sqrt((x * x).sum()),
    ),
    "product of reshaped": (
        MATRIX,
        lambda x: ops.reshape(x, (4,)) * ops.reshape(x, (4,)),
        lambda x: x * x,
    ),
    "transpose": (MATRIX, lambda x: ops.sin(x.T) * x, lambda x: exact.sin(x.T) * x),
    "flatten": (MATRIX, lambda x: ops.exp(x.flatten()).sum() ** 2, lambda x: exact.exp(x).sum() ** 2),
    "expand_dims": (
        MATRIX,
        lambda x: ops.expand_dims(x, 0) * ops.exp(ops.expand_dims(x, 1)),
        lambda x: x[None] * exact.exp(x[:, None]),
    ),
    "slices": (MATRIX, lambda x: x[1:] ** 2 * x[:-1], lambda x: x[1:] ** 2 * x[:-1]),
    "one index": (MATRIX, lambda x: x[1] ** 3 * x[0, 1], lambda x: x[1] ** 3 * x[0, 1]),
    "negative step": (MATRIX, lambda x: x[::-1] ** 2 * x, lambda x: x[::-1] ** 2 * x),
    "sum over an axis": (MATRIX, lambda x: x.sum(0) ** 3, lambda x: x.sum(0) ** 3),
    "mean over axes": (MATRIX, lambda x: x.mean((0, 1)) ** 4, lambda x: x.mean() ** 4),
    "prod": (MATRIX, lambda x: x.prod(), lambda x: np.prod(x)),
    "prod over an axis": (MATRIX, lambda x: x.prod(1) ** 2, lambda x: np.prod(x, 1) ** 2),
    "norm": (MATRIX, ops.norm, lambda x: exact.sqrt((x * x).sum())),
    "std": (TALL, lambda x: ops.std(x * x, 0), lambda x: exact.sqrt(exact_var(x * x))),
    "var": (TALL, lambda x: ops.var(x * x, 0) ** 2, lambda x: exact_var(x * x) ** 2),
    "logsumexp": (
        MATRIX,
        lambda x: ops.logsumexp(x * x, 1),
        lambda x: exact.log(exact.exp(x * x).sum(1)),
    ),
    "max over an axis": (MATRIX, lambda x: x.max(0) ** 3, lambda x: x.max(0) ** 3),
    "min": (MATRIX, lambda x: x.min() ** 3 * x, lambda x: x.min() ** 3 * x),
    "cumsum": (MATRIX, lambda x: ops.cumsum(x, 1) ** 3, lambda x: x.cumsum(1) ** 3),
    "matmul with itself": (MATRIX, lambda x: x @ x @ x, lambda x: x @ x @ x),
    "matmul with the transpose": (
        MATRIX,
        lambda x: ops.sin(ops.matmul(x, x.T)),
        lambda x: exact.sin(x @ x.T),
    ),
    "concat": (
        MATRIX,
        lambda x: ops.cat((x, ops.sin(x)), 0).sum(0) ** 3,
        lambda x: (x + exact.sin(x)).sum(0) ** 3,
    ),
    "stack": (
        MATRIX,
        lambda x: ops.stack((x, x * x), 1).sum(0) ** 2,
        lambda x: np.stack((x, x * x), 1).sum(0) ** 2,
    ),
    "split": (
        MATRIX,
        lambda x: ops.split(x, 1, 0)[0] * ops.split(x, 1, 0)[1] ** 3,
        lambda x: x[:1] * x[1:] ** 3,
    ),
    "tile": (
        MATRIX,
        lambda x: ops.tile(x, (2, 1)) ** 2 * ops.tile(x, (2, 2))[:, 1:3],
        lambda x: np.tile(x, (2, 1)) ** 2 * np.tile(x, (2, 2))[:, 1:3],
    ),
    "tril": (MATRIX, lambda x: ops.tril(x) ** 3 * x.T, lambda x: np.tril(x) ** 3 * x.T),
    "trace": (MATRIX, lambda x: ops.trace(x @ x) ** 2, lambda x: np.trace(x @ x) ** 2),
    "pairwise differences": (TALL, pairwise, pairwise),
    "gather": (
        MATRIX,
        lambda x: ops.gather(x, dg.Tensor([1, 0, 1]), 0) ** 2 * x[:1],
        lambda x: x[[1, 0, 1]] ** 2 * x[:1],
    ),
    "gather_elements": (
        MATRIX,
        lambda x: ops.gather_elements(x, 1, dg.Tensor([[1, 1], [0, 1]])) ** 2 * x,
        lambda x: np.take_along_axis(x, np.array([[1, 1], [0, 1]]), 1) ** 2 * x,
    ),
    "where": (
        MATRIX,
        lambda x: ops.where(x > 0.5, x**3, ops.sin(x)) * x.T,
        lambda x: np.where(MATRIX > 0.5, x**3, exact.sin(x)) * x.T,
    ),
    "softmax": (
        MATRIX,
        lambda x: ops.softmax(x * x, axis=1) * x,
        lambda x: exact.exp(x * x) / exact.exp(x * x).sum(1, keepdims=True) * x,
    ),
    "log_softmax": (
        MATRIX,
        lambda x: ops.log_softmax(x * x, axis=1) * x,
        lambda x: (x * x - exact.log(exact.exp(x * x).sum(1, keepdims=True))) * x,
    ),
    "gelu": (
        MATRIX,
        ops.gelu,
        lambda x: x * (1 + exact.erf(x / exact.sqrt(np.array(2)))) / 2,
    ),
    "power of tensors": (POSITIVE, lambda x: x**x.T, lambda x: x**x.T),
    "quotient": (POSITIVE, lambda x: x.T / (x * x), lambda x: x.T / (x * x)),
}


@functools.cache
def exact_gradient(name, order):
    point, _f, same = FUNCTIONS[name]
    return exact.repeated_gradient(same, point, order)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_repeated_gradients(name, order):
    point, f, _same = FUNCTIONS[name]
    expected = exact_gradient(name, order)
    assert_close(repeated_grad(f, order)(f64(point)), expected, rtol=1e-10, scale=max(1.0, np.abs(expected).max()))


ELEMENTWISE = {
    "sin": (ops.sin, lambda x, n: np.sin(x + n * np.pi / 2)),
    "exp": (ops.exp, lambda x, n: np.exp(x)),
    "exp of 2x": (lambda x: ops.exp(2 * x), lambda x, n: 2.0**n * np.exp(2 * x)),
    "seventh power": (lambda x: x**7, lambda x, n: np.prod([7.0 - k for k in range(n)]) * x ** (7 - n)),
    "log": (ops.log, lambda x, n: (-1.0) ** (n - 1) * np.prod(np.arange(1.0, n)) / x**n),
    "reciprocal": (lambda x: 1 / x, lambda x, n: (-1.0) ** n * np.prod(np.arange(1.0, n + 1)) / x ** (n + 1)),
}


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_up_to_the_sixth_derivative(name, order):
    f, derivative = ELEMENTWISE[name]
    x = np.array([0.3, 0.8, 1.7])
    assert_close(repeated_grad(f, order)(f64(x)), derivative(x, order), rtol=1e-11)


# ----------------------------------------------------------------------------------------------------- levels


def test_levels_are_kept_apart():
    def outer(x):
        return x * dg.grad(lambda y: x * y)(x)

    x = np.array([2.0, -3.0])
    assert_close(outer(f64(x)), x * x)
    assert_close(dg.grad(outer)(f64(x)), 2 * x)
    assert_close(dg.grad(dg.grad(outer))(f64(x)), [2.0, 2.0])


def test_a_closure_over_three_levels():
    def f(x):
        def g(y):
            return dg.grad(lambda z: x * y * y * z**3)(y)  # 3 x y^4

        return dg.grad(g)(x) * x  # 12 x^5

    x = np.array([1.5, -0.5])
    assert_close(f(f64(x)), 12 * x**5)
    assert_close(dg.grad(f)(f64(x)), 60 * x**4)


def test_the_gradient_of_a_gradient_with_respect_to_another_input():
    def f(x, y):
        return x**3 * y**2

    mixed = dg.grad(dg.grad(f, 0), 1)
    assert_close(mixed(f64(2.0), f64(3.0)), 72.0)
    assert_close(dg.grad(mixed, 0)(f64(2.0), f64(3.0)), 72.0)
    assert_close(dg.grad(dg.grad(f, (0, 1)), (0, 1))(f64(2.0), f64(3.0)), (108.0 + 72.0, 72.0 + 16.0))


def test_value_and_grad_of_itself():
    x = np.array([0.7, -1.2])
    (value, gradient), outer = dg.value_and_grad(dg.value_and_grad(ops.sin))(f64(x))
    assert_close((value, gradient), (np.sin(x), np.cos(x)))
    assert_close(outer, np.cos(x) - np.sin(x))


def test_grad_of_value_and_grad():
    x = np.array([0.7, -1.2])
    assert_close(dg.grad(dg.value_and_grad(lambda x: x**3))(f64(x)), 3 * x * x + 6 * x)


def test_a_value_kept_from_a_closed_level_is_a_plain_tensor():
    kept = []

    def f(x):
        kept.append(x * x)
        return x**3

    dg.set_context(mode=dg.PYNATIVE_MODE)  # a replayed program would not run the side effect again
    assert_close(dg.grad(f)(f64([2.0, 3.0])), [12.0, 27.0])
    assert_close(kept[-1] * 2.0, [8.0, 18.0])
    assert_close(dg.grad(lambda y: y * kept[-1])(f64([5.0, 7.0])), [4.0, 9.0])


# ----------------------------------------------------------------------------------- Cells that differentiate


class Derivative(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.operation = ops.GradOperation()

    def construct(self, x):
        return self.operation(self.net)(x)


def test_derivative_cells_nest_to_any_depth():
    class Wave(nn.Cell):
        def construct(self, x):
            return ops.sin(2.0 * x)

    net, x = Wave(), np.array([0.4, 1.1])
    for order in range(1, 6):
        net = Derivative(net)
        assert_close(net(f64(x)), 2.0**order * np.sin(2 * x + order * np.pi / 2), rtol=1e-11)
    assert_close(dg.grad(net)(f64(x)), 64 * np.sin(2 * x + 3 * np.pi), rtol=1e-11)


def parameters(generator, *shapes):
    return [Parameter(generator.normal(size=shape), name=f"p{k}") for k, shape in enumerate(shapes)]


class Network(nn.Cell):
    """sum_k v_k tanh(w_k x + b_k) for a column of points x."""

    def __init__(self):
        super().__init__()
        self.w, self.b, self.v = parameters(np.random.default_rng(5), (1, 4), (4,), (4, 1))

    def construct(self, x):
        return ops.matmul(ops.tanh(ops.matmul(x, self.w) + self.b), self.v)


def weight_gradients(loss, weights):
    """Gradients of ``loss(w, b, v)`` by high-precision differences, one array for each weight."""
    arrays = [weight.asnumpy() for weight in weights]
    cuts = np.cumsum([array.size for array in arrays])[:-1]

    def joined(flat):
        parts = np.split(flat, cuts)
        return loss(*(part.reshape(array.shape) for part, array in zip(parts, arrays, strict=True)))

    flat = exact.repeated_gradient(joined, np.concatenate([array.ravel() for array in arrays]), 1)
    return tuple(part.reshape(array.shape) for part, array in zip(np.split(flat, cuts), arrays, strict=True))


def test_weights_through_the_second_derivative_of_the_inputs():
    """The loss of a physics-informed net: mean (u'' + sin x)^2."""
    net = Network()
    x = np.linspace(-1, 1, 5)[:, None]
    first = ops.GradOperation()
    second = Derivative(Derivative(net))

    def loss(points):
        return ops.mean((second(points) + ops.sin(points)) ** 2)

    def exact_loss(w, b, v):
        h = exact.tanh(x @ w + b)
        return np.mean(((-2 * h * (1 - h * h) * w * w) @ v + np.sin(x)) ** 2)

    expected = weight_gradients(exact_loss, net.trainable_params())
    found = dg.grad(loss, None, net.trainable_params())(f64(x))
    assert_close(found, expected, rtol=1e-10, scale=1.0)
    by_list = ops.GradOperation(get_by_list=True)(
        lambda points: ops.mean((first(first(net))(points) + ops.sin(points)) ** 2), net.trainable_params()
    )
    assert_close(by_list(f64(x)), expected, rtol=1e-10, scale=1.0)


def test_inputs_through_the_gradient_of_the_weights():
    """The other way round: the squared gradient of the weights, differentiated by the inputs."""
    net = Network()
    x = np.array([[0.3], [-0.8]])

    def sensitivity(points):
        dv = dg.grad(net, None, net.v)(points)
        return (dv * dv).sum()

    def exact_sensitivity(points):
        h = exact.tanh(points @ net.w.asnumpy() + net.b.asnumpy())
        return (h.sum(0) ** 2).sum()

    expected = exact.repeated_gradient(exact_sensitivity, x, 1)
    assert_close(dg.grad(sensitivity)(f64(x)), expected, rtol=1e-11, scale=1.0)


def test_force_matching():
    """Weights of an energy fitted to forces: a gradient inside the loss of the same net."""

    class Energy(nn.Cell):
        def __init__(self):
            super().__init__()
            self.depth = Parameter(np.array([1.3]), name="depth")
            self.decay = Parameter(np.array([0.7]), name="decay")

        def construct(self, r):
            d = r[:, None, :] - r[None, :, :]
            return self.depth * ops.exp(-self.decay * (d * d).sum(-1)).sum()

    net = Energy()
    r = np.random.default_rng(3).normal(size=(3, 2))
    target = np.ones((3, 2))

    def loss(positions):
        forces = -dg.grad(net)(positions)
        return ops.mse_loss(forces, f64(target))

    def exact_loss(depth, decay):
        d = r[:, None, :] - r[None, :, :]
        pull = 4 * depth * decay * exact.exp(-decay * (d * d).sum(-1))
        forces = (pull[:, :, None] * d).sum(1)
        return np.mean((forces - target) ** 2)

    expected = weight_gradients(exact_loss, net.trainable_params())
    assert_close(dg.grad(loss, None, net.trainable_params())(f64(r)), expected, rtol=1e-11, scale=1.0)


# -------------------------------------------------------------------------------------------- changed weights


def test_a_gradient_function_sees_changed_weights():
    w = Parameter(np.array([2.0]), name="w")
    first = dg.grad(lambda x: w * x * x)
    second = dg.grad(first)
    x = f64([3.0])
    assert_close((first(x), second(x)), ([12.0], [4.0]))
    for value in 5.0, 7.0, 11.0:
        w.set_data(f64([value]))
        assert_close((first(x), second(x)), ([6 * value], [2 * value]))
    ops.assign(w, f64([-1.0]))
    assert_close((first(x), second(x)), ([-6.0], [-2.0]))


def test_a_gradient_function_sees_the_steps_of_an_optimiser():
    w = Parameter(np.array([1.0]), name="w")
    step = nn.SGD([w], learning_rate=0.25)
    gradient = dg.grad(lambda x: (w * x) ** 2, None, [w])
    value = 1.0
    for _ in range(5):
        found = gradient(f64([1.0]))
        assert_close(found, ([2 * value],))
        step(found)
        value -= 0.25 * 2 * value
