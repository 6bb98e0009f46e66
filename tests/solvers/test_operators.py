"""Differential operators: against mpmath, closed forms and nested derivatives; channels, shapes, plans, estimates."""

import itertools

import mpmath
import numpy as np
import pytest
from operator_models import RNG, forward, network, scalar
from support import f64

import dualgrad as dg
from dualgrad import nn, ops
from dualgrad.operators.symbols import power_of_laplacian


def to_mp(a):
    return mpmath.matrix(a.tolist()) if a.ndim == 2 else mpmath.matrix([a.tolist()])


def reference(weights, terms, point):
    """The sum of c_a d^a f at a point, by Taylor coefficients in all variables with forty digits."""
    orders = [max(a[i] for a in terms) for i in range(len(point))]
    with mpmath.workdps(40):
        w1, b1, w2, b2, w3 = (np.vectorize(mpmath.mpf, otypes=[object])(w) for w in weights)

        def f(*xs):
            x = np.array([mpmath.mpf(v) for v in xs], dtype=object)
            h = np.array([mpmath.tanh(v) for v in x @ w1 + b1], dtype=object)
            return (np.array([mpmath.tanh(v) for v in h @ w2 + b2], dtype=object) @ w3)[0]

        assert max(orders) <= 5
        at = tuple(float(v) for v in point)
        with mpmath.workdps(60):
            return float(sum(mpmath.mpf(c) * (mpmath.diff(f, at, a) if any(a) else f(*at)) for a, c in terms.items()))


# name: (coefficients, channels of the smallest algebra)
TABLE = {
    "fifth derivative": ({(5,): 1}, 6),
    "mixed": ({(1, 1): 1}, 4),
    "Laplacian 2": ({(2, 0): 1, (0, 2): 1}, 4),
    "Laplacian 3": ({(2, 0, 0): 1, (0, 2, 0): 1, (0, 0, 2): 1}, 5),
    "elliptic, rank 2 of 3": ({(2, 0, 0): 2, (0, 2, 0): 3}, 4),
    "a square of rank 1 in 3": ({(2, 0, 0): 1, (1, 1, 0): 2, (0, 2, 0): 1}, 3),
    "heat": ({(1, 0): 1, (0, 2): -0.01}, 3),
    "wave 2 + 1": ({(2, 0, 0): 1, (0, 2, 0): -1, (0, 0, 2): -1}, 5),
    "Korteweg-de Vries, linear": ({(1, 0): 1, (0, 3): 1}, 4),
    "Kuramoto-Sivashinsky, linear": ({(1, 0): 1, (0, 2): 1, (0, 4): 1}, 5),
    "u_xxyy": ({(2, 2): 1}, 9),
    "u_xyz": ({(1, 1, 1): 1}, 8),
    "biharmonic 2": ({(4, 0): 1, (2, 2): 2, (0, 4): 1}, 9),
    "biharmonic 3": (dict(power_of_laplacian(3, 2)), 14),
    "second order, all terms": ({(2, 0): 1.5, (1, 1): 0.5, (0, 2): -1, (1, 0): 2, (0, 1): -3, (0, 0): 0.7}, 4),
    "no degrees": ({(2, 2): 1, (5, 0): 1, (0, 5): 1, (3, 1): 2, (1, 0): 1}, 11),
    "identity": ({(0, 0): 2}, 1),
    "transport": ({(1, 0): 1, (0, 1): 3}, 2),
}


@pytest.mark.parametrize("name", TABLE)
def test_operators_of_a_network_against_mpmath(name):
    terms, channels = TABLE[name]
    dimensions = len(next(iter(terms)))
    weights = network(dimensions)
    x = np.random.default_rng(3).normal(size=(2, dimensions)) / 2
    f = lambda y: scalar(y, *map(f64, weights))
    operator = dg.linear_operator({a: float(c) for a, c in terms.items()})
    assert operator(f, explain=True)(f64(x)).ways[-1].channels >= channels
    found_plan = operator(f, explain=True)(f64(x))
    assert next(w for w in found_plan.ways if w.name == "algebra").channels == channels
    got = operator(f)(f64(x)).asnumpy()
    expected = [reference(weights, terms, point) for point in x]
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(operator(f)(f64(x[1])).asnumpy(), expected[1], rtol=1e-12, atol=1e-12)


