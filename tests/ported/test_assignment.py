"""Assignment to tensors that are no Parameters: what `assign` and its kin write, its derivatives, and refusals."""

import operator

import numpy as np
import pytest
from support import assert_close, assert_raises, f32, f64, i32

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops

pytestmark = pytest.mark.usefixtures("mode")

CHANGES = {"assign": lambda x, y: y + 0 * x, "assign_add": operator.add, "assign_sub": operator.sub}
CLASSES = {"assign": ops.Assign, "assign_add": ops.AssignAdd, "assign_sub": ops.AssignSub}
X, Y = np.array([1.5, -0.5]), np.array([0.25, 2.0])


def through(name):
    """Functions of two tensors: one writes into a tensor of its own, the other says it as a formula."""
    assign = getattr(ops, name)

    def written(x, y):
        z = x * 1.5
        assign(z, ops.sin(y))
        return ops.sum(z * z * y)

    def formula(x, y):
        z = CHANGES[name](x * 1.5, ops.sin(y))
        return ops.sum(z * z * y)

    return written, formula


@pytest.mark.parametrize("name", CHANGES)
def test_derivatives_are_those_of_the_formula(name):
    written, formula = through(name)
    for transform in (
        lambda f: dg.grad(f, (0, 1)),
        lambda f: dg.grad(lambda x, y: ops.sum(dg.grad(f, 1)(x, y) ** 2), (0, 1)),
        lambda f: lambda x, y: dg.jvp(f, (x, y), (x, y)),
        lambda f: dg.vmap(lambda x, y: f(x, y), (0, 0)),
    ):
        got, expected = (transform(f)(f64(X), f64(Y)) for f in (written, formula))
        for one, other in zip(*[r if isinstance(r, tuple) else (r,) for r in (got, expected)], strict=True):
            assert_close(one, other.asnumpy(), rtol=1e-12)


@pytest.mark.parametrize("name", CHANGES)
def test_the_variable_is_changed_and_returned(name):
    for call in getattr(ops, name), CLASSES[name]():
        x, w = f64(X), Parameter(f64(X), name="w")
        assert call(x, f64(Y)) is x
        call(w, f64(Y))
        assert_close(x, CHANGES[name](X, Y))
        assert_close(w * 1, CHANGES[name](X, Y))


def test_an_argument_of_a_recorded_function_is_changed_at_each_call():
    step = dg.jit(lambda x, y: ops.assign_add(x, y) * 2)
    x = f64(X)
    for k in (1, 2, 3):
        assert_close(step(x, f64(Y)), 2 * (X + k * Y))
        assert_close(x, X + k * Y)


def test_what_does_not_fit_is_refused():
    assert_raises(TypeError, lambda: ops.assign_add(i32([1]), f32([0.5])), "assign_add", "Int32", "Float32")
    assert_raises(ValueError, lambda: ops.assign(f32([1.0]), f32([[0.5]])), "assign", "(1,)", "(1, 1)")
    assert_raises(TypeError, lambda: ops.assign_sub(1.0, f32([0.5])), "assign_sub", "float")
    outside = f64(X)
    assert_raises(RuntimeError, lambda: dg.grad(lambda y: ops.sum(ops.assign(outside, y)))(f64(Y)), "assign", "outside")
    assert Tensor(X, dg.float64).tolist() == outside.tolist()
