"""What every layer of a call costs, in instructions: ``python benchmarks/latency.py [workload ...]``.

Calls of the smallest workloads are counted by callgrind, which knows neither noise nor other processes. Of each
module of the engine the table shows the instructions of its own functions, and those with what they call of the
interpreter, of NumPy and of the C library (such costs go to the callers in proportion). Modules are grouped by their
part of a call. The second table shows the most expensive functions: how often they run, their own instructions, and
all below them.

Modules need no symbols. Functions do: build with ``DUALGRAD_SYMBOLS=1 python setup.py build_ext --inplace``.
"""

import argparse
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from callgrind import Function, Profile, profile_of
from catalogue import CASES, select

#: The workloads of the table if none are named.
WORKLOADS = ("second_order/float32", "nested/4")

#: Parts of a call, in the order in which a call comes to them: modules or folders of the engine.
PARTS = {
    "Python code": ("Python code",),
    "calls of Cells and transforms": ("transforms/calls", "transforms/transformed", "transforms/inputs"),
    "choice of the program": ("trace/cache", "trace/recordings", "trace/signature"),
    "guards": ("trace/guards", "trace/replay"),
    "run of the plan": ("compiler",),
    "gradient calls": ("transforms/gradient", "transforms/forward", "transforms/pullback", "transforms/vmap"),
    "leaves, arguments and results": ("transforms/leaves", "transforms/pytrees", "transforms/containers"),
    "handles": ("transforms/handles",),
    "operators": ("transforms/tensor", "transforms/functions"),
    "binding": ("values/levels",),
    "kernels and arrays": ("primitives", "arrays", "structural"),
    "tapes": ("tape/tape", "tape/nodes", "tape/closed_call"),
    "composition": ("tape/nested", "tape/runs"),
    "sweeps": ("tape/sweeps",),
    "rules": ("values",),
}

#: Where the instructions of the interpreter's loop go: to no caller, since all else is below it.
INTERPRETER = "_PyEval_EvalFrameDefault"


def module_of(function: Function) -> str | None:
    """The module of the engine that a function belongs to, as folder/name; None if it is called on its behalf."""
    path, name = function
    found = re.search(r"/dualgrad/_engine/(.+?)\.(?:cpython|abi3|so|pyd)", path)
    if found:
        return found[1]
    return "Python code" if name.startswith(INTERPRETER) else None


def shares(profile: Profile) -> dict[str, float]:
    """Instructions of each module, with those of functions outside of the engine that it calls."""
    callers: dict[Function, list[tuple[Function, float]]] = defaultdict(list)
    for (caller, callee), cost in profile.below.items():
        if caller != callee and cost > 0:
            callers[callee].append((caller, cost))
    found: dict[str, float] = defaultdict(float)
    moving = dict(profile.own)
    for _ in range(60):  # from callee to caller; a cost is in a module at last, or going round in a circle of calls
        passed: dict[Function, float] = defaultdict(float)
        for function, cost in moving.items():
            module = module_of(function)
            total = sum(weight for _, weight in callers[function])
            if module is not None or total == 0:
                found[module or "others"] += cost
                continue
            for caller, weight in callers[function]:
                passed[caller] += cost * weight / total
        moving = passed
    found["others"] += sum(moving.values())
    return found


def part_of(module: str) -> str:
    """The part of a call that a module does."""
    for part, prefixes in PARTS.items():
        if any(module == prefix or module.startswith(f"{prefix}/") for prefix in prefixes):
            return part
    return "others"


