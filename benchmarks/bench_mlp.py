"""One first-order step of a small tanh network: the mean squared error and the gradient of all weights.

Two shapes: many samples through a narrow net (2-20x8-1, 10,000 samples: elementwise work and thin products)
and few through a wider one (64-64-1, 256 samples: a product of 64 x 64 and the cost of the calls around it).
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from mindspore_style import contender, mlp_step
from workload import Case, Run

TOLERANCE = {"float32": 2e-5, "float64": 1e-12}


def problem(widths: Sequence[int], samples: int, dtype: str) -> tuple:
    """Weights (matrix (out, in), bias (out,), matrix, ...), inputs and targets, the same in every process."""
    rng = np.random.default_rng(20)
    weights = []
    for n_in, n_out in pairwise(widths):
        bound = np.sqrt(3.0 / n_in)
        weights += [rng.uniform(-bound, bound, (n_out, n_in)), rng.uniform(-0.1, 0.1, n_out)]
    inputs = rng.uniform(-1.0, 1.0, (samples, widths[0]))
    targets = np.sin(3.0 * inputs.sum(axis=1, keepdims=True))
    return [w.astype(dtype) for w in weights], inputs.astype(dtype), targets.astype(dtype)


def by_hand(weights: Sequence[np.ndarray], inputs: np.ndarray, targets: np.ndarray) -> list[np.ndarray]:
    """Loss and gradients by the textbook's backward pass, in the dtype of the arguments."""
    matrices, biases = weights[::2], weights[1::2]
    activations = [inputs]
    for matrix, bias in zip(matrices[:-1], biases[:-1], strict=True):
        activations.append(np.tanh(activations[-1] @ matrix.T + bias))
    error = activations[-1] @ matrices[-1].T + biases[-1] - targets
    gradients = []
    delta = error * inputs.dtype.type(2.0 / error.size)
    for matrix, activation in zip(matrices[::-1], activations[::-1], strict=True):
        gradients = [delta.T @ activation, delta.sum(axis=0), *gradients]
        delta = (delta @ matrix) * (1 - activation * activation)
    return [np.mean(error * error), *gradients]


def torch_eager(*problem) -> Run:
    """Functional layers, ``autograd.grad`` with respect to the list of weights."""
    import torch

    weights, inputs, targets = problem
    weights = [torch.tensor(w, requires_grad=True) for w in weights]
    inputs, targets = torch.tensor(inputs), torch.tensor(targets)
    linear = torch.nn.functional.linear

    def call():
        h = inputs
        for i in range(0, len(weights) - 2, 2):
            h = torch.tanh(linear(h, weights[i], weights[i + 1]))
        loss = torch.nn.functional.mse_loss(linear(h, weights[-2], weights[-1]), targets)
        return loss.detach(), torch.autograd.grad(loss, weights)

    return Run(call)


def _loss(tanh):
    def loss(weights, inputs, targets):
        h = inputs
        for i in range(0, len(weights) - 2, 2):
            h = tanh(h @ weights[i].T + weights[i + 1])
        error = h @ weights[-2].T + weights[-1] - targets
        return (error * error).mean()

    return loss


def jax_jit(*problem) -> Run:
    """``value_and_grad`` compiled once."""
    import jax

    jax.config.update("jax_enable_x64", True)
    arguments = jax.tree.map(jax.numpy.asarray, problem)
    step = jax.jit(jax.value_and_grad(_loss(jax.numpy.tanh)))
    return Run(lambda: jax.block_until_ready(step(*arguments)))


def autograd(*problem) -> Run:
    """``value_and_grad`` over the list of weights."""
    import autograd.numpy
    from autograd import value_and_grad

    step = value_and_grad(_loss(autograd.numpy.tanh))
    return Run(lambda: step(*problem))


def hand(*problem) -> Run:
    """The backward pass written out in NumPy."""
    return Run(lambda: by_hand(*problem))


def case(name: str, widths: Sequence[int], samples: int, dtype: str) -> Case:
    def reference():
        weights, *data = problem(widths, samples, dtype)
        # Rounded to dtype first: the reference is for what the contenders are given.
        return by_hand([w.astype("float64") for w in weights], *(a.astype("float64") for a in data))

    def given(factory, *arguments):
        return lambda: factory(*arguments, *problem(widths, samples, dtype))

    return Case(
        name=f"mlp/{name}/{dtype}",
        reference=reference,
        dtype=dtype,
        tolerance=TOLERANCE[dtype],
        contenders={
            "dualgrad": given(contender, "dualgrad", "PYNATIVE_MODE", mlp_step),
            "dualgrad graph": given(contender, "dualgrad", "GRAPH_MODE", mlp_step),
            "torch": given(torch_eager),
            "jax jit": given(jax_jit),
            "autograd": given(autograd),
            "mindspore": given(contender, "mindspore", "PYNATIVE_MODE", mlp_step),
            "mindspore graph": given(contender, "mindspore", "GRAPH_MODE", mlp_step),
            "hand": given(hand),
        },
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
