"""Price and risks of European call options by differentiation: elementwise work up to the third order.

The model of Black and Scholes (1973), n options that differ in spot, volatility, strike and maturity. With S
the spot and v the volatility, the results are

    price   delta = d/dS   gamma = d2/dS2   vega = d/dv   vanna = d2/dSdv   volga = d2/dv2   speed = d3/dS3

Every option depends on its own inputs only, so the derivatives of the sum of all prices are those of each.
"""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import styles
from workload import Case, Run

RATE = 0.03125  # exact in binary, so that it is the same number in every library and dtype


def price(m: Any, spot: Any, volatility: Any, strike: Any, maturity: Any) -> Any:
    """The price, with log, exp, sqrt and erf from ``m``; a and b are d1 and d2, divided by the root of 2."""
    width = volatility * m.sqrt(2 * maturity)
    a = (m.log(spot / strike) + (RATE + volatility * volatility / 2) * maturity) / width
    b = a - width / 2
    return spot * (m.erf(a) + 1) / 2 - strike * m.exp(-RATE * maturity) * (m.erf(b) + 1) / 2


def closed_form(erf: Any, spot: Any, volatility: Any, strike: Any, maturity: Any) -> list[np.ndarray]:
    """All seven from the textbook's formulas."""
    root = np.sqrt(maturity)
    width = volatility * root
    d1 = (np.log(spot / strike) + (RATE + 0.5 * volatility * volatility) * maturity) / width
    d2 = d1 - width
    density = np.exp(-0.5 * d1 * d1) * (1 / np.sqrt(2 * np.pi))
    delta = 0.5 + 0.5 * erf(d1 * np.sqrt(0.5))
    below = 0.5 + 0.5 * erf(d2 * np.sqrt(0.5))
    gamma = density / (spot * width)
    vega = spot * density * root
    vanna = -density * d2 / volatility
    volga = vega * d1 * d2 / volatility
    speed = -gamma / spot * (d1 / width + 1)
    value = spot * delta - strike * np.exp(-RATE * maturity) * below
    return [value, delta, gamma, vega, vanna, volga, speed]


def options(n: int, dtype: str) -> list[np.ndarray]:
    """Spot, volatility, strike and maturity of n options."""
    rng = np.random.default_rng(3)
    return [rng.uniform(low, high, n).astype(dtype) for low, high in ((80, 120), (0.1, 0.5), (80, 120), (0.25, 2.0))]


def program(package: Any, *book: np.ndarray) -> tuple:
    """Gradients inside gradients, each handing on what it has; against MindSpore's API."""
    ops, value_and_grad = package.ops, package.value_and_grad
    m = ops if package.__name__ == "dualgrad" else SimpleNamespace(log=ops.log, exp=ops.exp, sqrt=ops.sqrt, erf=_erf())
    value = lambda s, v, k, t: price(m, s, v, k, t)

    def first(s, v, k, t):
        p, (delta, vega) = value_and_grad(value, (0, 1))(s, v, k, t)
        return delta, p, vega

    def second(s, v, k, t):
        (delta, p, vega), (gamma, vanna) = value_and_grad(first, (0, 1), has_aux=True)(s, v, k, t)
        return gamma, p, delta, vega, vanna

    def risks(s, v, k, t):
        (gamma, p, delta, vega, vanna), speed = value_and_grad(second, 0, has_aux=True)(s, v, k, t)
        volga = package.grad(package.grad(value, 1), 1)(s, v, k, t)
        return p, delta, gamma, vega, vanna, volga, speed

    return risks, [package.Tensor(a) for a in book]


def _erf() -> Any:
    """MindSpore's erf with a slope of its own: the built-in one has no second derivative."""
    import mindspore

    class Erf(mindspore.nn.Cell):
        def __init__(self):
            super().__init__()
            self.factor = mindspore.Tensor(np.array(2 / np.sqrt(np.pi)))

        def construct(self, x):
            return mindspore.ops.erf(x)

        def bprop(self, x, out, cotangent):
            return (cotangent * self.factor * mindspore.ops.exp(-x * x),)

    return Erf()


def jax_forward(*book: np.ndarray) -> Run:
    """Forward in forward: jvp in jvp; the compiler finds what they have in common."""
    import jax

    def risks(s, v, k, t):
        one = jax.numpy.ones_like(s)
        along_s = lambda f: lambda s, v: jax.jvp(lambda s: f(s, v), (s,), (one,))
        along_v = lambda f: lambda s, v: jax.jvp(lambda v: f(s, v), (v,), (one,))
        value = lambda s, v: price(jax.lax, s, v, k, t)
        (p, delta), (_, gamma) = along_s(along_s(value))(s, v)
        speed = along_s(along_s(along_s(value)))(s, v)[1][1][1]
        (_, vega), (_, volga) = along_v(along_v(value))(s, v)
        vanna = along_v(along_s(value))(s, v)[1][1]
        return p, delta, gamma, vega, vanna, volga, speed

    return styles.jax_jit(risks, *book)


