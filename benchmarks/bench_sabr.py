"""Volatilities of the SABR model by Hagan's formula: value, gradient, second derivatives; 100,000 options, float64.

Equation (2.17a) of Hagan, Kumar, Lesniewski and Woodward, Managing Smile Risk, Wilmott Magazine (2002), with
beta = 1/2. Some hundred elementwise steps, of which few are functions. The results are

    the volatility, its derivatives by forward, alpha, rho and nu, and those of second order by forward twice,
    forward and alpha, alpha twice
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import styles
from workload import Case, Run

OPTIONS = 100_000


def volatility(m: Any, f: Any, a: Any, rho: Any, nu: Any, k: Any, t: Any) -> Any:
    """With log and sqrt from ``m``."""
    root = m.sqrt(m.sqrt(f * k))  # (f k)^((1 - beta) / 2)
    log = m.log(f / k)
    z = nu / a * root * log
    x = m.log((m.sqrt(1 - 2 * rho * z + z * z) + z - rho) / (1 - rho))
    square = log * log
    below = root * (1 + square / 96 + square * square / 30720)
    term = a * a / (96 * root * root) + rho * nu * a / (8 * root) + (2 - 3 * rho * rho) * nu * nu / 24
    return a / below * (z / x) * (1 + term * t)


def options() -> list[np.ndarray]:
    """Forward, alpha, rho, nu, strike and maturity. Strikes are off the forward, where z / x is a quotient of zeros."""
    rng = np.random.default_rng(12)
    spans = ((0.9, 1.1), (0.15, 0.3), (-0.6, 0.3), (0.2, 0.8), (1.2, 1.6), (0.25, 2.0))
    return [rng.uniform(low, high, OPTIONS) for low, high in spans]


class Moved:
    """A number and its derivative along one direction; with a complex direction of tiny length, a second one."""

    def __init__(self, v: Any, d: Any = 0.0) -> None:
        self.v, self.d = v, d

    @staticmethod
    def of(x: Any) -> "Moved":
        return x if isinstance(x, Moved) else Moved(x)

    def __add__(self, o: Any) -> "Moved":
        o = Moved.of(o)
        return Moved(self.v + o.v, self.d + o.d)

    def __mul__(self, o: Any) -> "Moved":
        o = Moved.of(o)
        return Moved(self.v * o.v, self.d * o.v + self.v * o.d)

    def __sub__(self, o: Any) -> "Moved":
        return self + Moved.of(o) * -1.0

    def __rsub__(self, o: Any) -> "Moved":
        return Moved.of(o) + self * -1.0

    def __truediv__(self, o: Any) -> "Moved":
        o = Moved.of(o)
        return self * Moved(1 / o.v, -o.d / (o.v * o.v))

    __radd__, __rmul__ = __add__, __mul__

    def log(self) -> "Moved":
        return Moved(np.log(self.v), self.d / self.v)

    def sqrt(self) -> "Moved":
        root = np.sqrt(self.v)
        return Moved(root, self.d / (2 * root))


def by_duals(*book: np.ndarray) -> list[np.ndarray]:
    """First derivatives as dual numbers, second ones by a complex step h of them: Im(d(x + i h)) / h, exact."""
    m = SimpleNamespace(log=Moved.log, sqrt=Moved.sqrt)
    h = 1e-30

    def along(i: int, j: int | None = None) -> Moved:
        moved = [Moved(x + (1j * h if j == n else 0.0), float(i == n)) for n, x in enumerate(book)]
        return volatility(m, *moved)

    firsts = [along(i) for i in range(4)]
    seconds = [np.imag(along(i, j).d) / h for i, j in ((0, 0), (0, 1), (1, 1))]
    return [firsts[0].v, *(p.d for p in firsts), *seconds]


def nested(m: Any, value_and_grad: Any) -> Any:
    """Gradients inside gradients, for a ``value_and_grad`` of functions whose value is one number."""

    def value(*book):
        v = volatility(m, *book)
        return v.sum(), v

    def by_forward(*book):
        (_, v), slopes = value_and_grad(value, (0, 1, 2, 3))(*book)
        return slopes[0].sum(), (v, *slopes)

    def by_alpha(*book):
        _, slope = value_and_grad(value, 1)(*book)
        return slope.sum(), ()

    def risks(*book):
        (_, known), (ff, fa) = value_and_grad(by_forward, (0, 1))(*book)
        return (*known, ff, fa, value_and_grad(by_alpha, 1)(*book)[1])

    return risks


def program(package: Any, *book: np.ndarray) -> tuple:
    def value_and_grad(f, positions):
        both = package.value_and_grad(f, positions, has_aux=True)

        def of(*args):
            (total, *aux), slopes = both(*args)
            return (total, aux[0] if aux else ()), slopes

        return of

    return nested(package.ops, value_and_grad), [package.Tensor(a) for a in book]


def jax_forward(*book: np.ndarray) -> Run:
    """Forward in forward; the compiler finds what they have in common."""
    import jax

    def risks(*book):
        one = jax.numpy.ones_like(book[0])

        def along(f, i):
            return lambda *x: jax.jvp(lambda xi: f(*x[:i], xi, *x[i + 1 :]), (x[i],), (one,))

        value = lambda *x: volatility(jax.lax, *x)
        slope = lambda i: lambda *x: along(value, i)(*x)[1]
        firsts = [along(value, i)(*book) for i in range(4)]
        seconds = [along(slope(i), j)(*book)[1] for i, j in ((0, 0), (0, 1), (1, 1))]
        return (firsts[0][0], *(f[1] for f in firsts), *seconds)

    return styles.jax_jit(risks, *book)


def jax_reverse(*book: np.ndarray) -> Run:
    import jax

    return styles.jax_jit(nested(jax.lax, lambda f, i: jax.value_and_grad(f, i, has_aux=True)), *book)


def torch_eager(*book: np.ndarray) -> Run:
    import torch

    tensors = styles.torch_tensors(*book)
    wanted = tensors[:4]
    for x in wanted:
        x.requires_grad_()

    def call():
        v = volatility(torch, *tensors)
        slopes = torch.autograd.grad(v.sum(), wanted, create_graph=True)
        ff, fa = torch.autograd.grad(slopes[0].sum(), wanted[:2], retain_graph=True)
        (aa,) = torch.autograd.grad(slopes[1].sum(), wanted[1])
        return [r.detach() for r in (v, *slopes, ff, fa, aa)]

    return Run(call)


def torch_nested() -> Any:
    import torch

    return nested(torch, styles.torch_value_and_grad)


def torch_func(*book: np.ndarray) -> Run:
    return styles.torch_eager(torch_nested(), *book)


def torch_compile(*book: np.ndarray) -> Run:
    return styles.torch_compile(torch_nested(), *book)


def casadi_c(*book: np.ndarray) -> Run:
    """One option as a graph of scalars, mapped over all."""
    import casadi as ca

    inputs = [ca.SX.sym(name) for name in ("f", "a", "rho", "nu", "k", "t")]
    v = volatility(ca, *inputs)
    slopes = [ca.jacobian(v, x) for x in inputs[:4]]
    seconds = [ca.jacobian(slopes[i], inputs[j]) for i, j in ((0, 0), (0, 1), (1, 1))]
    function = ca.Function("risks", inputs, [v, *slopes, *seconds], {"cse": True}).map(OPTIONS)
    return styles.casadi(styles.casadi_c(function), book, [(OPTIONS,)] * 8)


RIVALS = {
    "jax forward": jax_forward,
    "jax reverse": jax_reverse,
    "torch": torch_eager,
    "torch func": torch_func,
    "torch compile": torch_compile,
    "casadi c": casadi_c,
}

CASES = [
    Case(
        name=f"sabr/{OPTIONS}",
        reference=lambda: by_duals(*options()),
        dtype="float64",
        tolerance=1e-10,
        contenders=styles.contenders(program, RIVALS, options, {"mindspore graph": None}),
        slow=("torch compile",),
    )
]


def test_sabr(benchmark, run):
    benchmark(run.call)
