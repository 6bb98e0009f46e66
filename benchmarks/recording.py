"""What recording and planning cost, in eager executions, for each workload that has a recorded contender.

    python benchmarks/recording.py [--rounds N] [workload ...]

Recorded functions are written down at the first two calls. One of them also plans: the first if arrays are large and
therefore put off, so that the plan can compute them. Each round forgets all programs and times an eager call, those two
calls, and a replay; shown are medians. ``cost`` is the time of both calls in eager executions, the executions they
contain included; ``profit`` the number of calls after which recording has paid.
"""

import argparse
import math
import statistics
import time

from catalogue import select
from workload import Case, Run

from dualgrad._engine.trace.cache import forget_programs

EAGER, RECORDED = "dualgrad", "dualgrad jit"


def seconds(run: Run) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    run.call()
    return time.perf_counter() - start


def measure(case: Case, rounds: int) -> dict[str, float]:
    """Medians in seconds over rounds that begin without programs."""
    eager = case.contenders[EAGER]()
    eager.enter()
    found: dict[str, list[float]] = {"eager": [], "first": [], "second": [], "replay": []}
    eager.call()
    for _ in range(rounds):
        eager.enter()
        found["eager"].append(min(seconds(eager) for _ in range(3)))
        forget_programs()
        run = case.contenders[RECORDED]()
        run.enter()
        found["first"].append(seconds(run))
        found["second"].append(seconds(run))
        found["replay"].append(min(seconds(run) for _ in range(3)))
    return {name: statistics.median(values) for name, values in found.items()}


def line(name: str, t: dict[str, float]) -> str:
    """A row of the table."""
    cost = (t["first"] + t["second"]) / t["eager"]
    saved = t["eager"] - t["replay"]
    calls = math.inf if saved <= 0 else (t["first"] + t["second"] - 2 * t["eager"]) / saved
    times = "".join(f"{1e3 * t[name]:11.3f}" for name in ("eager", "first", "second", "replay"))
    return f"{name:<28}{times}{cost:8.1f}{calls:8.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Time recording and planning in eager executions.")
    parser.add_argument("workload", nargs="*", help="names or beginnings of workloads; all for none")
    parser.add_argument("--rounds", type=int, default=7, help="rounds per workload (default: 7)")
    args = parser.parse_args()
    print(f"{'milliseconds':<28}{'eager':>11}{'first':>11}{'second':>11}{'replay':>11}{'cost':>8}{'profit':>8}")
    for case in select(args.workload):
        if EAGER in case.contenders and RECORDED in case.contenders:
            print(line(case.name, measure(case, args.rounds)), flush=True)


if __name__ == "__main__":
    main()
