r"""
Optimal control: steering a particle in least time
==================================================

A particle starts at rest and has an acceleration of a = 100 in a direction :math:`u(t)` that is to be chosen,

.. math:: \ddot x = a \cos u, \qquad \ddot y = a \sin u, \qquad |u| \le \pi / 2.

It shall reach height 5 with velocity (45, 0) in the least time (A. Bryson and Y.-C. Ho, Applied Optimal Control, 1975;
also in the collection COPS). The time is cut into N steps, and the trapezoidal rule on each is an equation: a
program of 5 N + 6 variables and 4 N + 7 equations for SciPy's ``trust-constr``, which gets the sparse Jacobian of the
equations and the sparse Hessian of the Lagrangian, both exact. The least time is known, since the optimal control has
the form :math:`\tan u = c (1 - 2 t / T)`: the script integrates that and solves for c and T.
"""

import argparse
import math
import time

import numpy as np
from scipy import optimize

import dualgrad as dg
from dualgrad import ops

try:
    from tqdm import tqdm
except ImportError:
    tqdm = None

A, HEIGHT, SPEED = 100.0, 5.0, 45.0
ALLOWED = {1000: 1e-6, 100: 1e-4}  # relative error of the least time, for N steps


def least_time():
    """T from the form of the optimal control: heights and speeds are integrals of known functions of c."""

    def by_speed(c):
        """The time that gives the wanted speed: a T asinh(c) / c = SPEED."""
        return SPEED * c / (A * math.asinh(c))

    def missed(c):
        """Height at that time: a T^2 / (4 c^2) (c sqrt(1 + c^2) - asinh(c)) minus the wanted one."""
        return A * by_speed(c) ** 2 / (4 * c * c) * (c * math.hypot(1, c) - math.asinh(c)) - HEIGHT

    c = optimize.brentq(missed, 1e-3, 10.0, xtol=1e-14)
    return by_speed(c), c


class Steering:
    """The equations of N steps; variables are T, the angles, and x, y and their speeds at N + 1 times."""

    def __init__(self, n):
        self.n = n
        s = np.linspace(0.0, 1.0, n + 1)
        self.start = np.concatenate(
            [[1.0], 0.5 - s, 0.5 * SPEED * s**2, HEIGHT * s, SPEED * s, 4 * HEIGHT * s * (1.0 - s)]
        )

    def parts(self, z):
        m = self.n + 1
        return z[0], [z[1 + k * m : 1 + (k + 1) * m] for k in range(5)]

    def equations(self, z):
        """What the trapezoidal rule misses on each step, and the seven values at both ends."""
        total, (u, x, y, vx, vy) = self.parts(z)
        rates = (vx, vy, A * ops.cos(u), A * ops.sin(u))
        h = total / self.n
        steps = [q[1:] - q[:-1] - 0.5 * h * (r[1:] + r[:-1]) for q, r in zip((x, y, vx, vy), rates, strict=True)]
        ends = ops.stack([x[0], y[0], vx[0], vy[0], y[-1] - HEIGHT, vx[-1] - SPEED, vy[-1]])
        return ops.concat([*steps, ends])


def solved(n, iterations):
    problem = Steering(n)
    target = dg.scipy.objective(lambda z: z[0] * 1.0, problem.start, hess="sparse")
    c = dg.scipy.system(problem.equations, problem.start, jac="sparse")
    began = time.perf_counter()
    bar = tqdm(desc="trust-constr", unit=" steps") if tqdm else None

    def step(x, state):
        if bar is not None:
            bar.set_postfix_str(f"T = {x[0]:.6f}, equations missed by {state.constr_violation:.1e}", refresh=False)
            bar.update()

    found = optimize.minimize(
        target.fun,
        problem.start,
        jac=target.jac,
        hess=target.hess,
        method="trust-constr",
        constraints=optimize.NonlinearConstraint(c.fun, 0.0, 0.0, jac=c.jac, hess=c.hess),
        options={"maxiter": iterations, "gtol": 1e-8, "xtol": 1e-12},
        callback=step,
    )
    if bar is not None:
        bar.close()
    jacobian = c.jac(found.x)
    print(f"{n} steps: {found.x.size} variables, {jacobian.shape[0]} equations, {jacobian.nnz} entries of the Jacobian")
    print(f"{found.nit} iterations, {time.perf_counter() - began:.1f} s, equations met to {found.constr_violation:.1e}")
    return problem, found


def draw(problem, x, c, path):
    """The way of the particle, and the angle beside the optimal one."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    total, (u, across, up, *_) = problem.parts(x)
    t = np.linspace(0.0, total, problem.n + 1)
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.plot(across, up)
    left.set(xlabel="x", ylabel="y", title="The way")
    right.plot(t, np.arctan(c * (1.0 - 2.0 * t / total)), color="0.7", linewidth=5, label="exact")
    right.plot(t, u, label=f"{problem.n} steps")
    right.set(xlabel="t", ylabel="u", title="The angle")
    right.legend(frameon=False)
    fig.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description="Steer a particle in least time")
    parser.add_argument("--quick", action="store_true", help="100 steps instead of 1,000")
    parser.add_argument("--figure", help="where a picture goes")
    args = parser.parse_args()
    n = 100 if args.quick else 1000
    problem, found = solved(n, 300)
    exact, c = least_time()
    error = abs(found.x[0] / exact - 1.0)
    print(f"least time: {found.x[0]:.9f} (exact: {exact:.9f}), relative error {error:.1e} (allowed: {ALLOWED[n]:.0e})")
    if args.figure:
        draw(problem, found.x, c, args.figure)
        print(f"figure: {args.figure}")
    if not (found.status in (1, 2) and found.constr_violation < 1e-8 and error <= ALLOWED[n]):
        raise SystemExit(f"the least time was not found: {found.message}")


if __name__ == "__main__":
    main()
