"""One training step of a physics-informed network for Burgers' equation: the loss and its gradient by all weights.

u(x, t) is a tanh network (Raissi, Perdikaris and Karniadakis, J. Comput. Phys. 378, 2019), and the loss is

    mean((u_t + u u_x - nu u_xx)^2)  over the points in the domain  +  mean((u - data)^2)  over 100 points with data

so a second derivative by an input stands inside a gradient by the weights. Nets: ``burgers`` (8 layers of 20,
10,000 points), ``wide`` (3 layers of 128, 2,000 points), ``small`` (4 layers of 20, 256 points).
"""

from collections.abc import Sequence
from typing import Any

import networks
import numpy as np
import styles
from workload import Case, Run

#: Viscosity; exact in binary, so that it is the same number in every library and dtype.
NU = 2.0**-8

DATA_POINTS = 100

# What float32 can tell of a second derivative through eight layers; most are a digit better.
TOLERANCE = {"float32": 2e-4, "float64": 1e-11}


def problem(widths: Sequence[int], points: int, dtype: str) -> tuple:
    """Weights, then x and t of the points, x, t and u of the data: columns."""
    rng = np.random.default_rng(6)
    x, t = rng.uniform(-1, 1, (points, 1)), rng.uniform(0, 1, (points, 1))
    data_x, data_t = rng.uniform(-1, 1, (DATA_POINTS, 1)), np.zeros((DATA_POINTS, 1))
    columns = (x, t, data_x, data_t, -np.sin(np.pi * data_x))
    return networks.weights_of(widths, dtype), *(column.astype(dtype) for column in columns)


def loss_of(u: Any, u_x: Any, u_t: Any, u_xx: Any, data_error: Any) -> Any:
    residual = u_t + u * u_x - NU * u_xx
    return (residual * residual).mean() + (data_error * data_error).mean()


def by_hand(weights: networks.Weights, *columns: np.ndarray) -> list[np.ndarray]:
    """Forward with four channels (u, u_x, u_t, u_xx), and back."""
    x, t, data_x, data_t, data_u = columns
    domain = networks.Channels(weights, np.hstack([x, t]), first=[(1, 0), (0, 1)], second=True)
    u, u_x, u_t, u_xx = domain.outputs
    residual = u_t + u * u_x - NU * u_xx
    r = residual * x.dtype.type(2 / residual.size)
    data = networks.Channels(weights, np.hstack([data_x, data_t]))
    error = data.outputs[0] - data_u
    gradients = domain.gradient([r * u_x, r * u, r, -NU * r])
    from_data = data.gradient([error * x.dtype.type(2 / error.size)])
    return [
        np.mean(residual * residual) + np.mean(error * error),
        *(a + b for a, b in zip(gradients, from_data, strict=True)),
    ]


def program(package: Any, weights: networks.Weights, *columns: np.ndarray) -> tuple:
    """Gradients by the inputs inside a gradient by the weights, against MindSpore's API."""
    network = networks.cell(package, weights)
    ops, value_and_grad = package.ops, package.value_and_grad

    def u(x, t):
        return network(ops.cat((x, t), 1))

    def first(x, t):
        value, (u_x, u_t) = value_and_grad(u, (0, 1))(x, t)
        return u_x, u_t, value

    def loss(x, t, data_x, data_t, data_u):
        (u_x, u_t, value), u_xx = value_and_grad(first, 0, has_aux=True)(x, t)
        return loss_of(value, u_x, u_t, u_xx, u(data_x, data_t) - data_u)

    step = value_and_grad(loss, None, network.trainable_params())
    return step, [package.Tensor(column) for column in columns]


def functional_program(package: Any, weights: networks.Weights, *columns: np.ndarray) -> tuple:
    """The same with weights as inputs and without ``has_aux``: the other way MindSpore fails in Graph mode.

    Gradients of a Cell by inputs, inside one by its weights, make a cycle in its graph; and what it returns
    beside a gradient is cut off from differentiation.
    """
    ops, grad = package.ops, package.grad

    def u(x, t, *weights):
        return networks.value(ops.tanh, weights, ops.cat((x, t), 1))

    first, second = grad(u, (0, 1)), grad(grad(u))

    def loss(x, t, data_x, data_t, data_u, *weights):
        u_x, u_t = first(x, t, *weights)
        u_xx = second(x, t, *weights)
        return loss_of(u(x, t, *weights), u_x, u_t, u_xx, u(data_x, data_t, *weights) - data_u)

    tensors = [package.Tensor(array) for array in (*columns, *weights)]
    return package.value_and_grad(loss, tuple(range(len(columns), len(tensors)))), tensors


