"""Second and third derivatives through the operators where other engines drop terms.

Each function is differentiated by the composite reverse node and, independently, by nested forward duals,
which share no sweep with it; some also by mpmath. What is compared is every element of the second and third
derivative contracted with random directions.
"""

import mpmath
import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops

RNG = np.random.default_rng(7)
A = RNG.normal(size=(3, 4))
B = RNG.normal(size=(4, 3))
W = RNG.normal(size=(3, 4))


def t(x):
    return Tensor(np.asarray(x, np.float64))


def weighted(y):
    """A scalar from any output, with no symmetry that could hide a dropped term."""
    size = int(np.prod(y.shape))
    weights = np.linspace(0.7, 1.9, max(size, 1))[:size].reshape(y.shape)
    return ops.sum(ops.sin(y) * weights)


# name -> function of a (3, 4) matrix
FUNCTIONS = {
    "reshape": lambda x: ops.reshape(x, (4, 3)) * ops.reshape(x, (4, 3)),
    "reshape to one axis": lambda x: ops.reshape(x, (12,)) * ops.reshape(x, (12,)),
    "transpose": lambda x: ops.transpose(x, (1, 0)) * x.T,
    "flatten": lambda x: ops.flatten(x) * ops.flatten(x),
    "expand_dims": lambda x: ops.expand_dims(x, 1) * ops.expand_dims(x, 0),
    "slicing": lambda x: x[1:, ::2] * x[:2, 1::2],
    "negative step": lambda x: x[::-1, 1:] * x[:, :0:-1],
    "an int index": lambda x: x[1] * x[2] * x[0],
    "an int index on both axes": lambda x: x[1, 2] * x[0, 1] * x,
    "a boolean mask": lambda x: x[np.arange(12).reshape(3, 4) % 3 == 0] ** 3,
    "an index array": lambda x: x[[0, 2, 0]] * x,
    "sum over an axis": lambda x: ops.sin(ops.sum(x, 0)) * x,
    "sum over both": lambda x: ops.sin(ops.sum(x)),
    "mean over axes": lambda x: ops.exp(ops.mean(x, (0, 1))) * x,
    "mean over an axis, kept": lambda x: ops.square(x - x.mean(1, keep_dims=True)) * x,
    "prod": lambda x: ops.prod(x),
    "prod over an axis": lambda x: ops.prod(x, 1),
    "norm": lambda x: ops.norm(x),
    "norm over an axis": lambda x: ops.norm(x, dim=1) * x[:, 0],
    "sqrt of a sum of squares": lambda x: ops.sqrt(ops.sum(x * x)),
    "std": lambda x: x.std(),
    "std over an axis": lambda x: ops.std(x, 1),
    "var": lambda x: x.var() * x,
    "var over an axis": lambda x: ops.var(x, 0),
    "logsumexp": lambda x: ops.logsumexp(x, 1),
    "matmul with itself transposed": lambda x: ops.matmul(x, x.T),
    "matmul of a product with itself": lambda x: (x @ B) @ (x @ B),
    "matmul with a vector": lambda x: x @ (x[0] * x[1]),
    "stacked matmul": lambda x: (
        ops.expand_dims(x, 0) @ (ops.expand_dims(x.T, 0) * np.arange(1.0, 3.0).reshape(2, 1, 1))
    ),
    "concat": lambda x: ops.cat((x, x * x, x[:, :1]), 1) * ops.cat((x * x, x, x[:, 1:2]), 1),
    "stack": lambda x: ops.stack((x, x * x), 1) * ops.expand_dims(x, 1),
    "split": lambda x: (lambda p, q: p * q * q)(*ops.split(x, 2, 1)),
    "tile": lambda x: ops.tile(x, (2, 1)) * ops.tile(x * x, (2, 1)),
    "tril": lambda x: ops.tril(x @ B) @ ops.tril(x @ B),
    "triu": lambda x: ops.triu(x @ B) * (x @ B),
    "pairwise differences": lambda x: ops.sum(ops.square(ops.expand_dims(x, 0) - ops.expand_dims(x, 1)), -1) ** 2,
    "broadcast": lambda x: ops.broadcast_to(x[:1], (3, 4)) * x * x,
    "max over an axis": lambda x: ops.amax(x, 1) ** 3,
    "min of all": lambda x: x.min() * x * x,
    "cumsum": lambda x: ops.cumsum(x, 1) * ops.cumsum(x * x, 0),
    "where": lambda x: ops.where(x > 0, x**3, ops.exp(x)),
    "gather": lambda x: ops.gather(x, Tensor([2, 0]), 0) ** 3,
    "softmax": lambda x: ops.softmax(x, 1) * x,
    "log_softmax": lambda x: ops.log_softmax(x, 0) * x,
    "division by a norm": lambda x: x / ops.norm(x, dim=1, keepdim=True),
    "indexed writing": lambda x: written(x),
}


