"""Derivatives by integer tensors: the numbers of the same program on float64, in the type that the slope has met.

Every program is run with every transform, as it is and recorded, on int32 and int64.
"""

import numpy as np
import pytest
from support import assert_close, assert_raises, f32, f64, i32

import dualgrad as dg
from dualgrad import Parameter, Tensor, extend, nn, ops

pytestmark = pytest.mark.usefixtures("mode")

POINT = np.array([2.0, 5.0, 3.0])
HALVES = f64([0.5, -1.5, 2.0])
OTHER = i32([3, 1, 2])


def assigned(t):
    u = t * 1
    u[0] = t[1] * t[2]
    return u * 0.5


# Name -> the program, and the type of its gradient; None: the type of the input, since the slope meets integers only.
PROGRAMS = {
    "half": (lambda t: t / 2, dg.float32),
    "product": (lambda t: t * t * 0.5, dg.float32),
    "both paths": (lambda t: t * t + t / 2, dg.float32),
    "two outputs": (lambda t: (t * t, t / 2), dg.float32),
    "exp": (lambda t: ops.exp(t * 0.25), dg.float32),
    "root": (lambda t: ops.sqrt(t), dg.float32),
    "reciprocal": (lambda t: 1 / t, dg.float32),
    "quotient": (lambda t: t / (t + 1), dg.float32),
    "cube": (lambda t: t**3 / 2, dg.float32),
    "power": (lambda t: ops.pow(t, OTHER) * 0.5, dg.float32),
    "beside a float64": (lambda t: (HALVES * t * t).sum(), dg.float64),
    "a float64 and a float32": (lambda t: HALVES * t + t / 2, dg.float64),
    "cast": (lambda t: t.astype(dg.float64) * t, dg.float64),
    "cast twice": (lambda t: (t if t.dtype.is_float else t.astype(dg.int64).astype(dg.int8)) * 0.5 * t, dg.float32),
    "complex": (lambda t: (t.astype(dg.complex64) * (1 + 2j)).real() * t, dg.float32),
    "formal": (lambda t: (t * t - t) * 2, None),
    "formal through shapes": (lambda t: ops.cat((t, t.reshape((3, 1)).sum(1)))[1:5] * t.sum(), None),
    "formal matmul": (lambda t: t.reshape((3, 1)) @ t.reshape((1, 3)), None),
    "remainder": (lambda t: t * 5 % 3, None),
    "largest": (lambda t: t.max() * 0.5 * t, dg.float32),
    "larger": (lambda t: ops.maximum(t, OTHER + 2), dg.float32),
    "clipped": (lambda t: ops.clip(t, 3, 4) * 0.5 * t, dg.float32),
    "size": (lambda t: ops.abs(-t) * 0.5, dg.float32),
    "choice": (lambda t: ops.where(t > 2, t * t, -t) * 0.5, dg.float32),
    "joined": (lambda t: ops.cat((t, t * t))[1:4] / 2, dg.float32),
    "matmul": (lambda t: (t.reshape((3, 1)) @ t.reshape((1, 3))) / 2, dg.float32),
    "running sum": (lambda t: ops.cumsum(t, 0) * t * 0.25, dg.float32),
    "sorted": (lambda t: ops.sort(t)[0] * 0.5 * t, dg.float32),
    "assigned": (assigned, dg.float32),
    "norm": (lambda t: ops.norm(t.astype(dg.float64)), dg.float64),
    "softmax": (lambda t: ops.softmax(t / 2), dg.float32),
    "variance": (lambda t: ops.var(t / 1), dg.float32),
    "stopped": (lambda t: t * ops.stop_gradient(t) * 0.5, dg.float32),
    "gradient inside": (lambda t: t * dg.grad(lambda u: u * u * 0.5)(t), dg.float32),
    "tangent inside": (lambda t: t * dg.jvp(lambda u: u * u * t * 0.5, t, ops.ones_like(t))[1], dg.float32),
    "vmap inside": (lambda t: dg.vmap(lambda u: u * u * 0.5)(t), dg.float32),
    "loop": (lambda t: dg.fori_loop(0, 2, lambda i, s: s * t, t) / 2, dg.float32),
    "recomputed": (lambda t: dg.recompute(lambda u: u * u * 0.5)(t), dg.float32),
}


