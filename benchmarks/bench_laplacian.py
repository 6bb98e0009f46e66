"""The Laplacian of a tanh network by its inputs, and the Laplacian of that: 512 samples, net d-64-64-1, float64.

``laplacian/d`` is the sum of the d second derivatives at every sample (kinetic energies, diffusion);
``biharmonic/5`` has derivatives of fourth order. With ``/weights`` behind it: the mean square of the operator's values,
a loss as in physics-informed training, and its gradient by all weights.
"""

import functools
import math
from typing import Any, NamedTuple

import networks
import numpy as np
import styles
from workload import Case, Run, leaves

SAMPLES = 512


class Task(NamedTuple):
    """How often the Laplacian is applied, and whether the loss and its gradient are wanted instead of the values."""

    order: int
    trained: bool


def problem(order: int, d: int, trained: bool = False) -> tuple:
    """The task, weights, samples, and the directions to differentiate along."""
    x = np.random.default_rng(8).normal(size=(SAMPLES, d))
    return Task(order, trained), networks.weights_of([d, 64, 64, 1]), x, np.eye(d)


def repeated(transform: Any, function: Any, times: int) -> Any:
    for _ in range(times):
        function = transform(function)
    return function


def loss_of(values: Any) -> Any:
    return (values * values).mean()


def trained(package: Any, result: Any, count: int) -> Any:
    """The loss of ``result(x, *weights)`` and its gradient, against MindSpore's API."""
    return package.value_and_grad(lambda *tensors: loss_of(result(*tensors)), tuple(range(1, count + 1)))


def program(package: Any, task: Task, weights: networks.Weights, x: np.ndarray, eye: np.ndarray) -> tuple:
    """The operators as they are offered."""
    tanh, operator = package.ops.tanh, package.laplacian if task.order == 1 else package.biharmonic

    def result(x, *weights):
        return operator(lambda x: networks.value(tanh, weights, x).sum(-1))(x)

    function = trained(package, result, len(weights)) if task.trained else result
    return function, [package.Tensor(a) for a in (x, *weights)]


def mindspore_program(package: Any, task: Task, weights: networks.Weights, x: np.ndarray, eye: np.ndarray) -> tuple:
    """Reverse over reverse, direction by direction, without closures: what Graph mode takes."""
    grad, tanh = package.grad, package.ops.tanh
    directions = [package.Tensor(row) for row in eye]

    def network(x, *weights):
        return networks.value(tanh, weights, x).sum(-1)

    def laplacian(f):
        gradient = grad(f)

        def slope(x, v, *weights):
            return (gradient(x, *weights) * v).sum(-1)

        second = grad(slope)

        def total(x, *weights):
            result = 0
            for v in directions:
                result = result + (second(x, v, *weights) * v).sum(-1)
            return result

        return total

    result = repeated(laplacian, network, task.order)
    function = trained(package, result, len(weights)) if task.trained else result
    return function, [package.Tensor(a) for a in (x, *weights)]


def jax_run(laplacian: Any, task: Task, weights: networks.Weights, x: np.ndarray, eye: np.ndarray) -> Run:
    """``laplacian(f, directions)`` of a function of one sample, for all samples."""
    return jax_operator(lambda f, eye: repeated(lambda f: laplacian(f, eye), f, task.order), task, weights, x, eye)


def jax_operator(operator: Any, task: Task, weights: networks.Weights, x: np.ndarray, eye: np.ndarray) -> Run:
    import jax

    def result(weights, x, eye):
        network = lambda x: networks.value(jax.numpy.tanh, weights, x).sum()
        return jax.vmap(operator(network, eye))(x)

    loss = jax.value_and_grad(lambda *arrays: loss_of(result(*arrays)))
    return styles.jax_jit(loss if task.trained else result, weights, x, eye)


def jax_forward(*problem: Any) -> Run:
    """Forward over reverse: jvp of the gradient."""
    import jax

    def laplacian(f, eye):
        return lambda x: jax.vmap(lambda v: jax.jvp(jax.grad(f), (x,), (v,))[1] @ v)(eye).sum()

    return jax_run(laplacian, *problem)


