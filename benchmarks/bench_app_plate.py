"""docs/examples/biharmonic_plate.py at full size: the loss of the plate on hinges and its gradient by 697 weights.

The square of the biharmonic operator's residual at 1,000 points, and of the values and Laplacians at 104 points of the
edges, of a network 2-24-24-1 of tanh; float64. Fifth derivatives. Reference and `hand` are Taylor series along four
directions, and their backward pass, in NumPy.
"""

import functools
import math
from typing import Any

import applications
import networks
import numpy as np
import styles
from workload import Case, Run

WIDTHS = [2, 24, 24, 1]
SCALE = 4.0 * np.pi**4
#: The biharmonic operator as fourth derivatives along directions, and the factor of each.
DIRECTIONS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
FACTORS = np.array([2 / 3, 2 / 3, 1 / 6, 1 / 6])


@functools.cache
def problem() -> tuple:
    """Weights; points inside, the load there, points at the edges."""
    s = np.linspace(0.0, 1.0, 26)
    edges = [np.column_stack(pair) for end in (0.0, 1.0) for pair in ((s, 0 * s + end), (0 * s + end, s))]
    inside = np.random.default_rng(1).uniform(size=(1_000, 2))
    load = SCALE * np.sin(np.pi * inside[:, 0]) * np.sin(np.pi * inside[:, 1])
    return networks.weights_of(WIDTHS), inside, load, np.concatenate(edges)


def loss_of(bending: Any, load: Any, at_edges: Any, moments: Any) -> Any:
    equation = (bending - load) / SCALE
    return (equation**2).mean() + 100.0 * ((at_edges**2).mean() + ((moments / np.pi**2) ** 2).mean())


def by_hand(weights: networks.Weights, inside: np.ndarray, load: np.ndarray, edges: np.ndarray) -> list[np.ndarray]:
    scaled = lambda points: 2.0 * points - 1.0  # so that directions are twice as long inside of the network
    fourth = networks.Series(weights, scaled(inside), 2.0 * DIRECTIONS, 4)
    second = networks.Series(weights, scaled(edges), 2.0 * DIRECTIONS[:2], 2)
    known = networks.Channels(weights, scaled(edges))
    factors = math.factorial(4) * FACTORS
    bending = np.tensordot(factors, fourth.outputs[4][..., 0], 1)
    moments, at_edges = 2.0 * second.outputs[2][..., 0].sum(0), known.outputs[0][:, 0]
    by_bending = 2.0 * (bending - load) / SCALE**2 / load.size
    by_moments = 200.0 * moments / np.pi**4 / moments.size
    gradients = zip(
        fourth.gradient(factors[:, None, None] * by_bending[:, None]),
        second.gradient(np.full((2, 1, 1), 2.0) * by_moments[:, None]),
        known.gradient([(200.0 * at_edges / at_edges.size)[:, None]]),
        strict=True,
    )
    return [loss_of(bending, load, at_edges, moments), *map(sum, gradients)]


def program(package: Any, weights: networks.Weights, *arrays: np.ndarray) -> tuple:
    """The script's network and operators; the points are arguments."""
    script = applications.example("biharmonic_plate")
    network = script.Network(24)
    for parameter, w in zip(network.trainable_params(), weights, strict=True):
        parameter.set_data(package.Tensor(w))
    cell = script.Loss(network, script.simple, arrays[0], arrays[2])

    def loss(inside, load, edges):
        equation = (cell.bending(inside) - load) / SCALE
        at_edges = (network(edges) ** 2).mean() + (cell.condition(edges) ** 2).mean()
        return (equation**2).mean() + 100.0 * at_edges

    step = package.value_and_grad(loss, None, network.trainable_params())
    return step, [package.Tensor(a) for a in arrays]


def jax_loss(operators: Any) -> Any:
    """`operators` are the biharmonic operator and the Laplacian of a function of one point, at all points."""

    def factory(*arrays):
        import jax

        def loss(weights, inside, load, edges):
            u = lambda x: networks.value(jax.numpy.tanh, weights, 2.0 * x - 1.0)[..., 0]
            biharmonic, laplacian = operators(u)
            return loss_of(biharmonic(inside), load, u(edges), laplacian(edges))

        return styles.jax_jit(jax.value_and_grad(loss), *arrays)

    return factory