def test_five_dimensions_need_27_channels():
    plan = dg.biharmonic(ops.sin, explain=True)(f64(np.zeros(5)))
    counts = {way.name: way.channels for way in plan.ways}
    assert counts == {"algebra": 27, "nested": 49, "directions": 101}
    assert plan.chosen.name == "algebra"
    assert "27" in str(plan)


@pytest.mark.parametrize("part", range(4))
def test_exponentials_are_eigenfunctions_of_every_operator(part):
    """p(d) exp(a.x) = p(a) exp(a.x), for 200 random p."""
    rng = np.random.default_rng(part)
    for _ in range(50):
        dimensions = int(rng.integers(1, 4))
        a, x = rng.normal(size=dimensions) * 0.8, rng.normal(size=(2, dimensions)) * 0.5
        terms = {}
        for _ in range(int(rng.integers(1, 6))):
            index = rng.multinomial(rng.integers(0, 6), np.ones(dimensions) / dimensions)
            terms[tuple(map(int, index))] = float(np.round(rng.normal(), 3))
        value = np.exp(x @ a)
        each = {k: c * np.prod(a ** np.array(k)) for k, c in terms.items()}
        room = 1e-12 * sum(abs(c) for c in each.values()) * value.max()
        one = lambda y, a=a: ops.exp((y * f64(a)).sum(-1))
        product = lambda y, a=a: ops.exp(y[..., 0] * a[0]) / ops.exp((y[..., 1:] * f64(-a[1:])).sum(-1))
        for f in (one, product):
            got = dg.linear_operator(terms)(f)(f64(x)).asnumpy()
            np.testing.assert_allclose(got, sum(each.values()) * value, rtol=0, atol=room, err_msg=str(terms))


def derivative_along(f, e, k):
    """The k-th derivative of f along e, by nested forward derivatives."""
    for _ in range(k):
        f = lambda y, g=f: dg.jvp(g, y, e)[1]
    return f


def nested(terms):
    """The operator by nested forward derivatives, row by row."""

    def operator(f):
        def apply(x):
            total = 0.0
            for index, c in terms.items():
                g = f
                for i, k in enumerate(index):
                    e = np.zeros(x.shape)
                    e[..., i] = 1.0
                    g = derivative_along(g, f64(e), k)
                total = total + float(c) * g(x)
            return total

        return apply

    return operator


LOSSES = {name: TABLE[name][0] for name in ("mixed", "Laplacian 3", "heat", "wave 2 + 1", "Korteweg-de Vries, linear",
                                           "biharmonic 2", "no degrees", "second order, all terms")}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_of_losses_by_weights_and_inputs(name):
    terms = {a: float(c) for a, c in LOSSES[name].items()}
    dimensions = len(next(iter(terms)))
    weights = [f64(w) for w in network(dimensions, 4)]
    x = f64(RNG.normal(size=(3, dimensions)) / 2)
    at = tuple(range(6))

    def loss(operator):
        # with a quotient, so that operands of two kinds meet
        f = lambda *w: lambda y: scalar(y, *w) / (1.5 + ops.cos(y).sum(-1) * w[1].sum() * 0.1)
        return lambda x, *w: (operator(f(*w))(x) ** 2).sum()

    ours, theirs = loss(dg.linear_operator(terms)), loss(nested(terms))
    found, expected = dg.grad(ours, at)(x, *weights), dg.grad(theirs, at)(x, *weights)
    for g, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(g.asnumpy(), e.asnumpy(), rtol=1e-9, atol=1e-10 * float(ops.abs(e).max()))
    along = tuple(f64(RNG.normal(size=w.shape)) for w in (x, *weights))
    for second in (
        lambda f: dg.jvp(dg.grad(f, at), (x, *weights), along)[1],
        lambda f: dg.grad(lambda *w: dg.jvp(f, w, along)[1], at)(x, *weights),
    ):
        for g, e in zip(second(ours), dg.jvp(dg.grad(theirs, at), (x, *weights), along)[1], strict=True):
            np.testing.assert_allclose(g.asnumpy(), e.asnumpy(), rtol=1e-9, atol=1e-9 * float(ops.abs(e).max()))
    recorded = dg.jit(lambda *w: dg.grad(ours, at)(*w))
    for _ in range(3):
        again = recorded(x, *weights)
    for g, e in zip(again, found, strict=True):
        np.testing.assert_allclose(g.asnumpy(), e.asnumpy(), rtol=1e-11, atol=1e-12 * float(ops.abs(e).max()))


