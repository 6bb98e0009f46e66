"""docs/examples/burgers_pinn.py at full size: the loss and its gradient by 3,021 weights, and a run of SciPy's L-BFGS.

10,100 points inside, of which 100 are at the border, a network of eight layers of 20 tanh, float64. `loss` is one
evaluation of what the optimiser calls, without the conversion of its vector; `run` is 10 iterations of it from the
first weights, everything included. Reference and `hand` are four channels forward and back, in NumPy.
"""

import functools
from typing import Any

import applications
import networks
import numpy as np
import styles
from workload import Case, Run

WIDTHS = [2, *[20] * 8, 1]
NU = 0.01 / np.pi
ITERATIONS = 10


@functools.cache
def problem() -> tuple:
    """Weights; points inside, at the border, and the values there."""
    rng = np.random.default_rng(1)
    x = np.linspace(-1.0, 1.0, 100)[:, None]
    border = np.concatenate([np.hstack([x, 0 * x])[:50], np.hstack([np.sign(x), 0.5 + 0.5 * x])[50:]])
    values = np.where(border[:, 1:] == 0, -np.sin(np.pi * border[:, :1]), 0.0)
    inside = rng.uniform(size=(10_000, 2)) * [2.0, 1.0] + [-1.0, 0.0]
    return _glorot(), np.concatenate([inside, border]), border, values


def _glorot() -> list[np.ndarray]:
    """Random weights of the size that the script begins with."""
    return [w * np.sqrt(2.0 / sum(w.shape) * w.shape[1]) if w.ndim == 2 else 0 * w for w in networks.weights_of(WIDTHS)]


def loss_of(u: Any, u_x: Any, u_t: Any, u_xx: Any, misfit: Any) -> Any:
    residual = u_t + u * u_x - NU * u_xx
    return (residual * residual).mean() + (misfit * misfit).mean()


def scaled(points: Any) -> Any:
    """Inputs of the network: -1 ... 1."""
    return points * np.array([1.0, 2.0]) + np.array([0.0, -1.0])


def by_hand(weights: networks.Weights, inside: np.ndarray, border: np.ndarray, values: np.ndarray) -> list[np.ndarray]:
    domain = networks.Channels(weights, scaled(inside), first=[(1, 0), (0, 2)], second=True)
    u, u_x, u_t, u_xx = domain.outputs
    residual = u_t + u * u_x - NU * u_xx
    r = residual * (2 / residual.size)
    known = networks.Channels(weights, scaled(border))
    misfit = known.outputs[0] - values
    from_known = known.gradient([misfit * (2 / misfit.size)])
    gradients = [a + b for a, b in zip(domain.gradient([r * u_x, r * u, r, -NU * r]), from_known, strict=True)]
    return [np.mean(residual * residual) + np.mean(misfit * misfit), *gradients]


def network_and_loss(weights: networks.Weights, *arrays: np.ndarray) -> tuple:
    """The script's, with these weights."""
    import dualgrad as dg

    script = applications.example("burgers_pinn")
    network = script.Network(20, 8)
    for parameter, w in zip(network.trainable_params(), weights, strict=True):
        parameter.set_data(dg.Tensor(w))
    return network, script.Loss(network, *arrays)


def program(package: Any, weights: networks.Weights, *arrays: np.ndarray) -> tuple:
    """The script's residual and network; the points are arguments."""
    network, cell = network_and_loss(weights, *arrays)

    def loss(inside, border, values):
        residual, misfit = cell.residual(inside), network(border) - values
        return (residual * residual).mean() + (misfit * misfit).mean()

    step = package.value_and_grad(loss, None, network.trainable_params())
    return step, [package.Tensor(a) for a in arrays]


def dualgrad_run(weights: networks.Weights, *arrays: np.ndarray) -> Run:
    """What `dualgrad.scipy.fit` gives to SciPy."""
    import dualgrad as dg

    dg.set_context(mode=dg.PYNATIVE_MODE, native=False)
    network, cell = network_and_loss(weights, *arrays)
    f = dg.scipy.objective(cell, weights=network.trainable_params())
    return Run(lambda: applications.lbfgs(f.fun, f.x0, ITERATIONS, f.jac))


def jax_step(derivatives: Any) -> Any:
    """The loss and its gradient; `derivatives` are u, u_x, u_t and u_xx at points."""
    import jax

    def loss(weights, inside, border, values):
        u = lambda points: networks.value(jax.numpy.tanh, weights, scaled(points))
        return loss_of(*derivatives(u, inside), u(border) - values)

    return jax.value_and_grad(loss)


def axes(points: Any) -> list:
    """Unit vectors along x and along t, for all points."""
    import jax.numpy as jnp

    return [jnp.broadcast_to(jnp.array(row), points.shape) for row in ([1.0, 0.0], [0.0, 1.0])]