def series(u: Any) -> tuple:
    """Taylor series along directions."""
    import jax
    from jax.experimental.jet import jet

    def top(points, direction, order):
        along = jax.numpy.broadcast_to(direction, points.shape)
        return jet(u, (points,), ((along, *[jax.numpy.zeros_like(along)] * (order - 1)),))[1][-1]

    def summed(directions, factors, order):
        tops = jax.vmap(lambda points, v: top(points, v, order), (None, 0))
        return lambda points: factors @ tops(points, jax.numpy.asarray(directions))

    return summed(DIRECTIONS, FACTORS, 4), summed(DIRECTIONS[:2], np.ones(2), 2)


def directional(u: Any) -> tuple:
    """A jvp in a jvp along axes, and the Laplacian of the Laplacian."""
    import jax

    def laplacian(f):
        def second(x, v):
            slope = lambda x: jax.jvp(f, (x,), (v,))[1]
            return jax.jvp(slope, (x,), (v,))[1]

        return lambda x: jax.vmap(second, (None, 0))(x, jax.numpy.eye(2)).sum()

    return jax.vmap(laplacian(laplacian(u))), jax.vmap(laplacian(u))


def folx_twice(u: Any) -> tuple:
    """The forward Laplacian of folx, and that of it."""
    import folx
    import jax

    laplacian = lambda f: lambda x: folx.forward_laplacian(f)(x).laplacian
    return jax.vmap(laplacian(laplacian(u))), jax.vmap(laplacian(u))


def torch_loss(weights: networks.Weights, *arrays: np.ndarray) -> Run:
    """One more sweep for each axis and order."""
    import torch

    weights, inside, load, edges = styles.torch_tensors(weights, *arrays)
    for leaf in (*weights, inside, edges):
        leaf.requires_grad_()

    def laplacian(value, points):
        (slopes,) = torch.autograd.grad(value.sum(), points, create_graph=True)
        second = lambda k: torch.autograd.grad(slopes[:, k].sum(), points, create_graph=True)[0][:, k]
        return second(0) + second(1)

    def call():
        u = lambda x: networks.torch_value(weights, 2.0 * x - 1.0)[:, 0]
        at_edges = u(edges)
        bending = laplacian(laplacian(u(inside), inside), inside)
        loss = loss_of(bending, load, at_edges, laplacian(at_edges, edges))
        return loss.detach(), torch.autograd.grad(loss, weights)

    return Run(call)


def torch_func(weights: networks.Weights, *arrays: np.ndarray) -> Run:
    """Forward mode four times inside of reverse mode."""
    import torch

    weights, inside, load, edges = styles.torch_tensors(weights, *arrays)
    eye = torch.eye(2, dtype=torch.float64)

    def laplacian(f):
        def total(x):
            along = lambda v: lambda x: torch.func.jvp(f, (x,), (v.expand(x.shape),))[1]
            second = lambda v: torch.func.jvp(along(v), (x,), (v.expand(x.shape),))[1]
            return second(eye[0]) + second(eye[1])

        return total

    def loss(weights):
        u = lambda x: networks.torch_value(weights, 2.0 * x - 1.0)[:, 0]
        return loss_of(laplacian(laplacian(u))(inside), load, u(edges), laplacian(u)(edges))

    both = torch.func.grad_and_value(loss)
    return Run(lambda: both(weights)[::-1])


RIVALS = {
    "jax jet": jax_loss(series),
    "jax directional": jax_loss(directional),
    "jax folx": jax_loss(folx_twice),
    "torch": torch_loss,
    "torch func": torch_func,
    "hand": lambda *arrays: Run(lambda: by_hand(*arrays)),
}

CASES = [
    Case(
        name="application/plate",
        reference=functools.cache(lambda: by_hand(*problem())),
        dtype="float64",
        tolerance=1e-11,
        contenders=styles.contenders(program, RIVALS, problem, {"mindspore graph": None}),
    )
]


def test_plate(benchmark, run):
    benchmark(run.call)
