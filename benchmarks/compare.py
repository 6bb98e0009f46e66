"""Compare dualgrad with its rivals in one command, in alternating rounds.

    python benchmarks/compare.py [--rounds N] [workload ...]
    python benchmarks/compare.py --first-call [workload ...]
    python benchmarks/compare.py --memory [workload ...]

A round is a few calls of one contender, enough for the clock; rounds go A B C C B A A B C ..., so that whatever
the machine does meanwhile, it does to all of them. Shown are the median over the rounds, their spread (distance
between the quartiles, relative to the median), the largest relative error against the float64 reference, and
for each mode of dualgrad the ratio rival / dualgrad: the median of the ratios within a round, above 1 where
the rival is slower. The floor of the machine comes first, a summary with geometric means last: each of our ways
beside its rivals, and how far the recorded one is from the floor. See README.md
beside this file for what the numbers can and cannot say.
"""

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import alone
import floor
import rivals
import startup
import tables
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
    parser.add_argument("--slow", action="store_true", help="also contenders that take long to compile")
    parser.add_argument("--no-floor", action="store_true", help="do not measure what the machine can do at best")
    parser.add_argument(
        "--first-call",
        action="store_true",
        help="instead: imports, first gradients and first calls, each in a process of its own",
    )
    parser.add_argument(
        "--memory", action="store_true", help="instead: memory that calls need, each contender in a process of its own"
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


def chosen(case: Case, args: argparse.Namespace, has_worker: bool) -> tuple[list[str], dict[str, str]]:
    """Contenders of a case that are asked for and can run, and the reasons why others do not."""
    found, left_out = [], {}
    for contender in case.contenders:
        if args.only is not None and contender not in args.only:
            continue
        if reason := "" if has_worker and rivals.library(contender) == "mindspore" else rivals.missing(contender):
            left_out[contender] = reason
        elif contender in case.slow and not args.slow and args.only is None:
            left_out[contender] = "takes long to compile; ask for it by name or with --slow"
        else:
            found.append(contender)
    return found, left_out


def open_lanes(
    case: Case, args: argparse.Namespace, worker: Worker | None
) -> tuple[list[LocalLane | WorkerLane], dict[str, str]]:
    """Lanes of a case, numbers checked, and the reasons why other contenders have none."""
    ready: list[LocalLane | WorkerLane] = []
    contenders, left_out = chosen(case, args, worker is not None)
    for contender in contenders:
        remote = worker if rivals.library(contender) == "mindspore" else None
        print(f"{case.name}: {contender} ...", file=sys.stderr, flush=True)
        try:
            ready.append(WorkerLane(remote, case, contender) if remote else LocalLane(case, contender))
        except Exception as failure:  # a rival that fails is reported; the others are still compared
            text = str(failure).strip().splitlines() or [""]
            left_out[contender] = f"FAILED: {type(failure).__name__}: {text[0]}"
    return ready, left_out


def measure(case: Case, args: argparse.Namespace, worker: Worker | None) -> dict[str, Any]:
    """All rounds of a case: ``{"seconds": {contender: [per round]}, "error": ..., "aside": ..., "left out": ...}``."""
    ready, left_out = open_lanes(case, args, worker)
    one_round = sum(lane.calls * lane.seconds for lane in ready)
    rounds = min(args.rounds, max(FEWEST_ROUNDS, int(args.seconds / one_round))) if ready else 0
    seconds: dict[str, list[float]] = {lane.contender: [] for lane in ready}
    for i in range(rounds):
        for lane in ready if i % 2 == 0 else ready[::-1]:  # nobody always comes after the same one
            seconds[lane.contender].append(lane.round())
    return {
        "floor": next((lane.floor() for lane in ready if lane.contender == "dualgrad jit"), None),
        "seconds": seconds,
        "error": {lane.contender: lane.error for lane in ready},
        "aside": {lane.contender: lane.aside for lane in ready if lane.aside},
        "left out": left_out,
    }


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
            command = [sys.executable, __file__, *sys.argv[1:], "--processes", "1", "--no-floor", "--json", str(path)]
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
            "floor": min(a["floor"], b["floor"]) if a["floor"] and b["floor"] else None,
            "seconds": {contender: a["seconds"][contender] + b["seconds"][contender] for contender in both},
            "error": {contender: max(a["error"][contender], b["error"][contender]) for contender in both},
            "aside": a["aside"] | b["aside"],
            "left out": a["left out"] | b["left out"],
        }
    return {"versions": first["versions"], "cases": cases}


def measure_alone(args: argparse.Namespace) -> int:
    """First calls or memory of every contender, each in a process of its own."""
    if args.first_call:
        print("\n".join(startup.report(FEWEST_ROUNDS)))
    failed = False
    for case in args.cases:
        contenders, left_out = chosen(case, args, args.mindspore_python is not None)
        results = {}
        for contender in contenders:
            print(f"{case.name}: {contender} ...", file=sys.stderr, flush=True)
            try:
                results[contender] = alone.run(case.name, contender, args.mindspore_python)
            except RuntimeError as failure:
                left_out[contender] = f"FAILED: {failure}"
                failed = True
        print(f"\n{case.name}")
        if results:
            print(tables.memory(results) if args.memory else tables.first_calls(results))
        for contender, reason in left_out.items():
            print(f"left out: {contender}: {reason}")
    return int(failed)


def main() -> int:
    args = arguments()
    if args.first_call or args.memory:
        return measure_alone(args)
    if not args.no_floor:
        for line in floor.report() if rivals.missing("dualgrad") == "" else ():
            print(line, flush=True)
        print()
    data = measure_in_processes(args) if args.processes > 1 else measure_here(args)
    data["machine"] = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    if args.json:
        args.json.write_text(json.dumps(data, indent=1))
    print(data["machine"])
    print(", ".join(f"{library} {version}" for library, version in data["versions"].items()))
    for case in args.cases:
        print()
        print(tables.comparison(case, data["cases"][case.name]))
    print()
    print(tables.summary(args.cases, data))
    reasons = [reason for case in data["cases"].values() for reason in case["left out"].values()]
    return int(any(reason.startswith("FAILED") for reason in reasons))


if __name__ == "__main__":
    raise SystemExit(main())
