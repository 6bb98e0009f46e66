"""Shapes whose size overflows, or with too many axes: every operator raises an error.

The calls run in a new process with limited memory, since a failure may be a crash.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dualgrad as dg

CALLS = {
    "zeros": "ops.zeros((HUGE, 4))",
    "ones": "ops.ones((2**32, 2**32))",
    "full": "ops.full((HUGE, 4), 1.0)",
    "eye": "ops.eye(2**32)",
    "arange": "ops.arange(HUGE)",
    "linspace": "ops.linspace(0, 1, HUGE)",
    "broadcast_to": "ops.broadcast_to(one, (HUGE, 4))",
    "broadcast_to a row": "ops.broadcast_to(one, (HUGE,)) + 1",
    "broadcast_to the largest": "ops.broadcast_to(one, (2**63 - 1,))",
    "broadcast_to nothing": "ops.broadcast_to(Tensor(np.zeros((1, 0))), (0, HUGE, HUGE, 0)) + ops.zeros((0, HUGE))",
    "tile": "ops.tile(one, (HUGE, 4))",
    "pad": "ops.pad(one, (0, HUGE))",
    "pad rows": "ops.pad(Tensor(np.ones((4, 1))), (0, HUGE))",
    "outer": "ops.outer(row(2**40), row(2**40))",
    "add": "row(2**40, 1) + row(1, 2**40)",
    "where": "ops.where(row(2**40, 1) > 0, row(1, 2**40), 0.0)",
    "matmul": "ops.matmul(row(2**40, 1), row(1, 2**40))",
    "compare": "row(2**60) > 0",
    "cat": "ops.cat([row(2**60), row(2**60)])",
    "stack": "ops.stack([row(2**59)] * 8)",
    "gather": "ops.gather(row(4, 2**58), Tensor([0, 1, 2, 3, 0, 1]), 0)",
    "scatter_nd": "ops.scatter_nd(Tensor([[0]]), one, (HUGE,))",
    "one_hot": "ops.one_hot(Tensor([0, 1, 2, 3]), HUGE)",
    "repeat_interleave": "ops.repeat_interleave(one, HUGE)",
    "unsorted_segment_sum": "ops.unsorted_segment_sum(one, Tensor([0]), HUGE)",
    "cast": "ops.broadcast_to(Tensor(np.int8(1)), (2**61,)).astype('float64')",
    "cumsum": "ops.cumsum(row(2**60), 0)",
    "meshgrid": "ops.meshgrid(row(2**40), row(2**40))[0] + 1",
    "fft": "ops.ifftn(Tensor(np.ones((4, 4))), (4, HUGE))",
    "vmap": "dg.vmap(lambda x: ops.broadcast_to(x, (2**40,)))(row(2**40))",
    "grad": "dg.grad(lambda x: ops.broadcast_to(x, (HUGE,)).sum())(one)",
    "jacfwd": "dg.jacfwd(lambda x: ops.broadcast_to(x, (2**40, 1)) * row(1, 2**40))(one)",
    "jit": "dg.jit(lambda x: ops.broadcast_to(x, (2**40, 1)) + row(1, 2**40))(one)",
    "Dense": "nn.Dense(2**40, 2**40)",
    "reshape to many axes": "ops.reshape(one, (1,) * 1000)",
    "reshape to one axis too many": "ops.reshape(one, (1,) * 65)",
    "broadcast_to many axes": "ops.broadcast_to(one, (1,) * 500)",
    "stack of many axes": "ops.stack([axes(64), axes(64)])",
    "None in an index": "axes(64)[(None,) * 300]",
    "tensor_dot of many axes": "ops.tensor_dot(axes(60), axes(60), 0)",
    "kron of many axes": "ops.kron(axes(60), axes(60))",
    "tile of many axes": "ops.tile(axes(60), (2,) * 60)",
    "meshgrid of many": "ops.meshgrid(*[one] * 200)",
    "one_hot of many axes": "ops.one_hot(axes(64).astype('int64'), 3)",
    "scatter_nd to many axes": "ops.scatter_nd(Tensor([[0]]), axes(300), (2,) + (1,) * 300)",
    "numpy.array of many axes": "dg.numpy.array([1.0], ndmin=10**6)",
    "jacrev of many axes": "dg.jacrev(lambda x: x * 2)(axes(60))",
    "jacfwd of many axes": "dg.jacfwd(lambda x: x * 2)(axes(60))",
    "hessian of many axes": "dg.hessian(lambda x: (x * x).sum())(axes(60))",
    "vmap of many axes": "dg.vmap(lambda x: ops.reshape(x, (1,) * 64))(one)",
    "jit of many axes": "dg.jit(lambda x: ops.reshape(x, (1,) * 1000))(Tensor(np.ones(1)))",
    "grad of many axes": "dg.grad(lambda x: ops.reshape(x, (1,) * 1000).sum())(one)",
}
PROGRAM = """
import resource, sys
import numpy as np, dualgrad as dg
from dualgrad import Tensor, nn, ops
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
HUGE = 2**62
one = Tensor([1.0])
def axes(n): return Tensor(np.ones((1,) * min(n, 64))).reshape((1,) * n)
def row(*shape): return ops.broadcast_to(Tensor(1.0), shape)
for name, text in CALLS.items():
    try: eval(text)
    except Exception as error: print(repr((name, type(error).__name__, str(error))), flush=True)
    else: print(repr((name, "nothing", "")), flush=True)
"""


@pytest.fixture(scope="module")
def outcomes():
    environment = {**os.environ, "PYTHONPATH": str(Path(dg.__file__).parent.parent), "OPENBLAS_NUM_THREADS": "1"}
    program = f"CALLS = {CALLS!r}\n{PROGRAM}"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False, timeout=300
    )
    found = {name: rest for name, *rest in map(ast.literal_eval, result.stdout.splitlines())}
    return found, result


@pytest.mark.skipif(sys.platform == "win32", reason="memory is limited otherwise there")
@pytest.mark.parametrize("name", CALLS)
def test_a_shape_that_is_too_large(outcomes, name):
    found, result = outcomes
    assert name in found, f"the process ended with {result.returncode}:\n{result.stderr[:2000]}"
    kind, text = found[name]
    assert kind in ("ValueError", "MemoryError", "OverflowError", "_ArrayMemoryError")
    assert "array" in text or "memory" in text or "allocate" in text
