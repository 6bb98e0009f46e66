"""Every transform inside every transform, two and three deep, against closed forms.

A *transform* here turns a function of two numbers f(x, w) = exp(a x + b w) into another of its kind, so they nest in
any order: each multiplies by a known factor, and the factors show which derivatives were taken, with respect to what
and how often. Inner functions close over the arguments of outer ones, w is a Parameter wherever a transform says so.
"""

import contextlib
import itertools
import threading

import numpy as np
import pytest
from engine import jets, open_levels, run_forward
from nested_transforms import ONE, TRANSFORMS, VALUE, A, Around, B, Ruled, W, X, base, like, nested
from support import f64

import dualgrad as dg
from dualgrad import Tensor, extend, nn, ops
from dualgrad.testing import taped_backward


@pytest.fixture(autouse=True)
def _nothing_left_open():
    yield
    assert not open_levels()


def near(found, expected, rtol=1e-12):
    assert found.dtype == "float64"
    assert found.shape == ()
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=rtol)


@pytest.mark.parametrize("outer", TRANSFORMS)
def test_pairs_and_triples(outer):
    x, w = f64(X), f64(W)
    for depth in 1, 2:
        for inner in itertools.product(TRANSFORMS, repeat=depth):
            f, expected = nested((outer, *inner))
            try:
                near(f(x, w), expected)
            except Exception as error:
                raise AssertionError(f"{' of '.join((outer, *inner))}: {error}") from error


@pytest.mark.parametrize("outer", TRANSFORMS)
def test_taylor_coefficients_of_pairs(outer):
    """Jets outermost: the k-th coefficient along x is A^k / k! times the value."""
    for inner in TRANSFORMS:
        f, expected = nested((outer, inner))
        found = run_forward("jet", jets(4), lambda x, f=f: f(x, f64(W)), [[f64(X), Tensor(ONE), None, None, None]])
        for k, c in enumerate(found):
            np.testing.assert_allclose(
                c.asnumpy(),
                expected * A**k / np.prod(np.arange(1.0, k + 1)),
                rtol=1e-12,
                err_msg=f"{outer} {inner} {k}",
            )


@pytest.mark.parametrize("outer", TRANSFORMS)
def test_the_weight_of_a_cell_outside(outer):
    """The parameter of a Cell that holds the whole nest, differentiated at the outermost level."""
    for inner in TRANSFORMS:
        f, expected = nested((outer, inner))
        cell = Around(f, W)
        value, (dx, dw) = dg.value_and_grad(cell, 0, cell.w)(f64(X))
        near(value, expected)
        near(dx, A * expected)
        near(dw, B * expected)
        near(dg.grad(dg.grad(cell), None, cell.w)(f64(X)), A * B * expected)


# ---------------------------------------------------------------------------------------- rules that are not exact


def factor_of_rule(name):
    """The factor over a Cell whose rule takes three times the slope in x."""
    a = 3 * A
    return {
        "grad": a,
        "grad by w": B,
        "value_and_grad": 1 + 2 * a + 3 * B,
        "GradOperation": 2 * (a + B),
        "jvp": 2 * a,
        "jvp of both": a + 3 * B,
        "vjp": 1 + 0.5 * a + 0.5 * B,
        "vmap": 1 + np.exp(A),
        "vmap of both": 1 + np.exp(2 * B),
        "jacfwd": 3 * a,
        "jacrev": 3 * a + 2 * B,
        "hessian": 3 * a * B + B * B,
        "hessian of a vector": 5 * a * a,
        "hvp": 1 + a + 2 * a * a,
        "linearize": 1 + 2 * a + 3 * B,
        "linearize along x": a,
        "derivative": (a + B) ** 2,
        "jet": 1 + a * a + 2 * a,
        "weight of a Cell": B,
    }[name]


OPERATORS = ["laplacian", "laplacian of both", "mixed partial", "operator", "several"]
UNDER_RULES = [name for name in TRANSFORMS if name not in ("stop_gradient", *OPERATORS)]


