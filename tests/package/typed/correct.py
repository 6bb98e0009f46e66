"""Correct programs, with the types of their values: checkers have nothing to say about any line, and they run."""

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np

import dualgrad as dg
from dualgrad import Parameter, ParameterTuple, Tensor, nn, ops


def energy(x: Tensor, k: float) -> Tensor:
    return (k * x * x).sum()


def two(x: Tensor, y: Tensor) -> Tensor:
    return (x * y).sum()


def of_weights(weights: dict[str, Tensor], x: Tensor) -> Tensor:
    return (weights["a"] * x).sum()


def of_number(x: float) -> float:
    return x**3


def with_aux(x: Tensor) -> tuple[Tensor, int]:
    return (x * x).sum(), 3


def gradients() -> None:
    x = Tensor([1.0, 2.0])
    assert_type(dg.grad(energy)(x, 1.0), Tensor)
    assert_type(dg.grad(energy)(x, k=1.0), Tensor)
    assert_type(dg.grad(energy)(np.ones(2), 1.0), Tensor)
    assert_type(dg.grad(of_number)(2.0), Tensor)
    assert_type(dg.grad(dg.grad(energy))(x, 1.0), Tensor)
    dg.grad(dg.grad(dg.grad(of_number)))(2.0).asnumpy()
    assert_type(dg.grad(two, 1)(x, x), Tensor)
    assert_type(dg.grad(two, (0, 1))(x, x), tuple[Tensor, Tensor])
    assert_type(dg.grad(of_weights)({"a": x}, x), dict[str, Tensor])
    assert_type(dg.grad(with_aux, has_aux=True)(x), tuple[Tensor, tuple[Any, ...]])
    assert_type(dg.value_and_grad(energy)(x, 1.0), tuple[Tensor, Tensor])
    value, (by_x, by_y) = dg.value_and_grad(two, (0, 1))(x, x)
    assert_type(value, Tensor)
    assert_type(by_x, Tensor)
    assert_type(by_y, Tensor)
    assert_type(dg.value_and_grad(with_aux, has_aux=True)(x), tuple[tuple[Tensor, int], Tensor])
    dg.grad(lambda x: (x * x).sum())(x).asnumpy()
    assert_type(ops.GradOperation()(energy)(x, 1.0), Tensor)
    ops.GradOperation(get_all=True)(two)(x, x)
    ops.GradOperation(sens_param=True)(lambda x: x * x)(x, x)
    dg.grad(two, grad_position=(0, 1), return_ids=True)(x, x)
    dg.grad(lambda x: x * x, sens_param=True)(x, x)


def other_transforms() -> None:
    x = Tensor([1.0, 2.0], dg.float64)
    assert_type(dg.hessian(energy)(x, 1.0), Tensor)
    dg.jacfwd(lambda x: x * x)(x).asnumpy()
    dg.jacrev(lambda x: x * x, chunk_size=2)(x).asnumpy()
    assert_type(dg.jacrev(dg.jacfwd(dg.grad(energy)))(x, 1.0), Tensor)
    dg.hessian(two, (0, 1))(x, x)
    dg.hvp(energy)(x, 1.0, x)
    assert_type(dg.laplacian(energy)(x, 1.0), Tensor)
    assert_type(dg.biharmonic(energy)(x, 1.0), Tensor)
    assert_type(dg.mixed_partial(energy, (1, 1))(x, 1.0), Tensor)
    result, lower = dg.laplacian(lambda x: (x**4).sum(), lower=True)(x)
    print(result, lower)
    assert_type(dg.jvp(energy, (x, 1.0), (x, 1.0)), tuple[Tensor, Tensor])
    y, pull = dg.vjp(energy, x, 1.0)
    assert_type(y, Tensor)
    pull(y)[0].sum()
    assert_type(dg.linearize(recorded, x)[0], Tensor)
    assert_type(dg.derivative(recorded, x, 3), tuple[Tensor, Tensor])
    assert_type(dg.vmap(energy, in_axes=(0, None))(x, 2.0), Tensor)
    assert_type(dg.vmap(dg.grad(energy), in_axes=(0, None))(x, 2.0), Tensor)
    assert_type(dg.recompute(energy)(x, 1.0), Tensor)
    assert_type(dg.recompute(energy, x, 1.0), Tensor)
    assert_type(dg.jit(energy)(x, 1.0), Tensor)