def nested_gradients(m: Any, value_and_grad: Any):
    """The same nesting as in `program`, for a ``value_and_grad`` of functions whose value is one number."""

    def value(s, v, k, t):
        p = price(m, s, v, k, t)
        return p.sum(), p

    def first(s, v, k, t):
        (_, p), (delta, vega) = value_and_grad(value, (0, 1))(s, v, k, t)
        return delta.sum(), (p, delta, vega)

    def second(s, v, k, t):
        (_, known), (gamma, vanna) = value_and_grad(first, (0, 1))(s, v, k, t)
        return gamma.sum(), (*known, gamma, vanna)

    def first_v(s, v, k, t):
        _, vega = value_and_grad(value, 1)(s, v, k, t)
        return vega.sum(), ()

    def risks(s, v, k, t):
        (_, (p, delta, vega, gamma, vanna)), speed = value_and_grad(second, 0)(s, v, k, t)
        _, volga = value_and_grad(first_v, 1)(s, v, k, t)
        return p, delta, gamma, vega, vanna, volga, speed

    return risks


def jax_reverse(*book: np.ndarray) -> Run:
    import jax

    value_and_grad = lambda f, argnums: jax.value_and_grad(f, argnums, has_aux=True)
    return styles.jax_jit(nested_gradients(jax.lax, value_and_grad), *book)


def torch_eager(*book: np.ndarray) -> Run:
    import torch

    s, v, k, t = styles.torch_tensors(*book)
    s.requires_grad_()
    v.requires_grad_()

    def grad(y, x):
        return torch.autograd.grad(y.sum(), x, create_graph=True)

    def call():
        p = price(torch, s, v, k, t)
        delta, vega = grad(p, (s, v))
        gamma, vanna = grad(delta, (s, v))
        (volga,) = torch.autograd.grad(vega.sum(), v, retain_graph=True)
        (speed,) = torch.autograd.grad(gamma.sum(), s)
        return [r.detach() for r in (p, delta, gamma, vega, vanna, volga, speed)]

    return Run(call)


def torch_nested():
    import torch

    return nested_gradients(torch, styles.torch_value_and_grad)


def torch_func(*book: np.ndarray) -> Run:
    return styles.torch_eager(torch_nested(), *book)


def torch_compile(*book: np.ndarray) -> Run:
    return styles.torch_compile(torch_nested(), *book)


def autograd(*book: np.ndarray) -> Run:
    """``elementwise_grad`` for every derivative."""
    import autograd.numpy as np
    from autograd import elementwise_grad as grad
    from autograd.scipy.special import erf

    m = SimpleNamespace(log=np.log, exp=np.exp, sqrt=np.sqrt, erf=erf)
    value = lambda s, v, k, t: price(m, s, v, k, t)
    delta, vega = grad(value, 0), grad(value, 1)
    gamma = grad(delta, 0)
    risks = (value, delta, gamma, vega, grad(delta, 1), grad(vega, 1), grad(gamma, 0))
    return Run(lambda: [risk(*book) for risk in risks])


def casadi_risks(n: int):
    """One option as a graph of scalars, mapped over all."""
    import casadi as ca

    s, v, k, t = inputs = [ca.SX.sym(name) for name in "svkt"]
    p = price(ca, s, v, k, t)
    delta, vega = ca.jacobian(p, s), ca.jacobian(p, v)
    gamma = ca.jacobian(delta, s)
    risks = [p, delta, gamma, vega, ca.jacobian(delta, v), ca.jacobian(vega, v), ca.jacobian(gamma, s)]
    return ca.Function("risks", inputs, risks, {"cse": True}).map(n)


def casadi_sx(*book: np.ndarray) -> Run:
    n = book[0].size
    return styles.casadi(casadi_risks(n), book, [(n,)] * 7)


def casadi_c(*book: np.ndarray) -> Run:
    n = book[0].size
    return styles.casadi(styles.casadi_c(casadi_risks(n)), book, [(n,)] * 7)


def hand(*book: np.ndarray) -> Run:
    """The textbook's formulas in NumPy, erf from SciPy."""
    from scipy.special import erf

    return Run(lambda: closed_form(erf, *book))


RIVALS = {
    "jax forward": jax_forward,
    "jax reverse": jax_reverse,
    "torch": torch_eager,
    "torch func": torch_func,
    "torch compile": torch_compile,
    "autograd": autograd,
    "casadi sx": casadi_sx,
    "casadi c": casadi_c,
    "hand scipy": hand,
}


def case(n: int, dtype: str = "float64") -> Case:
    single = dtype == "float32"

    def reference():
        erf = lambda x: np.frompyfunc(math.erf, 1, 1)(x).astype(float)
        return closed_form(erf, *(a.astype(float) for a in options(n, dtype)))

    return Case(
        name=f"black_scholes/{n}" + "/float32" * single,
        reference=reference,
        dtype=dtype,
        tolerance=1e-4 if single else 1e-11,
        contenders=styles.contenders(program, styles.of_type(RIVALS, dtype), lambda: options(n, dtype)),
        slow=("torch compile",),
    )


CASES = [case(1_000), case(100_000), case(100_000, "float32"), case(2_000_000)]


def test_black_scholes(benchmark, run):
    benchmark(run.call)