def nested(u: Any, points: Any) -> tuple:
    """A jvp in a jvp."""
    import jax

    along_x, along_t = axes(points)
    slope = lambda p: jax.jvp(u, (p,), (along_x,))
    (value, u_x), (_, u_xx) = jax.jvp(slope, (points,), (along_x,))
    return value, u_x, jax.jvp(u, (points,), (along_t,))[1], u_xx


def series(u: Any, points: Any) -> tuple:
    """Two terms of a Taylor series along x."""
    import jax
    from jax.experimental.jet import jet

    along_x, along_t = axes(points)
    value, (u_x, u_xx) = jet(u, (points,), ((along_x, jax.numpy.zeros_like(points)),))
    return value, u_x, jax.jvp(u, (points,), (along_t,))[1], u_xx


def jax_loss(derivatives: Any) -> Any:
    return lambda *arrays: styles.jax_jit(jax_step(derivatives), *arrays)


def jax_run(derivatives: Any) -> Any:
    def factory(weights, *arrays):
        import jax

        step, on_device = jax.jit(jax_step(derivatives)), styles.jax_arrays(*arrays)
        return applications.run_of(lambda pieces: step(pieces, *on_device), weights, ITERATIONS)

    return factory


def torch_step(inside: Any, border: Any, values: Any) -> Any:
    """Reverse mode three times."""
    import torch

    scale, shift = styles.torch_tensors(np.array([1.0, 2.0]), np.array([0.0, -1.0]))
    inside.requires_grad_()

    def step(weights):
        u = lambda points: networks.torch_value(weights, points * scale + shift)
        value = u(inside)
        (first,) = torch.autograd.grad(value.sum(), inside, create_graph=True)
        (second,) = torch.autograd.grad(first[:, 0].sum(), inside, create_graph=True)
        loss = loss_of(value, first[:, :1], first[:, 1:], second[:, :1], u(border) - values)
        return loss.detach(), torch.autograd.grad(loss, weights)

    return step


def torch_func_step(inside: Any, border: Any, values: Any) -> Any:
    """Forward mode twice inside of reverse mode."""
    import torch

    scale, shift = styles.torch_tensors(np.array([1.0, 2.0]), np.array([0.0, -1.0]))
    along = [torch.tensor(row, dtype=torch.float64).expand(inside.shape) for row in ([1.0, 0.0], [0.0, 1.0])]

    def loss(weights):
        u = lambda points: networks.torch_value(weights, points * scale + shift)
        slope = lambda p: torch.func.jvp(u, (p,), (along[0],))
        (value, u_x), (_, u_xx) = torch.func.jvp(slope, (inside,), (along[0],))
        u_t = torch.func.jvp(u, (inside,), (along[1],))[1]
        return loss_of(value, u_x, u_t, u_xx, u(border) - values)

    both = torch.func.grad_and_value(loss)

    def step(weights):
        gradients, value = both(weights)
        return value, gradients

    return step


def torch_loss(make_step: Any) -> Any:
    def factory(weights, *arrays):
        step = make_step(*styles.torch_tensors(*arrays))
        leaves = [w.requires_grad_(make_step is torch_step) for w in styles.torch_tensors(*weights)]
        return Run(lambda: step(leaves))

    return factory


def torch_run(make_step: Any) -> Any:
    def factory(weights, *arrays):
        import torch

        step = make_step(*styles.torch_tensors(*arrays))
        leaf = lambda w: torch.from_numpy(w.copy()).requires_grad_(make_step is torch_step)
        return applications.run_of(lambda pieces: step([leaf(w) for w in pieces]), weights, ITERATIONS)

    return factory


def run_by_hand() -> list[np.ndarray]:
    weights, *arrays = problem()

    def step(weights):
        value, *gradients = by_hand(weights, *arrays)
        return value, gradients

    return applications.run_of(step, weights, ITERATIONS).call()


LOSS = {
    "jax forward": jax_loss(nested),
    "jax jet": jax_loss(series),
    "torch": torch_loss(torch_step),
    "torch func": torch_loss(torch_func_step),
    "hand": lambda *arrays: Run(lambda: by_hand(*arrays)),
}

RUN = {
    "dualgrad jit fit": dualgrad_run,
    "jax forward": jax_run(nested),
    "jax jet": jax_run(series),
    "torch": torch_run(torch_step),
}

CASES = [
    Case(
        name="application/burgers/loss",
        reference=functools.cache(lambda: by_hand(*problem())),
        dtype="float64",
        tolerance=1e-11,
        contenders=styles.contenders(program, LOSS, problem, {"mindspore graph": None}),
    ),
    Case(
        name="application/burgers/run",
        reference=functools.cache(run_by_hand),
        dtype="float64",
        tolerance=1e-9,
        contenders={name: functools.partial(lambda make: make(*problem()), make) for name, make in RUN.items()},
        count=ITERATIONS,
        unit="iteration",
    ),
]


def test_burgers(benchmark, run):
    benchmark(run.call)