def forward_program(package: Any, weights: networks.Weights, *columns: np.ndarray) -> tuple:
    """The derivatives by the inputs in forward mode."""
    network = networks.cell(package, weights)
    ops, jvp = package.ops, package.jvp

    def u(x, t):
        return network(ops.cat((x, t), 1))

    def loss(x, t, data_x, data_t, data_u):
        one = ops.ones_like(x)

        def along_x(x):
            return jvp(lambda x: u(x, t), x, one)

        (value, u_x), (_, u_xx) = jvp(along_x, x, one)
        _, u_t = jvp(lambda t: u(x, t), t, one)
        return loss_of(value, u_x, u_t, u_xx, u(data_x, data_t) - data_u)

    step = package.value_and_grad(loss, None, network.trainable_params())
    return step, [package.Tensor(column) for column in columns]


def jax_forward(*problem: Any) -> Run:
    import jax

    def loss(weights, x, t, data_x, data_t, data_u):
        u = lambda x, t: networks.value(jax.numpy.tanh, weights, jax.numpy.hstack([x, t]))
        one = jax.numpy.ones_like(x)
        along_x = lambda x: jax.jvp(lambda x: u(x, t), (x,), (one,))
        (value, u_x), (_, u_xx) = jax.jvp(along_x, (x,), (one,))
        _, u_t = jax.jvp(lambda t: u(x, t), (t,), (one,))
        return loss_of(value, u_x, u_t, u_xx, u(data_x, data_t) - data_u)

    return styles.jax_jit(jax.value_and_grad(loss), *problem)


def reverse_loss(u: Any, value_and_grad: Any):
    """The loss for a ``value_and_grad`` of functions whose value is one number; ``u`` of weights, x and t."""

    def total(x, t, weights):
        value = u(weights, x, t)
        return value.sum(), value

    def first(x, t, weights):
        (_, value), (u_x, u_t) = value_and_grad(total, (0, 1))(x, t, weights)
        return u_x.sum(), (value, u_x, u_t)

    def loss(weights, x, t, data_x, data_t, data_u):
        (_, (value, u_x, u_t)), u_xx = value_and_grad(first, 0)(x, t, weights)
        return loss_of(value, u_x, u_t, u_xx, u(weights, data_x, data_t) - data_u)

    return loss


def jax_reverse(*problem: Any) -> Run:
    import jax

    def u(weights, x, t):
        return networks.value(jax.numpy.tanh, weights, jax.numpy.hstack([x, t]))

    loss = reverse_loss(u, lambda f, argnums: jax.value_and_grad(f, argnums, has_aux=True))
    return styles.jax_jit(jax.value_and_grad(loss), *problem)


