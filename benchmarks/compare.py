"""Compare dualgrad with its rivals in one command, in alternating rounds.

    python benchmarks/compare.py [--rounds N] [workload ...]

A round is a few calls of one contender, enough for the clock; rounds go A B C A B C ..., so that whatever the
machine does meanwhile, it does to all of them. Shown are the median over the rounds, their spread (distance
between the quartiles, relative to the median), the largest relative error against the float64 reference, and
for each mode of dualgrad the ratio rival / dualgrad: the median of the ratios within a round, above 1 where
the rival is slower. See README.md beside this file for what the numbers can and cannot say.
"""

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rivals
from catalogue import CASES, select
from lanes import LocalLane, Worker, WorkerLane
from workload import Case

FEWEST_ROUNDS = 3


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare dualgrad with its rivals, in alternating rounds.")
    parser.add_argument("workload", nargs="*", help=f"names or beginnings of: {', '.join(CASES)}")
    parser.add_argument("--rounds", type=int, default=15, help="rounds per contender (default: 15)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        help=f"time for the rounds of one case: slow cases get fewer, at least {FEWEST_ROUNDS} (default: 60)",
    )
    parser.add_argument("--only", metavar="NAME,...", help="contenders to run, e.g. dualgrad,'jax jit'")
    parser.add_argument(
        "--mindspore-python",
        metavar="PATH",
        help="interpreter that has MindSpore (and NumPy below 2); its contenders run there",
    )
    parser.add_argument(
        "--processes",
        type=int,
        default=1,
        help="repeat everything in this many fresh processes, one after the other, and pool the rounds",
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write all rounds to this file")
    args = parser.parse_args()
    try:
        args.cases = select(args.workload)
    except ValueError as error:
        parser.error(str(error))
    args.only = args.only.split(",") if args.only else None
    return args


def open_lanes(
    case: Case, wanted: Sequence[str] | None, worker: Worker | None
) -> tuple[list[LocalLane | WorkerLane], dict[str, str]]:
    """Lanes of a case, numbers checked, and the reasons why other contenders have none."""
    ready: list[LocalLane | WorkerLane] = []
    left_out = {}
    for contender in case.contenders:
        if wanted is not None and contender not in wanted:
            continue
        remote = worker if rivals.library(contender) == "mindspore" else None
        if remote is None and not rivals.installed(contender):
            left_out[contender] = "not installed"
            continue
        print(f"{case.name}: {contender} ...", file=sys.stderr, flush=True)
        try:
            ready.append(WorkerLane(remote, case, contender) if remote else LocalLane(case, contender))
        except Exception as failure:  # a rival that fails is reported; the others are still compared
            left_out[contender] = f"FAILED: {type(failure).__name__}: {failure}"
    return ready, left_out


def measure(case: Case, args: argparse.Namespace, worker: Worker | None) -> dict[str, Any]:
    """All rounds of a case: ``{"seconds": {contender: [per round]}, "error": ..., "left out": ...}``."""
    ready, left_out = open_lanes(case, args.only, worker)
    one_round = sum(lane.calls * lane.seconds for lane in ready)
    rounds = min(args.rounds, max(FEWEST_ROUNDS, int(args.seconds / one_round))) if ready else 0
    seconds: dict[str, list[float]] = {lane.contender: [] for lane in ready}
    for _ in range(rounds):
        for lane in ready:
            seconds[lane.contender].append(lane.round())
    errors = {lane.contender: lane.error for lane in ready}
    return {"seconds": seconds, "error": errors, "left out": left_out}


def measure_here(args: argparse.Namespace) -> dict[str, Any]:
    """Measure every case in this process (and in the worker)."""
    contenders = [name for case in args.cases for name in case.contenders]
    versions = {"python": platform.python_version(), **rivals.versions(contenders)}
    with contextlib.ExitStack() as stack:
        worker = stack.enter_context(Worker(args.mindspore_python)) if args.mindspore_python else None
        if worker:
            versions |= worker.ask("versions", contenders=["mindspore"])["versions"]
        cases = {case.name: measure(case, args, worker) for case in args.cases}
        return {"versions": versions, "cases": cases}


def measure_in_processes(args: argparse.Namespace) -> dict[str, Any]:
    """Measure in fresh processes, one after the other, and pool their rounds."""
    pooled: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rounds.json")
        for process in range(args.processes):
            print(f"process {process + 1} of {args.processes}", file=sys.stderr, flush=True)
            # The last of two equal options counts, so this repeats the command as it was given, but once.
            command = [sys.executable, __file__, *sys.argv[1:], "--processes", "1", "--json", str(path)]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
            data = json.loads(path.read_text())
            pooled = pool(pooled, data) if pooled else data
    return pooled


def pool(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Rounds of two processes together; a contender that failed in one of them is left out."""
    cases = {}
    for name, a in first["cases"].items():
        b = second["cases"][name]
        both = [contender for contender in a["seconds"] if contender in b["seconds"]]
        cases[name] = {
            "seconds": {contender: a["seconds"][contender] + b["seconds"][contender] for contender in both},
            "error": {contender: max(a["error"][contender], b["error"][contender]) for contender in both},
            "left out": a["left out"] | b["left out"],
        }
    return {"versions": first["versions"], "cases": cases}


def readable(seconds: float) -> str:
    """Three digits and a unit: ``17.2 us``."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def table(case: Case, measured: dict[str, Any]) -> str:
    """One case as text."""
    seconds = measured["seconds"]
    bases = [name for name in seconds if rivals.library(name) == "dualgrad"]
    header = ["", "median", "spread", "error", *([f"per {case.unit}"] if case.unit else [])]
    rows = [header + [f"/ {base}" for base in bases]]
    for name, rounds in seconds.items():
        median = statistics.median(rounds)
        low, _, high = statistics.quantiles(rounds, n=4, method="inclusive")
        row = [name, readable(median), f"{(high - low) / median:.0%}", f"{measured['error'][name]:.0e}"]
        if case.unit:
            row.append(readable(median / case.count))
        for base in bases:
            ratios = [rival / own for rival, own in zip(rounds, seconds[base], strict=True)]
            row.append("1" if name == base else f"{statistics.median(ratios):.3g}")
        rows.append(row)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    count = max((len(rounds) for rounds in seconds.values()), default=0)
    lines = [f"{case.name}  ({count} rounds)"]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *cells]))
    lines += [f"left out: {name}: {reason}" for name, reason in measured["left out"].items()]
    return "\n".join(lines)


def main() -> int:
    args = arguments()
    data = measure_in_processes(args) if args.processes > 1 else measure_here(args)
    data["machine"] = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    if args.json:
        args.json.write_text(json.dumps(data, indent=1))
    print(data["machine"])
    print(", ".join(f"{library} {version}" for library, version in data["versions"].items()))
    for case in args.cases:
        print()
        print(table(case, data["cases"][case.name]))
    reasons = [reason for case in data["cases"].values() for reason in case["left out"].values()]
    return int(any(reason.startswith("FAILED") for reason in reasons))


if __name__ == "__main__":
    raise SystemExit(main())
