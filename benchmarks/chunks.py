"""How many columns of a Hessian to compute at once: ``python benchmarks/chunks.py``.

Times of ``hessian(f, chunk_size=n)`` for the logistic regression with 300 weights and the net with 497, eager and
recorded, in rounds that alternate; ``chosen`` is what ``chunk_size=None`` takes.
"""

import argparse
import statistics
import time
from functools import partial

import bench_hessian

import dualgrad as dg
from dualgrad import Tensor, ops

SIZES = (1, 4, 8, 16, 32, 64, 128, None)
PROBLEMS = {
    "logistic-300": (bench_hessian.logistic_loss, lambda: bench_hessian.logistic(300)),
    "net-497": (bench_hessian.net_loss, bench_hessian.net),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Time Hessians by the number of columns computed at once.")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default: 5)")
    rounds = parser.parse_args().rounds
    print(f"{'milliseconds':<24}" + "".join(f"{size or 'chosen':>9}" for size in SIZES))
    for name, (loss, data) in PROBLEMS.items():
        arrays = [Tensor(a) for a in data()]
        for way, wrap in (("eager", lambda f: f), ("recorded", dg.jit)):
            calls = [partial(wrap(dg.hessian(partial(loss, ops), chunk_size=size)), *arrays) for size in SIZES]
            for call in calls * 3:
                call()
            found: list[list[float]] = [[] for _ in SIZES]
            for _ in range(rounds):
                for times, call in zip(found, calls, strict=True):
                    start = time.perf_counter()
                    call()
                    times.append(time.perf_counter() - start)
            medians = [statistics.median(times) for times in found]
            print(f"{name + ', ' + way:<24}" + "".join(f"{1e3 * t:9.1f}" for t in medians), flush=True)


if __name__ == "__main__":
    main()
