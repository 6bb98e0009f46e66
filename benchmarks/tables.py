"""What has been measured, as tables of text."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import rivals
from workload import Case

#: Libraries of arrays that take part in "best array rival"; ``hand`` is no differentiation at all.
ARRAY_RIVALS = ("jax", "torch", "autograd", "mindspore")


def ratio(rounds: Sequence[float], base: Sequence[float]) -> float:
    """The median of the ratios within a round."""
    return statistics.median(a / b for a, b in zip(rounds, base, strict=True))


def readable(seconds: float) -> str:
    """Three digits and a unit: ``17.2 us``."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def comparison(case: Case, measured: dict[str, Any]) -> str:
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


def fastest(measured: dict[str, Any], wanted: Callable[[str], bool], asides: bool = False) -> str | None:
    """The contender with the least median of those that are wanted; asides count where they are asked for."""
    candidates = {
        name: statistics.median(rounds)
        for name, rounds in measured["seconds"].items()
        if wanted(name) and (asides or name not in measured["aside"])
    }
    return min(candidates, key=lambda name: candidates[name]) if candidates else None


#: Our ways to run a program, each beside the rivals that it is compared with.
WAYS = {
    "eager": lambda name: name in ("dualgrad", "dualgrad forward", "dualgrad values"),
    "recorded": lambda name: name.startswith("dualgrad") and "jit" in name.split(),
    "native": lambda name: name.startswith("dualgrad native"),
}
OPPONENTS = {
    "torch eager": lambda name: name in ("torch", "torch func"),
    "jax": lambda name: rivals.library(name) == "jax",
    "best array rival": lambda name: rivals.library(name) in ARRAY_RIVALS,
    "casadi c": lambda name: name == "casadi c",
}
COLUMNS = (
    ("eager", ("torch eager",)),
    ("recorded", ("jax", "best array rival", "casadi c")),
    ("native", ("best array rival", "casadi c")),
)


def summary(cases: Sequence[Case], data: dict[str, Any]) -> str:
    """One line per case: each of our ways in its fastest form, and the ratios rival / ours; geometric means below."""
    header, found = [""], {}
    for way, opponents in COLUMNS:
        header += [way, *(f"{opponent} / it" for opponent in opponents)]
        found |= {(way, opponent): [] for opponent in opponents}
    rows = [[*header, "it / floor", "the best array rival"]]
    for case in cases:
        measured = data["cases"][case.name]
        row = [case.name]
        for way, opponents in COLUMNS:
            ours = fastest(measured, WAYS[way])
            row.append(readable(statistics.median(measured["seconds"][ours])) if ours else "-")
            for opponent in opponents:
                best = fastest(measured, OPPONENTS[opponent], asides=opponent == "casadi c")
                if ours is None or best is None:
                    row.append("-")
                    continue
                found[way, opponent].append(ratio(measured["seconds"][best], measured["seconds"][ours]))
                row.append(f"{found[way, opponent][-1]:.3g}")
        recorded, least = fastest(measured, WAYS["recorded"]), measured.get("floor")
        at_best = statistics.median(measured["seconds"][recorded]) / least if recorded and least else None
        row += [f"{at_best:.3g}" if at_best else "-", fastest(measured, OPPONENTS["best array rival"]) or "-"]
        rows.append(row)
    means = ["geometric mean"]
    for way, opponents in COLUMNS:
        means += ["", *(f"{statistics.geometric_mean(r):.3g}" if (r := found[way, o]) else "-" for o in opponents)]
    rows.append([*means, "", ""])
    return "\n".join(aligned(rows))


def memory(results: dict[str, Any]) -> str:
    """Peak of resident memory during the calls, above what was resident before the first."""
    rows = [["", "before", "peak above", "/ dualgrad jit"]]
    base = results.get("dualgrad jit", {}).get("peak")
    for name, result in results.items():
        relative = f"{result['peak'] / base:.3g}" if base else "-"
        rows.append([name, f"{result['before'] / 2**20:.0f} MiB", f"{result['peak'] / 2**20:.1f} MiB", relative])
    return "\n".join(aligned(rows))


def first_calls(results: dict[str, Any]) -> str:
    """The first calls one by one; all of them together in units of an eager call of dualgrad."""
    rows = [["", "import and prepare", "1st call", "2nd", "3rd", "later", "1st to 3rd / eager"]]
    eager = results.get("dualgrad", {}).get("later")
    for name, result in results.items():
        relative = f"{sum(result['first']) / eager:.3g}" if eager else "-"
        rows.append([name, *map(readable, (result["prepare"], *result["first"], result["later"])), relative])
    return "\n".join(aligned(rows))
