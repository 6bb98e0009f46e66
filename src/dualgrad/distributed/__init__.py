"""Work on many processes and machines: shards of rows, sums over them, derivatives by blocks of columns.

An existing engine does the work: joblib, Dask, Ray or MPI. `connect` returns its workers; `Shards` are rows that stay
with them. Each of these packages is imported on first use.
"""

from __future__ import annotations

from .backend import Backend, WorkerDiedError
from .coloured import sparse_hessian, sparse_jacobian
from .columns import hessian, jacobian
from .connect import connect
from .runs import checkpointed
from .samples import map_samples
from .shards import Shards
from .starts import Starts, multi_start
from .sums import SumOfShards, sum_gradients

__all__ = [
    "Backend",
    "Shards",
    "Starts",
    "SumOfShards",
    "WorkerDiedError",
    "checkpointed",
    "connect",
    "hessian",
    "jacobian",
    "map_samples",
    "multi_start",
    "sparse_hessian",
    "sparse_jacobian",
    "sum_gradients",
]
