"""The Laplacian of a tanh network by its inputs, and the Laplacian of that: 512 samples, net d-64-64-1, float64.

``laplacian/d`` is the sum of the d second derivatives at every sample (kinetic energies, diffusion);
``biharmonic/5`` has derivatives of fourth order.
"""

import math
from collections.abc import Sequence
from typing import Any

import networks
import numpy as np
import styles
from workload import Case, Run

SAMPLES = 512


def problem(order: int, d: int) -> tuple:
    """How often the Laplacian is applied, weights, samples, and the directions to differentiate along."""
    x = np.random.default_rng(8).normal(size=(SAMPLES, d))
    return order, networks.weights_of([d, 64, 64, 1]), x, np.eye(d)


def repeated(transform: Any, function: Any, times: int) -> Any:
    for _ in range(times):
        function = transform(function)
    return function


def program(package: Any, order: int, weights: networks.Weights, x: np.ndarray, eye: np.ndarray) -> tuple:
    """Forward over reverse, all directions at once, on whole batches."""
    jvp, grad, vmap, tanh = package.jvp, package.grad, package.vmap, package.ops.tanh

    def result(x, eye, *weights):
        def laplacian(f):
            gradient = grad(f)

            def along(v, x):
                return (jvp(gradient, x, v + 0 * x)[1] * v).sum(-1)

            return lambda x: vmap(along, (0, None))(eye, x).sum(0)

        return repeated(laplacian, lambda x: networks.value(tanh, weights, x).sum(-1), order)(x)

    return result, [package.Tensor(a) for a in (x, eye, *weights)]


def mindspore_program(package: Any, order: int, weights: networks.Weights, x: np.ndarray, eye: np.ndarray) -> tuple:
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

    return repeated(laplacian, network, order), [package.Tensor(a) for a in (x, *weights)]


def jax_run(laplacian: Any, order: int, weights: networks.Weights, x: np.ndarray, eye: np.ndarray) -> Run:
    """``laplacian(f, directions)`` of a function of one sample, for all samples."""
    import jax

    def result(weights, x, eye):
        network = lambda x: networks.value(jax.numpy.tanh, weights, x).sum()
        return jax.vmap(repeated(lambda f: laplacian(f, eye), network, order))(x)

    return styles.jax_jit(result, weights, x, eye)


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


def torch_eager(order: int, weights: networks.Weights, x: np.ndarray, eye: np.ndarray) -> Run:
    """One more sweep over the gradient for each input."""
    import torch

    weights, x = styles.torch_tensors(weights, x)
    x.requires_grad_()

    def laplacian(f):
        def total(x):
            (gradient,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
            columns = gradient.sum(0)
            return sum(torch.autograd.grad(columns[k], x, create_graph=True)[0][:, k] for k in range(x.shape[1]))

        return total

    function = repeated(laplacian, lambda x: networks.torch_value(weights, x).sum(-1), order)
    return Run(lambda: function(x).detach())


def torch_result(order: int, laplacian: Any):
    import torch

    def result(weights, x, eye):
        network = lambda x: networks.torch_value(weights, x).sum()
        return torch.func.vmap(repeated(lambda f: laplacian(f, eye), network, order))(x)

    return result


def torch_func(order: int, *arrays: Any) -> Run:
    """Forward over reverse: jvp of the gradient."""
    import torch

    def laplacian(f, eye):
        second = lambda x, v: torch.func.jvp(torch.func.grad(f), (x,), (v,))[1] @ v
        return lambda x: torch.func.vmap(second, (None, 0))(x, eye).sum()

    return styles.torch_eager(torch_result(order, laplacian), *arrays)


def torch_compile(order: int, *arrays: Any) -> Run:
    """Reverse over reverse: forward mode inside ``torch.compile`` crashes here."""
    import torch

    def laplacian(f, eye):
        return lambda x: torch.trace(torch.func.jacrev(torch.func.grad(f))(x))

    return styles.torch_compile(torch_result(order, laplacian), *arrays)


def autograd(order: int, weights: networks.Weights, x: np.ndarray, eye: np.ndarray) -> Run:
    import autograd.numpy as np
    from autograd import elementwise_grad as grad

    def laplacian(f):
        def total(x):
            partial = lambda k: grad(lambda x: grad(f)(x)[:, k])(x)[:, k]
            return sum(partial(k) for k in range(x.shape[1]))

        return total

    function = repeated(laplacian, lambda x: networks.value(np.tanh, weights, x).sum(-1), order)
    return Run(lambda: function(x))


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


def biharmonic_by_hand(weights: networks.Weights, x: np.ndarray, eye: np.ndarray) -> np.ndarray:
    """Fourth derivatives along 25 directions, by Taylor series.

    With D(v) the fourth derivative along v, and a and b two axes: D(a + b) + D(a - b) = 2 D(a) + 2 D(b) + 12
    times the mixed derivative of second order in each; the biharmonic has it twice for each pair.
    """
    d = len(eye)
    pairs = [(a, b) for a in range(d) for b in range(a)]
    sides = [eye[a] + sign * eye[b] for a, b in pairs for sign in (1, -1)]
    series = [x, np.array([*eye, *sides])[:, None, :], 0.0, 0.0, 0.0]
    for i in range(0, len(weights), 2):
        matrix = weights[i].T
        series = [s @ matrix if np.ndim(s) else s for s in series]
        series[0] = series[0] + weights[i + 1]
        if i < len(weights) - 2:
            series = _tanh_series(series)
    fourth = math.factorial(4) * series[4][..., 0]
    # Each D(axis) occurs once by itself, and -2/12 * 2 times in each of the d - 1 pairs it belongs to.
    return fourth[:d].sum(axis=0) * (1 - (d - 1) / 3) + fourth[d:].sum(axis=0) / 6


def _tanh_series(a: Sequence[Any]) -> list[Any]:
    """Coefficients of y = tanh(a), one after the other, from y' = (1 - y^2) a'."""
    y, slope = [np.tanh(a[0])], []
    for k in range(1, len(a)):
        square = sum(y[j] * y[k - 1 - j] for j in range(k))
        slope.append((1.0 if k == 1 else 0.0) - square)
        y.append(sum(j * a[j] * slope[k - j] for j in range(1, k + 1)) / k)
    return y


def by_hand(order: int, *arrays: Any) -> np.ndarray:
    return (laplacian_by_hand if order == 1 else biharmonic_by_hand)(*arrays)


def hand(*problem: Any) -> Run:
    return Run(lambda: by_hand(*problem))


RIVALS = {
    "jax forward": jax_forward,
    "jax directional": jax_directional,
    "jax reverse": jax_reverse,
    "jax folx": jax_folx,
    "torch": torch_eager,
    "torch func": torch_func,
    "torch compile": torch_compile,
    "autograd": autograd,
    "hand": hand,
}


def case(name: str, order: int, d: int) -> Case:
    return Case(
        name=f"{name}/{d}",
        reference=lambda: [by_hand(*problem(order, d))],
        dtype="float64",
        tolerance=1e-11,
        contenders=styles.contenders(
            program, RIVALS, lambda: problem(order, d), {"mindspore graph": mindspore_program}
        ),
        slow=("torch compile", *(["mindspore graph"] if d > 10 else [])),
    )


CASES = [case("laplacian", 1, 10), case("laplacian", 1, 100), case("biharmonic", 2, 5)]


def test_laplacian(benchmark, run):
    benchmark(run.call)
