"""Products of matrices as programs run them, beside NumPy's library: GFLOP/s on one thread.

    python benchmarks/bench_products.py [--rows M]

``rows`` are M rows times a matrix (k, n), the layer of a network; ``sums`` are (k, rows) times (rows, n), the
gradient by its weights. Both stand in a program whose region has blocks of some rows, so the factors are in cache,
and are timed as the plan times its instructions. ``DUALGRAD_KERNELS=x86-64-v3`` or ``baseline`` shows what lesser
machines run, and ``OPENBLAS_CORETYPE=Haswell`` does that for NumPy's library.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._engine.compiler.inspection import plan_of, run_timed
from dualgrad.programs._listing import recording_of

WIDTHS = (8, 20, 32, 64, 100, 128, 200, 256)
KINDS = ("matmul", "matmul_add", "matmul_onto")


def rows(x: Tensor, w: Tensor) -> Tensor:
    """The rows of a block times a matrix."""
    return ops.matmul(x * 2, w) * 2


def sums(x: Tensor, y: Tensor) -> Tensor:
    """The rows of a block are added up."""
    return ops.matmul((x * 2).T, y * 2)


def in_program(form: Callable[..., Tensor], arrays: list[np.ndarray]) -> tuple[float, int]:
    """Seconds of the product in a plan, the least of some runs, and the rows of a block."""
    recording = recording_of(form, tuple(map(Tensor, arrays)), {})
    plan, regions = plan_of(recording.program), recording.layout()["regions"]
    at, region = next((k, r) for k, r in enumerate(regions) if any(i["kind"] in KINDS for i in r["instructions"]))
    number = next(k for k, i in enumerate(region["instructions"]) if i["kind"] in KINDS)
    return min(run_timed(plan, recording.inputs)[at][1][number] for _ in range(20)), region["block"]


def in_numpy(form: Callable[..., Tensor], arrays: list[np.ndarray], block: int) -> float:
    """The same for matmul on the rows of one block, for as many blocks."""
    a, b = (x[:block] for x in arrays) if form is sums else (arrays[0][:block], arrays[1])
    a = a.T if form is sums else a
    out, times = np.empty((a.shape[0], b.shape[1]), b.dtype), []
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(10):
            np.matmul(a, b, out=out)
        times.append((time.perf_counter() - start) / 10)
    return min(times) * len(arrays[0]) / block


def lines(m: int) -> Iterator[str]:
    """A table for each form and type: k downwards, n to the right, program / NumPy."""
    rng = np.random.default_rng(0)
    for form in (rows, sums):
        for dtype in (np.float32, np.float64):
            yield f"{form.__name__}, {np.dtype(dtype).name}, GFLOP/s in a program / NumPy"
            yield "     k\\n" + "".join(f"{n:>12}" for n in WIDTHS)
            for k in WIDTHS:
                cells = []
                for n in WIDTHS:
                    shapes = ((m, k), (k, n)) if form is rows else ((m, k), (m, n))
                    arrays = [rng.normal(size=shape).astype(dtype) for shape in shapes]
                    own, block = in_program(form, arrays)
                    work = 2e-9 * m * k * n
                    cells.append(f"{work / own:.0f} / {work / in_numpy(form, arrays, block):.0f}")
                yield f"{k:>8}" + "".join(f"{cell:>12}" for cell in cells)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2000, help="rows of the left factor (default: 2000)")
    dg.set_context(mode=dg.PYNATIVE_MODE)
    for line in lines(parser.parse_args().rows):
        print(line, flush=True)
