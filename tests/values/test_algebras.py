"""Duals over algebras other than the dual numbers: jets, hyper-duals, the forward Laplacian."""

import mpmath
import numpy as np
import pytest
from engine import OPCODES, Algebra, jets, open_levels, quadratic_algebra, run_forward

import dualgrad as dg
from dualgrad import Tensor, nn, ops
from dualgrad.programs._listing import recording_of
from dualgrad.testing import taped_backward


def t(x):
    return Tensor(np.asarray(x, np.float64))


SCALAR = {
    "exp of sin": (lambda x: ops.exp(ops.sin(x)), lambda x: mpmath.exp(mpmath.sin(x))),
    "tanh over a polynomial": (lambda x: ops.tanh(x) / (1 + x * x), lambda x: mpmath.tanh(x) / (1 + x * x)),
    "sigmoid, sqrt, log": (
        lambda x: ops.sigmoid(x) * ops.sqrt(x + 1) * ops.log(2 + x),
        lambda x: mpmath.sqrt(x + 1) * mpmath.log(2 + x) / (1 + mpmath.exp(-x)),
    ),
    "inverse functions": (
        lambda x: ops.atan(x) + ops.asin(x) ** 2,
        lambda x: mpmath.atan(x) + mpmath.asin(x) ** 2,
    ),
    "a real power": (lambda x: (1 + x) ** 2.5, lambda x: (1 + x) ** mpmath.mpf("2.5")),
    "a variable power": (lambda x: (1 + x) ** x, lambda x: (1 + x) ** x),
    "erf": (lambda x: ops.erf(x), mpmath.erf),
}


@pytest.mark.parametrize("name", SCALAR)
def test_jets_of_order_eight_against_mpmath(name):
    ours, theirs = SCALAR[name]
    order, x = 8, 0.375
    jet = run_forward("jet", jets(order), ours, [[t(x), t(1.0)] + [None] * (order - 1)])
    with mpmath.workdps(50):
        expected = mpmath.taylor(theirs, mpmath.mpf(x), order)
    scale = max(abs(float(e)) for e in expected)
    for coefficient, e in zip(jet, expected, strict=True):
        np.testing.assert_allclose(float(coefficient), float(e), rtol=1e-12, atol=1e-14 * scale)


def hyper_duals(m):
    """R[e1..em]/(ei^2): element b is the product of the ei whose bit is set in b."""
    products = [(a, b, a | b, 1.0) for a in range(1, 1 << m) for b in range(1, 1 << m) if not a & b]
    return Algebra(f"hyper-duals of {m}", [b.bit_count() for b in range(1 << m)], products)


def laplacian_algebra(dimensions):
    """Basis 1, e1..eD, s with ei ej = delta_ij s: the coefficient of s is half the Laplacian."""
    s = dimensions + 1
    return Algebra("Laplacian", [0] + [1] * dimensions + [2], [(i, i, s, 1.0) for i in range(1, s)])


def test_hyper_duals_give_a_mixed_third_derivative():
    f = lambda x, y, z: ops.sin(x * y) * ops.exp(y * z) + x * z
    inputs = [[t(0.3)] + [None] * 7, [t(-0.7)] + [None] * 7, [t(1.1)] + [None] * 7]
    for i in range(3):
        inputs[i][1 << i] = t(1.0)
    got = run_forward("hyper", hyper_duals(3), f, inputs)[7]
    with mpmath.workdps(40):
        g = lambda x, y, z: mpmath.sin(x * y) * mpmath.exp(y * z) + x * z
        expected = mpmath.diff(g, (0.3, -0.7, 1.1), (1, 1, 1))
    np.testing.assert_allclose(float(got), float(expected), rtol=1e-13)


def test_forward_laplacian_of_a_network_against_the_trace_of_its_hessian():
    rng = np.random.default_rng(3)
    w1, w2, w3 = rng.normal(size=(4, 8)), rng.normal(size=(8, 8)) / 3, rng.normal(size=(8, 1))
    net = lambda x: ops.sum(ops.tanh(ops.tanh(x @ w1) @ w2) @ w3)
    x = rng.normal(size=(1, 4))
    parts = [t(x)] + [t(np.eye(4)[i : i + 1]) for i in range(4)] + [None]
    got = 2.0 * float(run_forward("laplacian", laplacian_algebra(4), net, [parts])[5])
    trace = 0.0
    for i in range(4):
        e = np.eye(4)[i : i + 1]
        trace += dg.grad(lambda x, e=e: ops.sum(dg.grad(net)(x) * e))(t(x)).asnumpy()[0, i]
    np.testing.assert_allclose(got, trace, rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_jets_agree_with_nested_duals_through_structural_primitives(order):
    rng = np.random.default_rng(order)
    x, v = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))

    def f(x):
        y = ops.cat((x, ops.square(x)), 1)
        y = ops.where(y > 0, ops.exp(y), y) @ y.T
        return ops.sum(ops.amax(y, 1) * ops.cumsum(y, 0)[:, 1]) + ops.norm(y[::2])

    jet = run_forward("jet", jets(order), f, [[t(x), t(v)] + [None] * (order - 1)])
    g = f
    for _ in range(order):
        g = lambda x, g=g: dg.jvp(g, x, t(v))[1]
    factorial = float(mpmath.factorial(order))
    np.testing.assert_allclose(float(jet[order]) * factorial, float(g(t(x))), rtol=1e-11)


