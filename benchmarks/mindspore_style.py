"""The benchmark programs, written once against MindSpore's Python API.

Each program takes the package (dualgrad or mindspore) and returns a function without arguments. That one
source serves both is part of what is measured: the user's program does not change.
"""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from workload import Run, leaves


def contender(library: str, mode: str, program: Callable[..., Callable[[], Any]], *arguments: Any) -> Run:
    """``program(package, *arguments)`` in ``mode``, the name of one of the package's two execution modes."""
    package = importlib.import_module(library)

    def enter():
        package.set_context(mode=getattr(package, mode))

    enter()
    call = program(package, *arguments)
    if library == "mindspore":
        # Its calls return before the work is done; reading the results waits for it.
        return Run(lambda: list(leaves(call())), enter)
    return Run(call, enter)


def tiny_second_order(package: Any) -> Callable[[], tuple]:
    """All four second partials of ``x * x * y`` at (4, 5): Cell in Cell in Cell, both rows in one call."""
    nn, ops, Tensor = package.nn, package.ops, package.Tensor

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.mul = ops.Mul()

        def construct(self, x, y):
            return self.mul(self.mul(x, x), y)

    class Grad(nn.Cell):
        def __init__(self, network):
            super().__init__()
            self.grad = ops.GradOperation(get_all=True)
            self.network = network

        def construct(self, x, y):
            return self.grad(self.network)(x, y)

    class GradSec(nn.Cell):
        def __init__(self, network):
            super().__init__()
            self.grad = ops.GradOperation(get_all=True, sens_param=True)
            self.network = network
            self.one = Tensor(np.array([1], np.float32))
            self.zero = Tensor(np.array([0], np.float32))

        def construct(self, x, y):
            dxdx, dxdy = self.grad(self.network)(x, y, (self.one, self.zero))
            dydx, dydy = self.grad(self.network)(x, y, (self.zero, self.one))
            return dxdx, dxdy, dydx, dydy

    second = GradSec(Grad(Net()))
    x, y = Tensor(np.array([4], np.float32)), Tensor(np.array([5], np.float32))
    return lambda: second(x, y)


def mlp_step(
    package: Any, weights: Sequence[np.ndarray], inputs: np.ndarray, targets: np.ndarray
) -> Callable[[], tuple]:
    """Mean squared error of a tanh network and its gradients; ``weights`` alternate matrices and biases."""
    nn, Tensor = package.nn, package.Tensor

    layers = []
    for matrix, bias in zip(weights[::2], weights[1::2], strict=True):
        layer = nn.Dense(
            *matrix.shape[::-1],
            weight_init=Tensor(matrix),
            bias_init=Tensor(bias),
            dtype=getattr(package, matrix.dtype.name),
        )
        layers += [layer, nn.Tanh()]
    network = nn.SequentialCell(layers[:-1])

    def loss(x, t):
        error = network(x) - t
        return (error * error).mean()

    step = package.value_and_grad(loss, None, network.trainable_params())
    x, t = Tensor(inputs), Tensor(targets)
    return lambda: step(x, t)


def chain(package: Any, steps: int, start: float, factor: float, shift: float) -> Callable[[], tuple]:
    """Gradient of ``x = x * a + b``, ``steps`` times over, with respect to x, a and b: 0-d, float64."""
    Tensor = package.Tensor

    def function(x, a, b):
        for _ in range(steps):
            x = x * a + b
        return x

    gradient = package.grad(function, (0, 1, 2))
    x, a, b = (Tensor(np.array(value)) for value in (start, factor, shift))
    return lambda: gradient(x, a, b)
