"""Samples that take the same steps are solved together, and nothing tells it from solving them one by one."""

import itertools
import threading

import numpy as np
import pytest
from support import f32, f64

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.ode import odeint
from dualgrad.transforms.apart import apart

METHODS = ("dopri5", "rodas5p")
START, RATES = f64([1.0, 0.4]), f64([1.3, 0.7, 0.9])
STARTS = f64([[1.0, 0.4], [0.6, 1.1], [1.0, 0.4]])  # the first and the last take the same steps
MANY = f64([[1.3, 0.7, 0.9], [1.1, 0.8, 0.5], [1.3, 0.7, 0.9]])
ALONG = f64(np.random.default_rng(3).normal(size=(4, 5)))  # directions of (start, rates)
TWICE = f64(np.random.default_rng(4).normal(size=(4, 2, 5)))
REPLAYS = 6  # from the fifth solution on there are several steps in one call


def volterra(y, t, p):
    return ops.stack([(p[0] - y[1]) * y[0], (p[1] * y[0] - p[2]) * y[1] + 0.1 * ops.sin(t)])


def solved(y, p, method="dopri5", rate=volterra, **settings):
    return odeint(rate, y, f64([0.0, 0.3, 0.3, 1.0]), p, method=method, rtol=1e-3, atol=1e-4, **settings)


def of_both(x, **settings):
    """A number of start and rates as one vector."""
    return (ops.sin(solved(x[:2], x[2:], **settings)) ** 2).sum()


POINT = ops.concat([START, RATES])
# name: (a function of a direction, directions)
ORDERS = {
    "tangent": (lambda f: lambda v: dg.jvp(f, POINT, v)[1], ALONG),
    "product of the Hessian": (lambda f: lambda v: dg.hvp(f)(POINT, v), ALONG),
    "tangent of a tangent": (
        lambda f: lambda v: dg.jvp(lambda x: dg.jvp(f, x, v[0])[1], POINT, v[1])[1],
        TWICE,
    ),
    "gradient of a tangent": (lambda f: dg.grad(lambda v: dg.jvp(f, POINT, v)[1] ** 2), ALONG),
    "tangent of a product": (lambda f: lambda v: dg.jvp(lambda x: dg.hvp(f)(x, v[0]), POINT, v[1])[1], TWICE),
}
# name: (a function of start and rates, in_axes)
BATCHES = {
    "nothing shared": (0, 0),
    "start shared": (None, 0),
    "rates shared": (0, None),
}


def one_by_one(fn, *samples):
    return np.stack([fn(*[Tensor(x) for x in row]).asnumpy() for row in zip(*samples, strict=True)])


def calls_of(fn, jit):
    """The function, or what it gives eagerly and at each of its replays."""
    if not jit:
        return lambda *args: [fn(*args)]
    recorded = dg.jit(fn)
    return lambda *args: [recorded(*args) for _ in range(REPLAYS)]


def close(found, expected):
    expected = np.asarray(expected)
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max(initial=1.0))


@pytest.mark.rotated("order", "jit")
@pytest.mark.parametrize(
    ("order", "method", "jit"),
    [
        (order, method, jit)
        for order, method, jit in itertools.product(ORDERS, METHODS, (False, True))
        if method == "dopri5" or (not jit and order in ("tangent", "product of the Hessian"))
    ],
)
def test_directions_are_solved_together(order, method, jit):
    of, directions = ORDERS[order]
    along = of(lambda x: of_both(x, method=method))
    expected = one_by_one(along, directions.asnumpy())
    for found in calls_of(dg.vmap(along), jit)(directions):
        close(found, expected)


@pytest.mark.rotated("batch", "jit")
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("of", ["value", "gradient", "tangent", "Hessian"])
def test_samples_with_and_without_the_same_steps(batch, of, jit):
    axes = BATCHES[batch]
    loss = lambda y, p: of_both(ops.concat([y, p]))
    fn = {
        "value": solved,
        "gradient": lambda y, p: dg.grad(loss, 1)(y, p),
        "tangent": lambda y, p: dg.jvp(solved, (y, p), (y, p))[1],
        "Hessian": lambda y, p: dg.hessian(loss, 1)(y, p),
    }[of]
    ys, ps = STARTS if axes[0] == 0 else START, MANY if axes[1] == 0 else RATES
    rows = lambda x, axis: x.asnumpy() if axis == 0 else np.tile(x.asnumpy(), (3, 1))
    expected = one_by_one(fn, rows(ys, axes[0]), rows(ps, axes[1]))
    for found in calls_of(dg.vmap(fn, axes), jit)(ys, ps):
        close(found, expected)


