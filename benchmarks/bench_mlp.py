"""One first-order step of a small tanh network: the mean squared error and the gradient of all weights.

Two shapes: many samples through a narrow net (2-20x8-1, 10,000 samples: elementwise work and thin products)
and few through a wider one (64-64-1, 256 samples: a product of 64 x 64 and the cost of the calls around it).
"""

from collections.abc import Sequence
from typing import Any

import networks
import numpy as np
import styles
from workload import Case, Run

TOLERANCE = {"float32": 2e-5, "float64": 1e-12}


def problem(widths: Sequence[int], samples: int, dtype: str) -> tuple:
    """Weights, inputs and targets, the same in every process."""
    rng = np.random.default_rng(21)
    inputs = rng.uniform(-1.0, 1.0, (samples, widths[0]))
    targets = np.sin(3.0 * inputs.sum(axis=1, keepdims=True))
    return networks.weights_of(widths, dtype), inputs.astype(dtype), targets.astype(dtype)


def by_hand(weights: networks.Weights, inputs: np.ndarray, targets: np.ndarray) -> list[np.ndarray]:
    """Loss and gradients by the textbook's backward pass, in the dtype of the arguments."""
    network = networks.Channels(weights, inputs)
    error = network.outputs[0] - targets
    return [np.mean(error * error), *network.gradient([error * inputs.dtype.type(2.0 / error.size)])]


def program(package: Any, weights: networks.Weights, inputs: np.ndarray, targets: np.ndarray) -> tuple:
    """Cells, against MindSpore's API."""
    network = networks.cell(package, weights)

    def loss(x, t):
        error = network(x) - t
        return (error * error).mean()

    step = package.value_and_grad(loss, None, network.trainable_params())
    return step, (package.Tensor(inputs), package.Tensor(targets))


def torch_eager(*problem: Any) -> Run:
    """Functional layers, ``autograd.grad`` with respect to the list of weights."""
    import torch

    weights, inputs, targets = styles.torch_tensors(*problem)
    for w in weights:
        w.requires_grad_()

    def call():
        loss = torch.nn.functional.mse_loss(networks.torch_value(weights, inputs), targets)
        return loss.detach(), torch.autograd.grad(loss, weights)

    return Run(call)


def loss_in(tanh: Any):
    def loss(weights, inputs, targets):
        error = networks.value(tanh, weights, inputs) - targets
        return (error * error).mean()

    return loss


def jax_jit(*problem: Any) -> Run:
    import jax

    return styles.jax_jit(jax.value_and_grad(loss_in(jax.numpy.tanh)), *problem)


def autograd(*problem: Any) -> Run:
    import autograd.numpy
    from autograd import value_and_grad

    step = value_and_grad(loss_in(autograd.numpy.tanh))
    return Run(lambda: step(*problem))


def hand(*problem: Any) -> Run:
    """The backward pass written out in NumPy."""
    return Run(lambda: by_hand(*problem))


RIVALS = {"jax jit": jax_jit, "torch": torch_eager, "autograd": autograd, "hand": hand}


def case(name: str, widths: Sequence[int], samples: int, dtype: str) -> Case:
    def arguments():
        return problem(widths, samples, dtype)

    return Case(
        name=f"mlp/{name}/{dtype}",
        reference=lambda: by_hand(*networks.doubled(arguments())),
        dtype=dtype,
        tolerance=TOLERANCE[dtype],
        contenders=styles.contenders(program, RIVALS, arguments, others={"mindspore": program}),
    )


CASES = [
    case(name, widths, samples, dtype)
    for name, widths, samples in [
        ("2-20x8-1", [2, *[20] * 8, 1], 10_000),
        ("64-64-1", [64, 64, 1], 256),
    ]
    for dtype in ("float32", "float64")
]


def test_mlp_step(benchmark, run):
    benchmark(run.call)