# ------------------------------------------------------------------------ losses of elements, and their gradients


def unrelated(dimensions):
    """1, x_i, x_0^2: no functional pairs its elements."""
    n = dimensions + 1
    return Algebra("unrelated", [0] + [1] * dimensions + [2], [(1, 1, n, 1.0)])


def without_degrees():
    """R[x]/x^4 with x^3 hidden in another element, so that degrees do not add up."""
    return Algebra("no degrees", [0, 1, 1, 2], [(1, 1, 3, 1.0), (1, 3, 2, 2.0), (3, 1, 2, 2.0)], None, False, 3)


ALGEBRAS = {
    **{f"jets {k}": jets(k) for k in (1, 2, 3, 5)},
    "hyper-duals 2": hyper_duals(2),
    "hyper-duals 3": hyper_duals(3),
    "Laplacian 3": laplacian_algebra(3),
    "second order, in blocks": quadratic_algebra(3, 2),
    "second order, one block": quadratic_algebra(0, 2),
    "unrelated": unrelated(2),
    "first order": Algebra("first order", [0, 1], [], [1, 4]),
    "a product of zero": Algebra("one square", [0, 1, 1, 2], [(1, 1, 3, 1.0), (2, 2, 3, 0.0)]),
    "no degrees": without_degrees(),
}


def element(algebra, rng, shape):
    return [
        t(rng.normal(size=shape if size == 1 else (size, *shape)) / (1 + k)) for k, size in enumerate(algebra.sizes)
    ]


def program(x, w, b):
    """Products, quotients, matrix products on both sides, selections, joins, and what is constant in between."""
    y = ops.tanh(x @ w + b)
    y = ops.cat((y, ops.where(y > 0, ops.exp(y), y * w[0])), 1) / (2.0 + ops.cos(x).sum(1, keepdims=True))
    z = (w @ w.T) @ y[:3]
    return ops.amax(y, 1) + (ops.pow(z, 3).sum(0) * ops.sqrt(1 + b * b).sum()).mean() + ops.atan2(y[:, 0], 2 + y[:, 1])


def loss_of(algebra):
    def loss(w, b, *parts):
        found = run_forward("element", algebra, lambda x: program(x, w, b), [list(parts)])
        return sum((ops.sin(c) * (k + 1.0)).sum() for k, c in enumerate(found))

    return loss


@pytest.mark.parametrize("name", ALGEBRAS)
def test_gradients_of_losses_of_elements(name):
    """One reverse sweep against forward derivatives of the whole, to third order."""
    algebra = ALGEBRAS[name]
    rng = np.random.default_rng(11)
    args = (t(rng.normal(size=(3, 3))), t(rng.normal(size=3)), *element(algebra, rng, (4, 3)))
    along = tuple(t(rng.normal(size=a.shape)) for a in args)
    loss, every = loss_of(algebra), tuple(range(len(args)))
    dot = lambda gradients: sum((g * v).sum() for g, v in zip(gradients, along, strict=True))
    forward = dg.jvp(loss, args, along)[1]
    np.testing.assert_allclose(float(dot(dg.grad(loss, every)(*args))), float(forward), rtol=1e-11)
    twice = dg.jvp(lambda *a: dg.jvp(loss, a, along)[1], args, along)[1]
    for second in (
        lambda *a: dg.jvp(lambda *b: dot(dg.grad(loss, every)(*b)), a, along)[1],
        lambda *a: dot(dg.grad(lambda *b: dg.jvp(loss, b, along)[1], every)(*a)),
        lambda *a: dot(dg.grad(lambda *b: dot(dg.grad(loss, every)(*b)), every)(*a)),
    ):
        np.testing.assert_allclose(float(second(*args)), float(twice), rtol=1e-10)
    third = dot(dg.grad(lambda *b: dot(dg.grad(lambda *c: dot(dg.grad(loss, every)(*c)), every)(*b)), every)(*args))
    thrice = dg.jvp(lambda *a: dg.jvp(lambda *b: dg.jvp(loss, b, along)[1], a, along)[1], args, along)[1]
    np.testing.assert_allclose(float(third), float(thrice), rtol=1e-9)
    with taped_backward():
        recorded = dot(dg.grad(lambda *b: dot(dg.grad(loss, every)(*b)), every)(*args))
    np.testing.assert_allclose(float(recorded), float(twice), rtol=1e-10)
    batched = dg.vmap(lambda s: dot(dg.grad(loss, every)(*[s * a for a in args])))(t([1.0, 0.5]))
    np.testing.assert_allclose(batched.asnumpy()[0], float(forward), rtol=1e-11)
    through = dg.grad(lambda w: dg.vmap(lambda s: loss(w, s * args[1], *args[2:]))(t([1.0, 0.5])).sum())(args[0])
    apart = [dg.grad(loss)(args[0], s * args[1], *args[2:]).asnumpy() for s in (1.0, 0.5)]
    np.testing.assert_allclose(through.asnumpy(), sum(apart), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ALGEBRAS)