@pytest.mark.parametrize("name", UNDER_RULES)
def test_one_transform_of_a_cell_with_its_own_rule(name):
    near(TRANSFORMS[name][0](Ruled(base))(f64(X), f64(W)), factor_of_rule(name) * VALUE)


@pytest.mark.parametrize("outer", UNDER_RULES)
def test_a_cell_with_its_own_rule_two_deep(outer):
    """The rule is differentiated itself: `out` is a result of the same Cell, so the factor comes again."""
    for inner in UNDER_RULES:
        f = TRANSFORMS[outer][0](TRANSFORMS[inner][0](Ruled(base)))
        expected = factor_of_rule(outer) * factor_of_rule(inner) * VALUE
        try:
            near(f(f64(X), f64(W)), expected)
        except NotImplementedError as error:  # refused, with the remedy
            if inner not in ("derivative", "jet") or "bprop" not in str(error):
                raise
        except Exception as error:
            raise AssertionError(f"{outer} of {inner}: {error}") from error


class HalfSlope(nn.Cell):
    """exp with half of its slope, from the output or from another call of itself."""

    def __init__(self, recursive):
        super().__init__()
        self.recursive = recursive

    def construct(self, x):
        return ops.exp(x)

    def bprop(self, x, out, dout):
        return 0.5 * dout * (self(x) if self.recursive else out)


