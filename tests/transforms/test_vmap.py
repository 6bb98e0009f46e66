"""vmap under a derivative: samples that are constants act on what all samples share."""

import numpy as np
import pytest
from support import steps

import dualgrad as dg
from dualgrad import Tensor, nn, ops
from dualgrad.testing import taped_backward

SAMPLES = np.array([[0.2, 1.1, -0.4], [0.3, 3.0, 0.7]])
SHARED = np.array([0.5, -1.0, 2.0])


class Scaled(nn.Cell):
    """x * w with a rule of its own."""

    def construct(self, x, w):
        return x * w

    def bprop(self, x, w, out, dout):
        return dout * w, dout * x


# Functions of a sample and of what all samples share.
FUNCTIONS = {
    "index": lambda x, w: (w[ops.argsort(x)] ** 3)[0],
    "mask": lambda x, w: ops.where(x > 0.25, w**3, w**2).sum(),
    "constant": lambda x, w: (ops.stop_gradient(x) * w**3).sum(),
    "gradient": lambda x, w: dg.grad(lambda y: (y**2 * w**2).sum())(ops.stop_gradient(x)).sum(),
    "gradient elsewhere": lambda x, w: dg.grad(lambda y: (y**2 * w**2 * (x > 0.25)).sum())(Tensor(SHARED + 1)).sum(),
    "forward": lambda x, w: dg.jvp(lambda y: (y**2 * w**2).sum(), ops.stop_gradient(x), ops.ones_like(x))[1],
    "vmap": lambda x, w: dg.vmap(lambda y, v: ops.where(y > 0.25, v**3, 0.0))(x, w).sum(),
    "vmap of a constant": lambda x, w: dg.vmap(lambda y: (ops.stop_gradient(y) * w**3).sum())(x).sum(),
    "bprop": lambda x, w: (Scaled()(ops.stop_gradient(x), w * w) * w).sum(),
}
ORDERS = {name: 1 if name == "bprop" else 3 for name in FUNCTIONS}  # no higher ones under vmap without an exact rule
RECORDED = ("index", "mask", "constant", "gradient", "gradient elsewhere")


def derivatives(f, order):
    """The gradient, and derivatives along a direction up to an order."""
    along = lambda t: f(Tensor(SHARED) + t * Tensor(SHARED[::-1].copy()))
    yield dg.grad(f)(Tensor(SHARED)).asnumpy()
    for _ in range(order):
        along = dg.grad(along)
        yield along(Tensor(0.3)).asnumpy()


def at_once(f):
    return lambda w: dg.vmap(f, (0, None))(Tensor(SAMPLES), w).sum()


def one_by_one(f):
    return lambda w: f(Tensor(SAMPLES[0]), w) + f(Tensor(SAMPLES[1]), w)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_samples_that_are_constants_act_on_what_all_share(name):
    f = FUNCTIONS[name]
    for a, b in zip(derivatives(at_once(f), ORDERS[name]), derivatives(one_by_one(f), ORDERS[name]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", RECORDED)
def test_the_same_with_recorded_backward_passes(name):
    f = FUNCTIONS[name]
    with taped_backward():
        found = list(derivatives(at_once(f), 3))
    for a, b in zip(found, derivatives(one_by_one(f), 3), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_by_samples_and_by_what_they_share_come_together(name):
    f = FUNCTIONS[name]
    by_samples, by_shared = dg.grad(lambda x, w: dg.vmap(f, (0, None))(x, w).sum(), (0, 1))(
        Tensor(SAMPLES), Tensor(SHARED)
    )
    assert not by_samples.asnumpy().any()
    np.testing.assert_allclose(by_shared.asnumpy(), dg.grad(one_by_one(f))(Tensor(SHARED)).asnumpy(), rtol=1e-12)


class Constant(nn.Cell):
    """The sum of its input; its rule does not look at the cotangent, and returns the same for every sample."""

    def construct(self, x):
        return x.sum()

    def bprop(self, x, out, dout):
        return (ops.full_like(x, 2.0),)


class Pair(nn.Cell):
    """One result that differs from sample to sample, and one that does not."""

    def construct(self, x, w):
        return x * w, w * w

    def bprop(self, x, w, out, dout):
        return dout[0] * w, dout[0] * x + 2.0 * w * dout[1]


def test_what_samples_share_gets_the_sum_of_their_cotangents():
    """However the values that differ and those that are the same are mixed in one instruction."""
    functions = {
        "a rule without the cotangent": (lambda x, w: Constant()(x * w), lambda x, w: 2.0 * (x * w).sum()),
        "two results": (lambda x, w: sum(Pair()(x, w)).sum(), lambda x, w: (x * w + w * w).sum()),
        "jvp": (
            lambda x, w: sum(dg.jvp(lambda v: v**2 * w, w, x)).sum(),
            lambda x, w: (w**3 + 2.0 * w * x * w).sum(),
        ),
        "value_and_grad": (
            lambda x, w: sum(t.sum() for t in dg.value_and_grad(lambda v: v**2 * w + 0.0 * x, 0)(w)) + (x * w).sum(),
            lambda x, w: (w**3 + 2.0 * w * w + x * w).sum(),
        ),
        "products": (
            lambda x, w: ((w.reshape((3, 1)) @ x.reshape((1, 3))) @ (x * w)).sum(),
            lambda x, w: w.sum() * (x * x * w).sum(),
        ),
        "a matrix": (
            lambda x, w: (ops.outer(w, w) @ x).sum() + (x @ ops.outer(w, w)).sum(),
            lambda x, w: 2.0 * w.sum() * (w * x).sum(),
        ),
        "a stack": (
            lambda x, w: (ops.outer(w, w) @ ops.stack((ops.outer(x, x), ops.outer(x, w)))).sum(),
            lambda x, w: w.sum() * ((w * x).sum() * x.sum() + (w * x).sum() * w.sum()),
        ),
        "a choice": (lambda x, w: ops.where(x > 0.25, w**3, w).sum(), lambda x, w: ((x > 0.25) * (w**3 - w) + w).sum()),
        "joined and picked": (
            lambda x, w: (ops.cat((x, w * w))[1:5] * ops.cat((w, x))[2:]).sum(),
            lambda x, w: x[1] * w[2] + x[2] * x[0] + w[0] ** 2 * x[1] + w[1] ** 2 * x[2],
        ),
    }
    for name, (f, plain) in functions.items():
        rule = name in ("a rule without the cotangent", "two results")
        for order in (1,) if rule else (1, 2, 3):
            found = list(derivatives(at_once(f), order))
            expected = list(derivatives(one_by_one(plain), order))
            for a, b in zip(found[: 1 + (not rule) * order], expected, strict=False):
                np.testing.assert_allclose(a, b, rtol=1e-12, err_msg=f"{name}, order {order}")


def test_the_gradient_by_a_shared_matrix_is_one_product():
    matrix = Tensor(np.ones((3, 4)))
    f = lambda m: dg.vmap(lambda x: ops.tanh(x @ ops.exp(m)).sum())(Tensor(SAMPLES)).sum()
    found = steps(dg.grad(f), matrix)
    assert [shape for name, shape in found if name == "matmul"] == ["(2, 4)", "(3, 4)"]
    assert max(len(shape.split(",")) for _, shape in found) <= 3  # no product for each sample
    left = lambda m: dg.vmap(lambda x: ops.tanh(m.T @ x).sum())(Tensor(SAMPLES)).sum()
    assert [shape for name, shape in steps(dg.grad(left), matrix) if name == "matmul"] == ["(2, 4)", "(4, 3)"]
