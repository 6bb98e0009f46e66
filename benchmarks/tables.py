"""What has been measured, as tables of text."""

import statistics
from collections.abc import Sequence
from typing import Any

import rivals
from workload import Case

#: Libraries that take part in "best rival"; ``hand`` is no differentiation at all.
RIVALS = ("jax", "torch", "autograd", "casadi", "mindspore")


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
    rows = [["", "dualgrad", "as", "jax / it", "as", "best rival / it", "as"]]
    found: dict[str, list[float]] = {"jax": [], "rival": []}
    for case in cases:
        measured = data["cases"][case.name]
        ours = fastest(measured, "dualgrad")
        if ours is None:
            continue
        own = measured["seconds"][ours]
        row = [case.name, readable(statistics.median(own)), ours]
        for key, libraries in (("jax", ("jax",)), ("rival", RIVALS)):
            best = fastest(measured, *libraries)
            if best is not None:
                found[key].append(ratio(measured["seconds"][best], own))
            row += ["-", "-"] if best is None else [f"{found[key][-1]:.3g}", best]
        rows.append(row)
    jax, rival = (f"{statistics.geometric_mean(ratios):.3g}" if ratios else "-" for ratios in found.values())
    rows.append(["geometric mean", "", "", jax, "", rival, ""])
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