def test_several_operators_at_once():
    """Four channels for u, u_x, u_t, u_xx; no single functional pairs them, and gradients go through the dual space."""
    weights = [f64(w) for w in network(2, 4)]
    x = f64(RNG.normal(size=(3, 2)))
    wanted = {"u": (0, 0), "u_x": (1, 0), "u_t": (0, 1), "u_xx": (2, 0)}
    plan = dg.derivatives(ops.sin, wanted, explain=True)(x)
    assert plan.chosen.channels == 4

    def ours(x, *w):
        d = dg.derivatives(lambda y: scalar(y, *w), wanted)(x)
        return ((d["u_t"] + d["u"] * d["u_x"] - 0.1 * d["u_xx"]) ** 2).sum()

    def theirs(x, *w):
        d = {name: nested({a: 1})(lambda y: scalar(y, *w))(x) for name, a in wanted.items()}
        return ((d["u_t"] + d["u"] * d["u_x"] - 0.1 * d["u_xx"]) ** 2).sum()

    for g, e in zip(
        dg.grad(ours, tuple(range(6)))(x, *weights), dg.grad(theirs, tuple(range(6)))(x, *weights), strict=True
    ):
        np.testing.assert_allclose(g.asnumpy(), e.asnumpy(), rtol=1e-11, atol=1e-13)


def solution(y, w):
    """The sum of what solves a system of equations at each point."""
    matrix = ops.sin(y[:, :1, None]) * w + 4.0 * np.eye(3)
    return dg.numpy.linalg.solve(matrix, ops.cos(y[:, 1:, None] * np.arange(3.0)[:, None])).sum((1, 2))


def test_an_operator_without_degrees_of_a_solution():
    """The correction of `solve` is `solve`, which would not end along a line in the algebra."""
    w, x = f64(RNG.normal(size=(3, 3)) / 8), f64(RNG.normal(size=(4, 2)))
    terms = TABLE["no degrees"][0]
    found = dg.linear_operator(terms)(lambda y: solution(y, w))(x)
    np.testing.assert_allclose(found.asnumpy(), nested(terms)(lambda y: solution(y, w))(x).asnumpy(), rtol=1e-10)


def test_gradients_of_several_operators_of_a_solution():
    """The rule of `solve` applies it to an element and to a cotangent, which has more coefficients here."""
    w, x = f64(RNG.normal(size=(3, 3)) / 8), f64(RNG.normal(size=(4, 2)))
    wanted = {"u": (0, 0), "u_x": (1, 0), "u_t": (0, 1), "u_xx": (2, 0)}

    def residual(found):
        return ((found["u_t"] + found["u"] * found["u_x"] - 0.1 * found["u_xx"]) ** 2).sum()

    def ours(w):
        return residual(dg.derivatives(lambda y: solution(y, w), wanted)(x))

    def theirs(w):
        return residual({name: nested({a: 1})(lambda y: solution(y, w))(x) for name, a in wanted.items()})

    np.testing.assert_allclose(dg.grad(ours)(w).asnumpy(), dg.grad(theirs)(w).asnumpy(), rtol=1e-10)