def table_of_modules(profile: Profile) -> list[str]:
    """Lines: a part of a call, and below it its modules."""
    own: dict[str, float] = defaultdict(float)
    for function, cost in profile.own.items():
        own[module_of(function) or "others"] += cost
    whole = shares(profile)
    total = sum(profile.own.values())
    lines = [f"{'':36}{'own':>10}{'with calls':>12}{'share':>8}"]
    for part in [*PARTS, "others"]:
        modules = sorted((m for m in whole if part_of(m) == part), key=lambda m: -whole[m])
        modules = [m for m in modules if whole[m] >= 1]
        if not modules:
            continue
        sums = sum(own[m] for m in modules if m != "others"), sum(whole[m] for m in modules)
        lines.append(f"{part:36}{sums[0]:10.0f}{sums[1]:12.0f}{sums[1] / total:8.1%}")
        if len(modules) > 1:
            lines += [f"    {m:32}{own[m] * (m != 'others'):10.0f}{whole[m]:12.0f}" for m in modules]
    return [*lines, f"{'all':36}{'':10}{total:12.0f}"]


def plain(name: str) -> str:
    """The name of a function as its source has it; prefixes of Cython say the lengths of what follows."""
    match = re.match(r"__pyx_[a-z_]*?_(?=\d)", name)
    rest = name[match.end() :] if match else name
    while match and (length := re.match(r"\d+", rest)):
        rest = rest[length.end() :]
        tail = rest[int(length[0]) :]
        if not tail.startswith("_"):
            break
        rest = tail[1:]
    return rest


def table_of_functions(profile: Profile, top: int) -> list[str]:
    """Lines: the functions with the most instructions of their own, and those of all that they call."""
    own: dict[tuple[str, str], float] = defaultdict(float)
    below: dict[tuple[str, str], float] = defaultdict(float)
    calls: dict[tuple[str, str], float] = defaultdict(float)
    for function, cost in profile.own.items():
        own[place(function)] += cost
        below[place(function)] += cost if "'" not in function[1] else 0.0
    for (caller, _), cost in profile.below.items():
        below[place(caller)] += cost if "'" not in caller[1] else 0.0  # `f'2` is a call of f inside of f
    for (_, callee), number in profile.calls.items():
        calls[place(callee)] += number
    lines = [f"{'':62}{'calls':>7}{'own':>8}{'all below':>11}"]
    for key in sorted(own, key=lambda key: -own[key])[:top]:
        lines.append(f"{key[0]:26}{key[1][:35]:36}{calls[key]:7.0f}{own[key]:8.0f}{below[key]:11.0f}")
    return lines


def place(function: Function) -> tuple[str, str]:
    """A function as it is shown: its module, or the name of its file, and its own name."""
    return module_of(function) or Path(function[0]).name, plain(function[1].split("'")[0]) or "(no symbols)"


def calls_in_a_process(case: str, contender: str, maps: str, calls: int) -> None:
    """What callgrind counts: some calls of a workload."""
    run = CASES[case].contenders[contender]()
    run.enter()
    for _ in range(60 + calls):
        run.call()
    Path(maps).write_text(Path("/proc/self/maps").read_text())


def report(case: str, contender: str, calls: int, top: int) -> list[str]:
    """The tables of a workload."""
    with tempfile.TemporaryDirectory() as folder:
        command = [__file__, "--count", case, contender]
        profile = profile_of(command, Path(folder), 0, calls)
    lines = [f"{case}, {contender}: instructions of one call", *table_of_modules(profile), ""]
    return [*lines, *table_of_functions(profile, top), ""] if top else lines


def main() -> None:
    if sys.argv[1:2] == ["--count"]:
        case, contender, maps, calls = sys.argv[2:]
        calls_in_a_process(case, contender, maps, int(calls))
        return
    parser = argparse.ArgumentParser(description="Count the instructions of every layer of a call.")
    parser.add_argument("workload", nargs="*", default=WORKLOADS, help=f"default: {' '.join(WORKLOADS)}")
    parser.add_argument("--only", choices=("dualgrad", "dualgrad jit"), help="one way to call them; default: both")
    parser.add_argument("--calls", type=int, default=200, help="calls that are counted (default: 200)")
    parser.add_argument("--top", type=int, default=25, help="functions that are shown (default: 25)")
    args = parser.parse_args()
    for case in select(args.workload):
        for contender in [args.only] if args.only else ["dualgrad", "dualgrad jit"]:
            print("\n".join(report(case.name, contender, args.calls, args.top)), flush=True)


if __name__ == "__main__":
    main()
