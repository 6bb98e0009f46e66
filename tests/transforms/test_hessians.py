"""hessian, hvp and linearize: closed forms, nests, weights, the work they do."""

import itertools

import mpmath
import numpy as np
import pytest
from engine import forget_programs, programs
from support import f64, steps, work

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops

RNG = np.random.default_rng(11)


def log_sum(x):
    return ops.log(ops.exp(x).sum())


def log_sum_hessian(x):
    p = np.exp(x) / np.exp(x).sum()
    return np.diag(p) - np.outer(p, p)


def rosenbrock(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def rosenbrock_hessian(x):
    found = np.diag(-400.0 * x[:-1], 1) + np.diag(-400.0 * x[:-1], -1)
    found[np.arange(len(x) - 1), np.arange(len(x) - 1)] += 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
    found[np.arange(1, len(x)), np.arange(1, len(x))] += 200.0
    return found


MATRIX = RNG.normal(size=(5, 5))
CLOSED = {
    "logarithm of a sum": (log_sum, log_sum_hessian),
    "Rosenbrock": (rosenbrock, rosenbrock_hessian),
    "quadratic form": (lambda x: x @ f64(MATRIX) @ x, lambda x: MATRIX + MATRIX.T),
    "norm": (
        lambda x: ops.sqrt((x * x).sum()),
        lambda x: (np.eye(5) - np.outer(x, x) / (x @ x)) / np.sqrt(x @ x),
    ),
}
D = dg.jacfwd, dg.jacrev


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_every_way(name):
    f, closed = CLOSED[name]
    x = RNG.normal(size=5)
    expected = closed(x)
    ways = {"hessian": dg.hessian(f), "chunks": dg.hessian(f, chunk_size=2), "jit": dg.jit(dg.hessian(f))}
    for outer, inner in itertools.product(D, repeat=2):
        ways[f"{outer.__name__} of {inner.__name__}"] = outer(inner(f))
        ways[f"{outer.__name__} of grad"] = outer(dg.grad(f))
    ways["vjp and vmap"] = lambda x: dg.vmap(lambda v: dg.vjp(dg.grad(f), x)[1](v)[0])(f64(np.eye(5)))
    ways["hvp and vmap"] = lambda x: dg.vmap(lambda v: dg.hvp(f)(x, v))(f64(np.eye(5)))
    ways["linearize and vmap"] = lambda x: dg.vmap(dg.linearize(dg.grad(f), x)[1])(f64(np.eye(5)))
    ways["GradOperation"] = lambda x: dg.jacfwd(ops.GradOperation()(f))(x)
    for way, hessian in ways.items():
        for _ in range(3 if way == "jit" else 1):
            found = hessian(f64(x)).asnumpy()
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * abs(expected).max(), err_msg=way)


def test_third_and_fourth_derivatives_of_vectors():
    """All mixed derivatives of exp(a.x) are products of a's, in any order of nesting."""
    a = RNG.normal(size=3)
    x = RNG.normal(size=3)
    f = lambda x: ops.exp(f64(a) @ x)
    third = np.einsum("i,j,k->ijk", a, a, a) * np.exp(a @ x)
    for first, second in itertools.product((dg.jacfwd, dg.jacrev), repeat=2):
        for found in first(dg.hessian(f)), first(second(dg.grad(f))), dg.hessian(first(f)):
            np.testing.assert_allclose(found(f64(x)).asnumpy(), third, rtol=1e-13)
    np.testing.assert_allclose(
        dg.hessian(dg.hessian(f))(f64(x)).asnumpy(), np.einsum("ijk,l->ijkl", third, a), rtol=1e-13
    )