def test_gradients_of_elements_through_primitives_with_functions(name):
    """Their rules apply other primitives with functions, here to an element and to a cotangent."""
    algebra = ALGEBRAS[name]
    rng = np.random.default_rng(12)

    def solved(x, w):
        matrix = x.T @ x + w + 4.0 * np.eye(3)
        return dg.numpy.linalg.solve(matrix, ops.sin(x[0])) + dg.numpy.linalg.inv(matrix)[1]

    def loss(w, *parts):
        found = run_forward("element", algebra, lambda x: solved(x, w), [list(parts)])
        return sum((ops.sin(c) * (k + 1.0)).sum() for k, c in enumerate(found))

    args = (t(rng.normal(size=(3, 3)) / 8), *element(algebra, rng, (4, 3)))
    along = tuple(t(rng.normal(size=a.shape)) for a in args)
    gradients = dg.grad(loss, tuple(range(len(args))))(*args)
    found = sum((g * v).sum() for g, v in zip(gradients, along, strict=True))
    np.testing.assert_allclose(float(found), float(dg.jvp(loss, args, along)[1]), rtol=1e-11)


@pytest.mark.parametrize("name", ALGEBRAS)
def test_elements_inside_elements(name):
    """An algebra in an algebra is their tensor product, in either order."""
    rng = np.random.default_rng(4)
    algebra = ALGEBRAS[name]
    parts, direction = element(algebra, rng, (3,)), t(rng.normal(size=3))
    f = lambda x: ops.sin(x) * ops.exp(x[::-1] / 2)
    outside = run_forward(
        "outer",
        jets(2),
        lambda s: tuple(run_forward("inner", algebra, lambda x: f(x + s * direction), [parts])),
        [[t(0.0), t(1.0), None]],
    )
    for k in range(algebra.dim):
        inside = lambda s, k=k: run_forward("inner", algebra, lambda x: f(x + s * direction), [parts])[k]
        second = dg.jvp(lambda s, inside=inside: dg.jvp(inside, s, t(1.0))[1], t(0.0), t(1.0))[1]
        np.testing.assert_allclose(2 * outside[k][2].asnumpy(), second.asnumpy(), rtol=1e-11, atol=1e-13)


def test_blocks_and_single_channels_agree():
    rng = np.random.default_rng(2)
    x, w, b = t(rng.normal(size=(4, 3))), t(rng.normal(size=(3, 3))), t(rng.normal(size=3))
    e, s = rng.normal(size=(3, 4, 3)), t(rng.normal(size=(4, 3)))
    blocks = run_forward("blocks", quadratic_algebra(3, 0), lambda x: program(x, w, b), [[x, t(e), s]])
    single = run_forward("single", laplacian_algebra(3), lambda x: program(x, w, b), [[x, *map(t, e), s]])
    np.testing.assert_allclose(blocks[1].asnumpy(), np.stack([c.asnumpy() for c in single[1:4]]), rtol=1e-13)
    np.testing.assert_allclose(blocks[2].asnumpy(), single[4].asnumpy(), rtol=1e-13)


