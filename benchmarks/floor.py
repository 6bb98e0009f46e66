"""What this machine can do at best: the floor under every time in the tables.

    python benchmarks/floor.py

Rates of matrix products through NumPy and through a recorded program, of memory through NumPy, the price of a call
that computes next to nothing, and for every elementwise primitive of dualgrad the nanoseconds per element of its
eager loop (4096 elements, which stay in the first-level cache; what the call itself costs is taken off).
"""

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any

import numpy as np

SIZE = 4096
THREADS = 2
ARITHMETIC = ("add", "sub", "mul", "absorb_mul", "neg", "square", "abs", "maximum", "minimum", "relu", "step")
DTYPES = ("float32", "float64")


def best(function: Callable[[], Any], repeats: int = 7, seconds: float = 0.01) -> float:
    """Seconds per call in the fastest of a few rounds: noise only ever adds."""
    function()
    start = time.perf_counter()
    function()
    number = max(1, round(seconds / max(time.perf_counter() - start, 1e-7)))
    rounds = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(number):
            function()
        rounds.append((time.perf_counter() - start) / number)
    return min(rounds)


def products() -> Iterator[str]:
    """GEMM of NumPy and of a recorded program: square, and as thin as layers of networks are."""
    import dualgrad as dg

    recorded = dg.jit(lambda a, b: dg.ops.matmul(a, b))
    for m, k, n in ((1024, 1024, 1024), (40_000, 20, 20), (8_000, 128, 128)):
        rates: dict[str, list[str]] = {"NumPy": [], "recorded": []}
        for dtype in DTYPES:
            a, b, out = np.ones((m, k), dtype), np.ones((k, n), dtype), np.empty((m, n), dtype)
            tensors = dg.Tensor(a), dg.Tensor(b)
            recorded(*tensors)
            for name, call in (
                ("NumPy", partial(np.matmul, a, b, out=out)),
                ("recorded", partial(recorded, *tensors)),
            ):
                rates[name].append(f"{2e-9 * m * k * n / best(call):.0f}")
        figures = ", ".join(f"{name} {' / '.join(rate)}" for name, rate in rates.items())
        yield f"product {m} x {k} x {n}:  {figures} GFlop/s ({' / '.join(DTYPES)})"


