"""`cond` in recorded functions: one program for both branches, whatever is around it; loops in branches of samples."""

import warnings

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops
from dualgrad.testing import Calls

pytestmark = pytest.mark.eager("records by itself")

W = Tensor([0.7, 1.3, 0.4], dg.float64)
P = Parameter(np.array([0.5, 1.5, 2.5]), name="p")
POINTS = [np.array([0.5, 0.2, 0.9]), np.array([-0.5, 0.2, -0.9])]
ROWS = np.array([[0.5, 0.2, 0.9], [-0.5, 0.2, -0.9], [0.1, 0.3, 0.2]])

# ------------------------------------------------------------------------------------------------------- functions


def operands(x):
    return dg.cond(x.sum() > 0, lambda x: ops.sin(x) * x, lambda x: ops.exp(-x) * 3.0, x)


def closures(x):
    y = x * x
    return dg.cond(x.sum() > 0, lambda: ops.sin(y) * W, lambda: x**3 + W)


def parameters(x):
    return dg.cond(x.sum() > 0, lambda x: x * P, lambda x: ops.cos(x * P), x)


def nests(x):
    found = dg.cond(x.sum() > 0, lambda d: {"a": d["u"] * 2.0, "b": (d["v"], W)},
                    lambda d: {"a": d["v"] ** 2, "b": (d["u"], d["u"])}, {"u": x, "v": ops.sin(x)})  # fmt: skip
    return found["a"] * found["b"][0] + found["b"][1]


def nested(x):
    inner = lambda x: dg.cond(x[0] > 0.2, lambda x: x**2, lambda x: x**3 * W, x)
    return dg.cond(x.sum() > 0, inner, lambda x: dg.cond(x[1] > 0, ops.sin, ops.cos, x), x)


def one_operand(x):
    return dg.cond(x.sum() > 0, lambda x: x, lambda x: -x, x) * x


def constant_branch(x):
    return x * dg.cond(x.sum() > 0, lambda x: x, lambda x: ops.ones_like(x), x)


def steep_other(x):
    """The derivative of the branch that is not chosen is infinite."""
    return dg.cond(x.sum() > 0, lambda x: x * 2.0, lambda x: ops.sqrt(ops.maximum(-x, 0.0)), x)


def guarded_loop(x):
    """A loop that ends in its own branch only."""
    halve = lambda x: dg.while_loop(lambda c: c.sum() > 0.1, lambda c: c * 0.5, x)
    grow = lambda x: dg.while_loop(lambda c: c.sum() < -0.1, lambda c: c * 0.5, x)
    return dg.cond(x.sum() > 0, halve, grow, x)


def endless_elsewhere(x):
    """A loop that never ends for numbers of the other branch."""
    to_one = lambda x: dg.while_loop(lambda c: c.sum() < 1.0, lambda c: c * 1.5, x)
    return dg.cond(x.sum() > 0, to_one, lambda x: x * 3.0, x)


def rolled_loop(x):
    long = lambda x: dg.scan(lambda c, _: (ops.sin(c) * 1.01, None), x, None, length=100)[0]
    return dg.cond(x.sum() > 0, long, lambda x: x * W, x)


def in_scan(x, length=5):
    step = lambda c, _: (dg.cond(c[0] > 0.3, lambda c: c * 0.5, lambda c: c * 1.7 + 0.01 * W, c), c[0])
    c, ys = dg.scan(step, x, None, length=length)
    return c + ys.sum()


def in_long_scan(x):
    return in_scan(x, 100)


def in_while(x):
    body = lambda s: (s[0] + 1, dg.cond(s[1].sum() > 1.0, lambda c: c * 0.25, lambda c: c * c + 0.4, s[1]))
    return dg.while_loop(lambda s: s[0] < 7, body, (Tensor(0), x))[1]


def in_recompute(x):
    return dg.recompute(operands)(x) * x


def of_floats(x):
    return dg.cond(ops.relu(x.sum()), lambda x: x * 2.0, lambda x: x * 3.0, x)


FUNCTIONS = [operands, closures, parameters, nests, nested, one_operand, constant_branch, steep_other, guarded_loop,
             endless_elsewhere, rolled_loop, in_scan, in_long_scan, in_while, in_recompute, of_floats]  # fmt: skip

