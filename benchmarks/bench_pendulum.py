"""A pendulum, 100 leapfrog steps in scalars: where it ends, by two parameters: value, gradient, Hessian; float64.

The parameters are the starting angle and the strength of gravity. Four operations on scalars per half step:
the cost is that of control flow and calls.
"""

import math
from typing import Any

import numpy as np
import styles
from workload import Case, Run

STEP = 2.0**-5  # exact in binary
START, GRAVITY = 1.25, 1.5


def final_angle(m: Any, q: Any, g: Any, steps: int) -> Any:
    """Kick, drift, kick from rest at angle q, with ``sin`` from ``m``."""
    p = 0.0
    for _ in range(steps):
        p = p - (STEP / 2) * g * m.sin(q)
        q = q + STEP * p
        p = p - (STEP / 2) * g * m.sin(q)
    return q


def by_hand(steps: int) -> list[np.ndarray]:
    """Value, gradient, Hessian in plain Python: each number with its two first and three second derivatives."""
    q, p = START, 0.0
    qa, qb, qaa, qab, qbb = 1.0, 0.0, 0.0, 0.0, 0.0
    pa, pb, paa, pab, pbb = 0.0, 0.0, 0.0, 0.0, 0.0
    for half in range(2 * steps):
        s, c = math.sin(q), math.cos(q)
        k, g = STEP / 2, GRAVITY
        p -= k * g * s
        pa -= k * g * c * qa
        pb -= k * (g * c * qb + s)
        paa -= k * g * (c * qaa - s * qa * qa)
        pab -= k * (g * (c * qab - s * qa * qb) + c * qa)
        pbb -= k * (g * (c * qbb - s * qb * qb) + 2 * c * qb)
        if half % 2 == 0:
            q += STEP * p
            qa, qb = qa + STEP * pa, qb + STEP * pb
            qaa, qab, qbb = qaa + STEP * paa, qab + STEP * pab, qbb + STEP * pbb
    return [np.array(r) for r in (q, qa, qb, qaa, qab, qab, qbb)]


def scalars() -> list[np.ndarray]:
    return [np.array(START), np.array(GRAVITY)]


def program(package: Any, steps: int) -> tuple:
    """Forward over reverse, against MindSpore's API."""
    ops, Tensor = package.ops, package.Tensor

    def angle(q, g):
        return final_angle(ops, q, g, steps)

    first = package.value_and_grad(angle, (0, 1))

    def all_orders(q, g, one, zero):
        (value, gradient), (_, row_q) = package.jvp(first, (q, g), (one, zero))
        _, (_, row_g) = package.jvp(first, (q, g), (zero, one))
        return value, gradient, row_q, row_g

    return all_orders, [Tensor(a) for a in (*scalars(), np.array(1.0), np.array(0.0))]


def reverse_program(package: Any, steps: int) -> tuple:
    """Reverse over reverse: what MindSpore's Graph mode takes."""
    ops = package.ops

    def angle(q, g):
        return final_angle(ops, q, g, steps)

    gradient = package.grad(angle, (0, 1))

    def slope_q(q, g):
        return gradient(q, g)[0]

    def slope_g(q, g):
        return gradient(q, g)[1]

    row_q, row_g = package.grad(slope_q, (0, 1)), package.grad(slope_g, (0, 1))

    def all_orders(q, g):
        return angle(q, g), gradient(q, g), row_q(q, g), row_g(q, g)

    return all_orders, [package.Tensor(a) for a in scalars()]


def jax_run(angle: Any, forward: bool) -> Run:
    """Value, gradient and Hessian of ``angle``, compiled."""
    import jax

    def all_orders(q, g):
        value, gradient = jax.value_and_grad(angle, (0, 1))(q, g)
        outer = jax.jacfwd if forward else jax.jacrev
        return value, gradient, outer(jax.grad(angle, (0, 1)), (0, 1))(q, g)

    return styles.jax_jit(all_orders, *scalars())


def _scanned(steps: int, unroll: int = 1):
    import jax

    def angle(q, g):
        def step(state, _):
            q, p = state
            p = p - (STEP / 2) * g * jax.numpy.sin(q)
            q = q + STEP * p
            p = p - (STEP / 2) * g * jax.numpy.sin(q)
            return (q, p), None

        (q, _), _ = jax.lax.scan(step, (q, jax.numpy.zeros_like(q)), length=steps, unroll=unroll)
        return q

    return angle