def test_derivatives_of_traces_and_products():
    a, x = RNG.normal(size=4), RNG.normal(size=4)
    f = lambda x: ops.sin(f64(a) @ x)
    s, c = np.sin(a @ x), np.cos(a @ x)
    trace = lambda x: ops.trace(dg.hessian(f)(x))
    near = lambda found, expected: np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12)
    near(dg.grad(trace)(f64(x)), -(a @ a) * a * c)
    near(dg.jit(dg.grad(trace))(f64(x)), -(a @ a) * a * c)
    near(dg.hessian(trace)(f64(x)), (a @ a) * np.outer(a, a) * s)
    near(dg.grad(lambda x: dg.hvp(f)(x, x).sum())(f64(x)), -(a.sum()) * (a * s + (a @ x) * a * c))
    samples = RNG.normal(size=(3, 4))
    near(dg.vmap(dg.hessian(f))(f64(samples)), -np.sin(samples @ a)[:, None, None] * np.outer(a, a))
    near(
        dg.grad(lambda x: dg.vmap(lambda y: ops.trace(dg.hessian(f)(y)))(x).sum())(f64(samples)),
        -np.cos(samples @ a)[:, None] * (a @ a) * a,
    )
    near(dg.hessian(lambda x: (dg.grad(f)(x) ** 2).sum())(f64(x)), (a @ a) * 2 * (s * s - c * c) * np.outer(a, a))


def test_an_outer_variable_inside():
    """The Hessian by y of a function that closes over x, differentiated by x."""
    f = lambda x: dg.hessian(lambda y: (x * y**3).sum())(x).diagonal().sum()
    np.testing.assert_allclose(dg.grad(f)(f64([1.0, 2.0])).asnumpy(), [12.0, 24.0])
    f = lambda x: dg.jacfwd(lambda y: x * y * y)(x).sum() + dg.jacrev(lambda y: x * y * y)(x).sum()
    np.testing.assert_allclose(dg.grad(f)(f64([1.0, 2.0])).asnumpy(), [8.0, 16.0])
    np.testing.assert_allclose(dg.jacfwd(dg.grad(f))(f64([1.0, 2.0])).asnumpy(), 8 * np.eye(2))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = Parameter(f64(RNG.normal(size=(3, 4))), name="first")
        self.bias = Parameter(f64(RNG.normal(size=4)), name="bias")
        self.last = Parameter(f64(RNG.normal(size=4)), name="last")

    def construct(self, x):
        return (ops.tanh(x @ self.first + self.bias) @ self.last) ** 2


def flat_net(x):
    """The net as a function of one vector."""
    return lambda w: (ops.tanh(x @ w[:12].reshape((3, 4)) + w[12:16]) @ w[16:]) ** 2


