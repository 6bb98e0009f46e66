"""One tensor at several positions: each has a gradient of its own, in both modes."""

import numpy as np
import pytest
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import nn, ops

pytestmark = pytest.mark.usefixtures("mode")

X = np.array([0.5, -1.5, 3.0])


class Product(nn.Cell):
    def construct(self, x, y):
        return x**2 * ops.sin(y)


@pytest.mark.parametrize("same", [True, False])
def test_gradients_are_those_of_the_positions(same):
    x, y = f64(X), f64(X)
    given = (x, x) if same else (x, y)
    expected = 2 * X * np.sin(X), X**2 * np.cos(X)
    for gradient in (dg.grad(Product(), (0, 1)), ops.GradOperation(get_all=True)(Product())):
        for _ in range(3):  # the third call replays in Graph mode
            assert_close(gradient(*given), expected)


@pytest.mark.parametrize("gradient", [dg.grad, dg.value_and_grad])
@pytest.mark.parametrize("weights", [None, "all"])
def test_an_empty_tuple_is_no_position(gradient, weights):
    """As an error it is what both this library and MindSpore raise."""
    net = nn.Dense(1, 1)
    for kind in (ValueError, RuntimeError):
        assert_raises(kind, lambda: gradient(net, (), net.trainable_params() if weights else None), "empty tuple")