@dg.jit
def recorded(x: Tensor, times: int = 2) -> Tensor:
    return x * times


@dg.jit(pure=True)
def promised(x: Tensor) -> Tensor:
    return x * x


@dg.custom_vjp
def clipped(x: Tensor) -> Tensor:
    return x * x


clipped.defbwd(lambda x, out, dout: (ops.clamp(dout, -1.0, 1.0),))


def decorators() -> None:
    assert_type(clipped(Tensor([1.0])), Tensor)
    assert_type(dg.grad(clipped)(Tensor([1.0])), Tensor)
    assert_type(recorded(Tensor([1.0]), times=3), Tensor)
    assert_type(promised(Tensor([1.0])), Tensor)


class Net(nn.Cell):
    """A network whose construct says what it returns, and one method that is recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(nn.Dense(2, 8), nn.Tanh(), nn.Dense(8, 1))
        self.scale = Parameter(Tensor([1.0]), name="scale")

    def construct(self, x: Tensor, factor: float = 1.0) -> Tensor:
        return factor * self.scale * self.layers(x)

    @dg.jit
    def doubled(self, x: Tensor) -> Tensor:
        return self.scale * x


def cells() -> None:
    net, points = Net(), Tensor(np.ones((3, 2), np.float32))
    assert_type(net(points, factor=2.0), Tensor)
    assert_type(nn.Dense(2, 3)(points), Tensor)
    assert_type(net(np.ones((3, 2), np.float32)), Tensor)
    assert_type(net.doubled(points), Tensor)
    assert_type(dg.grad(net)(points), Tensor)
    assert_type(dg.jit(net)(points), Tensor)
    cell: nn.Cell = net
    cell(points, 2.0)
    layers: list[nn.Cell] = [net, nn.ReLU()]
    forward: Callable[[Tensor], Tensor] = net
    for layer in layers:
        layer(points)
    forward(points)


def pinn() -> None:
    """The equation u'' + u = 0 by a network, trained for two steps."""
    net = nn.SequentialCell(nn.Dense(1, 8), nn.Tanh(), nn.Dense(8, 1))
    points = Tensor(np.linspace(0.0, 1.0, 5, dtype=np.float32).reshape(-1, 1))

    def u(x: Tensor) -> Tensor:
        return net(x)

    def loss() -> Tensor:
        residual = dg.grad(dg.grad(u))(points) + u(points)
        return (residual**2).mean()

    weights = ParameterTuple(net.trainable_params())
    optimizer = nn.Adam(weights, learning_rate=1e-2)
    step = dg.value_and_grad(loss, None, weights)
    for _ in range(2):
        value, slopes = step()
        assert_type(value, Tensor)
        assert_type(slopes, tuple[Tensor, ...])
        optimizer(slopes)


def newton() -> None:
    """Newton's method for a minimum."""

    def f(x: Tensor) -> Tensor:
        return ((x - 1.0) ** 4 + x**2).sum()

    x = Tensor([0.0, 2.0], dg.float64)
    gradient, curvature = dg.grad(f), dg.hessian(f)
    for _ in range(3):
        x = x - dg.numpy.linalg.solve(curvature(x), gradient(x))
    print(float(f(x)))


def arrays_of_numpy() -> None:
    x, a = Tensor([1.0, 2.0]), np.ones(2)
    assert_type(x * a, Tensor)
    assert_type(np.float64(2.0) * x, Tensor)
    (a * x).asnumpy()  # NumPy's operators leave open what comes back
    (np.ones((2, 2)) @ x).sum()
    print(np.sin(a) - np.asarray(x) * 2)
    np.testing.assert_allclose(np.asarray(x).shape, x.asnumpy().shape)
    np.mean(x, axis=0)
    np.sum(x)
    dg.numpy.sin(a)
    dg.set_context(mode=dg.PYNATIVE_MODE, device_target="CPU")
    Tensor(shape=(2,), dtype=dg.float32)


def names_that_are_imported_late() -> None:
    assert isinstance(dg.__version__, str)
    assert ops.operations.Add is ops.Add
    assert nn.probability.__name__ == "dualgrad.nn.probability"
    dg.custom_vjp(energy)
    dg.sparse_jacobian(lambda x: x * x)


PROGRAMS: list[Callable[[], None]] = [
    gradients, other_transforms, decorators, cells, pinn, newton, arrays_of_numpy, names_that_are_imported_late,
]  # fmt: skip
