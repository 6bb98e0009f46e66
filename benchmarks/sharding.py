"""What work by shards costs: ``python benchmarks/sharding.py scaling | adapters [--engines joblib dask mpi]``.

``scaling``: one value and gradient on 1 and on 2 workers, of the PINN in ``docs/examples/distributed_pinn.py`` and of a
least-squares fit; the same rows for any number of workers (strong), then as many for each (weak). Fewer rows than a
million (``--rows``) only show that it runs: a call is mostly messages then.

``adapters``: the gradient of a linear least-squares problem by NumPy, on few rows, handed out by this package and by a
bare call of the engine. The difference is what an adapter costs. Bytes are those of the pickled message to one worker
and of its answer, and those of them that are not the numbers themselves.

Times are the least of several; those of MPI are taken in processes that mpirun starts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import cloudpickle
import numpy as np

from dualgrad import Tensor, distributed, ops
from dualgrad.distributed.backend import run
from dualgrad.distributed.trees import added

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "examples"))
import distributed_pinn

cloudpickle.register_pickle_by_value(distributed_pinn)  # workers do not find it under its name

FEATURES = 20


def rows(start, stop):
    x = np.random.default_rng(start).normal(size=(stop - start, FEATURES))
    return x, np.tanh(x.sum(1))


def misfit(w, x, y):
    return (ops.tanh(x @ w) + ops.sin(x @ (w * w)) - y) ** 2


def least(call, repeats, warm):
    """Seconds of the quickest of several calls, after some that record."""
    taken = []
    for _ in range(repeats + warm):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return min(taken[warm:])


# --------------------------------------------------------------------------------------------------------- scaling

#: name -> (function, rows, rows of a chunk, parameters)
CASES = {
    "pinn": (
        distributed_pinn.residuals,
        distributed_pinn.points,
        8_192,
        np.random.default_rng(0).normal(size=distributed_pinn.ENDS[-1]) * 0.3,
    ),
    "fit": (misfit, rows, 5_000, np.linspace(-1.0, 1.0, FEATURES)),
}


def scaling(engine, workers, count):
    """Seconds of a value and gradient for each case, with the rows and with as many for each worker."""
    found = {}
    with distributed.connect(engine, workers=workers, threads_per_worker=1) as backend:
        for name, (fn, load, chunk, point) in CASES.items():
            for kind, all_rows in {"strong": count, "weak": count * workers}.items():
                if kind == "strong" or workers > 1:
                    shards = distributed.Shards.load(backend, load, all_rows, chunk=chunk)
                    total = distributed.SumOfShards(fn, shards)
                    found[f"{name} {kind}"] = least(partial(total.value_and_grad, Tensor(point)), 2, 1)
        return found if backend.writes else None


def print_scaling(engines, counts, all_rows):
    print(f"milliseconds of a value and gradient, {all_rows} rows, {len(os.sched_getaffinity(0))} processors")
    print(f"{'case':>6} {'engine':>8} {'workers':>8} {'strong':>9} {'efficiency':>11} {'weak':>9} {'efficiency':>11}")
    for engine in engines:
        found = {workers: by_engine("scaling", engine, workers, all_rows) for workers in counts}
        for case in CASES:
            one = found[counts[0]][f"{case} strong"] * counts[0]
            for workers in counts:
                strong = found[workers][f"{case} strong"]
                weak = found[workers].get(f"{case} weak", strong)
                print(
                    f"{case:>6} {engine:>8} {workers:8d} {1e3 * strong:9.1f} {one / strong / workers:11.0%} "
                    f"{1e3 * weak:9.1f} {one / weak:11.0%}"
                )


# -------------------------------------------------------------------------------------------------------- adapters


def sum_of(arrays, w):
    """Value and gradient of a linear least-squares problem, by NumPy."""
    x, y = arrays
    r = x @ w - y
    return [np.array(r @ r), 2 * (x.T @ r)]


def sum_of_shard(shard, w):
    return sum_of(shard.arrays, w)


def sum_of_file(path, w):
    """What a person writes for joblib: rows in a file, which each process opens once."""
    import joblib

    kept = vars(joblib).setdefault("_rows_of_benchmark", {})  # this function is a new one in each task
    if path not in kept:
        kept[path] = joblib.load(path, mmap_mode="r")
    return sum_of(kept[path], w)


def bare(backend, count, w, folder):
    """The same sum by a plain call of the engine, and its message to one worker."""
    ranges = [(k * count, (k + 1) * count) for k in range(backend.workers)]
    if backend.name == "joblib":
        import joblib

        pool, paths = backend._pool, [str(Path(folder) / str(start)) for start, _ in ranges]
        for path, (start, stop) in zip(paths, ranges, strict=True):
            joblib.dump(rows(start, stop), path)
        submitted = lambda: [pool.submit(sum_of_file, path, w) for path in paths]
        return lambda: _total([f.result() for f in submitted()]), (sum_of_file, paths[0], w)
    if backend.name == "dask":
        client = backend.client
        placed = [client.submit(rows, *ends, pure=False) for ends in ranges]

        def by_dask():
            parts = [client.submit(sum_of, shard, w, pure=False) for shard in placed]
            while len(parts) > 1:
                parts = [client.submit(added, a, b, pure=False) for a, b in zip(parts[::2], parts[1::2], strict=True)]
            return parts[0].result()

        return by_dask, (sum_of, placed[0], w)
    if backend.name == "mpi":
        from mpi4py import MPI

        world = MPI.COMM_WORLD
        own = rows(*ranges[world.Get_rank()])

        def by_mpi():
            here = w.copy()
            world.Bcast(here)
            value, slope = sum_of(own, here)
            joined = np.concatenate([[value], slope])
            total = np.empty_like(joined)
            world.Allreduce(joined, total)
            return total

        return by_mpi, None
    own = [rows(*ends) for ends in ranges]
    return lambda: _total([sum_of(arrays, w) for arrays in own]), None


def _total(parts):
    return [sum(arrays) for arrays in zip(*parts, strict=True)]


def adapters(engine, workers, count):
    """Seconds of a call by this package and by the engine alone, and the bytes of their messages to a worker."""
    w = np.linspace(-1.0, 1.0, FEATURES)
    with (
        distributed.connect(engine, workers=workers, threads_per_worker=1) as backend,
        tempfile.TemporaryDirectory() as folder,
    ):
        shards = distributed.Shards.load(backend, rows, count * workers, chunk=count)
        ours = least(lambda: shards.reduce(sum_of_shard, added, w), 100, 10)
        call, message = bare(backend, count, w, folder)
        alone = least(call, 100, 10)
        item = shards._handles[0]
        sent = (run, 1, sum_of_shard, item, w) if engine != "mpi" else (None, (w,))
        answer = len(cloudpickle.dumps(sum_of((np.ones((2, FEATURES)), np.ones(2)), w)))
        found = {
            "ours": ours,
            "bare": alone,
            "bytes ours": len(cloudpickle.dumps(sent)),
            "bytes bare": w.nbytes if message is None else len(cloudpickle.dumps(message)),
            "answer": answer,
        }
        return found if backend.writes else None


def print_adapters(engines, counts, rows_each):
    print(
        f"{rows_each} rows of {FEATURES} numbers a worker; microseconds a call, "
        f"bytes of a message of {8 * FEATURES} bytes"
    )
    print(f"{'engine':>8} {'workers':>8} {'ours':>8} {'bare':>8} {'more':>8} {'bytes':>8} {'bare':>8} {'answer':>8}")
    for engine in engines:
        for workers in counts:
            found = by_engine("adapters", engine, workers, rows_each)
            ours, alone = 1e6 * found["ours"], 1e6 * found["bare"]
            print(
                f"{engine:>8} {workers:8d} {ours:8.0f} {alone:8.0f} {ours - alone:8.0f} {found['bytes ours']:8d} "
                f"{found['bytes bare']:8d} {found['answer']:8d}"
            )


# ------------------------------------------------------------------------------------------------------ the program

#: table -> (what measures, what prints, number of rows: in all, or of each worker)
TABLES = {"scaling": (scaling, print_scaling, 1_000_000), "adapters": (adapters, print_adapters, 1_000)}


def by_engine(table, engine, workers, count):
    """What a table measures, in this process or in those of mpirun."""
    if engine != "mpi":
        return TABLES[table][0](engine, workers, count)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        command = ["mpirun", "--oversubscribe", "-n", str(workers), sys.executable, "-m", "mpi4py", __file__, table]
        command += ["--inside", str(path), "--workers", str(workers), "--rows", str(count)]
        subprocess.run(command, check=True)
        return json.loads(path.read_text())


def main():
    parser = argparse.ArgumentParser(description="What work by shards costs")
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--engines", nargs="+", default=["joblib", "dask", "mpi"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rows", type=int, help="scaling: in all, 1,000,000; adapters: of each worker, 1,000")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    args = parser.parse_args()
    measure, show, usual = TABLES[args.table]
    count = args.rows or usual
    if args.inside:
        found = measure("mpi", args.workers[0], count)
        if found is not None:
            Path(args.inside).write_text(json.dumps(found))
        return
    show(args.engines, args.workers, count)


if __name__ == "__main__":
    main()
