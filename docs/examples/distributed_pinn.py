r"""
Ten million collocation points by shards
========================================

A small network solves Poisson's equation on the unit square,

.. math:: \Delta u = -2 \pi^2 \sin(\pi x) \sin(\pi y), \qquad u = 0 \text{ on the border},

whose solution is :math:`\sin(\pi x) \sin(\pi y)`. The network's output is multiplied by :math:`x (1 - x) y (1 - y)`, so
the border needs no points. Inside there are :math:`10^7` random ones (``--points``). Each worker draws its own points
and keeps them: they never travel. A step sends 336 weights to each worker and brings one value and one gradient back.

The equation's residual has second derivatives of the network, by `dualgrad.laplacian` in one forward evaluation, and
its mean square is differentiated by the weights: third derivatives. Training begins with a thousandth of the points and
ends with a few steps on all of them. L-BFGS is SciPy's. Two cores take a minute: 323 gradients on :math:`10^4` points
in 8 s, 7 gradients on :math:`10^7` points in 41 s.

One command starts everything, a cluster included::

    python distributed_pinn.py --engine joblib --workers 2
    python distributed_pinn.py --engine dask --workers 2
    python distributed_pinn.py --engine mpi --workers 2     # starts itself under mpirun
"""

import argparse
import os
import sys
import time

import numpy as np
from scipy.optimize import minimize

import dualgrad as dg
from dualgrad import Tensor, distributed, ops

try:
    from tqdm import tqdm
except ImportError:
    tqdm = None

WIDTH = 16
SHAPES = [(2, WIDTH), (WIDTH,), (WIDTH, WIDTH), (WIDTH,), (WIDTH,)]
ENDS = np.cumsum([int(np.prod(shape)) for shape in SHAPES])
ALLOWED = 0.01  # relative error in the mean square


def points(start, stop):
    """Points of one chunk, the same for any number of workers."""
    return np.random.default_rng(start).uniform(size=(stop - start, 2)).astype(np.float32)


def network(weights, point):
    """The solution at one point: zero on the border."""
    w1, b1, w2, b2, w3 = [
        weights[end - int(np.prod(shape)) : end].reshape(shape) for end, shape in zip(ENDS, SHAPES, strict=True)
    ]
    hidden = ops.tanh(ops.tanh(point @ w1 + b1) @ w2 + b2)
    x, y = point[0], point[1]
    return x * (1 - x) * y * (1 - y) * (hidden * w3).sum()


def residuals(weights, inside):
    """Squares of the equation's residual, one for each point."""
    weights = weights.astype(dg.float32)
    laplacian = dg.vmap(dg.laplacian(lambda point: network(weights, point)))(inside)
    source = ops.sin(np.pi * inside[:, 0]) * ops.sin(np.pi * inside[:, 1]) * (-2 * np.pi**2)
    return (laplacian - source) ** 2


def train(backend, weights, count, steps, say):
    """L-BFGS on so many points."""
    begin = time.perf_counter()
    shards = distributed.Shards.load(backend, points, count, chunk=8_192)
    total = distributed.SumOfShards(residuals, shards)
    bar = tqdm(desc=f"{count} points", unit=" gradients") if tqdm and backend.writes else None

    def fun(w):
        value, slope = total.value_and_grad(Tensor(w))
        if bar is not None:
            bar.set_postfix_str(f"{float(value) / count:.3e}", refresh=False)
            bar.update()
        return float(value) / count, slope.asnumpy() / count

    result = minimize(fun, weights, jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 30})
    if bar is not None:
        bar.close()
    seconds = time.perf_counter() - begin
    say(f"{count:9d} points: {result.nfev:4d} gradients, mean square {result.fun:.3e}, {seconds:7.1f} s")
    return result.x


def error_of(weights):
    """Relative error in the mean square on a grid."""
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41)), -1).reshape(-1, 2)
    exact = np.sin(np.pi * grid[:, 0]) * np.sin(np.pi * grid[:, 1])
    found = dg.vmap(lambda point: network(Tensor(weights), point))(Tensor(grid)).asnumpy()
    return np.linalg.norm(found - exact) / np.linalg.norm(exact)


def main():
    parser = argparse.ArgumentParser(description="Solve Poisson's equation with collocation points by shards")
    parser.add_argument("--engine", choices=("local", "joblib", "dask", "ray", "mpi"), default="joblib")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--points", type=int, default=10_000_000)
    parser.add_argument("--quick", action="store_true", help="40,000 points")
    args = parser.parse_args()
    if args.engine == "mpi" and "OMPI_COMM_WORLD_SIZE" not in os.environ:
        command = ["mpirun", "--oversubscribe", "-n", str(args.workers), sys.executable, "-m", "mpi4py", *sys.argv]
        os.execvp(command[0], command)

    rng = np.random.default_rng(0)
    scales = [1.0, 0.5, 1 / np.sqrt(WIDTH), 0.5, 1 / np.sqrt(WIDTH)]
    weights = np.concatenate([s * rng.normal(size=shape).ravel() for s, shape in zip(scales, SHAPES, strict=True)])
    count = 40_000 if args.quick else args.points
    with distributed.connect(args.engine, workers=args.workers) as backend:
        say = print if backend.writes else lambda *_: None
        say(f"{backend}, {weights.size} weights")
        weights = train(backend, weights, max(2_000, count // 1000), 300, say)
        weights = train(backend, weights, count, 5, say)

    error = error_of(weights)
    say(f"relative error on a grid of {41 * 41} points: {error:.2e} (allowed: {ALLOWED:.0e})")
    if not error <= ALLOWED:
        raise SystemExit("the network does not solve the equation")


if __name__ == "__main__":
    main()
