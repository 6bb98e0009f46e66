"""Forces between particles, float64: of a pair potential, and of a network that is trained on forces.

``lennard_jones/N``: minus the gradient of the energy sum 4 (r^-12 - r^-6) over the pairs of N particles.
``force_matching/64``: the energy is a sum over all pairs of a tanh net of the distance; the loss compares the
forces with given ones; the result is the loss and its gradient by all weights: a gradient by the weights
through a gradient by the positions.
"""

from typing import Any

import networks
import numpy as np
import styles
from workload import Case, Run

BOXES = {64: (4, 4, 4), 256: (8, 8, 4)}
WIDTHS = (1, 16, 16, 1)


def positions(n: int) -> np.ndarray:
    """A disturbed lattice, a little wider than the potential's minimum."""
    lattice = np.stack(np.meshgrid(*map(np.arange, BOXES[n]), indexing="ij"), axis=-1).reshape(n, 3)
    return 1.2 * lattice + np.random.default_rng(7).uniform(-0.08, 0.08, (n, 3))


# ---------- Lennard-Jones


def energy(x: Any, eye: Any) -> Any:
    """Over all ordered pairs, halved; ``eye`` keeps a particle's distance to itself from zero."""
    d = x.reshape((-1, 1, 3)) - x.reshape((1, -1, 3))
    inverse = 1 / ((d * d).sum(-1) + eye)
    cube = inverse * inverse * inverse
    return 2 * ((cube * cube - cube) * (1 - eye)).sum()


def forces_by_hand(x: np.ndarray, eye: np.ndarray) -> np.ndarray:
    d = x[:, None] - x[None]
    inverse = 1 / ((d * d).sum(-1) + eye)
    cube = inverse * inverse * inverse
    factor = (48 * cube * cube - 24 * cube) * inverse
    return (factor[:, :, None] * d).sum(axis=1)  # d is zero on the diagonal


def lattice(n: int) -> list[np.ndarray]:
    return [positions(n), np.eye(n)]


def forces_program(package: Any, *arrays: np.ndarray) -> tuple:
    """Against MindSpore's API."""
    gradient = package.grad(energy)

    def forces(x, eye):
        return -gradient(x, eye)

    return forces, [package.Tensor(a) for a in arrays]


def jax_forces(*arrays: np.ndarray) -> Run:
    import jax

    return styles.jax_jit(lambda x, eye: -jax.grad(energy)(x, eye), *arrays)


def torch_forces(*arrays: np.ndarray) -> Run:
    import torch

    x, eye = styles.torch_tensors(*arrays)
    x.requires_grad_()
    return Run(lambda: -torch.autograd.grad(energy(x, eye), x)[0])


def torch_func_forces(*arrays: np.ndarray) -> Run:
    import torch

    return styles.torch_eager(lambda x, eye: -torch.func.grad(energy)(x, eye), *arrays)


def torch_compiled_forces(*arrays: np.ndarray) -> Run:
    import torch

    return styles.torch_compile(lambda x, eye: -torch.func.grad(energy)(x, eye), *arrays)


def autograd_forces(*arrays: np.ndarray) -> Run:
    from autograd import grad

    gradient = grad(energy)
    return Run(lambda: -gradient(*arrays))


def casadi_forces(x: np.ndarray, kind: str):
    """Pairs i < j are picked out of the (3, n) positions."""
    import casadi as ca

    n = len(x)
    symbol = getattr(ca, kind).sym("x", 3, n)
    i, j = (index.tolist() for index in np.triu_indices(n, 1))
    inverse = 1 / ca.sum1((symbol[:, i] - symbol[:, j]) ** 2)
    cube = inverse * inverse * inverse
    forces = -ca.gradient(4 * ca.sum2(cube * cube - cube), symbol)
    return ca.Function("forces", [symbol], [ca.densify(forces)])


def casadi_mx_forces(x: np.ndarray, eye: np.ndarray) -> Run:
    return styles.casadi(casadi_forces(x, "MX"), [x], [x.shape])


def casadi_sx_forces(x: np.ndarray, eye: np.ndarray) -> Run:
    return styles.casadi(casadi_forces(x, "SX"), [x], [x.shape])


def casadi_c_forces(x: np.ndarray, eye: np.ndarray) -> Run:
    # Of matrices: C with a line for each of thousands of pairs takes minutes to compile.
    return styles.casadi(styles.casadi_c(casadi_forces(x, "MX")), [x], [x.shape])


def hand_forces(*arrays: np.ndarray) -> Run:
    return Run(lambda: forces_by_hand(*arrays))


FORCES = {
    "jax jit": jax_forces,
    "torch": torch_forces,
    "torch func": torch_func_forces,
    "torch compile": torch_compiled_forces,
    "autograd": autograd_forces,
    "casadi sx": casadi_sx_forces,
    "casadi mx": casadi_mx_forces,
    "casadi c": casadi_c_forces,
    "hand": hand_forces,
}


def lennard_jones(n: int) -> Case:
    return Case(
        name=f"lennard_jones/{n}",
        reference=lambda: [forces_by_hand(*lattice(n))],
        dtype="float64",
        tolerance=1e-11,
        contenders=styles.contenders(forces_program, FORCES, lambda: lattice(n)),
        slow=("torch compile",),
    )


# ---------- force matching


def matching(n: int) -> tuple:
    """Weights, positions, the forces to match, and the pairs i < j."""
    x = positions(n)
    forces = forces_by_hand(x, np.eye(n))
    return networks.weights_of(WIDTHS), x, forces / np.abs(forces).max(), *np.triu_indices(n, 1)