WAYS = {
    "value": (lambda f: f, POINTS),
    "gradient": (lambda f: dg.grad(lambda x: (f(x) * W).sum()), POINTS),
    "value and gradient": (lambda f: dg.value_and_grad(lambda x: (f(x) * W).sum()), POINTS),
    "by a parameter": (lambda f: dg.grad(lambda x: (f(x) * P).sum(), None, [P]), POINTS),
    "tangent": (lambda f: lambda x: dg.jvp(f, x, W)[1], POINTS),
    "second derivative": (lambda f: dg.grad(lambda x: (dg.grad(lambda x: (f(x) * W).sum())(x) ** 2).sum()), POINTS),
    "forward over reverse": (lambda f: lambda x: dg.jvp(dg.grad(lambda x: (f(x) * W).sum()), x, W)[1], POINTS),
    "Jacobian": (lambda f: dg.jacrev(f), POINTS),
    "samples": (lambda f: dg.vmap(f), [ROWS, -ROWS]),
    "gradients of samples": (lambda f: dg.vmap(dg.grad(lambda x: (f(x) * W).sum())), [ROWS, -ROWS]),
    "gradient by all samples": (lambda f: dg.grad(lambda xs: (dg.vmap(f)(xs) ** 2).sum()), [ROWS, -ROWS]),
}


def numbers(found):
    if isinstance(found, Tensor):
        return [found.asnumpy()]
    return [a for part in found for a in numbers(part)]


