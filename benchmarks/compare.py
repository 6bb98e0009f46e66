"""Compare dualgrad with its rivals in one command, in alternating rounds.

    python benchmarks/compare.py [--rounds N] [workload ...]
    python benchmarks/compare.py --first-call [workload ...]
    python benchmarks/compare.py --memory [workload ...]

A round is a few calls of one contender, enough for the clock; rounds go A B C C B A A B C ..., so that whatever
the machine does meanwhile, it does to all of them. Shown are the median over the rounds, their spread (distance
between the quartiles, relative to the median), the largest relative error against the float64 reference, and
for each mode of dualgrad the ratio rival / dualgrad: the median of the ratios within a round, above 1 where
the rival is slower. The floor of the machine comes first, a summary with geometric means last. See README.md
beside this file for what the numbers can and cannot say.
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

import floor
import rivals
import startup
from catalogue import CASES, select
from lanes import LocalLane, Worker, WorkerLane
from workload import Case

FEWEST_ROUNDS = 3

#: Libraries that take part in "best rival"; ``hand`` is no differentiation at all.
RIVALS = ("jax", "torch", "autograd", "casadi", "mindspore")


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
            "seconds": {contender: a["seconds"][contender] + b["seconds"][contender] for contender in both},
            "error": {contender: max(a["error"][contender], b["error"][contender]) for contender in both},
            "aside": a["aside"] | b["aside"],
            "left out": a["left out"] | b["left out"],
        }
    return {"versions": first["versions"], "cases": cases}


def ratio(rounds: Sequence[float], base: Sequence[float]) -> float:
    """The median of the ratios within a round."""
    return statistics.median(a / b for a, b in zip(rounds, base, strict=True))


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
        row += ["1" if name == base else f"{ratio(rounds, seconds[base]):.3g}" for base in bases]
        rows.append(row)
    count = max((len(rounds) for rounds in seconds.values()), default=0)
    lines = [f"{case.name}  ({count} rounds)", *aligned(rows)]
    lines += [f"not counted: {name}: {reason}" for name, reason in measured["aside"].items()]
    lines += [f"left out: {name}: {reason}" for name, reason in measured["left out"].items()]
    return "\n".join(lines)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]


def fastest(measured: dict[str, Any], *libraries: str) -> str | None:
    """The contender of these libraries with the least median, asides not counted."""
    candidates = {
        name: statistics.median(rounds)
        for name, rounds in measured["seconds"].items()
        if rivals.library(name) in libraries and name not in measured["aside"]
    }
    return min(candidates, key=lambda name: candidates[name]) if candidates else None


def summary(cases: Sequence[Case], data: dict[str, Any]) -> str:
    """One line per case: ours, JAX and the best rival, each in its fastest form; geometric means over the lines."""
    rows = [["", "dualgrad", "", "jax / ours", "best rival / ours", ""]]
    against: dict[str, list[float]] = {"jax": [], "rival": []}
    for case in cases:
        measured = data["cases"][case.name]
        ours = fastest(measured, "dualgrad")
        if ours is None:
            continue
        own = measured["seconds"][ours]
        row = [case.name, readable(statistics.median(own)), ours]
        for key, libraries in (("jax", ("jax",)), ("rival", RIVALS)):
            best = fastest(measured, *libraries)
            if best is None:
                row += ["-"] * (1 if key == "jax" else 2)
                continue
            against[key].append(ratio(measured["seconds"][best], own))
            row += [f"{against[key][-1]:.3g}", *([best] if key == "rival" else [])]
        rows.append(row)
    means = [f"{statistics.geometric_mean(ratios):.3g}" if ratios else "-" for ratios in against.values()]
    rows.append(["geometric mean", "", "", *means, ""])
    return "\n".join(aligned(rows))


def alone(args: argparse.Namespace) -> int:
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
                results[contender] = run_alone(case.name, contender, args.mindspore_python)
            except RuntimeError as failure:
                left_out[contender] = f"FAILED: {failure}"
                failed = True
        print(f"\n{case.name}")
        if results:
            print("\n".join(aligned(memory_rows(results) if args.memory else first_call_rows(results))))
        for contender, reason in left_out.items():
            print(f"left out: {contender}: {reason}")
    return int(failed)


def run_alone(case: str, contender: str, mindspore_python: str | None) -> dict[str, Any]:
    """What ``alone.py`` says about a contender."""
    python, environment = sys.executable, dict(os.environ)
    if mindspore_python and rivals.library(contender) == "mindspore":
        python = mindspore_python
        environment.pop("PYTHONPATH", None)  # names modules for this interpreter, not for the other one
    script = str(Path(__file__).with_name("alone.py"))
    done = subprocess.run([python, script, case, contender], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    return json.loads(done.stdout)


def memory_rows(results: dict[str, Any]) -> list[list[str]]:
    """Peak of resident memory during the calls, above what was resident before the first."""
    rows = [["", "before", "peak above", "/ dualgrad jit"]]
    base = results.get("dualgrad jit", {}).get("peak")
    for name, result in results.items():
        relative = f"{result['peak'] / base:.3g}" if base else "-"
        rows.append([name, f"{result['before'] / 2**20:.0f} MiB", f"{result['peak'] / 2**20:.1f} MiB", relative])
    return rows


def first_call_rows(results: dict[str, Any]) -> list[list[str]]:
    """The first calls one by one; all of them together in units of an eager call of dualgrad."""
    rows = [["", "import and prepare", "1st call", "2nd", "3rd", "later", "1st to 3rd / eager"]]
    eager = results.get("dualgrad", {}).get("later")
    for name, result in results.items():
        relative = f"{sum(result['first']) / eager:.3g}" if eager else "-"
        rows.append([name, *map(readable, (result["prepare"], *result["first"], result["later"])), relative])
    return rows


def main() -> int:
    args = arguments()
    if args.first_call or args.memory:
        return alone(args)
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
        print(table(case, data["cases"][case.name]))
    print()
    print(summary(args.cases, data))
    reasons = [reason for case in data["cases"].values() for reason in case["left out"].values()]
    return int(any(reason.startswith("FAILED") for reason in reasons))


if __name__ == "__main__":
    raise SystemExit(main())