def ones(t):
    return ops.ones_like(t)


def linearized(f):
    return lambda t: dg.linearize(f, t)[1](ones(t))


def pulled(f):
    def g(t):
        y, pull = dg.vjp(f, t)
        return pull(tuple([ones(part) for part in y]) if isinstance(y, tuple) else ones(y))

    return g


def jitted(f):
    return dg.jit(dg.grad(f))


TRANSFORMS = {
    "grad": dg.grad,
    "value_and_grad": dg.value_and_grad,
    "GradOperation": ops.GradOperation(get_all=True),
    "vjp": pulled,
    "jvp": lambda f: lambda t: dg.jvp(f, t, ones(t)),
    "linearize": linearized,
    "jacfwd": dg.jacfwd,
    "jacrev": dg.jacrev,
    "hessian": dg.hessian,
    "hvp": lambda f: lambda t: dg.hvp(f)(t, ones(t)),
    "derivative": lambda f: lambda t: ops.derivative(f, t, 3),
    "grad of grad": lambda f: dg.grad(dg.grad(f)),
    "third grad": lambda f: dg.grad(dg.grad(dg.grad(f))),
    "grad of jvp": lambda f: dg.grad(lambda t: dg.jvp(f, t, ones(t))[1]),
    "jvp of grad": lambda f: lambda t: dg.jvp(dg.grad(f), t, ones(t)),
    "grad of linearize": lambda f: dg.grad(linearized(f)),
    "grad of value_and_grad": lambda f: dg.grad(dg.value_and_grad(f)),
    "jacrev of jacfwd": lambda f: dg.jacrev(dg.jacfwd(f)),
    "vmap of grad": lambda f: lambda t: dg.vmap(dg.grad(f))(ops.stack((t, t + 1))),
    "grad of vmap": lambda f: dg.grad(lambda t: dg.vmap(f)(ops.stack((t, t + 1)))),
    "jit": lambda f: jitted(f),
}


def tensors(x):
    if isinstance(x, Tensor):
        return [x]
    return [t for item in x for t in tensors(item)]


@pytest.mark.rotated("transform")
@pytest.mark.parametrize("dtype", [np.int32, np.int64], ids=["int32", "int64"])
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_numbers_are_those_of_the_float_program(program, transform, dtype):
    f, _ = PROGRAMS[program]
    call = TRANSFORMS[transform](f)
    expected = tensors(call(Tensor(POINT)))
    for _ in range(3 if transform == "jit" else 1):
        found = tensors(call(Tensor(POINT.astype(dtype))))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        scale = max(1.0, float(np.abs(b.asnumpy()).max()))
        assert a.shape == b.shape
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-5 * scale)