@pytest.mark.rotated("way")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_both_branches_are_replayed(f, way):
    """In turns, one program for all numbers."""
    wrap, points = WAYS[way]
    expected = [numbers(wrap(f)(Tensor(p))) for p in points]
    calls = Calls()

    def noted(x):
        calls.note()
        return wrap(f)(x)

    recorded = dg.jit(noted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (0, 1, 0, 1, 1, 0, 1, 0):
            for a, b in zip(numbers(recorded(Tensor(points[k]))), expected[k], strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    assert len(calls) <= 3  # what the package computes once may be part of the first


# ---------------------------------------------------------------------------------- what no program of both can have

STATE = {"tensor": Tensor(0.0, dg.float64)}


def gives_a_value(x):
    def other(x):
        STATE["tensor"].set_data(x.sum())
        return x * 2.0

    return dg.cond(x.sum() > 0, lambda x: x, other, x) + STATE["tensor"]


def assigns_an_entry(x):
    y = ops.zeros_like(x) + 1.0

    def other(x):
        y[0] = x[1]
        return x * 2.0

    return dg.cond(x.sum() > 0, lambda x: x * 3.0, other, x) * y


def draws(x):
    return dg.cond(x.sum() > 0, lambda x: x * 2.0, lambda x: x + ops.rand(3, dtype=dg.float64), x)


def asks(x):
    return dg.cond(x.sum() > 0, lambda x: x * 2.0, lambda x: x * float(x[0]), x)


def shapes(x):
    return dg.cond(x.sum() > 0, lambda x: x * 2.0, lambda x: x[:2], x)


def structures(x):
    found = dg.cond(x.sum() > 0, lambda x: (x, x), lambda x: x, x)
    return found[0] if isinstance(found, tuple) else found


def python_numbers(x):
    return x * dg.cond(x.sum() > 0, lambda: 2.0, lambda: 3.0)


def raises(x):
    def other(x):
        raise KeyError("other")

    try:
        return dg.cond(x.sum() > 0, lambda x: x * 2.0, other, x)
    except KeyError:
        return x * 5.0


def raises_in_a_primitive(x):
    matrix = lambda x: x.reshape(3, 1) * x + ops.eye(3, dtype=dg.float64) * x.sum()
    return dg.cond(x.sum() > 0, lambda x: dg.numpy.linalg.cholesky(matrix(x))[0], lambda x: x * 2.0, x)


REFUSED = [gives_a_value, assigns_an_entry, draws, asks, shapes, structures, python_numbers, raises,
           raises_in_a_primitive]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_what_one_program_cannot_have_runs_eagerly(f):
    def story(g):
        dg.set_seed(7)
        STATE["tensor"].set_data(Tensor(0.0, dg.float64))
        found = []
        for k in (0, 1, 0, 1, 1, 0, 0, 1):
            found.append((g(Tensor(POINTS[k])).asnumpy().tolist(), float(STATE["tensor"])))
        return found

    assert story(dg.jit(f)) == story(f)


def ruled(rule):
    square = dg.custom_vjp(lambda z: z * z)
    square.defbwd(lambda z, out, dout: (rule(z), 2 * z * dout)[1])
    return square


def raises_at_zero(z):
    if z.size:
        raise ValueError("no rule")


RULED = {
    "tapes": lambda q, z: q,
    "tapes a rule": lambda q, z: ruled(lambda z: None)(z) * q,
    "tapes a step": lambda q, z: dg.while_loop(lambda c: c[1] < 1, lambda c: (ops.tanh(q), c[1] + 1), (z, 0.0 * z))[0],
    "draws": lambda q, z: ruled(lambda z: ops.rand(1))(z),
    "raises": lambda q, z: ruled(raises_at_zero)(z),
    "asks": lambda q, z: z * float(z),
}
DERIVED = {
    "grad": lambda h, x: dg.grad(h)(x),
    "jvp": lambda h, x: dg.jvp(h, x, x)[1],
    "jvp of a result": lambda h, x: dg.jvp(h, ruled(lambda z: None)(x), x)[1],
    "grad of grad": lambda h, x: dg.grad(dg.grad(h))(x),
    "grad of jvp": lambda h, x: dg.grad(lambda q: dg.jvp(h, q, x)[1])(x),
}
DERIVED_AGAIN = {
    "value": lambda f: f,
    "grad": dg.grad,
    "grad of grad": lambda f: dg.grad(dg.grad(f)),
    "vjp": lambda f: lambda x: dg.vjp(f, x)[1](x),
}


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("again", DERIVED_AGAIN)
@pytest.mark.parametrize("derived", DERIVED)
@pytest.mark.parametrize("other", RULED)
def test_derivatives_that_one_program_cannot_have_run_eagerly(other, derived, again):
    """What the other branch refuses, raises or draws in a derivative alone, too."""

    def made(choose):
        def f(x):
            h = lambda q: choose(q > 0, lambda z: q * z, lambda z: RULED[other](q, z), x) * q
            return DERIVED[derived](h, x)

        return DERIVED_AGAIN[again](f)

    recorded, plain = dg.jit(made(dg.cond)), made(lambda truth, f, g, z: (f if truth else g)(z))
    for number in (0.6, 0.6, -0.45, 0.6):
        x = Tensor(number, dg.float64)
        try:
            expected = numbers(plain(x))
        except Exception as error:
            with pytest.raises((type(error), NotImplementedError)):
                recorded(x)
            continue
        try:
            found = numbers(recorded(x))
        except NotImplementedError:  # a recording has both branches, so both rules
            continue
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_a_branch_that_returns_an_operand_returns_a_new_tensor():
    """So that writing into the result changes nothing else, recorded or not."""

    def f(x):
        x = x * 1.0
        y = dg.cond(x.sum() > 0, lambda x: x, lambda x: -x, x)
        y[0] = 7.0
        return x

    recorded = dg.jit(f)
    for _ in range(4):
        np.testing.assert_array_equal(recorded(Tensor(POINTS[0])).asnumpy(), f(Tensor(POINTS[0])).asnumpy())
        np.testing.assert_array_equal(f(Tensor(POINTS[0])).asnumpy(), POINTS[0])


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("transform", ["value", "gradient", "nested"])
def test_a_loop_in_a_branch_of_some_samples_ends(transform, recorded):
    def f(x):
        to_one = lambda x: dg.while_loop(lambda c: c < 1.0, lambda c: c * 1.5, x)
        again = lambda x: dg.scan(lambda c, _: (dg.recompute(to_one)(c) * 0.9, None), x, length=2)[0]
        return dg.cond(x > 0, again, lambda x: dg.cond(x < -1.0, lambda x: -to_one(-x * 0.1), lambda x: x * 3.0, x), x)

    g = {"value": f, "gradient": dg.grad(f), "nested": dg.grad(lambda x: f(x) * f(-x))}[transform]
    xs = np.array([0.3, -0.4, 0.0, -2.0, 1.7])
    expected = [float(g(Tensor(x, dg.float64))) for x in xs]
    mapped = dg.vmap(g)
    mapped = dg.jit(mapped) if recorded else mapped
    for _ in range(4):
        np.testing.assert_allclose(mapped(Tensor(xs)).asnumpy(), expected, rtol=1e-12)
