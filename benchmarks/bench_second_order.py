"""The smallest second-order program: all four second partials of ``x * x * y``, shape (1,), float32.

There is nothing to compute here (two products and their derivatives), so this is the latency of a nested
derivative: what one call costs before the first useful multiplication. Two gradient Cells inside each other,
a sensitivity that picks a row of the second derivative, both rows per call. Cells, gradient functions and
tensors are made beforehand, as a user's program would.
"""

from functools import partial

import numpy as np
from mindspore_style import contender, tiny_second_order
from workload import Case, Run

X, Y = np.array([4], np.float32), np.array([5], np.float32)
ONE, ZERO = np.array([1], np.float32), np.array([0], np.float32)


def torch_eager() -> Run:
    """The gradient once with ``create_graph``, then one more sweep per row."""
    import torch

    x = torch.tensor(X, requires_grad=True)
    y = torch.tensor(Y, requires_grad=True)
    grad = torch.autograd.grad

    def call():
        dx, dy = grad(x * x * y, (x, y), create_graph=True)
        first = grad(dx, (x, y), retain_graph=True)
        # dy = x * x does not know y.
        second = grad(dy, (x, y), allow_unused=True, materialize_grads=True)
        return first, second

    return Run(call)


def _jax_rows():
    import jax

    gradient = jax.grad(lambda x, y: (x * x * y).sum(), argnums=(0, 1))

    def rows(x, y, one, zero):
        _, pull = jax.vjp(gradient, x, y)
        return pull((one, zero)), pull((zero, one))

    return rows, [jax.numpy.asarray(a) for a in (X, Y, ONE, ZERO)]


def jax_jit() -> Run:
    """Both rows compiled into one function."""
    import jax

    rows, arguments = _jax_rows()
    compiled = jax.jit(rows)
    return Run(lambda: jax.block_until_ready(compiled(*arguments)))


def jax_eager() -> Run:
    """The same function, operation by operation."""
    import jax

    rows, arguments = _jax_rows()
    return Run(lambda: jax.block_until_ready(rows(*arguments)))


def autograd() -> Run:
    """The gradient is traced once, its vector-Jacobian product called for each row."""
    from autograd import grad, make_vjp

    gradient = grad(lambda x, y: (x * x * y).sum(), (0, 1))

    def call():
        pull, _ = make_vjp(gradient, (0, 1))(X, Y)
        return pull((ONE, ZERO)), pull((ZERO, ONE))

    return Run(call)


def hand() -> Run:
    """The closed form in NumPy: what is left when nothing is differentiated."""
    two = np.float32(2)
    return Run(lambda: (two * Y, two * X, two * X, ZERO * Y))


CASES = [
    Case(
        name="second_order/float32",
        reference=lambda: [np.array([10.0]), np.array([8.0]), np.array([8.0]), np.array([0.0])],
        dtype="float32",
        tolerance=0.0,  # small whole numbers: every result is exact
        contenders={
            "dualgrad": partial(contender, "dualgrad", "PYNATIVE_MODE", tiny_second_order),
            "dualgrad graph": partial(contender, "dualgrad", "GRAPH_MODE", tiny_second_order),
            "torch": torch_eager,
            "jax jit": jax_jit,
            "jax eager": jax_eager,
            "autograd": autograd,
            "mindspore": partial(contender, "mindspore", "PYNATIVE_MODE", tiny_second_order),
            "mindspore graph": partial(contender, "mindspore", "GRAPH_MODE", tiny_second_order),
            "hand": hand,
        },
    )
]


def test_second_order(benchmark, run):
    benchmark(run.call)
