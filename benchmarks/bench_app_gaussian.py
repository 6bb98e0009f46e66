"""docs/examples/gaussian_process.py at full size: a marginal likelihood of 1,000 data, its gradient and its Hessian.

By three hyperparameters, through the Cholesky factor; float64. `dualgrad` is the script's loss with `value_and_grad`
and `hessian`, one recorded call with `jit`. Reference and `hand` are closed forms with the inverse of the covariance.
"""

import functools
from typing import Any

import applications
import numpy as np
import styles
from workload import Case, Run

COUNT = 1_000


@functools.cache
def problem() -> tuple:
    """Hyperparameters, half squared distances with a minus sign, and values."""
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0.0, COUNT / 12.0, COUNT))
    squares = -0.5 * np.subtract.outer(x, x) ** 2
    K = 2.25 * np.exp(squares / 0.64) + 0.09 * np.eye(COUNT)
    return np.array([0.5, -0.1, -2.0]), squares, np.linalg.cholesky(K) @ rng.normal(size=COUNT), x


def by_hand(theta: np.ndarray, squares: np.ndarray, y: np.ndarray, *_: Any) -> list[np.ndarray]:
    """With K = S + N: K_0 = S, K_1 = -2 q S, K_2 = N, where q are the scaled squares."""
    from scipy.linalg import cho_factor, cho_solve

    scaled = squares * np.exp(-2.0 * theta[1])
    signal = np.exp(theta[0] + scaled)
    noise = np.exp(theta[2]) * np.eye(COUNT)
    factor = cho_factor(signal + noise, lower=True)
    inverse, alpha = cho_solve(factor, np.eye(COUNT)), cho_solve(factor, y)
    first = [signal, -2.0 * scaled * signal, noise]
    second = {(0, 0): signal, (0, 1): first[1], (1, 1): 4.0 * (scaled + scaled**2) * signal, (2, 2): noise}
    weight = inverse - np.outer(alpha, alpha)
    solved = [inverse @ d for d in first]
    hessian = np.zeros((3, 3))
    for i in range(3):
        for j in range(i, 3):
            curvature = 0.5 * np.vdot(weight, second[i, j]) if (i, j) in second else 0.0
            products = (first[i] @ alpha) @ inverse @ (first[j] @ alpha)
            hessian[i, j] = hessian[j, i] = curvature + products - 0.5 * np.vdot(solved[i], solved[j].T)
    value = 0.5 * (y @ alpha + COUNT * np.log(2.0 * np.pi)) + np.log(np.diag(factor[0])).sum()
    return [np.array(value), np.array([0.5 * np.vdot(weight, d) for d in first]), hessian]


def program(package: Any, theta: np.ndarray, squares: np.ndarray, y: np.ndarray, x: np.ndarray) -> tuple:
    """The script's loss."""
    loss = applications.example("gaussian_process").negative_log_likelihood(x, y)
    value_and_grad, hessian = package.value_and_grad(loss), package.hessian(loss)
    return lambda theta: (*value_and_grad(theta), hessian(theta)), [package.Tensor(theta)]


def likelihood(m: Any, solve: Any, theta: Any, squares: Any, y: Any, unit: Any) -> Any:
    """As the script has it, with the library's functions."""
    K = m.exp(theta[0] + squares * m.exp(-2.0 * theta[1])) + m.exp(theta[2]) * unit
    factor = m.linalg.cholesky(K)
    white = solve(factor, y)
    return 0.5 * (white @ white + COUNT * np.log(2.0 * np.pi)) + m.log(m.diagonal(factor)).sum()


def jax_likelihood(hessian: Any) -> Any:
    def factory(theta, squares, y, _):
        import jax

        def loss(theta, squares, y):
            solve = functools.partial(jax.scipy.linalg.solve_triangular, lower=True)
            return likelihood(jax.numpy, solve, theta, squares, y, jax.numpy.eye(COUNT))

        def all_of_it(*arrays):
            return *jax.value_and_grad(loss)(*arrays), hessian(jax, loss)(*arrays)

        return styles.jax_jit(all_of_it, theta, squares, y)

    return factory


def torch_eager(theta: np.ndarray, squares: np.ndarray, y: np.ndarray, _: np.ndarray) -> Run:
    import torch

    theta, squares, y = styles.torch_tensors(theta, squares, y)
    theta.requires_grad_()
    unit = torch.eye(COUNT, dtype=torch.float64)
    solve = lambda a, b: torch.linalg.solve_triangular(a, b[:, None], upper=False)[:, 0]

    def call():
        loss = likelihood(torch, solve, theta, squares, y, unit)
        (gradient,) = torch.autograd.grad(loss, theta, create_graph=True)
        rows = [torch.autograd.grad(g, theta, retain_graph=True)[0] for g in gradient]
        return loss.detach(), gradient.detach(), torch.stack(rows)

    return Run(call)


RIVALS = {
    "jax": jax_likelihood(lambda jax, loss: jax.hessian(loss)),
    "jax forward": jax_likelihood(lambda jax, loss: jax.jacfwd(jax.jacfwd(loss))),
    "torch": torch_eager,
    "hand": lambda *arrays: Run(lambda: by_hand(*arrays)),
}

CASES = [
    Case(
        name="application/gaussian",
        reference=functools.cache(lambda: by_hand(*problem())),
        dtype="float64",
        tolerance=1e-9,
        contenders=styles.contenders(program, RIVALS, problem, {"mindspore graph": None}),
    )
]


def test_gaussian(benchmark, run):
    benchmark(run.call)