def test_blocks_of_weights_and_inputs():
    net, x = Net(), f64(RNG.normal(size=3))
    weights = net.trainable_params()
    vector = f64(np.concatenate([p.asnumpy().ravel() for p in weights]))
    expected = dg.hessian(flat_net(x))(vector).asnumpy()
    blocks = dg.hessian(net, None, weights=weights)(x)
    places = [slice(0, 12), slice(12, 16), slice(16, 20)]
    for i, j in itertools.product(range(3), repeat=2):
        assert blocks[i][j].shape == weights[i].shape + weights[j].shape
        found = blocks[i][j].asnumpy().reshape(weights[i].size, weights[j].size)
        np.testing.assert_allclose(found, expected[places[i], places[j]], rtol=1e-12, atol=1e-13)
    (xx, (xw, _, _)), (wx, _, _) = dg.hessian(net, 0, weights=weights)(x)
    assert xx.shape == (3, 3)
    np.testing.assert_allclose(xw.asnumpy(), np.moveaxis(wx[0].asnumpy(), 2, 0), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(xx.asnumpy(), dg.hessian(net)(x).asnumpy(), rtol=1e-14)
    single = dg.hessian(net, None, weights=net.bias)(x)
    np.testing.assert_allclose(single.asnumpy(), expected[12:16, 12:16], rtol=1e-12)
    # products: one array for each parameter
    along = [f64(RNG.normal(size=p.shape)) for p in weights]
    products = dg.hvp(net, None, weights)(x, along)
    flat = expected @ np.concatenate([v.asnumpy().ravel() for v in along])
    np.testing.assert_allclose(np.concatenate([p.asnumpy().ravel() for p in products]), flat, rtol=1e-12)
    assert [p.shape for p in products] == [p.shape for p in weights]
    (by_x, by_weights), v = dg.hvp(net, 0, net.bias)(x, (x, along[1])), along[1].asnumpy()
    mixed = dg.jacrev(dg.grad(net), None, weights=net.bias)(x).asnumpy()
    np.testing.assert_allclose(by_x.asnumpy(), xx.asnumpy() @ x.asnumpy() + mixed @ v, rtol=1e-12)
    np.testing.assert_allclose(by_weights.asnumpy(), mixed.T @ x.asnumpy() + expected[12:16, 12:16] @ v, rtol=1e-12)
    # the step of an optimiser is seen, in a recording too
    recorded = dg.jit(dg.hessian(net, None, weights=net.bias))
    for _ in range(4):
        net.bias.set_data(net.bias + 0.1)
        np.testing.assert_allclose(
            recorded(x).asnumpy(), dg.hessian(net, None, weights=net.bias)(x).asnumpy(), rtol=1e-14
        )


def test_products_of_the_hessian():
    x, v = RNG.normal(size=5), RNG.normal(size=5)
    value, gradient, product = dg.hvp(log_sum, with_value=True)(f64(x), f64(v))
    np.testing.assert_allclose(float(value), np.log(np.exp(x).sum()), rtol=1e-15)
    np.testing.assert_allclose(gradient.asnumpy(), np.exp(x) / np.exp(x).sum(), rtol=1e-14)
    np.testing.assert_allclose(product.asnumpy(), log_sum_hessian(x) @ v, rtol=1e-12)
    np.testing.assert_array_equal(dg.hvp(log_sum)(f64(x), v=f64(v)).asnumpy(), product.asnumpy())
    with_aux = lambda x: (log_sum(x), x * 2.0, "text")
    found, aux = dg.hvp(with_aux, has_aux=True)(f64(x), f64(v))
    np.testing.assert_array_equal(found.asnumpy(), product.asnumpy())
    assert aux[1] == "text"
    np.testing.assert_array_equal(aux[0].asnumpy(), 2 * x)
    (value, doubled, text), gradient, found = dg.hvp(with_aux, has_aux=True, with_value=True)(f64(x), f64(v))
    assert (text, doubled.shape, gradient.shape) == ("text", (5,), (5,))
    # several inputs, and nests of them
    f = lambda x, y: (x["a"] ** 2 * y).sum()
    by_x, by_y = dg.hvp(f, (0, 1))({"a": f64([1.0, 2.0])}, f64([3.0, 4.0]), ({"a": f64([1.0, 0.0])}, f64([0.0, 1.0])))
    np.testing.assert_array_equal(by_x["a"].asnumpy(), [6.0, 4.0])
    np.testing.assert_array_equal(by_y.asnumpy(), [2.0, 0.0])
    # symmetric: <a, H b> = <b, H a>
    a, b = f64(RNG.normal(size=5)), f64(RNG.normal(size=5))
    left, right = a @ dg.hvp(rosenbrock)(f64(x), b), b @ dg.hvp(rosenbrock)(f64(x), a)
    np.testing.assert_allclose(float(left), float(right), rtol=1e-12)


def test_hessian_vector_products_of_an_ill_conditioned_function():
    """Against mpmath, where differences of gradients would have no digits left."""
    f = lambda x: ops.exp(-30.0 * x[0]) * ops.sin(x[1] * 40.0) / (x[0] + 1e-3)
    point, v = [0.002, 0.7], [0.3, -1.1]
    found = dg.hvp(f)(f64(point), f64(v)).asnumpy()
    with mpmath.workdps(40):
        m = mpmath.mpf
        g = lambda a, b: mpmath.exp(-30 * a) * mpmath.sin(b * 40) / (a + m(1e-3))
        along = [mpmath.mpf(t) for t in v]
        for i in range(2):
            orders = [tuple(int(k == i) + int(k == j) for k in range(2)) for j in range(2)]
            expected = sum(
                mpmath.diff(g, (m(point[0]), m(point[1])), o) * t for o, t in zip(orders, along, strict=True)
            )
            np.testing.assert_allclose(found[i], float(expected), rtol=1e-12)


# -------------------------------------------------------------------------------------------------------- linearize


def test_linearize_gives_the_tangents_of_jvp():
    f = lambda x, y: {"sum": ops.sin(x) + y[0] * y[1], "list": [x.sum(), 3, None], "constant": f64([1.0])}
    point = (f64(RNG.normal(size=3)), [f64(2.0), f64(RNG.normal(size=3))])
    value, tangent = dg.linearize(f, point)
    for _ in range(2):
        along = (f64(RNG.normal(size=3)), [f64(0.5), f64(RNG.normal(size=3))])
        expected_value, expected = dg.jvp(f, point, along)
        for found in tangent(*along), tangent(along):
            np.testing.assert_allclose(found["sum"].asnumpy(), expected["sum"].asnumpy(), rtol=1e-14)
            np.testing.assert_allclose(found["list"][0].asnumpy(), expected["list"][0].asnumpy(), rtol=1e-14)
            assert found["list"][1:] == [3, None]
            np.testing.assert_array_equal(found["constant"].asnumpy(), [0.0])
        np.testing.assert_array_equal(value["sum"].asnumpy(), expected_value["sum"].asnumpy())


@pytest.mark.eager("counts calls")
def test_linearize_calls_the_function_once():
    calls = []

    def f(x):
        calls.append(1)
        return ops.exp(ops.sin(x)).sum()

    x = f64([0.3, 0.4])
    _, tangent = dg.linearize(dg.grad(f), x)
    for v in np.eye(2):
        np.testing.assert_allclose(tangent(f64(v)).asnumpy(), dg.hvp(f)(x, f64(v)).asnumpy(), rtol=1e-14)
    assert len(calls) == 3


@pytest.mark.eager("looks at programs")
def test_the_tangent_of_linearize_is_recorded_without_what_is_constant():
    """The slopes too are known: three products with them, and one sum."""
    x = f64(RNG.normal(size=4))
    f = lambda x: ops.exp(ops.sin(x) * x).sum()
    _, tangent = dg.linearize(f, x)
    assert set(work(tangent, x)) <= {"mul", "absorb_mul", "add", "sum"}
    forget_programs()
    for _ in range(6):
        v = f64(RNG.normal(size=4))
        np.testing.assert_allclose(float(tangent(v)), float(dg.jvp(f, x, v)[1]), rtol=1e-13)
    assert programs() == []  # it lives and dies with the tangent
    _, product = dg.linearize(dg.grad(f), x)
    assert set(work(product, x)) <= {"mul", "absorb_mul", "add"}
    for _ in range(6):
        v = f64(RNG.normal(size=4))
        np.testing.assert_allclose(product(v).asnumpy(), dg.hvp(f)(x, v).asnumpy(), rtol=1e-12)


def test_linearize_is_differentiated_by_point_and_tangent():
    f = lambda x: ops.exp(x) * x
    along = lambda x, v: dg.linearize(f, x)[1](v).sum()
    x, v = f64([0.3, 0.4]), f64([2.0, 3.0])
    slope, curvature = np.exp(x.asnumpy()) * (1 + x.asnumpy()), np.exp(x.asnumpy()) * (2 + x.asnumpy())
    by_x, by_v = dg.grad(along, (0, 1))(x, v)
    np.testing.assert_allclose(by_v.asnumpy(), slope, rtol=1e-14)
    np.testing.assert_allclose(by_x.asnumpy(), curvature * v.asnumpy(), rtol=1e-14)
    hessian = dg.hessian(along, (0, 1))(x, v)
    np.testing.assert_allclose(hessian[0][1].asnumpy(), np.diag(curvature), rtol=1e-14)
    np.testing.assert_array_equal(hessian[1][1].asnumpy(), np.zeros((2, 2)))
    # made outside, used inside: linear, so its derivative is itself
    _, tangent = dg.linearize(f, x)
    np.testing.assert_allclose(dg.grad(lambda v: tangent(v).sum())(v).asnumpy(), slope, rtol=1e-14)
    np.testing.assert_allclose(dg.jacfwd(tangent)(v).asnumpy(), np.diag(slope), rtol=1e-14)
    np.testing.assert_allclose(dg.jacrev(tangent)(v).asnumpy(), np.diag(slope), rtol=1e-14)
    np.testing.assert_allclose(dg.vmap(tangent)(f64(np.eye(2))).asnumpy(), np.diag(slope), rtol=1e-14)


class Tripled(nn.Cell):
    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (3.0 * x * dout,)


def test_linearize_through_a_rule_that_is_no_derivative():
    x, v = f64([1.0, 2.0]), f64([1.0, 10.0])
    _, tangent = dg.linearize(Tripled(), x)
    np.testing.assert_array_equal(tangent(v).asnumpy(), [3.0, 60.0])
    np.testing.assert_array_equal(dg.grad(lambda v: tangent(v).sum())(v).asnumpy(), [3.0, 6.0])


# ------------------------------------------------------------------------------------------------------------- work


def logistic(n, d):
    inputs, labels = f64(RNG.normal(size=(n, d))), f64(np.sign(RNG.normal(size=n)))
    return lambda w: ops.softplus(-(labels * (inputs @ w))).mean(), inputs, labels


def test_the_hessian_of_a_regression_is_two_products():
    """One for the margins and one for X^T (D X): that with the unit vectors is none."""
    loss, inputs, labels = logistic(40, 30)
    w = f64(RNG.normal(size=30))
    products = [shape for name, shape in steps(dg.hessian(loss), w) if name == "matmul"]
    assert products == ["(40, 1)", "(30, 30)"]
    found = dg.hessian(loss)(w).asnumpy()
    x, y = inputs.asnumpy(), labels.asnumpy()
    slope = 1 / (2 + 2 * np.cosh(y * (x @ w.asnumpy())))
    np.testing.assert_allclose(found, (x.T * (slope / 40)) @ x, rtol=1e-12)


def test_value_and_gradient_are_computed_once_for_all_columns():
    x = f64(RNG.normal(size=3))
    columns = steps(dg.hessian(flat_net(x)), f64(RNG.normal(size=20)))
    single = [name for name, shape in columns if not shape.startswith("(20")]
    assert single.count("tanh") == 1
    # the same number of operations for the batch as for one direction
    f = lambda w: ops.tanh(w @ w) * ops.sin(w).sum()
    one = work(lambda x, v: dg.hvp(f)(x, v), f64(np.ones(9)), f64(np.ones(9)))
    assert len(work(dg.hessian(f), f64(np.ones(9)))) <= len(one) + 2


# ----------------------------------------------------------------------------------------------------------- errors


def test_errors_of_products():
    x, f = f64([1.0, 2.0]), lambda x: (x * x).sum()
    for args, error, words in (
        ((), TypeError, "direction is missing"),
        ((x, f64([1.0])), ValueError, r"tangent.*shape \(1,\).*\(2,\)"),
        ((x, Tensor([1.0, 2.0])), TypeError, "type Float32.*Float64"),
        ((x, 1.0), ValueError, r"tangent.*shape \(\).*\(2,\)"),
        ((x, 1), TypeError, "the direction is 1.*make it a float"),
        ((x, None), TypeError, "is a NoneType"),
        ((x, (x, x)), TypeError, "is a tuple"),
    ):
        with pytest.raises(error, match=f"hvp: .*{words}"):
            dg.hvp(f)(*args)
    with pytest.raises(ValueError, match=r"the direction is one tensor.*expected a tuple of 2"):
        dg.hvp(lambda x, y: f(x * y), (0, 1))(x, x, x)
    with pytest.raises(TypeError, match="with_value is 1"):
        dg.hvp(f, with_value=1)


def test_errors_of_linearize():
    x = f64([1.0, 2.0])
    with pytest.raises(TypeError, match=r"linearize: input 0 is 3.*make it a float"):
        dg.linearize(ops.sin, 3)
    with pytest.raises(TypeError, match="linearize: expected a function"):
        dg.linearize(3, x)
    _, tangent = dg.linearize(ops.sin, x)
    with pytest.raises(ValueError, match=r"linearize: the tangent.*shape \(1,\)"):
        tangent(f64([1.0]))
    with pytest.raises(TypeError, match=r"linearize: the tangent.*Float32"):
        tangent(Tensor([1.0, 2.0]))
    with pytest.raises(ValueError, match="2 tangents for 1 inputs"):
        tangent(x, x)
    _, tangent = dg.linearize(lambda x: x["a"] * x["b"][0], ({"a": x, "b": [x]},))
    with pytest.raises(ValueError, match="keys"):
        tangent({"a": x})
    with pytest.raises(ValueError, match="nesting"):
        tangent({"a": x, "b": [x, x]})
