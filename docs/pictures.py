"""Pictures of a program and of a profile, drawn anew whenever the documentation is built."""

import numpy as np

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops


def pages() -> dict[str, str]:
    """SVG documents by file name: the program on docs/howto/programs.md, and the profile of the gradient of a PINN."""
    return {"explained.svg": explained(), "profiled.svg": profiled()}


WEIGHTS = Parameter(np.linspace(-1.0, 1.0, 9).reshape(3, 3), name="weights")
SOURCE = np.random.default_rng(0)
LAYERS = [
    Parameter(SOURCE.normal(size=shape) / shape[0] ** 0.5, name=f"w{k}")
    for k, shape in enumerate(((2, 32), (32, 32), (32, 1)))
]


def loss(x: Tensor) -> Tensor:
    return (ops.tanh(ops.matmul(x, WEIGHTS)) ** 2).mean()


def explained() -> str:
    """The gradient of a layer's mean square."""
    drawn: str = dg.explain(dg.grad(loss, None, [WEIGHTS]))(Tensor(np.linspace(0.0, 1.0, 12).reshape(4, 3))).svg()
    return drawn


def network(x: Tensor) -> Tensor:
    return ops.tanh(ops.tanh(x @ LAYERS[0]) @ LAYERS[1]) @ LAYERS[2]


def residual(points: Tensor) -> Tensor:
    return ((dg.laplacian(network)(points) - 1.0) ** 2).mean()


def profiled() -> str:
    """Poisson's equation by a network of two layers of 32, at 2,000 points: the gradient of the squared residual."""
    drawn: str = dg.profile(dg.grad(residual, None, LAYERS))(Tensor(SOURCE.uniform(size=(2000, 2)))).svg()
    return drawn