@pytest.mark.parametrize("recursive", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_taylor_coefficients_of_a_cell_with_its_own_rule(order, recursive):
    cell = HalfSlope(recursive)
    along = [f64(X), f64(2.0)] + [None] * (order - 1)
    found = run_forward("jet", jets(order), lambda x: cell(x) * x, [along])
    # y = exp(x) by the rule has y' = y / 2: coefficients (2 / 2)^k / k! exp(X); times X + 2 t
    c = [np.exp(X) / np.prod(np.arange(1.0, k + 1)) for k in range(order + 1)]
    for k in range(order + 1):
        np.testing.assert_allclose(found[k].asnumpy(), X * c[k] + (2.0 * c[k - 1] if k else 0.0), rtol=1e-13)


def test_a_forward_derivative_through_a_batch_of_a_cell_with_its_own_rule():
    x = np.array([0.3, 0.5])
    square = dg.vmap(lambda y: HalfSlope(False)(y) * y)
    value, moved = dg.jvp(square, f64(x), f64([1.0, 2.0]))
    np.testing.assert_allclose(value.asnumpy(), np.exp(x) * x)
    np.testing.assert_allclose(moved.asnumpy(), np.exp(x) * (0.5 * x + 1) * [1.0, 2.0], rtol=1e-13)


@pytest.mark.parametrize(
    "constant",
    [ops.stop_gradient, ops.sign, lambda y: (y > 0.4).astype(y.dtype), lambda y: dg.vmap(ops.sign)(y.reshape((1,)))[0]],
    ids=["stop_gradient", "sign", "comparison", "inner vmap"],
)
def test_a_constant_of_a_sample_meets_a_value_from_outside(constant):
    """Inside vmap, what has no slope meets w of an outer gradient: a product of the batch, not of a sample."""
    x = np.array([-0.3, 0.2, 0.5])
    c = np.array([float(constant(f64(v)).asnumpy()) for v in x])
    f = lambda w: dg.vmap(lambda y: constant(y) * w * w)(f64(x))
    near(dg.grad(f)(f64(3.0)), 6.0 * c.sum())
    near(dg.grad(dg.grad(f))(f64(3.0)), 2.0 * c.sum())
    near(dg.jvp(dg.grad(f), f64(3.0), f64(1.0))[1], 2.0 * c.sum())
    near(
        dg.grad(lambda w: dg.vmap(lambda y: dg.grad(lambda z: z * z * w)(constant(y)))(f64(x)))(f64(3.0)), 2.0 * c.sum()
    )
    near(
        dg.grad(lambda w: dg.vmap(lambda y: HalfSlope(False)(w) * constant(y))(f64(x)))(f64(3.0)),
        np.exp(3) / 2 * c.sum(),
    )
    near(
        dg.grad(lambda w: dg.vmap(lambda y: Ruled(base)(constant(y), w))(f64(x)))(f64(W)),
        B * np.exp(A * c + B * W).sum(),
    )


def test_a_rule_inside_a_forward_transform_that_is_differentiated_twice():
    """Refused, with what to do; once is fine."""
    cell = HalfSlope(False)
    mapped = lambda x: dg.vmap(cell)(x * f64([1.0, 2.0])).sum()
    near(dg.grad(mapped)(f64(0.5)), 0.5 * np.exp(0.5) + np.exp(1.0))
    with pytest.raises(NotImplementedError, match=r"vmap: a Cell with its own bprop .*outside of vmap"):
        dg.grad(dg.grad(mapped))(f64(0.5))
    assert not open_levels()


# Inside vmap and inside each other, with primitives whose transpose is found from a jvp.
INVERSE = extend.primitive("nest_inverse", np.linalg.inv, jvp=(lambda dx, out, x: -(out @ dx @ out),), core=(2,))
inverse = lambda x: INVERSE(x * 0.1 + Tensor(np.eye(2)))
LIFTED = {
    "vmap": lambda x: dg.vmap(inverse)(x),
    "grad in vmap": lambda x: dg.vmap(dg.grad(lambda z: ops.sin(inverse(z))))(x),
    "grad in vmap, closed over": lambda x: dg.vmap(lambda y: dg.grad(lambda z: inverse(y) * ops.cos(z.sum()))(y))(x),
    "vmap in grad": lambda x: dg.grad(lambda u: dg.vmap(lambda y: inverse(y * u))(x))(x[0]),
    "inverse of a grad in vmap": lambda x: dg.vmap(lambda y: inverse(dg.grad(lambda z: ops.sin(z) * z)(y)))(x),
    "inverse shared": lambda x: dg.vmap(lambda y: inverse(x[0]) * y)(x),
    "jvp in vmap": lambda x: dg.vmap(lambda y: dg.jvp(lambda z: inverse(z * z), y, ops.cos(y))[1])(x),
    "vmap in vmap": lambda x: dg.vmap(dg.vmap(lambda y: ops.sin(y).sum() * y))(x),
    "vmap of grad of vmap": lambda x: dg.vmap(dg.grad(lambda y: dg.vmap(lambda z: z * z * y.sum())(y)))(x),
    "jvp of grad": lambda x: dg.jvp(dg.grad(lambda z: inverse(z * z)), x[0], x[1])[1] * x,
    "jvp of value_and_grad": lambda x: dg.jvp(dg.value_and_grad(lambda z: ops.sin(z * x[2])), x[0], x[1])[1][1],
    "jvp of jvp": lambda x: dg.jvp(lambda y: dg.jvp(lambda z: inverse(z * y), x[0], y)[1], x[1], x[2])[1],
    "jvp of vmap": lambda x: dg.jvp(dg.vmap(lambda z: inverse(z) * x[1]), x, x * x)[1],
    "grad of jvp": lambda x: dg.grad(lambda y: dg.jvp(lambda z: inverse(z * y), x[0], x[1])[1])(x[2]),
    "grad in grad": lambda x: dg.grad(lambda y: dg.grad(lambda z: ops.sin(z) * z * y * x)(y) * y)(x),
    "three": lambda x: dg.grad(
        lambda a: dg.grad(lambda y: dg.grad(lambda z: z * z * y * x)(y) * y * ops.sin(a))(x) * a
    )(x),
}


@pytest.mark.parametrize("name", LIFTED)
def test_recorded_backward_passes_of_nests(name):
    """A Cell with a bprop beside a nest makes its backward pass be recorded; forced for all, that is the same."""
    rng = np.random.default_rng(5)
    x, along = f64(rng.uniform(0.5, 1.5, (3, 2, 2))), f64(rng.standard_normal((3, 2, 2)))
    square = Ruled(lambda t, w: t * t * w)
    plain = lambda t: ops.sin(LIFTED[name](x + t * along)).sum()
    beside = lambda t: plain(t) + 0.0 * square(t, t)
    expected = dg.jvp(dg.grad(plain), f64(0.1), f64(1.0))[1].asnumpy()
    near(dg.grad(dg.grad(beside))(f64(0.1)), expected, rtol=1e-11)
    with taped_backward():
        near(dg.grad(dg.grad(plain))(f64(0.1)), expected, rtol=1e-11)


# ------------------------------------------------------------------------------------------------------- confusion


DERIVATIVES = {
    "grad": lambda f: lambda x: dg.grad(f)(x),
    "value_and_grad": lambda f: lambda x: dg.value_and_grad(f)(x)[1],
    "GradOperation": lambda f: lambda x: ops.GradOperation(get_all=True)(f)(x)[0],
    "jvp": lambda f: lambda x: dg.jvp(f, x, like(x))[1],
    "vjp": lambda f: lambda x: dg.vjp(f, x)[1](like(x))[0],
    "vmap of grad": lambda f: lambda x: dg.vmap(dg.grad(f))(ops.stack((x, x)))[1],
    "vmap of jvp": lambda f: lambda x: dg.vmap(lambda y: dg.jvp(f, y, like(y))[1])(ops.stack((x, x)))[0],
    "grad through vmap": lambda f: lambda x: dg.grad(lambda y: dg.vmap(f)(ops.stack((y, y)))[0])(x),
    "jvp through vmap": lambda f: lambda x: dg.jvp(lambda y: dg.vmap(f)(ops.stack((y, y)))[1], x, like(x))[1],
    "laplacian": lambda f: (
        lambda x: (
            dg.laplacian(lambda p: 0.5 * p[1] * p[1] * f(p[0] + 0.0 * p[1]))(ops.stack((x, like(x))))
            - 0.5 * dg.laplacian(lambda p: f(p[0]))(ops.stack((x,)))
            - f(x)
            + dg.mixed_partial(lambda p: f(p[0]), (1,))(ops.stack((x,)))
        )
    ),
    "several": lambda f: (
        lambda x: dg.derivatives(lambda p: f(p[0]), {"u": (0, 0), "u_x": (1, 0), "u_w": (0, 1)})(ops.stack((x, x)))[
            "u_x"
        ]
    ),
    "jacfwd": lambda f: lambda x: dg.jacfwd(f)(x),
    "jacfwd, a batch": lambda f: lambda x: dg.jacfwd(lambda y: f(y[0] + y[1]))(ops.stack((x, 0.0 * x)))[1],
    "jacrev, a batch": lambda f: lambda x: dg.jacrev(lambda y: ops.stack((f(y), y)))(x)[0],
    "hvp": lambda f: lambda x: dg.hvp(lambda y: f(x + y) * y)(0.0 * x, like(x, 0.5)),
    "linearize": lambda f: lambda x: dg.linearize(f, x)[1](like(x)),
    "derivative": lambda f: lambda x: ops.derivative(f, x, 1)[1],
    "jet": lambda f: lambda x: ops.jet(lambda y: y * f(x + y), 0.0 * x, ops.stack((like(x), 0.0 * x)))[1][1] * 0.5,
    "grad of a Cell": lambda f: lambda x: dg.grad(Around(lambda y, w: f(y) + 0.0 * w, 1.0))(x),
}


@pytest.mark.parametrize("outer", DERIVATIVES)
@pytest.mark.parametrize("inner", DERIVATIVES)
def test_an_inner_function_closes_over_the_outer_variable(outer, inner):
    d1, d2 = DERIVATIVES[outer], DERIVATIVES[inner]
    # D_x (x D_y (x + y)) = 1, D_x (x D_y (x y)) = 2 x, D_x [D_y (x y^2) at y = x^2] = D_x 2 x^3
    near(d1(lambda x: x * d2(lambda y: x + y)(like(x)))(f64(3.0)), 1.0)
    near(d1(lambda x: x * d2(lambda y: x * y)(x))(f64(3.0)), 6.0)
    near(d1(lambda x: d2(lambda y: x * y * y)(x * x))(f64(2.0)), 24.0)

    # two inner derivatives, the second of the result of the first: a = 6 x, then 2 a x = 12 x^2
    def two(x):
        a = d2(lambda y: x * y * y)(like(x, 3.0))
        return d2(lambda y: a * y * y)(x)

    near(d1(two)(f64(2.0)), 48.0)
    # three levels: D_x D_y [y D_z (x y z^2) at z = y] = D_x 6 x y^2 at y = 2
    three = lambda x: d1(lambda y: y * d2(lambda z: x * y * z * z)(y))(like(x, 2.0))
    near(d2(three)(f64(3.0)), 24.0)


# ----------------------------------------------------------------------------------- closed levels, errors, threads


@pytest.mark.parametrize("inner", ["grad", "value_and_grad", "vjp", "GradOperation"])
@pytest.mark.parametrize("outer", ["grad", "value_and_grad", "vjp", "GradOperation"])
def test_a_value_of_a_closed_level_names_its_transform(outer, inner):
    """Kept from an inner level, used where the outer derivative would need what went into it."""

    def f(x):
        kept = []
        DERIVATIVES[inner](lambda y: kept.append(x * y) or x * y * y)(x)
        return kept[0] * x

    with pytest.raises(RuntimeError, match=rf"{inner}.*has_aux|has_aux.*{inner}"):
        DERIVATIVES[outer](f)(f64(3.0))
    assert not open_levels()


class Boom(Exception):
    pass


@pytest.mark.parametrize("outer", DERIVATIVES)
@pytest.mark.parametrize("inner", DERIVATIVES)
def test_an_exception_leaves_no_level_open(outer, inner):
    def explode(y):
        raise Boom

    d1, d2 = DERIVATIVES[outer], DERIVATIVES[inner]
    for f in (explode, lambda x: x * d2(explode)(x)):
        with pytest.raises(Boom):
            d1(f)(f64(1.0))
        assert not open_levels()

    # the error is caught in between: the outer derivative goes on
    def guarded(x):
        try:
            d2(explode)(x)
        except Boom:
            return x * x * x
        raise AssertionError("nothing was raised")

    near(d1(guarded)(f64(2.0)), 12.0)


def test_threads_nest_on_their_own():
    names = list(TRANSFORMS)
    failures = []

    def work(k):
        for i in range(8):
            f, expected = nested((names[(k + i) % len(names)], names[(3 * k + i) % len(names)]))
            try:
                near(f(f64(X), f64(W)), expected)
            except AssertionError as error:
                failures.append(error)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures
    assert not open_levels()


@pytest.mark.parametrize("name", ["grad", "jvp", "vmap of grad"])
def test_a_value_of_another_threads_level(name):
    """A thread started inside a transform cannot use its values, whatever the kind of level."""
    errors = []

    def f(x, meant=contextlib.nullcontext):
        def work():
            try:
                with meant():
                    _ = x * 2.0
            except RuntimeError as error:
                errors.append(str(error))

        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
        return x * x

    with pytest.raises(dg.LeavesDerivativeError, match="the error was caught"):
        DERIVATIVES[name](f)(f64(3.0))
    near(DERIVATIVES[name](lambda x: f(x, dg.allow_leaving))(f64(3.0)), 6.0)
    assert errors
    assert all("thread" in error for error in errors)
