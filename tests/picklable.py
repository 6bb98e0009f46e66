"""Functions of a module, as pickle finds them: what is sent to other processes."""

import numpy as np

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops

X = np.array([0.5, -1.0, 2.0, 1.5])
WEIGHT = Parameter(np.array([2.0, 3.0, -1.0, 0.5]), name="weight")


def energy(x):
    return (ops.sin(x) * x**2 * WEIGHT).sum()


def values(x):
    return x[1:] * x[:-1] * WEIGHT[1:]


def moving(t, y):
    return values(y).sum() * y * t


def scaled(x, k=1.0):
    return energy(x) * k


def sum_of_gradient(x):
    return dg.grad(energy)(x).sum()


@dg.jit
def decorated(x):
    return energy(x) * 2


@dg.jit(pure=True)
def decorated_pure(x):
    return energy(x) * 3


@dg.grad
def decorated_gradient(x):
    return energy(x) * 4


@dg.vmap
def decorated_map(x):
    return ops.sin(x) * 5


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(np.array([1.0, 2.0, 3.0, 4.0]), name="w")

    def construct(self, x):
        return (ops.tanh(x * self.weight) ** 2).sum()


class Plain:
    def __init__(self, k):
        self.k = k

    def method(self, x):
        return energy(x) * self.k

    @dg.jit
    def recorded(self, x):
        return energy(x) * self.k

    @dg.jit
    @staticmethod
    def static(x):
        return energy(x) * 7


class Tree(nn.Cell):
    """A Cell that keeps its own gradient function."""

    def __init__(self):
        super().__init__()
        self.weight = Parameter(np.array([1.0, 2.0, 3.0, 4.0]), name="w")
        self.gradient = dg.grad(self.loss, None, [self.weight])

    def loss(self, x):
        return (x * self.weight**2).sum()

    def construct(self, x):
        return self.gradient(x)[0]


def call(f, *args):
    """What a worker does: numbers come back."""
    return numbers(f(*args))


def numbers(found):
    if isinstance(found, Tensor):
        return found.asnumpy()
    if isinstance(found, tuple | list):
        return [numbers(part) for part in found]
    return found.toarray() if hasattr(found, "toarray") else found