@pytest.mark.parametrize("dtype", [dg.int32, dg.int64], ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_gradient_has_the_type_that_its_slope_met(program, dtype):
    f, expected = PROGRAMS[program]
    assert dg.grad(f)(Tensor(POINT).astype(dtype)).dtype == (expected or dtype)


@pytest.mark.parametrize(
    "f", [lambda t: t / 2, lambda t: t * 0.5, lambda t: ops.mean(t / 2) * t.size], ids=["/", "*", "mean"]
)
@pytest.mark.parametrize("dtype", "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())
def test_every_integer_type(f, dtype):
    found = dg.grad(lambda t: f(t) * t)(Tensor(np.array([1, 2, 3], dtype)))
    assert found.dtype == dg.float32
    f = lambda t, f=f: f(t) * t
    assert_close(found, dg.grad(f)(f32([1, 2, 3])), dtype=dg.float32)


@pytest.mark.parametrize(
    "f",
    [
        lambda t: HALVES[t] * 2,
        lambda t: ops.floor(t / 2) * 1.5,
        lambda t: (t / 2).astype(dg.int32) * 1.5,
        lambda t: t // 2,
        lambda t: (t > 1) * 1.5,
        lambda t: ops.stop_gradient(t) / 2,
        lambda t: ops.argmax(t) * 1.5,
        lambda t: HALVES * 2,
    ],
    ids="index floor cast quotient comparison stopped argmax unused".split(),
)
def test_without_a_slope_there_are_zeros_of_the_own_type(f):
    t = i32([1, 2, 0])
    assert_close(dg.grad(f)(t), np.zeros(3), dtype=dg.int32)
    assert_close(dg.vjp(f, t)[1](ops.ones_like(f(t)))[0], np.zeros(3), dtype=dg.int32)


def test_an_index_that_is_a_factor_too():
    t = i32([1, 2, 0])
    assert_close(dg.grad(lambda t: HALVES[t] * t)(t), HALVES.asnumpy()[[1, 2, 0]], dtype=dg.float64)


def test_what_a_truth_value_becomes_has_no_slope():
    flags = Tensor([True, False])
    for f in (lambda b: b * 2.0, lambda b: b.astype(dg.int32) / 2, lambda b: ops.where(b, 1.0, 2.0)):
        assert_close(dg.grad(f)(flags), np.array([False, False]), dtype=dg.bool_)


def test_ties_share_a_slope_that_is_no_integer():
    t = i32([1, 5, 5])
    assert_close(dg.grad(lambda t: t.max())(t), [0.0, 0.5, 0.5], dtype=dg.float32)
    assert_close(dg.grad(lambda t: ops.minimum(t, i32([2, 5, 1])).sum())(t), [1.0, 0.5, 0.0], dtype=dg.float32)


def test_large_integers_are_not_rounded_to_the_type_of_the_slope():
    near = Tensor(np.array([2**24, 2**24 + 1]))
    assert_close(dg.grad(lambda t: t.max() / 2)(near), [0.0, 0.5], dtype=dg.float32)
    assert_close(dg.grad(lambda t: ops.maximum(t, near[::-1]) / 2)(near), [0.0, 0.5], dtype=dg.float32)


# --------------------------------------------------------------------------------- tangents, cotangents, parameters


@pytest.mark.parametrize("given", [i32([2, 4, 6]), f32([2, 4, 6]), f64([2, 4, 6])], ids=["int32", "float32", "float64"])
def test_a_tangent_or_cotangent_of_an_integer_is_one_or_floating(given):
    t, numbers = i32([2, 5, 3]), np.array([2.0, 4.0, 6.0])
    square = lambda t: t * t
    for found in (
        dg.jvp(square, t, given)[1],
        dg.vjp(square, t)[1](given)[0],
        dg.linearize(square, t)[1](given),
        ops.GradOperation(sens_param=True)(square)(t, given),
        dg.grad(square, sens_param=True)(t, given),
        dg.grad(lambda t: dg.jvp(square, t, given)[1] * t)(t) / 2,
    ):
        assert_close(found.astype(dg.float64), 2 * POINT * numbers)
    assert_close(dg.hvp(lambda t: (t**3).sum())(t, given).astype(dg.float64), 6 * POINT * numbers)
    assert dg.jvp(square, t, given)[1].dtype == given.dtype


@pytest.mark.parametrize("dtype", [dg.int64, dg.bool_, dg.complex64], ids=str)
def test_other_types_of_tangents_are_refused(dtype):
    t = i32([2, 5, 3])
    v = Tensor([1, 0, 1]).astype(dtype)
    assert_raises(TypeError, lambda: dg.jvp(lambda t: t * t, t, v), "jvp", "int32", str(dtype))
    assert_raises(TypeError, lambda: dg.vjp(lambda t: t * t, t)[1](v), "vjp", "int32", str(dtype))


def test_parameters_of_integers():
    class Scaled(nn.Cell):
        def __init__(self):
            super().__init__()
            self.n = Parameter(np.array([2, 3], np.int32), name="n")

        def construct(self, x):
            return self.n * self.n * x + self.n / 4

    net, x = Scaled(), f32([1.5, -0.5])
    dx, dn = dg.grad(net, 0, net.n)(x)
    assert_close((dx, dn), ([4.0, 9.0], [6.25, -2.75]), dtype=dg.float32)
    (both,) = ops.GradOperation(get_by_list=True)(net)(x)
    assert_close(both, [6.25, -2.75], dtype=dg.float32)
    (xx, xn), (nx, nn_) = dg.hessian(lambda x: net(x).sum(), 0, weights=net.n)(x)
    assert_close((xx, xn, nx), (np.zeros((2, 2)), np.diag([4.0, 6.0]), np.diag([4.0, 6.0])))
    assert_close(nn_, np.diag([3.0, -1.0]))


def test_an_integer_beside_a_float_input():
    def f(x, n):
        return (x * n * n).sum()

    x, n = f64([1.5, -0.5]), i32([2, 3])
    assert_close(dg.grad(f, (0, 1))(x, n), ([4.0, 9.0], [6.0, -3.0]), dtype=dg.float64)
    (_, xn), (nx, nn_) = dg.hessian(f, (0, 1))(x, n)
    assert_close((xn, nx, nn_), (np.diag([4.0, 6.0]), np.diag([4.0, 6.0]), np.diag([3.0, -1.0])))


# ------------------------------------------------------------------------------------------- rules that are functions


class Halved(nn.Cell):
    def construct(self, x):
        return x * 0.5

    def bprop(self, x, out, dout):
        return (dout * 0.5,)


def test_a_rule_of_a_cell():
    t, halved = i32([1, 2]), Halved()
    assert_close(dg.grad(halved)(t), [0.5, 0.5], dtype=dg.float32)
    square = lambda t: halved(t) * t
    assert_close(dg.grad(dg.grad(square))(t), [1.0, 1.0])
    assert_close(dg.jvp(square, t, t)[1], [1.0, 4.0])
    assert_close(dg.linearize(square, t)[1](t), [1.0, 4.0])
    assert_close(dg.grad(lambda t: dg.jvp(square, t, ones(t))[1])(t), [1.0, 1.0])


FORWARDS = extend.primitive(
    "times_forwards", lambda x, n: x * n, arity=2, jvp=lambda d, out, x, n: d[0] * n + x * d[1], types="apart"
)
BACKWARDS = extend.primitive(
    "times_backwards", lambda x, n: x * n, arity=2, vjp=lambda ct, out, x, n: (ct * n, ct * x), types="apart"
)


@pytest.mark.parametrize("times", [FORWARDS, BACKWARDS], ids=repr)
def test_added_primitives(times):
    x, n = f64([1.5, -0.5]), i32([2, 3])
    assert_close(dg.grad(times, (0, 1))(x, n), ([2.0, 3.0], [1.5, -0.5]), dtype=dg.float64)
    assert_close(dg.jvp(times, (x, n), (x, n))[1], [6.0, -3.0])


def test_roots_and_fixed_points():
    one = f64(1.0)
    for f, expected in (
        (lambda a: dg.root(lambda x, a: x**3 - a, one, a), 1 / 12),
        (lambda a: dg.root(lambda x: x**3 - a, one), 1 / 12),
        (lambda a: dg.fixed_point(lambda x, a: x / 2 + a, one, a), 2.0),
        (lambda a: dg.argmin(lambda x, a: (x - a * a) ** 2, one, a), 16.0),
    ):
        found = dg.grad(f)(Tensor(8))
        assert found.dtype == dg.float64
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-7)


def test_loops_over_integers():
    t = Tensor(np.array([2, 3, 4]))
    for f in (
        lambda t: dg.scan(lambda c, y: (c * y, c / 2), t[0], t)[1],
        lambda t: dg.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * t * c[0]), (Tensor(1), t))[1] / 2,
        lambda t: dg.fori_loop(0, 3, lambda i, s: s * t + i, t) * 0.5,
    ):
        for order in 1, 2:
            g = dg.grad(f) if order == 1 else dg.grad(dg.grad(f))
            assert_close(g(t), g(t.astype(dg.float32)).asnumpy(), dtype=dg.float32)


def test_jets_take_integers_as_float32():
    t = i32([1, 2])
    value, third = ops.derivative(lambda t: t**4 / 2, t, 3)
    assert_close((value, third), ([0.5, 8.0], [12.0, 24.0]), dtype=dg.float32)
    assert_raises(TypeError, lambda: dg.laplacian(lambda t: (t * t).sum())(t), "laplacian", "int32", "float32")