def pair_energy(tanh: Any, sqrt: Any, weights: Any, x: Any, i: Any, j: Any) -> Any:
    d = x[i] - x[j]
    return networks.value(tanh, weights, sqrt((d * d).sum(-1)).reshape((-1, 1))).sum()


def mean_square(error: Any) -> Any:
    return (error * error).mean()


def matching_by_hand(weights: Any, x: np.ndarray, target: np.ndarray, i: np.ndarray, j: np.ndarray) -> list:
    """Forces from the net's slope along each pair; its gradient by two channels forward and back."""
    d = x[i] - x[j]
    r = np.sqrt((d * d).sum(-1, keepdims=True))
    unit = d / r
    network = networks.Channels(weights, r, first=[(1,)])
    pull = network.outputs[1] * unit
    forces = np.zeros_like(x)
    np.subtract.at(forces, i, pull)
    np.add.at(forces, j, pull)
    error = forces - target
    g = error * (2 / error.size)
    along = ((g[j] - g[i]) * unit).sum(-1, keepdims=True)
    return [np.mean(error * error), *network.gradient([np.zeros_like(r), along])]


def matching_program(package: Any, weights: Any, *arrays: np.ndarray) -> tuple:
    """A gradient by positions inside one by weights, which are inputs; against MindSpore's API."""
    ops = package.ops
    n = len(weights)

    def energy(x, i, j, *weights):
        return pair_energy(ops.tanh, ops.sqrt, weights, x, i, j)

    gradient = package.grad(energy)

    def loss(x, target, i, j, *weights):
        return mean_square(-gradient(x, i, j, *weights) - target)

    step = package.value_and_grad(loss, tuple(range(4, 4 + n)))
    return step, [package.Tensor(a) for a in (*arrays, *weights)]


def jax_loss():
    import jax
    from jax import numpy as jnp

    def energy(x, weights, i, j):
        return pair_energy(jnp.tanh, jnp.sqrt, weights, x, i, j)

    def loss(weights, x, target, i, j):
        return mean_square(-jax.grad(energy)(x, weights, i, j) - target)

    return loss


def jax_forward(*problem: Any) -> Run:
    """The gradient of the loss is a product with a matrix of mixed derivatives: forward over reverse.

    With g the partials of the loss by the forces it is -d/dw of the energy's slope along g.
    """
    import jax
    from jax import numpy as jnp

    def step(weights, x, target, i, j):
        energy = lambda x, weights: pair_energy(jnp.tanh, jnp.sqrt, weights, x, i, j)
        error = -jax.grad(energy)(x, weights) - target
        g = error * (2 / error.size)
        by_weights = lambda x: jax.grad(energy, 1)(x, weights)
        _, gradients = jax.jvp(by_weights, (x,), (-g,))
        return mean_square(error), gradients

    return styles.jax_jit(step, *problem)


def jax_reverse(*problem: Any) -> Run:
    import jax

    return styles.jax_jit(jax.value_and_grad(jax_loss()), *problem)


def torch_eager(*problem: Any) -> Run:
    import torch

    weights, x, target, i, j = styles.torch_tensors(*problem)
    for tensor in (*weights, x):
        tensor.requires_grad_()

    def call():
        value = pair_energy(torch.tanh, torch.sqrt, weights, x, i, j)
        (gradient,) = torch.autograd.grad(value, x, create_graph=True)
        loss = mean_square(-gradient - target)
        # The last bias moves no force.
        return loss.detach(), torch.autograd.grad(loss, weights, allow_unused=True, materialize_grads=True)

    return Run(call)


def torch_step():
    import torch

    def energy(x, weights, i, j):
        return pair_energy(torch.tanh, torch.sqrt, weights, x, i, j)

    def loss(weights, x, target, i, j):
        return mean_square(-torch.func.grad(energy)(x, weights, i, j) - target)

    step = torch.func.grad_and_value(loss)
    return lambda *problem: step(*problem)[::-1]


def torch_func(*problem: Any) -> Run:
    return styles.torch_eager(torch_step(), *problem)


def torch_compile(*problem: Any) -> Run:
    return styles.torch_compile(torch_step(), *problem)


def autograd(*problem: Any) -> Run:
    import autograd.numpy as np
    from autograd import grad, value_and_grad

    gradient = grad(lambda x, weights, i, j: pair_energy(np.tanh, np.sqrt, weights, x, i, j))

    def loss(weights, x, target, i, j):
        return mean_square(-gradient(x, weights, i, j) - target)

    step = value_and_grad(loss)
    return Run(lambda: step(*problem))


def hand(*problem: Any) -> Run:
    return Run(lambda: matching_by_hand(*problem))


MATCHING = {
    "jax forward": jax_forward,
    "jax reverse": jax_reverse,
    "torch": torch_eager,
    "torch func": torch_func,
    "torch compile": torch_compile,
    "autograd": autograd,
    "hand": hand,
}


CASES = [
    lennard_jones(64),
    lennard_jones(256),
    Case(
        name="force_matching/64",
        reference=lambda: matching_by_hand(*matching(64)),
        dtype="float64",
        tolerance=1e-11,
        contenders=styles.contenders(matching_program, MATCHING, lambda: matching(64)),
        slow=("torch compile",),
    ),
]


def test_particles(benchmark, run):
    benchmark(run.call)
