"""Recorded programs whose samples are not the first axis: the order of axes in memory changes no result."""

import numpy as np
import pytest
from support import f64

import dualgrad as dg
from dualgrad import ops

STACK, ROWS, WIDTH = 5, 128, 40


def numbers(*shape):
    return f64(np.random.default_rng(len(shape)).normal(size=shape))


def rows_of(x):
    """A large array with the rows first, as samples have them."""
    return ops.tanh(x) * 2.0


PROGRAMS = {
    "elementwise": lambda x, s, w: ops.sin(s) * rows_of(x),
    "rows times a matrix": lambda x, s, w: (
        (ops.cos(s).reshape((STACK * ROWS, WIDTH)) @ w).reshape(s.shape) + rows_of(x)
    ),
    "stacks as rows": lambda x, s, w: ops.exp(
        (ops.exp(s.transpose((1, 0, 2))).reshape((ROWS * STACK, WIDTH)) @ w).reshape((ROWS, STACK, WIDTH))
    ),
    "a matrix times that of each row": lambda x, s, w: ops.exp(w[:, :STACK] @ ops.exp(s.transpose((1, 0, 2)))),
    "a transposed stack": lambda x, s, w: ops.exp(s).transpose((2, 0, 1)) + rows_of(x)[:, 0],
    "contracted over rows and stacks": lambda x, s, w: (
        ops.exp(s).transpose((2, 0, 1)).reshape((WIDTH, STACK * ROWS)) @ (s * rows_of(x)).reshape((STACK * ROWS, WIDTH))
    ),
    "contracted with what comes from outside": lambda x, s, w: (
        s.transpose((2, 0, 1)).reshape((WIDTH, STACK * ROWS)) @ (s * rows_of(x)).reshape((STACK * ROWS, WIDTH))
    ),
    "contracted over the rows": lambda x, s, w: (ops.exp(s[:, :, 0]) * rows_of(x)[:, 1]) @ rows_of(x),
    "rows as columns": lambda x, s, w: (w[:STACK] @ rows_of(x).T) * s[:, :, 0],
    "sum over the stack": lambda x, s, w: (ops.exp(s) * rows_of(x)).sum(0),
    "sum over the rows": lambda x, s, w: (ops.exp(s) * rows_of(x)).sum(1),
    "sum over units": lambda x, s, w: (ops.exp(s) * rows_of(x)).sum(2),
    "sum over stack and units": lambda x, s, w: (ops.exp(s) * rows_of(x)).sum((0, 2)),
    "sum of everything": lambda x, s, w: (ops.exp(s) * rows_of(x)).sum(),
    "sum over merged axes": lambda x, s, w: (ops.exp(s) * rows_of(x)).reshape((STACK * ROWS, WIDTH)).sum(0),
    "joined": lambda x, s, w: ops.concat((ops.exp(s), rows_of(x)[None])) * 3.0,
    "a part": lambda x, s, w: dg.grad(lambda t: (ops.exp(t)[1:3, :, ::2] * rows_of(x)[:, ::2]).sum())(s),
    "where": lambda x, s, w: ops.where(s > 0, ops.exp(s), rows_of(x)),
    "another shape": lambda x, s, w: (ops.exp(s) * rows_of(x)).reshape((STACK, ROWS, 4, WIDTH // 4)).sum(2),
    "a shape of its own": lambda x, s, w: (ops.exp(s) * rows_of(x)).reshape((WIDTH, STACK * ROWS)) + 1.0,
    "laplacian": lambda x, s, w: dg.laplacian(lambda x: (ops.tanh(x @ w) @ w).sum(-1))(x),
    "hessian": lambda x, s, w: dg.hessian(lambda v: ops.tanh(rows_of(x) @ v).sum())(w[0]),
}


@pytest.mark.parametrize("gradient", [False, True], ids=["value", "gradient"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_recorded_is_eager(name, gradient):
    program = PROGRAMS[name]
    if gradient:
        values = program
        program = dg.grad(lambda x, s, w: (values(x, s, w) ** 2).sum(), (0, 1, 2))
    arguments = numbers(ROWS, WIDTH), numbers(STACK, ROWS, WIDTH) * 0.1, numbers(WIDTH, WIDTH) * 0.1
    expected = program(*arguments)
    recorded = dg.jit(program)
    recorded(*arguments)
    recorded(*arguments)
    found = recorded(*arguments)
    assert dg.explain(recorded)(*arguments).why is None
    if not gradient:
        expected, found = (expected,), (found,)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-11, atol=1e-12 * np.abs(b.asnumpy()).max())


def test_a_laplacian_and_its_gradient_are_one_region_over_the_samples():
    weights = [numbers(64, 10) * 0.3, numbers(64, 64) * 0.1, numbers(1, 64)]

    def laplacian(x, a, b, c):
        return dg.laplacian(lambda x: (ops.tanh(ops.tanh(x @ a.T) @ b.T) @ c.T).sum(-1))(x)

    def loss(*arguments):
        return (laplacian(*arguments) ** 2).mean()

    for function in laplacian, dg.value_and_grad(loss, (1, 2, 3)):
        explained = dg.explain(function)(numbers(512, 10), *weights)
        assert [region["rows"] for region in explained.regions if region["flops"] > 1e6] == [512]
        assert explained.arena_bytes < 512 * 10 * 64 * 8 / 2  # no derivative by all variables leaves its block


def test_the_hessian_of_a_regression_is_one_product():
    inputs = numbers(1000, 50)

    def loss(w):
        return ops.softplus(inputs @ w).mean()

    explained = dg.explain(dg.hessian(loss))(numbers(50))
    large = [region for region in explained.regions if region["flops"] > 1e6]
    assert [region["rows"] for region in large] == [1000]
    assert explained.flops < 1.2 * 2 * 1000 * 50 * 50
