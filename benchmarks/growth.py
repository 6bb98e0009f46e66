"""How the cost of the k-th derivative grows with k: ``python benchmarks/growth.py``.

Times of ``derivative(f, x, k)`` for f = exp(sin(x)) on 1,000 points, recorded, for k = 1 to 32, and the exponents of
power laws through all of them and those from k = 8 on; beside them k gradients inside each other, eager and recorded.
"""

import time

import numpy as np

import dualgrad as dg
from dualgrad import Tensor, ops

ORDERS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32)
NESTED = (1, 2, 3, 4, 6, 8, 10)
ROUNDS = 7


def function(x):
    return ops.exp(ops.sin(x))


def nested(order):
    derived = function
    for _ in range(order):
        derived = dg.grad(derived)
    return derived


def seconds(call, x):
    """The fastest of some rounds of calls."""
    for _ in range(4):
        call(x)
    start = time.perf_counter()
    call(x)
    number = max(1, int(0.02 / (time.perf_counter() - start)))
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(number):
            call(x)
        best = min(best, (time.perf_counter() - start) / number)
    return best


def exponent(orders, times):
    """That of the power law with the least squared error in logarithms."""
    return float(np.polyfit(np.log(orders), np.log(times), 1)[0])


def main():
    x = Tensor(np.linspace(-2.0, 2.0, 1000))
    times = {}
    print("order  derivative, recorded  nested, eager  nested, recorded     (microseconds)")
    for k in ORDERS:
        times[k] = seconds(dg.jit(lambda x, k=k: dg.derivative(function, x, k)[1]), x)
        line = f"{k:5}  {1e6 * times[k]:20.1f}"
        if k in NESTED:
            line += f"  {1e6 * seconds(nested(k), x):13.1f}  {1e6 * seconds(dg.jit(nested(k)), x):16.1f}"
        print(line)
    large = [k for k in ORDERS if k >= 8]
    print(f"exponent for k = 1 to 32: {exponent(ORDERS, [times[k] for k in ORDERS]):.2f}")
    print(f"exponent for k = 8 to 32: {exponent(large, [times[k] for k in large]):.2f}")


if __name__ == "__main__":
    main()
