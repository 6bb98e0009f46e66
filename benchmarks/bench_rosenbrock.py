"""Gradient and Hessian-vector product of the Rosenbrock function of n variables.

sum over i of 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2: a few elementwise operations between neighbours. Small n
shows the latency, large n what passes over memory cost.
"""

from typing import Any

import numpy as np
import styles
from workload import Case, Run


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def by_hand(x: np.ndarray, v: np.ndarray) -> list[np.ndarray]:
    """Gradient and product; the Hessian has three diagonals."""
    head, tail = x[:-1], x[1:]
    gap = tail - head * head
    gradient = np.zeros_like(x)
    gradient[:-1] = -400 * head * gap - 2 * (1 - head)
    gradient[1:] += 200 * gap
    product = np.zeros_like(x)
    product[:-1] = (1200 * head * head - 400 * tail + 2) * v[:-1] - 400 * head * v[1:]
    product[1:] += 200 * v[1:] - 400 * head * v[:-1]
    return [gradient, product]


def point_and_direction(n: int, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(4)
    return [rng.uniform(-1.5, 1.5, n).astype(dtype), rng.normal(size=n).astype(dtype)]


def program(package: Any, *arrays: np.ndarray) -> tuple:
    """Forward over reverse, against MindSpore's API."""
    gradient = package.grad(rosenbrock)

    def products(x, v):
        return package.jvp(gradient, x, v)

    return products, [package.Tensor(a) for a in arrays]


def jax_forward(*arrays: np.ndarray) -> Run:
    import jax

    return styles.jax_jit(lambda x, v: jax.jvp(jax.grad(rosenbrock), (x,), (v,)), *arrays)


def jax_reverse(*arrays: np.ndarray) -> Run:
    import jax

    def products(x, v):
        gradient, pull = jax.vjp(jax.grad(rosenbrock), x)
        return gradient, *pull(v)

    return styles.jax_jit(products, *arrays)


def torch_eager(*arrays: np.ndarray) -> Run:
    import torch

    x, v = styles.torch_tensors(*arrays)
    x.requires_grad_()

    def call():
        (gradient,) = torch.autograd.grad(rosenbrock(x), x, create_graph=True)
        (product,) = torch.autograd.grad(gradient, x, v)
        return gradient.detach(), product

    return Run(call)


def torch_func(*arrays: np.ndarray) -> Run:
    import torch

    gradient = torch.func.grad(rosenbrock)
    return styles.torch_eager(lambda x, v: torch.func.jvp(gradient, (x,), (v,)), *arrays)


def torch_compile(*arrays: np.ndarray) -> Run:
    import torch

    def products(x, v):
        gradient, pull = torch.func.vjp(torch.func.grad(rosenbrock), x)
        return gradient, pull(v)

    return styles.torch_compile(products, *arrays)


def autograd(x: np.ndarray, v: np.ndarray) -> Run:
    """One traced gradient, pulled back."""
    from autograd import grad, make_vjp

    traced = make_vjp(grad(rosenbrock))

    def call():
        pull, gradient = traced(x)
        return gradient, pull(v)

    return Run(call)


def casadi_products(kind: str, n: int):
    """As a graph of scalars (SX) or of vectors (MX)."""
    import casadi as ca

    symbols = getattr(ca, kind)
    x, v = symbols.sym("x", n), symbols.sym("v", n)
    value = ca.sum1(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    gradient = ca.gradient(value, x)
    return ca.Function("products", [x, v], [gradient, ca.densify(ca.jtimes(gradient, x, v))])


def casadi_sx(*arrays: np.ndarray) -> Run:
    return styles.casadi(casadi_products("SX", arrays[0].size), arrays, [a.shape for a in arrays])


def casadi_mx(*arrays: np.ndarray) -> Run:
    return styles.casadi(casadi_products("MX", arrays[0].size), arrays, [a.shape for a in arrays])


def casadi_c(*arrays: np.ndarray) -> Run:
    compiled = styles.casadi_c(casadi_products("SX", arrays[0].size))
    return styles.casadi(compiled, arrays, [a.shape for a in arrays])


def hand(*arrays: np.ndarray) -> Run:
    return Run(lambda: by_hand(*arrays))


RIVALS = {
    "jax forward": jax_forward,
    "jax reverse": jax_reverse,
    "torch": torch_eager,
    "torch func": torch_func,
    "torch compile": torch_compile,
    "autograd": autograd,
    "casadi sx": casadi_sx,
    "casadi mx": casadi_mx,
    "casadi c": casadi_c,
    "hand": hand,
}


def case(n: int, dtype: str = "float64") -> Case:
    single = dtype == "float32"
    # A graph with nodes for every one of many variables takes too long to make, and its C code to compile.
    too_large = {name for name, limit in {"casadi c": 100, "casadi sx": 10_000}.items() if n > limit}
    rivals = {name: rival for name, rival in styles.of_type(RIVALS, dtype).items() if name not in too_large}
    return Case(
        name=f"rosenbrock/{n}" + "/float32" * single,
        reference=lambda: by_hand(*(a.astype(float) for a in point_and_direction(n, dtype))),
        dtype=dtype,
        tolerance=1e-6 if single else 1e-13,
        contenders=styles.contenders(program, rivals, lambda: point_and_direction(n, dtype)),
        slow=("torch compile",),
    )


CASES = [case(100), case(10_000), case(1_000_000), case(1_000_000, "float32")]


def test_rosenbrock(benchmark, run):
    benchmark(run.call)
