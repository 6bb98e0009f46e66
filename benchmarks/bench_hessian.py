"""Dense Hessians: logistic regression (1,000 samples, 50 or 300 weights) and a tanh net of 497 weights.

The Hessian of the regression is one product of matrices to whoever finds it; the net's is as many
Hessian-vector products as there are weights.
"""

from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import networks
import numpy as np
import styles
from workload import Case, Run

WIDTHS = (12, 16, 16, 1)


def logistic(d: int, dtype: str) -> list[np.ndarray]:
    """Weights, inputs, and labels that are -1 or 1."""
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(1000, d)) / np.sqrt(d)
    arrays = rng.normal(size=d), inputs, np.sign(inputs.sum(axis=1) + rng.normal(size=1000))
    return [a.astype(dtype) for a in arrays]


def logistic_loss(m: Any, weights: Any, inputs: Any, labels: Any) -> Any:
    """Mean of log(1 + exp(-margin)), with ``softplus`` from ``m``."""
    return m.softplus(-(labels * (inputs @ weights))).mean()


def logistic_hessian(weights: np.ndarray, inputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """X^T D X with the slopes of the sigmoid in D."""
    slope = 1 / (2 + 2 * np.cosh(labels * (inputs @ weights)))
    return (inputs.T * (slope / len(labels))) @ inputs


def net() -> list[np.ndarray]:
    """Weights in one vector, inputs and targets of 100 samples."""
    rng = np.random.default_rng(51)
    inputs = rng.normal(size=(100, WIDTHS[0]))
    return [networks.flat(networks.weights_of(WIDTHS)), inputs, np.sin(inputs.sum(axis=1, keepdims=True))]


def net_loss(m: Any, vector: Any, inputs: Any, targets: Any) -> Any:
    """Mean squared error, with ``tanh`` from ``m``."""
    error = networks.value(m.tanh, networks.unflat(vector, WIDTHS), inputs) - targets
    return (error * error).mean()


def net_hessian(vector: np.ndarray, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Columns from gradients at complex points: Im g(w + i h e) / h has no cancellation, so h can be tiny."""
    h = 1e-30
    columns = []
    for i in range(vector.size):
        shifted = vector.astype(complex)
        shifted[i] += 1j * h
        network = networks.Channels(networks.unflat(shifted, WIDTHS), inputs.astype(complex))
        error = network.outputs[0] - targets
        columns.append(networks.flat(network.gradient([error * (2 / error.size)])).imag / h)
    return np.array(columns)


class Problem(SimpleNamespace):
    """A loss by its first argument: ``loss(m, weights, inputs, targets)``, and the arrays."""

    loss: Callable[..., Any]
    arrays: list[np.ndarray]


def program(package: Any, problem: Problem) -> tuple:
    """The transform as it is offered."""

    def loss(w, inputs, targets):
        return problem.loss(package.ops, w, inputs, targets)

    return package.hessian(loss), [package.Tensor(a) for a in problem.arrays]


def reverse_program(package: Any, problem: Problem) -> tuple:
    """Reverse over reverse without closures: what MindSpore's Graph mode takes."""

    def loss(w, inputs, targets):
        return problem.loss(package.ops, w, inputs, targets)

    gradient = package.grad(loss)

    def product(w, inputs, targets, v):
        return (gradient(w, inputs, targets) * v).sum()

    tensors = [package.Tensor(a) for a in (*problem.arrays, np.eye(problem.arrays[0].size))]
    return package.vmap(package.grad(product), in_axes=(None, None, None, 0)), tensors


def jax_loss(problem: Problem):
    import jax

    m = SimpleNamespace(softplus=jax.nn.softplus, tanh=jax.numpy.tanh)
    return lambda *arrays: problem.loss(m, *arrays)


def jax_forward(problem: Problem) -> Run:
    import jax

    return styles.jax_jit(jax.hessian(jax_loss(problem)), *problem.arrays)


def jax_reverse(problem: Problem) -> Run:
    import jax

    return styles.jax_jit(jax.jacrev(jax.jacrev(jax_loss(problem))), *problem.arrays)


def torch_loss(problem: Problem):
    import torch

    m = SimpleNamespace(softplus=torch.nn.functional.softplus, tanh=torch.tanh)
    return lambda *arrays: problem.loss(m, *arrays)


def torch_eager(problem: Problem) -> Run:
    """One reverse sweep over the gradient per row, all in one batch."""
    import torch

    loss = torch_loss(problem)
    w, *data = styles.torch_tensors(*problem.arrays)
    hessian = torch.autograd.functional.hessian
    return Run(lambda: hessian(lambda w: loss(w, *data), w, vectorize=True))


def torch_func(problem: Problem) -> Run:
    import torch

    return styles.torch_eager(torch.func.hessian(torch_loss(problem)), *problem.arrays)


def torch_compile(problem: Problem) -> Run:
    import torch

    hessian = torch.func.jacrev(torch.func.jacrev(torch_loss(problem)))
    return styles.torch_compile(hessian, *problem.arrays)


def autograd(problem: Problem) -> Run:
    import autograd.numpy as np
    from autograd import hessian

    m = SimpleNamespace(softplus=lambda x: np.logaddexp(0.0, x), tanh=np.tanh)
    function = hessian(lambda w, *data: problem.loss(m, w, *data))
    return Run(lambda: function(*problem.arrays))


def casadi_mx(problem: Problem) -> Run:
    """A graph of matrices; the symmetric Hessian does not mind being read column by column."""
    import casadi as ca

    w, inputs, targets = problem.arrays
    vector = ca.MX.sym("w", w.size)
    if targets.ndim == 1:
        margin = ca.DM(targets) * (ca.DM(inputs) @ vector)
        loss = ca.sum1(ca.log1p(ca.exp(-margin))) / targets.size
    else:
        # Reshaping reads columns first, so each matrix comes out transposed.
        h = ca.DM(inputs)
        start = 0
        for n_in, n_out in pairwise(WIDTHS):
            middle, stop = start + n_in * n_out, start + (n_in + 1) * n_out
            matrix = ca.reshape(vector[start:middle], n_in, n_out)
            h = h @ matrix + ca.repmat(vector[middle:stop].T, h.shape[0], 1)
            h = ca.tanh(h) if stop < w.size else h
            start = stop
        loss = ca.sumsqr(h - ca.DM(targets)) / targets.size
    function = ca.Function("hessian", [vector], [ca.densify(ca.hessian(loss, vector)[0])])
    return styles.casadi(function, [w], [(w.size, w.size)])


def hand(problem: Problem) -> Run:
    """The textbook's formula."""
    return Run(lambda: logistic_hessian(*problem.arrays))


RIVALS = {
    "jax forward": jax_forward,
    "jax reverse": jax_reverse,
    "torch": torch_eager,
    "torch func": torch_func,
    "torch compile": torch_compile,
    "autograd": autograd,
    "casadi mx": casadi_mx,
}


def logistic_case(d: int, dtype: str = "float64") -> Case:
    single = dtype == "float32"
    return Case(
        name=f"hessian/logistic-{d}" + "/float32" * single,
        reference=lambda: [logistic_hessian(*(a.astype(float) for a in logistic(d, dtype)))],
        dtype=dtype,
        tolerance=1e-5 if single else 1e-12,
        contenders=styles.contenders(
            program,
            styles.of_type(RIVALS | {"hand": hand}, dtype),
            lambda: [Problem(loss=logistic_loss, arrays=logistic(d, dtype))],
            {"mindspore graph": reverse_program},
        ),
        slow=("torch compile", *(["casadi mx"] if d > 50 else [])),
    )


CASES = [
    logistic_case(50),
    logistic_case(300),
    logistic_case(300, "float32"),
    Case(
        name="hessian/net-497",
        reference=lambda: [net_hessian(*net())],
        dtype="float64",
        tolerance=1e-12,
        contenders=styles.contenders(
            program,
            RIVALS,
            lambda: [Problem(loss=net_loss, arrays=net())],
            {"mindspore graph": None},  # it fails on slices of the vector of weights under vmap
        ),
        slow=("torch compile",),
    ),
]


def test_hessian(benchmark, run):
    benchmark(run.call)
