"""The smallest second-order program: all four second partials of ``x * x * y``, shape (1,), float32.

There is nothing to compute here (two products and their derivatives), so this is the latency of a nested
derivative: what one call costs before the first useful multiplication. Two gradient Cells inside each other,
a sensitivity that picks a row of the second derivative, both rows per call. Cells, gradient functions and
tensors are made beforehand, as a user's program would.
"""

from typing import Any

import numpy as np
import styles
from workload import Case, Run

X, Y = np.array([4], np.float32), np.array([5], np.float32)
ONE, ZERO = np.array([1], np.float32), np.array([0], np.float32)


def program(package: Any) -> tuple:
    """Cell in Cell in Cell, against MindSpore's API."""
    nn, ops, Tensor = package.nn, package.ops, package.Tensor

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.mul = ops.Mul()

        def construct(self, x, y):
            return self.mul(self.mul(x, x), y)

    class Grad(nn.Cell):
        def __init__(self, network):
            super().__init__()
            self.grad = ops.GradOperation(get_all=True)
            self.network = network

        def construct(self, x, y):
            return self.grad(self.network)(x, y)

    class GradSec(nn.Cell):
        def __init__(self, network):
            super().__init__()
            self.grad = ops.GradOperation(get_all=True, sens_param=True)
            self.network = network
            self.one = Tensor(ONE)
            self.zero = Tensor(ZERO)

        def construct(self, x, y):
            dxdx, dxdy = self.grad(self.network)(x, y, (self.one, self.zero))
            dydx, dydy = self.grad(self.network)(x, y, (self.zero, self.one))
            return dxdx, dxdy, dydx, dydy

    return GradSec(Grad(Net())), (Tensor(X), Tensor(Y))


def jax_rows(forward: bool):
    """Both rows: pushed forward through the gradient (its Jacobian is symmetric), or pulled back."""
    import jax

    gradient = jax.grad(lambda x, y: (x * x * y).sum(), argnums=(0, 1))

    def push_rows(x, y, one, zero):
        return [jax.jvp(gradient, (x, y), direction)[1] for direction in ((one, zero), (zero, one))]

    def pull_rows(x, y, one, zero):
        _, pull = jax.vjp(gradient, x, y)
        return pull((one, zero)), pull((zero, one))

    return push_rows if forward else pull_rows


def jax_forward() -> Run:
    return styles.jax_jit(jax_rows(forward=True), X, Y, ONE, ZERO)


def jax_reverse() -> Run:
    return styles.jax_jit(jax_rows(forward=False), X, Y, ONE, ZERO)


def jax_eager() -> Run:
    return styles.jax_eager(jax_rows(forward=False), X, Y, ONE, ZERO)


def torch_eager() -> Run:
    """The gradient once with ``create_graph``, then one more sweep per row."""
    import torch

    x, y = (t.requires_grad_() for t in styles.torch_tensors(X, Y))
    grad = torch.autograd.grad

    def call():
        dx, dy = grad(x * x * y, (x, y), create_graph=True)
        first = grad(dx, (x, y), retain_graph=True)
        # dy = x * x does not know y.
        second = grad(dy, (x, y), allow_unused=True, materialize_grads=True)
        return first, second

    return Run(call)


def torch_rows():
    import torch

    gradient = torch.func.grad(lambda x, y: (x * x * y).sum(), argnums=(0, 1))

    def rows(x, y, one, zero):
        _, pull = torch.func.vjp(gradient, x, y)
        return pull((one, zero)), pull((zero, one))

    return rows


def torch_func() -> Run:
    return styles.torch_eager(torch_rows(), X, Y, ONE, ZERO)


def torch_compile() -> Run:
    return styles.torch_compile(torch_rows(), X, Y, ONE, ZERO)


def autograd() -> Run:
    """The gradient is traced once, its vector-Jacobian product called for each row."""
    from autograd import grad, make_vjp

    gradient = grad(lambda x, y: (x * x * y).sum(), (0, 1))

    def call():
        pull, _ = make_vjp(gradient, (0, 1))(X, Y)
        return pull((ONE, ZERO)), pull((ZERO, ONE))

    return Run(call)


def casadi_c() -> Run:
    """A graph of scalars without sensitivities, in C."""
    import casadi as ca

    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    hessian, _ = ca.hessian(x * x * y, ca.vertcat(x, y))
    rows = ca.Function("rows", [x, y], [ca.densify(entry) for entry in ca.vertsplit(ca.vec(ca.densify(hessian)))])
    return styles.casadi(styles.casadi_c(rows), [X, Y], [(1,)] * 4, aside="a function of scalars, no sensitivities")


def hand() -> Run:
    """The closed form in NumPy: what is left when nothing is differentiated."""
    two = np.float32(2)
    return Run(lambda: (two * Y, two * X, two * X, ZERO * Y))


RIVALS = {
    "jax forward": jax_forward,
    "jax reverse": jax_reverse,
    "jax eager": jax_eager,
    "torch": torch_eager,
    "torch func": torch_func,
    "torch compile": torch_compile,
    "autograd": autograd,
    "casadi c": casadi_c,
    "hand": hand,
}

CASES = [
    Case(
        name="second_order/float32",
        reference=lambda: [np.array([10.0]), np.array([8.0]), np.array([8.0]), np.array([0.0])],
        dtype="float32",
        tolerance=0.0,  # small whole numbers: every result is exact
        contenders=styles.contenders(program, RIVALS, others={"mindspore": program}),
        slow=("torch compile",),
    )
]


def test_second_order(benchmark, run):
    benchmark(run.call)
