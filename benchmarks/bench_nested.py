"""The k-th derivative of ``exp(sin(x))`` by k gradients inside each other, shape (1,), float64.

How the cost grows with the order: engines that record their backward passes double, or worse, with each one.
"""

import math
from typing import Any

import numpy as np
import styles
from workload import Case, Run

X = np.array([0.5])

#: By mpmath at 40 digits.
REFERENCE = {4: -5.7077340361773341652, 8: -270.95241412132282508}


def program(package: Any, order: int) -> tuple:
    """Against MindSpore's API."""
    ops = package.ops
    function = lambda x: ops.exp(ops.sin(x))
    for _ in range(order):
        function = package.grad(function)
    return function, (package.Tensor(X),)


def jax_forward(order: int) -> Run:
    """Forward in forward: jvp in jvp."""
    import jax

    def derivative(f):
        return lambda x: jax.jvp(f, (x,), (jax.numpy.ones_like(x),))[1]

    function = lambda x: jax.numpy.exp(jax.numpy.sin(x))
    for _ in range(order):
        function = derivative(function)
    return styles.jax_jit(function, X)


def jax_reverse(order: int) -> Run:
    """Reverse in reverse: grad in grad."""
    import jax

    function = lambda x: jax.numpy.exp(jax.numpy.sin(x)).sum()
    for _ in range(order):
        function = (lambda f: lambda x: jax.grad(f)(x).sum())(function)
    gradient = lambda x: function(x).reshape(1)
    return styles.jax_jit(gradient, X)


def jax_jet(order: int) -> Run:
    """One Taylor series, whose last coefficient is the answer."""
    from jax import numpy as jnp
    from jax.experimental.jet import jet

    def function(x):
        series = [jnp.ones_like(x)] + [jnp.zeros_like(x)] * (order - 1)
        _, derivatives = jet(lambda x: jnp.exp(jnp.sin(x)), (x,), (series,))
        return derivatives[-1]

    return styles.jax_jit(function, X)


def torch_eager(order: int) -> Run:
    """``create_graph`` in every sweep but the last."""
    import torch

    (x,) = styles.torch_tensors(X)
    x.requires_grad_()

    def call():
        y = torch.exp(torch.sin(x))
        for k in range(order):
            (y,) = torch.autograd.grad(y, x, create_graph=k < order - 1)
        return y

    return Run(call)


def torch_func(order: int) -> Run:
    """Reverse in reverse: grad in grad."""
    import torch

    function = lambda x: torch.exp(torch.sin(x))
    for _ in range(order):
        function = torch.func.grad(lambda x, f=function: f(x).sum())
    return styles.torch_eager(function, X)


def autograd(order: int) -> Run:
    import autograd.numpy as np
    from autograd import elementwise_grad

    function = lambda x: np.exp(np.sin(x))
    for _ in range(order):
        function = elementwise_grad(function)
    return Run(lambda: function(X))


def casadi_graph(order: int):
    """The derivative of a scalar, as a graph of scalars."""
    import casadi as ca

    x = ca.SX.sym("x")
    y = ca.exp(ca.sin(x))
    for _ in range(order):
        y = ca.jacobian(y, x)
    return ca.Function("derivative", [x], [y])


def casadi_sx(order: int) -> Run:
    return styles.casadi(casadi_graph(order), [X], [(1,)], aside="a function of a scalar")


def casadi_c(order: int) -> Run:
    return styles.casadi(styles.casadi_c(casadi_graph(order)), [X], [(1,)], aside="a function of a scalar")


def hand(order: int) -> Run:
    """Taylor coefficients in NumPy: s' = c x', c' = -s x', y' = y s' for s = sin, c = cos, y = exp(s)."""

    def call():
        s, c, y = [np.sin(X)], [np.cos(X)], [np.exp(np.sin(X))]
        for k in range(1, order + 1):
            s.append(c[k - 1] / k)
            c.append(-s[k - 1] / k)
            y.append(sum(j * s[j] * y[k - j] for j in range(1, k + 1)) / k)
        return y[order] * math.factorial(order)

    return Run(call)


# torch.compile is not here: from order 4 on it fails, at times taking the process along.
RIVALS = {
    "jax forward": jax_forward,
    "jax reverse": jax_reverse,
    "jax jet": jax_jet,
    "torch": torch_eager,
    "torch func": torch_func,
    "autograd": autograd,
    "casadi sx": casadi_sx,
    "casadi c": casadi_c,
    "hand": hand,
}


def case(order: int) -> Case:
    return Case(
        name=f"nested/{order}",
        reference=lambda: [np.array([REFERENCE[order]])],
        dtype="float64",
        tolerance=1e-11,
        contenders=styles.contenders(program, RIVALS, lambda: (order,)),
    )


CASES = [case(order) for order in (4, 8)]


def test_nested(benchmark, run):
    benchmark(run.call)