@cache
def bandwidth() -> tuple[float, float]:
    """Bytes read and written a second, where a sum of arrays passes memory: by one thread, by two."""
    a, b, out = (np.ones(2**24) for _ in range(3))
    one = best(lambda: np.add(a, b, out=out), repeats=5)
    with ThreadPoolExecutor(2) as pool:
        halves = [slice(None, out.size // 2), slice(out.size // 2, None)]
        two = best(lambda: list(pool.map(lambda h: np.add(a[h], b[h], out=out[h]), halves)), repeats=5)
    return 3 * out.nbytes / one, 3 * out.nbytes / two


def memory() -> Iterator[str]:
    """The bandwidth in words."""
    one, two = bandwidth()
    yield f"memory, a + b of 128 MiB each:  {one / 1e9:.1f} GB/s on one thread, {two / 1e9:.1f} on two"


def calls() -> Iterator[str]:
    """Calls with next to no work in them."""
    import dualgrad as dg

    def identity(x: Any) -> Any:
        return x

    recorded = dg.jit(lambda x: x * x)
    array = np.ones(1)
    tensor = dg.Tensor(array)
    recorded(tensor)
    recorded(tensor)
    measured = {
        "Python function": lambda: identity(tensor),
        "NumPy x * x": lambda: array * array,
        "dualgrad x * x": lambda: tensor * tensor,
        "recorded x * x": lambda: recorded(tensor),
    }
    empty = best(lambda: None)
    yield "call on one element:  " + ", ".join(
        f"{name} {1e9 * (best(function) - empty):.0f} ns" for name, function in measured.items()
    )


@cache
def element(opcode: int, dtype: str) -> float:
    """Seconds that an elementwise primitive takes for each of many elements."""
    from dualgrad import Tensor
    from dualgrad._engine.transforms.tensor import apply
    from dualgrad._table import ROWS

    rng = np.random.default_rng(0)
    spans = [(max(low, -3.0), min(high, 3.0)) for low, high in ROWS[opcode].domain]
    operands = [Tensor(rng.uniform(low, high if high > low else low + 3.0, SIZE).astype(dtype)) for low, high in spans]
    ones = [Tensor(operand.asnumpy()[:1].copy()) for operand in operands]
    many, one = (best(partial(apply, opcode, None, *x), repeats=3, seconds=0.001) for x in (operands, ones))
    return max(many - one, 0.0) / SIZE


@cache
def product_rate(dtype: str) -> float:
    """Operations a second of a large product of matrices in a recorded program, on all threads."""
    import dualgrad as dg

    recorded = dg.jit(lambda a, b: dg.ops.matmul(a, b))
    a = dg.Tensor(np.ones((8_000, 128), dtype)), dg.Tensor(np.ones((128, 128), dtype))
    for _ in range(3):
        recorded(*a)
    return 2 * 8_000 * 128 * 128 / best(partial(recorded, *a))


@cache
def recorded_call() -> float:
    """Seconds of a recorded call that computes one product of two numbers."""
    import dualgrad as dg

    recorded, x = dg.jit(lambda x: x * x), dg.Tensor(np.ones(1))
    for _ in range(3):
        recorded(x)
    return best(lambda: recorded(x))


def of_program(program: Any, threads: int = THREADS) -> float:
    """Seconds that a recorded program takes at best on this machine.

    The largest of three times: what it reads and returns passes memory once at the measured bandwidth; its products run
    at the measured rate, sums and products of elements as fast as multiply-adds in them, functions as fast as their
    loops on arrays that stay in cache, on all threads; a recorded call computes next to nothing. Other steps cost
    nothing. It is a floor for this program: another one may need fewer steps.
    """
    leaving = [*program.inputs, *program.outputs]
    nbytes = sum(_size(program, slot) * _dtype(program, slot).itemsize for slot in dict.fromkeys(leaving))
    return max(nbytes / bandwidth()[1], _work(program, threads), recorded_call())


def _work(program: Any, threads: int) -> float:
    """Seconds for products and elementwise steps, those of loops included."""
    from dualgrad._engine.compiler.repetitions import Repetition, Reversal
    from dualgrad._engine.primitives.registry import table
    from dualgrad._table import ROWS

    total = 0.0
    for op, params, ins, out in program.steps:
        loops = [params.forward, params.backward] if isinstance(params, Reversal) else [params]
        for loop in loops if isinstance(loops[0], Repetition) else ():
            total += max(loop.n, 1) * _work(loop.body.program, 1)
        dtype = _dtype(program, out).name
        if table()[op].name == "matmul" and dtype.startswith("float"):
            total += 2 * _size(program, out) * program.shapes[ins[0]][-1] / product_rate(dtype)
        elif op < len(ROWS) and ROWS[op].domain and dtype in DTYPES:
            shared = threads if _size(program, out) > SIZE else 1
            seconds = 2 * THREADS / product_rate(dtype) if ROWS[op].name in ARITHMETIC else element(op, dtype)
            total += _size(program, out) * seconds / shared
    return total


def _size(program: Any, slot: int) -> int:
    return math.prod(program.shapes[slot])


def _dtype(program: Any, slot: int) -> np.dtype:
    from dualgrad.programs._tokens import TYPES

    return TYPES.get(program.typenums[slot], np.dtype(np.uint8))


def kernels() -> Iterator[str]:
    """Nanoseconds per element of each elementwise primitive, in three columns."""
    from dualgrad._table import ROWS

    cells = []
    for opcode, row in enumerate(ROWS):
        if not row.domain:
            continue
        figures = []
        for dtype in DTYPES:
            try:
                figures.append(f"{1e9 * element(opcode, dtype):.2f}")
            except TypeError:  # only for integers, or only for complex numbers
                break
        else:
            cells.append(f"{row.name:<16}{figures[0]:>6}{figures[1]:>7}")
    yield f"ns per element of each primitive, {SIZE} elements, {' and '.join(DTYPES)}:"
    height = -(-len(cells) // 3)
    for line in range(height):
        yield "  " + "     ".join(cells[line::height])


def report() -> Iterator[str]:
    """All of it, line by line."""
    for part in (products, memory, calls, kernels):
        yield from part()


if __name__ == "__main__":
    for line in report():
        print(line, flush=True)