def jax_directional(*problem: Any) -> Run:
    """Second derivatives along the axes, jvp in jvp."""
    import jax

    def laplacian(f, eye):
        def second(x, v):
            slope = lambda x: jax.jvp(f, (x,), (v,))[1]
            return jax.jvp(slope, (x,), (v,))[1]

        return lambda x: jax.vmap(second, (None, 0))(x, eye).sum()

    return jax_run(laplacian, *problem)


def jax_reverse(*problem: Any) -> Run:
    """The trace of the Hessian, a gradient of each partial derivative."""
    import jax

    def laplacian(f, eye):
        return lambda x: jax.numpy.trace(jax.jacrev(jax.grad(f))(x))

    return jax_run(laplacian, *problem)


def jax_folx(*problem: Any) -> Run:
    """The forward Laplacian (Li et al., Nature Machine Intelligence 6, 2024), as folx implements it."""
    import folx

    def laplacian(f, eye):
        return lambda x: folx.forward_laplacian(f)(x).laplacian

    return jax_run(laplacian, *problem)


def jax_jet(task: Task, *arrays: Any) -> Run:
    """Taylor series along directions."""
    import jax
    from jax.experimental.jet import jet

    order = 2 * task.order
    directions, factors = directions_of(task.order, arrays[-1])

    def operator(f, eye):
        def top(v, x):
            zero = jax.numpy.zeros_like(v)
            return jet(f, (x,), ((v, *[zero] * (order - 1)),))[1][order - 1]

        return lambda x: jax.vmap(top, (0, None))(jax.numpy.asarray(directions), x) @ factors

    return jax_operator(operator, task, *arrays)


