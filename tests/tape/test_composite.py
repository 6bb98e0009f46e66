"""A gradient inside a gradient is one node of the outer tape, and its rules are exact."""

import itertools

import mpmath
import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Parameter, ParameterTuple, Tensor, nn, ops
from dualgrad.testing import tape_reports, taped_backward


def t(x):
    return Tensor(np.asarray(x, np.float64))


class Product(nn.Cell):
    def __init__(self):
        super().__init__()
        self.mul = ops.Mul()

    def construct(self, x, y):
        return self.mul(self.mul(x, x), y)


class Gradient(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.grad = ops.GradOperation(get_all=True)

    def construct(self, x, y):
        return self.grad(self.net)(x, y)


def nodes(report):
    return report["leaves"] + report["instructions"]


@pytest.mark.eager("looks at tapes")
def test_outer_tape_of_the_documented_cell_holds_leaves_and_one_gradient_node():
    second = ops.GradOperation(get_all=True, sens_param=True)(Gradient(Product()))
    x, y = Tensor(np.array([4], np.float32)), Tensor(np.array([5], np.float32))
    sens = Tensor(np.array([1], np.float32)), Tensor(np.array([0], np.float32))
    with tape_reports() as reports:
        dxdx, dxdy = second(x, y, sens)
    inner, outer = reports
    assert (float(dxdx), float(dxdy)) == (10.0, 8.0)
    assert inner["by_primitive"] == {"mul": 2}
    assert outer["by_primitive"] == {"subtape": 1}
    assert outer["leaves"] == 2


@pytest.mark.eager("looks at tapes")
@pytest.mark.parametrize("k", [3, 4, 5])
def test_every_outer_tape_of_k_nested_gradients_holds_one_node(k):
    f = lambda x: ops.exp(ops.sin(x)) * x
    for _ in range(k):
        f = dg.grad(f)
    with tape_reports() as reports:
        f(t(0.5))
    innermost, *outer = sorted(reports, key=lambda report: -report["level"])
    assert "subtape" not in innermost["by_primitive"]
    assert len(outer) == k - 1
    for report in outer:
        assert report["leaves"] == 1
        assert report["by_primitive"] == {"subtape": 1}


def test_vjp_of_value_and_gradient_with_three_cotangents_at_once():
    """Cotangents for value, gradient and sensitivity together, against mpmath."""
    a, b = 0.3, -1.2
    v, s, r = 0.8, 1.7, -0.6

    def call(x, w, v):
        return dg.value_and_grad(lambda x: ops.sin(x * w) * ops.exp(x), sens_param=True)(x, v)

    # Phi = r * F + s * v * F_x, with F(x, w) = sin(x w) exp(x)
    phi = lambda x, w, v: (lambda out: r * out[0] + s * out[1])(call(x, w, v))
    got = dg.grad(phi, (0, 1, 2))(t(a), t(b), t(v))

    with mpmath.workdps(50):
        F = lambda x, w: mpmath.sin(x * w) * mpmath.exp(x)
        Fx = lambda x, w: mpmath.exp(x) * (mpmath.sin(x * w) + w * mpmath.cos(x * w))
        expected = (
            mpmath.diff(lambda x: r * F(x, b) + s * v * Fx(x, b), a),
            mpmath.diff(lambda w: r * F(a, w) + s * v * Fx(a, w), b),
            s * Fx(a, b),
        )
        for g, e in zip(got, expected, strict=True):
            np.testing.assert_allclose(float(g), float(e), rtol=1e-12)


# ------------------------------------------------------------------------------------------- random programs

UNARY = [
    ops.sin,
    ops.cos,
    ops.tanh,
    ops.sigmoid,
    lambda x: ops.exp(0.3 * ops.sin(x)),
    ops.square,
    lambda x: x**3,
]
BINARY = [lambda a, b: a * b, lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a / (1.5 + ops.square(b))]


def random_program(seed):
    """A smooth function of two vectors, made of random primitives on random earlier values."""
    rng = np.random.default_rng(seed)
    steps = [
        (UNARY[rng.integers(len(UNARY))], (rng.integers(1 << 30),))
        if rng.random() < 0.5
        else (BINARY[rng.integers(len(BINARY))], (rng.integers(1 << 30), rng.integers(1 << 30)))
        for _ in range(rng.integers(3, 12))
    ]

    def program(x, w):
        values = [x, w]
        for function, places in steps:
            values.append(function(*[values[p % len(values)] for p in places]))
        return ops.sum(values[-1] * values[-2]) + ops.sum(values[-1])

    return program


@pytest.mark.parametrize("seed", range(25))
def test_composite_node_agrees_with_a_taped_backward_pass(seed):
    f = random_program(seed)
    rng = np.random.default_rng(1000 + seed)
    x, w = t(rng.normal(size=3)), t(rng.normal(size=3))
    v = rng.normal(size=3)

    def second(x, w):
        return ops.sum(ops.tanh(dg.grad(f)(x, w)) * v)

    def third(x, w):
        return ops.sum(dg.grad(second, 1)(x, w) * v)

    for g in (second, third):
        composite = dg.grad(g, (0, 1))(x, w)
        with taped_backward():
            taped = dg.grad(g, (0, 1))(x, w)
        for a, b in zip(composite, taped, strict=True):
            scale = max(1.0, np.abs(b.asnumpy()).max())
            np.testing.assert_allclose(a.asnumpy() / scale, b.asnumpy() / scale, rtol=1e-11, atol=1e-12)


def forward(f):
    return lambda x: dg.jvp(f, x, t(np.ones(x.shape)))[1]


MIXED = {
    "forward inside": lambda f: lambda x: dg.grad(lambda z: z * forward(f)(z))(x),
    "forward that reads two outer values": lambda f: (
        lambda x: dg.grad(lambda z: z * forward(lambda y: f(y) * z * x)(z))(x)
    ),
    "forward of a gradient": lambda f: lambda x: x * forward(dg.grad(f))(x),
    "gradient of a forward of a gradient": lambda f: lambda x: dg.grad(lambda z: x * forward(dg.grad(f))(z))(x),
}


@pytest.mark.eager("looks at tapes")
@pytest.mark.parametrize("name", MIXED)
def test_forward_transforms_inside_gradients_are_one_node_too(name):
    f = lambda x: ops.exp(ops.sin(x)) * x
    g = MIXED[name](f)
    x, h = 1.3, 1e-5
    with tape_reports() as reports:
        got = float(dg.grad(g)(t(x)))
    outermost = min(reports, key=lambda report: report["level"])
    assert outermost["by_primitive"]["subtape"] == 1
    with taped_backward():
        np.testing.assert_allclose(got, float(dg.grad(g)(t(x))), rtol=1e-12)
    np.testing.assert_allclose(got, (float(g(t(x + h))) - float(g(t(x - h)))) / (2 * h), rtol=1e-7)


INSIDE = {
    "gradient": dg.grad,
    "forward": forward,
    "second order forward": lambda f: forward(forward(f)),
    "gradient of forward": lambda f: dg.grad(forward(f)),
    "forward of gradient": lambda f: forward(dg.grad(f)),
    "samples": lambda f: lambda x: ops.sum(dg.vmap(f)(ops.stack((x, 2.0 * x)))),
    "samples of forward": lambda f: lambda x: ops.sum(dg.vmap(forward(f))(ops.stack((x, 2.0 * x)))),
    "series": lambda f: lambda x: dg.jet(f, x, t([1.0, 0.0, 0.0]))[1][2],
    "pullback": lambda f: lambda x: dg.vjp(f, x)[1](ops.cos(x))[0],
    "own rule": lambda f: lambda x: Sine()(x) * forward(f)(x),
}


class Sine(nn.Cell):
    def construct(self, x):
        return ops.sin(x)

    def bprop(self, x, out, dout):
        return dout * ops.cos(x)


@pytest.mark.parametrize("outer", ["gradient", "forward"])
@pytest.mark.parametrize("name", INSIDE)
def test_an_outer_value_may_enter_by_the_cotangent_alone(name, outer):
    """The inner transform is taken at a constant; what comes down to it depends on an outer value."""
    g = INSIDE[name](lambda x: ops.exp(ops.sin(x)) * x)
    z = t(0.3)
    slope = lambda y: dg.grad(lambda u: ops.tanh(g(u)) * ops.cos(y))(z)
    derivative = {"gradient": dg.grad, "forward": forward}[outer](slope)
    y = t(0.7)
    expected = -ops.sin(y) * float(dg.grad(lambda u: ops.tanh(g(u)))(z))
    np.testing.assert_allclose(float(derivative(y)), float(expected), rtol=1e-13)
    with taped_backward():
        np.testing.assert_allclose(float(derivative(y)), float(expected), rtol=1e-13)


@pytest.mark.parametrize("seed", range(10))
def test_hessian_is_symmetric(seed):
    f = random_program(seed)
    rng = np.random.default_rng(seed)
    x, w = t(rng.normal(size=3)), t(rng.normal(size=3))
    a, b = rng.normal(size=3), rng.normal(size=3)
    product = lambda u: dg.grad(lambda x: ops.sum(dg.grad(f)(x, w) * u))(x).asnumpy()
    np.testing.assert_allclose(a @ product(b), b @ product(a), rtol=1e-10, atol=1e-12)


# ---------------------------------------------------------------------------------- losses that contain
# gradients


class Network(nn.Cell):
    """A tanh network of two inputs in float64."""

    def __init__(self, width=8, depth=3, inputs=2, seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        sizes = [inputs] + [width] * depth + [1]
        self.layers = [
            (
                Parameter(t(rng.normal(size=(m, n)) / np.sqrt(m)), name=f"w{i}"),
                Parameter(t(0.1 * rng.normal(size=n)), name=f"b{i}"),
            )
            for i, (m, n) in enumerate(itertools.pairwise(sizes))
        ]
        self.weights = ParameterTuple([p for pair in self.layers for p in pair])

    def construct(self, x):
        *hidden, (w, b) = self.layers
        for hw, hb in hidden:
            x = ops.tanh(x @ hw + hb)
        return x @ w + b


def columns(x):
    return x[:, 0:1], x[:, 1:2]


def burgers_loss(net, points):
    """mean((u_t + u u_x - nu u_xx)^2), with x the first column and t the second."""

    def u(x, s):
        return net(ops.cat((x, s), 1))

    def u_x(x, s):
        return dg.grad(u)(x, s)

    x, s = columns(points)
    first_x, first_t = dg.grad(u, (0, 1))(x, s)
    second_x = dg.grad(u_x)(x, s)
    residual = first_t + u(x, s) * first_x - (0.01 / np.pi) * second_x
    return ops.mean(ops.square(residual))


def numerical_gradient(loss, parameter, h=1e-6):
    base = parameter.asnumpy()
    out = np.zeros_like(base)
    for index in np.ndindex(base.shape):
        for sign in (1, -1):
            moved = base.copy()
            moved[index] += sign * h
            parameter.set_data(t(moved))
            out[index] += sign * float(loss()) / (2 * h)
    parameter.set_data(t(base))
    return out


def test_gradient_of_a_pinn_loss_by_all_weights():
    net = Network()
    points = t(np.random.default_rng(1).uniform(-1, 1, size=(20, 2)))
    loss = lambda: burgers_loss(net, points)
    gradients = dg.grad(lambda: loss(), None, net.weights)()
    with taped_backward():
        taped = dg.grad(lambda: loss(), None, net.weights)()
    for p, g, other in zip(net.weights, gradients, taped, strict=True):
        np.testing.assert_allclose(g.asnumpy(), other.asnumpy(), rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(g.asnumpy(), numerical_gradient(loss, p), rtol=1e-5, atol=1e-8)


def energy(net, positions):
    """A sum over pairs of a network of the squared distance."""
    n = positions.shape[0]
    difference = ops.reshape(positions, (n, 1, 3)) - ops.reshape(positions, (1, n, 3))
    squared = ops.sum(difference * difference, -1)
    pairs = ops.reshape(squared, (n * n, 1))
    off_diagonal = (1.0 - np.eye(n)).reshape(n * n, 1)
    return ops.sum(net(pairs) * off_diagonal)


def test_gradient_of_a_force_matching_loss_by_all_weights():
    net = Network(width=6, depth=2, inputs=1)
    rng = np.random.default_rng(2)
    positions, target = t(rng.normal(size=(5, 3))), rng.normal(size=(5, 3))

    def loss():
        forces = -dg.grad(lambda r: energy(net, r))(positions)
        return ops.mean(ops.square(forces - target))

    gradients = dg.grad(lambda: loss(), None, net.weights)()
    assert any(np.abs(g.asnumpy()).max() > 1e-3 for g in gradients)
    for p, g in zip(net.weights, gradients, strict=True):
        np.testing.assert_allclose(g.asnumpy(), numerical_gradient(loss, p), rtol=1e-5, atol=1e-8)


@pytest.mark.eager("looks at tapes")
def test_a_pinn_step_keeps_fewer_nodes_and_less_memory_than_a_taped_backward_pass():
    net = Network(width=20, depth=4)
    points = t(np.random.default_rng(1).uniform(-1, 1, size=(200, 2)))
    step = dg.grad(lambda: burgers_loss(net, points), None, net.weights)
    with tape_reports() as composite:
        step()
    with tape_reports() as taped, taped_backward():
        step()
    totals = {}
    for name, reports in (("composite", composite), ("taped", taped)):
        outermost = min(reports, key=lambda report: report["level"])
        totals[name] = nodes(outermost), outermost["bytes"]
    assert totals["composite"][0] * 3 < totals["taped"][0]
    assert totals["composite"][1] < totals["taped"][1]