def jax_forward(steps: int, unroll: int = 1) -> Run:
    """A scan, differentiated forwards twice: two parameters are few."""
    import jax

    angle = _scanned(steps, unroll)

    def all_orders(q, g):
        pair = lambda q, g: (angle(q, g),) * 2  # the derivative and, beside it, the value
        first = lambda q, g: jax.jacfwd(pair, (0, 1), has_aux=True)(q, g)

        def both(q, g):
            gradient, value = first(q, g)
            return gradient, (value, gradient)

        rows, (value, gradient) = jax.jacfwd(both, (0, 1), has_aux=True)(q, g)
        return value, gradient, rows

    return styles.jax_jit(all_orders, *scalars())


def jax_mixed(steps: int) -> Run:
    """A scan, forward over reverse."""
    return jax_run(_scanned(steps), forward=True)


def jax_reverse(steps: int) -> Run:
    """A scan, reverse over reverse."""
    return jax_run(_scanned(steps), forward=False)


def jax_unrolled(steps: int) -> Run:
    """The same, ten steps at a time; all hundred in one program take minutes to compile."""
    return jax_forward(steps, unroll=10)


def torch_eager(steps: int) -> Run:
    import torch

    q, g = (t.requires_grad_() for t in styles.torch_tensors(*scalars()))
    grad = torch.autograd.grad

    def call():
        value = final_angle(torch, q, g, steps)
        gradient = grad(value, (q, g), create_graph=True)
        row_q = grad(gradient[0], (q, g), retain_graph=True)
        row_g = grad(gradient[1], (q, g))
        return value.detach(), [d.detach() for d in gradient], row_q, row_g

    return Run(call)


def torch_func(steps: int) -> Run:
    import torch

    def all_orders(q, g):
        gradient, value = torch.func.grad_and_value(angle, (0, 1))(q, g)
        return value, gradient, torch.func.jacfwd(torch.func.grad(angle, (0, 1)), (0, 1))(q, g)

    angle = lambda q, g: final_angle(torch, q, g, steps)
    return styles.torch_eager(all_orders, *scalars())


def autograd(steps: int) -> Run:
    import autograd.numpy as np
    from autograd import grad, value_and_grad

    angle = lambda q, g: final_angle(np, q, g, steps)
    first = value_and_grad(lambda qg: angle(*qg))
    slopes = [grad(angle, 0), grad(angle, 1)]
    rows = [grad(slope, (0, 1)) for slope in slopes]
    return Run(lambda: (*first((START, GRAVITY)), *(row(START, GRAVITY) for row in rows)))


def casadi_graph(steps: int):
    import casadi as ca

    q, g = ca.SX.sym("q"), ca.SX.sym("g")
    angle = final_angle(ca, q, g, steps)
    hessian, gradient = ca.hessian(angle, ca.vertcat(q, g))
    results = [angle, *ca.vertsplit(gradient), *ca.vertsplit(ca.vec(ca.densify(hessian)))]
    return ca.Function("angle", [q, g], results, {"cse": True})


def casadi_sx(steps: int) -> Run:
    return styles.casadi(casadi_graph(steps), scalars(), [()] * 7)


def casadi_c(steps: int) -> Run:
    return styles.casadi(styles.casadi_c(casadi_graph(steps)), scalars(), [()] * 7)


def hand(steps: int) -> Run:
    """Six numbers for one, in plain Python."""
    return Run(lambda: by_hand(steps))


RIVALS = {
    "jax forward": jax_forward,
    "jax mixed": jax_mixed,
    "jax reverse": jax_reverse,
    "jax unrolled": jax_unrolled,
    "torch": torch_eager,
    "torch func": torch_func,
    "autograd": autograd,
    "casadi sx": casadi_sx,
    "casadi c": casadi_c,
    "hand": hand,
}


def case(steps: int) -> Case:
    return Case(
        name=f"pendulum/{steps}",
        reference=lambda: by_hand(steps),
        dtype="float64",
        tolerance=1e-12,
        contenders=styles.contenders(program, RIVALS, lambda: (steps,), {"mindspore graph": reverse_program}),
        slow=("mindspore graph",),
    )


CASES = [case(100)]


def test_pendulum(benchmark, run):
    benchmark(run.call)