def written(x):
    y = x * 2.0
    y[1] = x[0] * x[2]
    y[:, 1:3] = y[:, :2] * x[:, 2:]
    return y


def along(f, v):
    """The derivative along v by forward mode."""
    return lambda x: dg.jvp(f, x, t(v))[1]


def contracted(f, u):
    """<gradient, u> by reverse mode."""
    return lambda x: ops.sum(dg.grad(f)(x) * u)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_and_third_derivatives_agree_with_nested_duals(name):
    x = t(W)
    f = lambda x: weighted(FUNCTIONS[name](x))
    u, v = RNG.normal(size=(2, 3, 4))

    second = dg.grad(contracted(f, u))(x).asnumpy()
    third = dg.grad(contracted(contracted(f, u), v))(x).asnumpy()
    forward_second, forward_third = np.zeros((2, 3, 4))
    for index in np.ndindex(3, 4):
        e = np.zeros((3, 4))
        e[index] = 1.0
        forward_second[index] = float(along(along(f, u), e)(x))
        forward_third[index] = float(along(along(along(f, u), v), e)(x))

    for got, expected in ((second, forward_second), (third, forward_third)):
        assert np.abs(expected).max() > 1e-3, "the function has no derivative of this order to check"
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_derivative_agrees_with_differences(name):
    f = lambda x: weighted(FUNCTIONS[name](x))
    u, h = RNG.normal(size=(3, 4)), 1e-6
    exact = float(ops.sum(dg.grad(f)(t(W)) * u))
    rough = (float(f(t(W + h * u))) - float(f(t(W - h * u)))) / (2 * h)
    np.testing.assert_allclose(exact, rough, rtol=1e-5, atol=1e-6)


def mp_sum(values):
    return mpmath.fsum(values)


MPMATH = {
    "sin of a sum": (lambda x: ops.sin(ops.sum(x)), lambda x: mpmath.sin(mp_sum(x))),
    "norm": (lambda x: ops.norm(x), lambda x: mpmath.sqrt(mp_sum(v * v for v in x))),
    "prod": (lambda x: ops.prod(x), lambda x: mpmath.fprod(x)),
    "logsumexp": (lambda x: ops.logsumexp(x, 0), lambda x: mpmath.log(mp_sum(mpmath.exp(v) for v in x))),
    "std": (
        lambda x: x.std(),
        lambda x: (lambda m: mpmath.sqrt(mp_sum((v - m) ** 2 for v in x) / len(x)))(mp_sum(x) / len(x)),
    ),
}


@pytest.mark.parametrize("name", MPMATH)
def test_second_and_third_derivatives_agree_with_mpmath(name):
    ours, theirs = MPMATH[name]
    point = [0.5, -1.3, 0.8]
    with mpmath.workdps(40):
        for i in range(3):
            for j in range(3):
                order = tuple((k == i) + (k == j) for k in range(3))
                expected = float(mpmath.diff(lambda *x: theirs(x), tuple(point), order))
                got = dg.grad(lambda x, j=j: dg.grad(ours)(x)[j])(t(point)).asnumpy()[i]
                np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-13)
        third = float(mpmath.diff(lambda *x: theirs(x), tuple(point), (1, 1, 1)))
    got = dg.grad(lambda x: dg.grad(lambda x: dg.grad(ours)(x)[0])(x)[1])(t(point)).asnumpy()[2]
    np.testing.assert_allclose(got, third, rtol=1e-10, atol=1e-12)