@pytest.mark.parametrize("dimensions", [2, 3, 4])
def test_all_ways_agree(dimensions):
    weights = [f64(w) for w in network(dimensions)]
    f = lambda y: scalar(y, *weights)
    x = f64(RNG.normal(size=(3, dimensions)) / 2)
    for operator in (dg.laplacian, dg.biharmonic):
        plan = operator(f, explain=True)(x)
        found = {way.name: operator(f, way=way.name)(x).asnumpy() for way in plan.ways}
        assert len(found) == 3
        for value in found.values():
            np.testing.assert_allclose(value, found["algebra"], rtol=1e-10)
    elliptic = {tuple(2 * (k == i) for k in range(dimensions)): 1.0 + i for i in range(dimensions)}
    expected = dg.linear_operator(elliptic)(f)(x).asnumpy()
    np.testing.assert_allclose(nested(elliptic)(f)(x).asnumpy(), expected, rtol=1e-11)


def test_lower_derivatives():
    w = [f64(w) for w in network(2)]
    x = f64(RNG.normal(size=(3, 2)))
    f = lambda y: scalar(y, *w)
    for operator, orders in (
        (dg.laplacian(f, lower=True), 1),
        (dg.biharmonic(f, lower=True), 2),
        (dg.mixed_partial(f, (2, 1), lower=True), None),
    ):
        _, lower = operator(x)
        expected = (
            {(i, j) for i in range(3) for j in range(2)}
            if orders is None
            else {(i, j) for i, j in itertools.product(range(orders + 1), repeat=2) if i + j <= orders}
        )
        assert set(lower) == expected
        for index, value in lower.items():
            np.testing.assert_allclose(value.asnumpy(), nested({index: 1})(f)(x).asnumpy(), rtol=1e-11, atol=1e-14)
    with pytest.raises(KeyError, match="not among"):
        _ = lower[3, 0]


def test_coefficients_that_vary():
    w = [f64(w) for w in network(2)]
    x = f64(RNG.normal(size=(3, 2)))
    a = ops.exp(x[:, 0])
    found = dg.linear_operator({(2, 0): a, (0, 1): 2.0, (0, 0): f64(3.0)})(lambda y: scalar(y, *w))(x)
    d = lambda *index: nested({index: 1})(lambda y: scalar(y, *w))(x).asnumpy()
    expected = a.asnumpy() * d(2, 0) + 2 * d(0, 1) + 3 * d(0, 0)
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12)
    # differentiated by the coefficient, and by the point it depends on
    g = dg.grad(lambda c: dg.linear_operator({(2, 0): c})(lambda y: scalar(y, *w))(x).sum())(a)
    np.testing.assert_allclose(g.asnumpy(), d(2, 0), rtol=1e-12)
    with pytest.raises(ValueError, match="does not broadcast"):
        dg.linear_operator({(2, 0): f64(np.ones((2, 3)))})(lambda y: scalar(y, *w))(x)


