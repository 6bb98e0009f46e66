"""The Laplacian of the logarithm of a wave function of ten particles, 30 inputs, at 512 places; float64.

What a local energy in variational Monte Carlo is made of: log psi is the sum over the particles of -r, and over the
pairs of r / (2 (1 + r)), r the distances from the centre and from each other (Jastrow, 1955). Few operations on small
arrays with a structure that a dense Jacobian does not see.
"""

from typing import Any

import numpy as np
import styles
from workload import Case, Run

PARTICLES = 10
PLACES = 512
PAIRS = np.triu_indices(PARTICLES, 1)


def places() -> list[np.ndarray]:
    return [np.random.default_rng(14).normal(size=(PLACES, 3 * PARTICLES))]


def log_psi(m: Any, x: Any, pairs: Any = PAIRS) -> Any:
    """Of places along the last axis of the shape (..., 30), with sqrt from ``m``."""
    first, second = pairs
    x = x.reshape((*x.shape[:-1], PARTICLES, 3))
    apart = x[..., first, :] - x[..., second, :]
    r = m.sqrt((apart * apart).sum(-1))
    return (r / (2 * (1 + r))).sum(-1) - m.sqrt((x * x).sum(-1)).sum(-1)


def by_hand(x: np.ndarray) -> list[np.ndarray]:
    """The sum of u'' + 2 u' / r for each distance, twice where both ends move."""
    x = x.reshape(-1, PARTICLES, 3)
    r = np.linalg.norm(x[:, PAIRS[0]] - x[:, PAIRS[1]], axis=-1)
    first, second = 1 / (2 * (1 + r) ** 2), -1 / (1 + r) ** 3
    return [2 * (second + 2 * first / r).sum(-1) - (2 / np.linalg.norm(x, axis=-1)).sum(-1)]


def program(package: Any, *arrays: np.ndarray) -> tuple:
    """The operator as it is offered."""
    return package.laplacian(lambda x: log_psi(package.ops, x)), [package.Tensor(a) for a in arrays]


def jax_folx(*arrays: np.ndarray) -> Run:
    """The forward Laplacian as folx implements it."""
    import folx
    import jax

    one = folx.forward_laplacian(lambda x: log_psi(jax.numpy, x))
    return styles.jax_jit(jax.vmap(lambda x: one(x).laplacian), *arrays)


def jax_forward(*arrays: np.ndarray) -> Run:
    """Forward over reverse: jvp of the gradient."""
    import jax

    gradient = jax.grad(lambda x: log_psi(jax.numpy, x))
    eye = jax.numpy.eye(3 * PARTICLES)
    one = lambda x: jax.vmap(lambda v: jax.jvp(gradient, (x,), (v,))[1] @ v)(eye).sum()
    return styles.jax_jit(jax.vmap(one), *arrays)


def torch_func(*arrays: np.ndarray) -> Run:
    import torch

    gradient = torch.func.grad(lambda x: log_psi(torch, x))
    eye = torch.eye(3 * PARTICLES, dtype=torch.float64)
    second = lambda x, v: torch.func.jvp(gradient, (x,), (v,))[1] @ v
    one = lambda x: torch.func.vmap(second, (None, 0))(x, eye).sum()
    return styles.torch_eager(torch.func.vmap(one), *arrays)


def torch_eager(*arrays: np.ndarray) -> Run:
    """One more sweep over the gradient for each input."""
    import torch

    (x,) = styles.torch_tensors(*arrays)
    x.requires_grad_()

    def call():
        (gradient,) = torch.autograd.grad(log_psi(torch, x).sum(), x, create_graph=True)
        columns = gradient.sum(0)
        return sum(torch.autograd.grad(columns[k], x, retain_graph=True)[0][:, k] for k in range(x.shape[1]))

    return Run(call)


def torch_compile(*arrays: np.ndarray) -> Run:
    import torch

    pairs = styles.torch_tensors(*PAIRS)  # it takes no NumPy arrays under its transforms
    one = lambda x: torch.trace(torch.func.jacrev(torch.func.grad(lambda x: log_psi(torch, x, pairs)))(x))
    return styles.torch_compile(torch.func.vmap(one), *arrays)


RIVALS = {
    "jax folx": jax_folx,
    "jax forward": jax_forward,
    "torch": torch_eager,
    "torch func": torch_func,
    "torch compile": torch_compile,
    "hand": lambda *arrays: Run(lambda: by_hand(*arrays)[0]),
}

CASES = [
    Case(
        name=f"log_psi/{3 * PARTICLES}",
        reference=lambda: by_hand(*places()),
        dtype="float64",
        tolerance=1e-10,
        contenders=styles.contenders(program, RIVALS, places, {"mindspore graph": None}),
        slow=("torch compile",),
    )
]


def test_wavefunction(benchmark, run):
    benchmark(run.call)