def torch_eager(*problem: Any) -> Run:
    import torch

    weights, x, t, data_x, data_t, data_u = styles.torch_tensors(*problem)
    for tensor in (*weights, x, t):
        tensor.requires_grad_()

    def u(x, t):
        return networks.torch_value(weights, torch.cat([x, t], 1))

    def call():
        value = u(x, t)
        u_x, u_t = torch.autograd.grad(value.sum(), (x, t), create_graph=True)
        (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
        loss = loss_of(value, u_x, u_t, u_xx, u(data_x, data_t) - data_u)
        return loss.detach(), torch.autograd.grad(loss, weights)

    return Run(call)


def torch_step():
    """``torch.func`` has no ``value_and_grad``, but ``grad_and_value``."""
    import torch

    def u(weights, x, t):
        return networks.torch_value(weights, torch.cat([x, t], 1))

    def value_and_grad(f, argnums, has_aux=True):
        both = torch.func.grad_and_value(f, argnums, has_aux=has_aux)
        return lambda *args: both(*args)[::-1]

    return value_and_grad(reverse_loss(u, value_and_grad), 0, has_aux=False)


def torch_func(*problem: Any) -> Run:
    return styles.torch_eager(torch_step(), *problem)


def torch_compile(*problem: Any) -> Run:
    return styles.torch_compile(torch_step(), *problem)


def autograd(*problem: Any) -> Run:
    import autograd.numpy as np
    from autograd import elementwise_grad, value_and_grad

    def loss(weights, x, t, data_x, data_t, data_u):
        u = lambda x, t: networks.value(np.tanh, weights, np.hstack([x, t]))
        u_x = elementwise_grad(u, 0)
        u_t = elementwise_grad(u, 1)
        u_xx = elementwise_grad(u_x, 0)
        return loss_of(u(x, t), u_x(x, t), u_t(x, t), u_xx(x, t), u(data_x, data_t) - data_u)

    step = value_and_grad(loss)
    return Run(lambda: step(*problem))


def casadi_mx(weights: networks.Weights, *columns: np.ndarray) -> Run:
    """A graph of matrices; points are columns, so that NumPy's row-major arrays are read as they lie."""
    import casadi as ca

    symbols = [ca.MX.sym(f"w{i}", *w.shape[::-1]) for i, w in enumerate(weights)]  # transposed matrices, rows
    x, t, data_x, data_t, data_u = inputs = [ca.MX.sym(f"c{i}", 1, c.size) for i, c in enumerate(columns)]

    def u(x, t):
        # CasADi wants vectors as columns: a bias of n numbers is an (n, 1).
        h = ca.vertcat(x, t)
        for i in range(0, len(symbols), 2):
            h = symbols[i].T @ h + ca.repmat(symbols[i + 1], 1, x.shape[1])
            h = ca.tanh(h) if i < len(symbols) - 2 else h
        return h

    one = ca.DM.ones(1, x.shape[1])
    value = u(x, t)
    u_x = ca.jtimes(value, x, one)
    u_t = ca.jtimes(value, t, one)
    u_xx = ca.jtimes(u_x, x, one)
    residual = u_t + value * u_x - NU * u_xx
    error = u(data_x, data_t) - data_u
    loss = ca.sumsqr(residual) / x.shape[1] + ca.sumsqr(error) / data_x.shape[1]
    gradients = [ca.densify(ca.gradient(loss, s)) for s in symbols]
    step = ca.Function("step", [*symbols, *inputs], [loss, *gradients])
    return styles.casadi(step, [*weights, *columns], [(), *(w.shape for w in weights)])


def hand(*problem: Any) -> Run:
    """Four channels forward and back, in NumPy."""
    return Run(lambda: by_hand(*problem))


RIVALS = {
    "jax forward": jax_forward,
    "jax reverse": jax_reverse,
    "torch": torch_eager,
    "torch func": torch_func,
    "torch compile": torch_compile,
    "autograd": autograd,
    "hand": hand,
}


OTHERS = {
    "dualgrad forward": forward_program,
    "dualgrad forward jit": forward_program,
    "mindspore graph": functional_program,
}


def case(name: str, widths: Sequence[int], points: int, dtype: str) -> Case:
    def arguments():
        return problem(widths, points, dtype)

    rivals = dict(RIVALS)
    if dtype == "float64" and name == "small":  # CasADi's tanh and products of matrices are plain loops
        rivals["casadi mx"] = casadi_mx
    return Case(
        name=f"pinn/{name}/{dtype}",
        reference=lambda: by_hand(*networks.doubled(arguments())),
        dtype=dtype,
        tolerance=TOLERANCE[dtype],
        contenders=styles.contenders(program, rivals, arguments, OTHERS),
        slow=("torch compile",),
    )


CASES = [
    case(name, widths, points, dtype)
    for name, widths, points in [
        ("burgers", [2, *[20] * 8, 1], 10_000),
        ("wide", [2, 128, 128, 128, 1], 2_000),
        ("small", [2, *[20] * 4, 1], 256),
    ]
    for dtype in ("float32", "float64")
]


def test_pinn_step(benchmark, run):
    benchmark(run.call)
