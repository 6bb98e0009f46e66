"""What the tests have the processes of MPI execute: `mpirun -n 2 python -m mpi4py mpi_program.py task path`."""

import os
import pickle
import sys
from pathlib import Path

import cloudpickle
import numpy as np
import shard_cases
from arrivals import watched
from mpi4py import MPI
from shard_cases import CHUNK, OTHERS, POINT, SUMS, X, Y, arrays_of, misfit

import dualgrad as dg
from dualgrad import distributed
from dualgrad.distributed import Shards, SumOfShards

WORLD = MPI.COMM_WORLD


def table(path):
    """Every operation in every process; all of them have the same bits."""
    found = {}
    with distributed.connect("mpi", threads_per_worker=1) as backend:
        for name, (on, *_) in {**SUMS, **OTHERS}.items():
            for deterministic in (False, True) if name in SUMS else (False,):
                found[name, deterministic] = arrays_of(on(backend, deterministic))
    bits = WORLD.allgather([a.tobytes() for arrays in found.values() for a in arrays])
    assert all(each == bits[0] for each in bits)
    if WORLD.Get_rank() == 0:
        with open(path, "wb") as file:
            pickle.dump(found, file)


def other_arguments(backend):
    """Process 0 decides: others may come with other numbers, rows and functions."""
    rank = WORLD.Get_rank()
    shards = Shards(backend, X + rank, Y, chunk=CHUNK)
    total = SumOfShards(misfit if rank == 0 else lambda p, x, y: x.sum(1), shards)
    point = {"w": POINT["w"] * (1 + rank), "b": POINT["b"] - rank}
    return arrays_of(total.value_and_grad(point))


def fails_for_some_rows(p, x, y):
    if float(y[-1]) == Y[-1]:  # in the last chunk
        raise LookupError("these rows")
    return misfit(p, x, y)


def failing(backend):
    """An error in one process is raised in all of them, and the next call is right."""
    shards = Shards(backend, X, Y, chunk=CHUNK)
    caught = None
    try:
        SumOfShards(fails_for_some_rows, shards)(POINT)
    except LookupError as error:
        caught = str(error)
    return caught, float(SumOfShards(misfit, shards)(POINT))


def several_types(backend):
    """A plain sum is added up by MPI itself, in messages of one type."""
    shards = Shards(backend, X.astype(np.float32), chunk=CHUNK)
    value, slope = SumOfShards(lambda p, x: (x * p) ** 2, shards).value_and_grad(dg.Tensor([0.5, 1.0, 2.0], dg.float64))
    return [value.asnumpy(), slope.asnumpy()]


REPLAYED = ("value", "gradient", "hvp", "gauss_newton", "hessian by columns", "jacobian by rows", "sparse_hessian")


def replays(backend, folder):
    """How often each operation runs Python of its function: before process 0 has computed it alone, and after that."""
    cloudpickle.register_pickle_by_value(shard_cases)
    found = {}
    for name in REPLAYED:
        on, counts = {**SUMS, **OTHERS}[name][0], []
        for again in (False, True):
            if again and WORLD.Get_rank() == 0:
                with distributed.connect("local", threads_per_worker=1) as here:
                    for _ in range(2):  # recorded, and confirmed
                        on(here, False)
            with watched(backend, folder / f"{name} {again}") as count:
                result = on(backend, False)
                WORLD.Barrier()
                counts.append(count())
        found[name] = *counts, arrays_of(result)
    cloudpickle.unregister_pickle_by_value(shard_cases)
    return found


def cases(path):
    """What each process has found, by process."""
    with distributed.connect(WORLD, threads_per_worker=1) as backend:
        found = [case(backend) for case in (other_arguments, failing, several_types)]
        found.append(replays(backend, Path(path).parent / "watched"))
    everyone = WORLD.gather(found)
    if WORLD.Get_rank() == 0:
        with open(path, "wb") as file:
            pickle.dump(everyone, file)


def descend(path, dies_at=None):
    """Steps along the gradient with checkpoints; the last process may die on the way."""
    with distributed.connect("mpi", threads_per_worker=1) as backend:
        total = SumOfShards(misfit, Shards(backend, X, Y, chunk=CHUNK), deterministic=True)

        def step(k, point):
            if k == dies_at and WORLD.Get_rank() == WORLD.Get_size() - 1:
                os._exit(9)
            slope = total.value_and_grad(point)[1]
            return {name: point[name] - 0.01 * slope[name] for name in point}

        last = distributed.checkpointed(step, POINT, 9, path, every=2, backend=backend)
    if WORLD.Get_rank() == 0:
        with open(f"{path}.result", "wb") as file:
            pickle.dump(arrays_of(last), file)


def dying(path):
    descend(path, dies_at=5)


TASKS = {f.__name__: f for f in (table, cases, descend, dying)}

if __name__ == "__main__":
    TASKS[sys.argv[1]](sys.argv[2])
