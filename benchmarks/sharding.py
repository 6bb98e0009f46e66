"""What work by shards costs: ``python benchmarks/sharding.py [--engines local joblib dask mpi] [--workers 1 2]``.

The first table is strong and weak scaling of one value and gradient: the same rows for any number of workers, then as
many for each. The second is the cost of an adapter: a call that computes nothing, beside the same call of the engine
without us. Times are the least of several; MPI is measured in processes that mpirun starts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from dualgrad import Tensor, distributed, ops

ROWS, CHUNK, REPEATS = 400_000, 5_000, 7
WEIGHTS = Tensor(np.linspace(-1.0, 1.0, 20))


def rows(start, stop):
    x = np.random.default_rng(start).normal(size=(stop - start, 20))
    return x, np.tanh(x.sum(1))


def misfit(w, x, y):
    return (ops.tanh(x @ w) + ops.sin(x @ (w * w)) - y) ** 2


def nothing(item):
    return None


def least(call):
    """Seconds of the quickest of several calls, after three that record."""
    taken = []
    for _ in range(REPEATS + 3):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return min(taken[3:])


def bare(backend):
    """A call of the engine itself: one task that does nothing for each worker."""
    items = range(backend.workers)
    if backend.name == "joblib":
        pool = backend._pool
        return lambda: [f.result() for f in [pool.submit(nothing, k) for k in items]]
    if backend.name == "dask":
        return lambda: backend.client.gather([backend.client.submit(nothing, k, pure=False) for k in items])
    if backend.name == "mpi":
        from mpi4py import MPI

        return lambda: MPI.COMM_WORLD.allgather(None)
    return lambda: [nothing(k) for k in items]


def measured(engine, workers):
    with distributed.connect(engine, workers=workers, threads_per_worker=1) as backend:
        found = {}
        for name, count in (("strong", ROWS), ("weak", ROWS * workers)):
            shards = distributed.Shards.load(backend, rows, count, chunk=CHUNK)
            total = distributed.SumOfShards(misfit, shards)
            found[name] = least(lambda total=total: total.value_and_grad(WEIGHTS))
        found["adapter"] = least(lambda: backend.map(nothing, list(range(workers))))
        found["bare"] = least(bare(backend))
        return found if backend.writes else None


def by_mpirun(workers):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        command = ["mpirun", "--oversubscribe", "-n", str(workers), sys.executable, "-m", "mpi4py", __file__]
        subprocess.run([*command, "--inside", str(path), "--workers", str(workers)], check=True)
        return json.loads(path.read_text())


def main():
    parser = argparse.ArgumentParser(description="What work by shards costs")
    parser.add_argument("--engines", nargs="+", default=["local", "joblib", "dask", "mpi"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        found = measured("mpi", args.workers[0])
        if found is not None:
            Path(args.inside).write_text(json.dumps(found))
        return
    print(f"{ROWS} rows (weak: for each worker), {len(os.sched_getaffinity(0))} processors; milliseconds")
    print(f"{'engine':>8} {'workers':>8} {'strong':>9} {'weak':>9} {'empty call':>11} {'without us':>11}")
    for engine in args.engines:
        for workers in args.workers:
            found = by_mpirun(workers) if engine == "mpi" else measured(engine, workers)
            numbers = [1e3 * found[name] for name in ("strong", "weak", "adapter", "bare")]
            print(f"{engine:>8} {workers:8d} {numbers[0]:9.1f} {numbers[1]:9.1f} {numbers[2]:11.3f} {numbers[3]:11.3f}")


if __name__ == "__main__":
    main()