def test_fields():
    w = [f64(w) for w in network(3, outputs=3)]
    f = lambda y: forward(y, *w)
    x = f64(RNG.normal(size=(4, 3)))
    jacobian = np.stack([dg.jvp(f, x, ops.zeros_like(x) + f64(np.eye(3)[i]))[1].asnumpy() for i in range(3)], -1)
    np.testing.assert_allclose(dg.divergence(f)(x).asnumpy(), np.trace(jacobian, axis1=1, axis2=2), rtol=1e-12)
    expected = np.stack(
        [jacobian[:, (k + 2) % 3, (k + 1) % 3] - jacobian[:, (k + 1) % 3, (k + 2) % 3] for k in range(3)], -1
    )
    np.testing.assert_allclose(dg.curl(f)(x).asnumpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(dg.curl(f)(x[2]).asnumpy(), expected[2], rtol=1e-12)
    np.testing.assert_allclose(dg.divergence(f)(x[2]).asnumpy(), np.trace(jacobian[2]), rtol=1e-12)
    # identities, and gradients of losses of them
    np.testing.assert_allclose(dg.divergence(dg.curl(f))(x).asnumpy(), 0.0, atol=1e-14)
    slope = dg.grad(
        lambda v: (
            (dg.curl(lambda y: forward(y, *w[:-1], v))(x) ** 2).sum()
            + dg.divergence(lambda y: forward(y, *w[:-1], v))(x).sum()
        )
    )
    step = f64(RNG.normal(size=w[-1].shape))
    loss = lambda s: (
        (dg.curl(lambda y: forward(y, *w[:-1], w[-1] + s * step))(x) ** 2).sum()
        + dg.divergence(lambda y: forward(y, *w[:-1], w[-1] + s * step))(x).sum()
    )
    np.testing.assert_allclose(
        float((slope(w[-1]) * step).sum()), float(dg.jvp(loss, f64(0.0), f64(1.0))[1]), rtol=1e-12
    )
    # a vector Laplacian, component by component
    found = dg.laplacian(f)(x).asnumpy()
    for m in range(3):
        np.testing.assert_allclose(found[:, m], dg.laplacian(lambda y, m=m: f(y)[..., m])(x).asnumpy(), rtol=1e-12)


def test_known_functions():
    x = f64(RNG.normal(size=(6, 3)) + 2.0)
    r2 = lambda y: (y * y).sum(-1)
    np.testing.assert_allclose(dg.laplacian(r2)(x).asnumpy(), 6.0)
    np.testing.assert_allclose(dg.laplacian(lambda y: 1 / ops.sqrt(r2(y)))(x).asnumpy(), 0.0, atol=1e-15)
    np.testing.assert_allclose(dg.biharmonic(lambda y: r2(y) ** 2)(x).asnumpy(), 8 * 3 * 5, rtol=1e-13)
    np.testing.assert_allclose(dg.biharmonic(lambda y: r2(y) * ops.log(r2(y)))(x[:, :2]).asnumpy(), 0.0, atol=1e-13)
    assert dg.laplacian(lambda y: y.sum(-1))(x).asnumpy().tolist() == [0.0] * 6
    assert dg.laplacian(lambda y: ops.zeros(6, dtype=y.dtype))(x).asnumpy().tolist() == [0.0] * 6
    single = dg.laplacian(r2)(dg.Tensor(x.asnumpy().astype(np.float32)))
    assert single.dtype == "float32"


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Dense(2, 8, activation="tanh")
        self.out = nn.Dense(8, 1)

    def construct(self, x):
        return self.out(self.hidden(x))[:, 0]


def test_cells_and_their_weights():
    net = Net()
    x = dg.Tensor(RNG.normal(size=(5, 2)).astype(np.float32))
    loss = lambda x: (dg.laplacian(net, check=True)(x) ** 2).sum()
    value, grads = dg.value_and_grad(loss, None, net.trainable_params())(x)
    same = lambda x: (nested({(2, 0): 1, (0, 2): 1})(lambda y: net(y))(x) ** 2).sum()
    assert float(value) > 0
    w = net.hidden.weight
    g = grads[[p.name for p in net.trainable_params()].index(w.name)].asnumpy()
    step = 1e-2
    moved = w.asnumpy().copy()
    moved[3, 1] += step
    before = w.asnumpy().copy()
    w.set_data(dg.Tensor(moved))
    up = float(loss(x))
    moved[3, 1] -= 2 * step
    w.set_data(dg.Tensor(moved))
    down = float(loss(x))
    w.set_data(dg.Tensor(before))
    np.testing.assert_allclose(g[3, 1], (up - down) / (2 * step), rtol=2e-2, atol=1e-4)
    assert same is not None


# --------------------------------------------------------------------------------------------------------- estimates


# ------------------------------------------------------------------------------------------------------------ errors