def test_kinks_and_constants():
    """Masks are those of the primal; what is stopped is a constant of the level; zero absorbs."""
    x = t([-1.0, 0.0, 2.0])
    parts = [x, t(np.ones(3)), t(np.full(3, 0.5))]
    relu = run_forward("jet", jets(2), ops.relu, [parts])
    np.testing.assert_array_equal(relu[1].asnumpy(), [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(relu[2].asnumpy(), [0.0, 0.0, 0.5])
    stopped = run_forward("jet", jets(2), lambda x: ops.stop_gradient(x) * x, [parts])
    np.testing.assert_array_equal(stopped[2].asnumpy(), x.asnumpy() * 0.5)
    loss = lambda w: run_forward("jet", jets(2), lambda x: ops.sqrt(ops.relu(x) * w), [parts])[1].sum()
    np.testing.assert_allclose(float(dg.grad(loss)(t(1.0))), 0.5 * 0.5 / np.sqrt(2), rtol=1e-14)


class Halved(nn.Cell):
    def construct(self, x):
        return ops.exp(x)

    def bprop(self, x, out, dout):
        return (0.5 * dout * out,)


def test_a_cell_with_its_own_rule():
    """Coefficients follow its rule; under a gradient that is refused, since the rule need not be a derivative."""
    cell = Halved()
    e, w = t(np.ones((2, 1))), t(1.0)
    lap = lambda w: run_forward("laplacian", quadratic_algebra(2, 0), lambda x: cell(x * w), [[t([0.3]), e, None]])[2]
    np.testing.assert_allclose(lap(w).asnumpy(), [2 * np.exp(0.3) / 8], rtol=1e-14)
    with pytest.raises(NotImplementedError, match="own bprop"):
        dg.grad(lap)(w)
    with pytest.raises(NotImplementedError, match="no degrees"):
        run_forward("element", without_degrees(), cell, [[t(0.3), t(1.0), None, None]])
    assert not open_levels()


def test_coefficients_are_checked():
    for parts, text in (
        ([t(1.0), t(1.0)], "has 2 coefficients; expected one for each of the 3"),
        ([t([1.0, 2.0]), t(1.0), None], r"coefficient 1 .* expected \(2,\)"),
    ):
        with pytest.raises(ValueError, match=text):
            run_forward("jet", jets(2), ops.sin, [parts])
    with pytest.raises(ValueError, match=r"expected \(3, 2\)"):
        run_forward("laplacian", quadratic_algebra(3, 0), ops.sin, [[t([1.0, 2.0]), t([1.0, 2.0]), None]])
    with pytest.raises(ValueError, match="does not have the degree"):
        Algebra("wrong", [0, 1, 1], [(1, 1, 2, 1.0)])
    assert repr(quadratic_algebra(3, 1)) == "<algebra second order, signature (3, 1), 6 channels>"


def test_a_value_kept_from_an_element():
    kept = []
    run_forward("jet", jets(2), lambda x: kept.append(x * x) or x, [[t(3.0), t(1.0), None]])
    assert float(kept[0] * 2.0) == 18.0

    def f(w):
        run_forward("jet", jets(2), lambda x: kept.append(x * w) or x * w, [[t(3.0), t(1.0), None]])
        return kept[-1] * 2.0

    with pytest.raises(RuntimeError, match="jet"):
        dg.grad(f)(t(1.0))
    assert not open_levels()


@pytest.mark.parametrize(("rows", "products"), [(64, 2 + 2), (65, 2 * 5)])
def test_coefficients_of_a_few_rows_are_one_product(rows, products):
    """In each of two layers: one for the points, and one for all coefficients or one for each of the four."""
    rng = np.random.default_rng(7)
    w = t(rng.normal(size=(3, 3)))
    x, v = t(rng.normal(size=(rows, 3))), t(rng.normal(size=(rows, 3)))

    def f(x, v):
        return run_forward("jet", jets(4), lambda y: ops.sin(ops.sin(y) @ w) @ w, [[x, v, None, None, None]])

    steps = recording_of(f, (x, v), {}).program.steps
    assert sum(step[0] == OPCODES["matmul"] for step in steps) == products


def test_recorded_directions_that_repeat_a_row_may_not_do_so_later():
    """Products of repeated rows are found for one row; a program must not rely on that for what it is given."""
    rng = np.random.default_rng(6)
    x, w = t(rng.normal(size=(5, 3))), t(rng.normal(size=(3, 3)))
    f = lambda x, v: run_forward("jet", jets(2), lambda y: ops.tanh(y @ w), [[x, v, None]])[2]
    recorded = dg.jit(f)
    for v in 3 * [ops.broadcast_to(t(rng.normal(size=3)), (5, 3))] + 2 * [t(rng.normal(size=(5, 3)))]:
        np.testing.assert_allclose(recorded(x, v).asnumpy(), f(x, v).asnumpy(), rtol=1e-13)
    held = dg.Parameter(ops.broadcast_to(t(rng.normal(size=3)), (5, 3)), name="held")
    read = dg.jit(lambda x: f(x, held))
    for _ in range(3):
        first = read(x).asnumpy()
    held.set_data(t(rng.normal(size=(5, 3))))
    second = read(x).asnumpy()
    np.testing.assert_allclose(second, f(x, held).asnumpy(), rtol=1e-13)
    assert not np.allclose(first, second)
