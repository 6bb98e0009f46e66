"""Elementwise kernels: nanoseconds per element of dualgrad's loop, of NumPy's, and of a loop over the C library.

As a command it prints a table of best times, on as many elements as fit into the cache::

    python benchmarks/bench_kernels.py [--size N] [kernel ...]

``DUALGRAD_KERNELS=x86-64-v3`` or ``baseline`` shows the kernels of lesser machines, and
``NPY_DISABLE_CPU_FEATURES`` does that for NumPy. The tests of this file are for pytest-benchmark.
"""

import argparse
import ctypes
import ctypes.util
import time

import numpy as np
import pytest

from dualgrad import Tensor, extend
from dualgrad._engine.transforms.tensor import OPCODES, apply
from dualgrad._table import BY_NAME

NAMES = [row.name for row in BY_NAME.values() if row.vector]
NOT_IN_C = {"gauss", "sech2", "sigmoid", "softplus"}
TYPES = {"f64": np.float64, "f32": np.float32}
SIZE = 4096


def operand(kind: str, size: int) -> np.ndarray:
    """Points at which every kernel is defined, and none takes a short cut."""
    return np.random.default_rng(0).uniform(0.1, 2.9, size).astype(TYPES[kind])


def own(name: str, kind: str, size: int):
    code, x = OPCODES[name], Tensor(operand(kind, size))
    return lambda: apply(code, None, x)


def of_numpy(name: str, kind: str, size: int):
    ufunc, x = BY_NAME[name].ufunc, operand(kind, size)
    if ufunc is None:
        return None
    function, out = getattr(np, ufunc), np.empty_like(x)
    return lambda: function(x, out)


def of_c(name: str, kind: str, size: int):
    if name in NOT_IN_C:
        return None
    real = ctypes.c_double if kind == "f64" else ctypes.c_float
    function = ctypes.CDLL(ctypes.util.find_library("m"))[name if kind == "f64" else name + "f"]
    function.argtypes, function.restype = [real], real
    primitive = extend.elementwise(f"c_{name}_{kind}", function, None)
    x = Tensor(operand(kind, size))
    return lambda: primitive(x)


CONTENDERS = {"dualgrad": own, "numpy": of_numpy, "libm": of_c}


def cases() -> list[tuple[str, str]]:
    return [(name, kind) for name in NAMES for kind in BY_NAME[name].vector]


def best(call, repetitions: int = 200, calls: int = 5) -> float:
    """Seconds of one call, the least of many."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=SIZE, help="number of elements")
    parser.add_argument("kernel", nargs="*", help="names of kernels; all for none")
    options = parser.parse_args()
    print(f"ns per element, {options.size} elements")
    print(f"{'':14}" + "".join(f"{contender:>10}" for contender in CONTENDERS))
    for name, kind in cases():
        if options.kernel and name not in options.kernel:
            continue
        line = f"{name:10}{kind:4}"
        for build in CONTENDERS.values():
            call = build(name, kind, options.size)
            line += f"{best(call) / options.size * 1e9:10.2f}" if call else f"{'-':>10}"
        print(line)


@pytest.mark.parametrize("size", [1, 16, SIZE])
@pytest.mark.parametrize(("name", "kind"), cases())
@pytest.mark.parametrize("contender", ["dualgrad", "numpy"])
def test_kernel(benchmark, contender, name, kind, size):
    call = CONTENDERS[contender](name, kind, size)
    if call is None:
        pytest.skip(f"{contender} has no {name}")
    benchmark.group = f"{name} {kind}, {size} elements"
    benchmark(call)


if __name__ == "__main__":
    main()
