r"""
A fit to rows on many processes
===============================

Counts :math:`y_i` with rates :math:`\exp(w \cdot x_i)` are fitted by L-BFGS: Poisson regression with 20 weights and
:math:`10^6` rows (``--rows``). Each worker makes its own rows and keeps them. A step sends the weights to the workers
and brings one value and one gradient of each back, 168 bytes a worker, whatever the number of rows.

The objective is the sum over all rows of

.. math:: f(w) = \sum_i e^{w \cdot x_i} - y_i \, w \cdot x_i ,

and Newton's method with conjugate gradients, which asks the same workers for products with the Hessian, has to find
the same weights. Sums are taken in a fixed order, so the digits printed do not depend on the number of workers. Two
cores need a second for each method, and 8 s with the start of the workers.

One command starts everything, a cluster included::

    python distributed_fit.py --engine joblib --workers 2
    python distributed_fit.py --engine dask --workers 2
    python distributed_fit.py --engine ray --workers 2
    python distributed_fit.py --engine mpi --workers 2      # starts itself under mpirun
"""

import argparse
import os
import sys
import time

import numpy as np
from scipy.optimize import minimize

from dualgrad import Tensor, distributed, ops

FEATURES = 20
AGREEMENT = 1e-6  # of both methods, in the weights
ERRORS = 6.0  # standard errors that a weight may be off


def true_weights():
    return np.random.default_rng(0).normal(size=FEATURES) * 0.2


def rows(start, stop):
    """Measurements (n, 20) and counts (n,), the same for any number of workers."""
    rng = np.random.default_rng(start)
    features = rng.normal(size=(stop - start, FEATURES))
    return features, rng.poisson(np.exp(features @ true_weights())).astype(np.float64)


def misfit(w, features, counts):
    """The negative logarithm of the likelihood of each row, but for a constant."""
    exponents = features @ w
    return ops.exp(exponents) - counts * exponents


def fit(total, rows_in_all, say):
    """The weights by L-BFGS and by Newton-CG; both minimise the mean."""

    def fun(w):
        value, slope = total.value_and_grad(Tensor(w))
        return float(value) / rows_in_all, slope.asnumpy() / rows_in_all

    def hessp(w, v):
        return total.hvp(Tensor(w), Tensor(v)).asnumpy() / rows_in_all

    found = {}
    for method, products in (("L-BFGS-B", {}), ("Newton-CG", {"hessp": hessp})):
        begin = time.perf_counter()
        options = {"gtol": 1e-10, "ftol": 1e-16} if method == "L-BFGS-B" else {"xtol": 1e-10}
        result = minimize(fun, np.zeros(FEATURES), jac=True, method=method, options=options, **products)
        say(f"{method:>9}: {result.nfev:3d} gradients, mean {result.fun!r}, {time.perf_counter() - begin:.1f} s")
        found[method] = result.x
    return found


def main():
    parser = argparse.ArgumentParser(description="Fit a Poisson regression to rows on many processes")
    parser.add_argument("--engine", choices=("local", "joblib", "dask", "ray", "mpi"), default="joblib")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="20,000 rows")
    args = parser.parse_args()
    if args.engine == "mpi" and "OMPI_COMM_WORLD_SIZE" not in os.environ:
        command = ["mpirun", "--oversubscribe", "-n", str(args.workers), sys.executable, "-m", "mpi4py", *sys.argv]
        os.execvp(command[0], command)

    count = 20_000 if args.quick else args.rows
    with distributed.connect(args.engine, workers=args.workers) as backend:
        say = print if backend.writes else lambda *_: None
        shards = distributed.Shards.load(backend, rows, count, chunk=5_000)
        say(f"{shards}, {backend}")
        total = distributed.SumOfShards(misfit, shards, deterministic=True)
        found = fit(total, count, say)
        hessian = total.hessian(Tensor(found["L-BFGS-B"])).asnumpy()

    difference = np.abs(found["L-BFGS-B"] - found["Newton-CG"]).max()
    say(f"largest difference of both methods: {difference:.2e} (allowed: {AGREEMENT:.0e})")
    errors = np.sqrt(np.diag(np.linalg.inv(hessian)))
    off = np.abs((found["L-BFGS-B"] - true_weights()) / errors).max()
    say(f"furthest weight from the true one: {off:.1f} standard errors (allowed: {ERRORS:g})")
    if not (difference <= AGREEMENT and off <= ERRORS):
        raise SystemExit("the fit is wrong")


if __name__ == "__main__":
    main()