def torch_eager(task: Task, weights: networks.Weights, x: np.ndarray, eye: np.ndarray) -> Run:
    """One more sweep over the gradient for each input."""
    import torch

    weights, x = styles.torch_tensors(weights, x)
    for leaf in (x, *weights) if task.trained else (x,):
        leaf.requires_grad_()

    def laplacian(f):
        def total(x):
            (gradient,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
            columns = gradient.sum(0)
            return sum(torch.autograd.grad(columns[k], x, create_graph=True)[0][:, k] for k in range(x.shape[1]))

        return total

    function = repeated(laplacian, lambda x: networks.torch_value(weights, x).sum(-1), task.order)

    def step():
        loss = loss_of(function(x))
        # the biases of the last layers may not matter to the operator
        gradient = torch.autograd.grad(loss, weights, allow_unused=True, materialize_grads=True)
        return loss.detach(), *gradient

    return Run(step if task.trained else lambda: function(x).detach())


def torch_result(task: Task, laplacian: Any):
    import torch

    def result(weights, x, eye):
        network = lambda x: networks.torch_value(weights, x).sum()
        return torch.func.vmap(repeated(lambda f: laplacian(f, eye), network, task.order))(x)

    def step(weights, x, eye):
        gradient, loss = torch.func.grad_and_value(lambda weights: loss_of(result(weights, x, eye)))(weights)
        return loss, gradient

    return step if task.trained else result


def torch_func(task: Task, *arrays: Any) -> Run:
    """Forward over reverse: jvp of the gradient."""
    import torch

    def laplacian(f, eye):
        second = lambda x, v: torch.func.jvp(torch.func.grad(f), (x,), (v,))[1] @ v
        return lambda x: torch.func.vmap(second, (None, 0))(x, eye).sum()

    return styles.torch_eager(torch_result(task, laplacian), *arrays)


def torch_compile(task: Task, *arrays: Any) -> Run:
    """Reverse over reverse: forward mode inside ``torch.compile`` crashes here."""
    import torch

    def laplacian(f, eye):
        return lambda x: torch.trace(torch.func.jacrev(torch.func.grad(f))(x))

    return styles.torch_compile(torch_result(task, laplacian), *arrays)


def autograd(task: Task, weights: networks.Weights, x: np.ndarray, eye: np.ndarray) -> Run:
    import autograd.numpy as np
    from autograd import elementwise_grad as grad
    from autograd import value_and_grad

    def laplacian(f):
        def total(x):
            partial = lambda k: grad(lambda x: grad(f)(x)[:, k])(x)[:, k]
            return sum(partial(k) for k in range(x.shape[1]))

        return total

    def result(weights):
        return repeated(laplacian, lambda x: networks.value(np.tanh, weights, x).sum(-1), task.order)(x)

    step = value_and_grad(lambda weights: loss_of(result(weights)))
    return Run(lambda: step(weights) if task.trained else result(weights))


def laplacian_by_hand(weights: networks.Weights, x: np.ndarray, eye: np.ndarray) -> np.ndarray:
    """Value, Jacobian and Laplacian through the layers, together."""
    y, jacobian, laplacian = x, eye[:, None, :], np.zeros_like(x)
    for i in range(0, len(weights), 2):
        matrix = weights[i].T
        y, jacobian, laplacian = y @ matrix + weights[i + 1], jacobian @ matrix, laplacian @ matrix
        if i < len(weights) - 2:
            y = np.tanh(y)
            slope = 1 - y * y
            laplacian = slope * (laplacian - 2 * y * np.einsum("kni,kni->ni", jacobian, jacobian))
            jacobian = slope * jacobian
    return laplacian[:, 0]


def directions_of(order: int, eye: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The operator as a sum of derivatives of the order 2 `order` along directions: (directions, factors).

    With D(v) the fourth derivative along v, and a and b two axes: D(a + b) + D(a - b) = 2 D(a) + 2 D(b) + 12
    times the mixed derivative of second order in each; the biharmonic has it twice for each pair.
    """
    d = len(eye)
    if order == 1:
        return eye, np.ones(d)
    pairs = [(a, b) for a in range(d) for b in range(a)]
    sides = [eye[a] + sign * eye[b] for a, b in pairs for sign in (1, -1)]
    # Each D(axis) occurs once by itself, and -2/12 * 2 times in each of the d - 1 pairs it belongs to.
    return np.array([*eye, *sides]), np.array([1 - (d - 1) / 3] * d + [1 / 6] * len(sides))


def biharmonic_by_hand(weights: networks.Weights, x: np.ndarray, eye: np.ndarray) -> np.ndarray:
    """Fourth derivatives along 25 directions, by Taylor series."""
    directions, factors = directions_of(2, eye)
    series = networks.Series(weights, x, directions, 4)
    return math.factorial(4) * np.tensordot(factors, series.outputs[4][..., 0], 1)


def step_by_hand(order: int, weights: networks.Weights, x: np.ndarray, eye: np.ndarray) -> list[np.ndarray]:
    """The loss and its gradient, by Taylor series along directions and their backward pass."""
    directions, factors = directions_of(order, eye)
    series = networks.Series(weights, x, directions, 2 * order)
    factors = math.factorial(2 * order) * factors
    values = np.tensordot(factors, series.outputs[-1][..., 0], 1)
    return [loss_of(values), *series.gradient(factors[:, None, None] * (2 / values.size * values)[:, None])]


def by_hand(task: Task, *arrays: Any) -> Any:
    if task.trained:
        return step_by_hand(task.order, *arrays)
    return (laplacian_by_hand if task.order == 1 else biharmonic_by_hand)(*arrays)


def hand(*problem: Any) -> Run:
    return Run(lambda: by_hand(*problem))


RIVALS = {
    "jax forward": jax_forward,
    "jax directional": jax_directional,
    "jax reverse": jax_reverse,
    "jax jet": jax_jet,
    "jax folx": jax_folx,
    "torch": torch_eager,
    "torch func": torch_func,
    "torch compile": torch_compile,
    "autograd": autograd,
    "hand": hand,
}


def case(order: int, d: int, trained: bool) -> Case:
    reference = functools.cache(lambda: list(leaves([by_hand(*problem(order, d, trained))])))
    return Case(
        name=("laplacian" if order == 1 else "biharmonic") + f"/{d}" + ("/weights" if trained else ""),
        reference=reference,
        dtype="float64",
        tolerance=1e-11,
        contenders=styles.contenders(
            program, RIVALS, lambda: problem(order, d, trained), {"mindspore graph": mindspore_program}
        ),
        # Hundreds of sweeps, each recorded to be differentiated again; a compiler that takes minutes.
        slow=("torch compile", *(("mindspore graph", "autograd") if d > 10 else ())),
    )


CASES = [case(order, d, trained) for order, d in ((1, 10), (1, 100), (2, 5)) for trained in (False, True)]


def test_laplacian(benchmark, run):
    benchmark(run.call)