# derivatives around a batch: rules are given stacks
AROUND = {
    "jacfwd": dg.jacfwd,
    "jacrev": dg.jacrev,
    "forward in reverse": lambda f: dg.hessian(lambda x: (f(x) ** 2).sum()),
    "reverse twice": lambda f: dg.jacrev(dg.grad(lambda x: (f(x) ** 2).sum())),
    "forward twice": lambda f: dg.jacfwd(dg.jacfwd(lambda x: (f(x) ** 2).sum())),
}


@pytest.mark.rotated("around")
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("nested", [False, True])
def test_derivatives_of_a_batch(around, nested):
    """The rates belong to all samples, the starts to the samples of one axis or two."""
    last = lambda y, p: solved(y, p)[-1]

    def mapped(p):
        if not nested:
            return dg.vmap(last, (0, None))(STARTS[:2], p)
        return dg.vmap(lambda scale: dg.vmap(lambda y: last(y * scale, p))(STARTS[:2]))(f64([1.0, 0.9]))

    def looped(p):
        scales = (1.0, 0.9) if nested else (1.0,)
        rows = [ops.stack([last(STARTS[i] * scale, p) for i in range(2)]) for scale in scales]
        return ops.stack(rows) if nested else rows[0]

    transform = AROUND[around]
    close(transform(mapped)(RATES), transform(looped)(RATES).asnumpy())


@pytest.mark.parametrize("sensitivities", [False, True])
def test_tangents_that_choose_their_steps_have_their_own(sensitivities):
    along = lambda v: dg.jvp(lambda x: of_both(x, sensitivities=sensitivities), POINT, v)[1]
    close(dg.vmap(along)(ALONG), one_by_one(along, ALONG.asnumpy()))


def test_continuous_adjoint():
    gradient = lambda p: dg.grad(lambda p: of_both(ops.concat([START, p]), adjoint="continuous"))(p)
    product = lambda v: dg.jvp(gradient, RATES, v)[1]
    close(dg.vmap(product)(ALONG[:, 2:]), one_by_one(product, ALONG.asnumpy()[:, 2:]))


@pytest.mark.eager("f asks for numbers")
def test_a_function_that_cannot_be_mapped():
    def rate(y, t, p):
        slower = 0.5 if float(y.asnumpy()[0]) > 0.8 else 0.6
        return volterra(y, t, p) * slower

    last = lambda x: odeint(rate, x[:2], [0.0, 1.0], x[2:], rtol=1e-3)[-1]  # fixed times: f is called apart only
    for along in (lambda v: dg.jvp(last, POINT, v)[1], lambda v: dg.jvp(dg.grad(lambda x: last(x).sum()), POINT, v)[1]):
        close(dg.vmap(along)(ALONG), one_by_one(along, ALONG.asnumpy()))


def test_no_time_no_samples_and_single_precision():
    still = lambda y: odeint(volterra, y, f64([1.0, 1.0, 1.0]), RATES)
    np.testing.assert_array_equal(dg.vmap(dg.jacrev(still))(STARTS).asnumpy(), np.tile(np.eye(2), (3, 3, 1, 1)))
    assert dg.vmap(lambda y: solved(y, RATES))(STARTS[:0]).shape == (0, 4, 2)
    single = dg.vmap(
        lambda v: dg.jvp(lambda y: odeint(volterra, y, [0.0, 1.0], f32(RATES.asnumpy())), f32([1, 1]), v)[1]
    )
    assert single(f32(np.eye(2))).dtype == dg.float32


@pytest.mark.eager("counts calls")
def test_many_directions_call_f_as_often_as_one():
    calls = [0]

    def rate(y, t, p):
        calls[0] += 1
        return volterra(y, t, p)

    counts = []
    for directions in (ALONG[:1], ALONG):
        calls[0] = 0
        dg.vmap(lambda v: dg.jvp(lambda x: of_both(x, rate=rate), POINT, v)[1])(directions)
        counts.append(calls[0])
    assert counts[1] <= counts[0] + 16


@pytest.mark.eager("looks at threads")
def test_a_thread_is_started_where_something_is_open_only():
    here = threading.get_ident()
    found = []
    where = apart(lambda: found.append(threading.get_ident()))

    def inside(x):
        where()
        return x * x

    where()
    dg.grad(inside)(f64(1.0))
    assert found[0] == here != found[1]
