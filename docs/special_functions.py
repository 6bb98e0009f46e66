"""The page on `dualgrad.scipy.special`, from the rows of its table; and the measurement of their errors.

``python docs/special_functions.py`` measures the rows that have changed since and writes docs/accuracy_special.json,
which the page shows; ``python docs/special_functions.py beta gamma`` measures these in any case.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs" / "accuracy_special.json"
HIGHEST = 3  # order of derivatives that are measured

sys.path.insert(0, str(ROOT / "tests"))

from special_accuracy import MEASURED, measure  # noqa: E402

from dualgrad._table import UNDEFINED  # noqa: E402
from dualgrad.scipy import special  # noqa: E402
from dualgrad.scipy.special._rows import Entry  # noqa: E402

_WORDS = """# Special functions

`dualgrad.scipy.special` has the functions of `scipy.special` below, on tensors. Values are SciPy's own, but for
`betaln` of large operands, where its own loses digits; slopes are expressions of other functions of the same table, so
derivatives of every order exist in every mode. Where no formula is
known, or orders end, a derivative is refused with an error; it is never zero by omission.

The last columns are the largest errors that were measured, by the order of the derivative, in units of
eps (|f| + sum |x df/dx|) of that derivative: 1 is what the rounding of the operands alone would do. Points are random
ones of the intervals named under *measured for*; nothing is promised beyond them but what is said under *at corners*.
"""


def listed() -> list[Entry]:
    return [entry for entry in special.ENTRIES if entry.row.function]


def fingerprint(entry: Entry) -> str:
    """What the errors of a function depend on, in its row and the rows in its slopes."""
    table = {entry.row.name: entry for entry in special.ENTRIES}
    seen: dict[str, Any] = {}
    waiting = [entry]
    while waiting:
        row = waiting.pop().row
        seen[row.name] = (row.partials, row.domain, row.exact, row.points, row.orders, table[row.name].sampled)
        names = re.findall(r"\w+", " ".join(partial or "" for partial in row.partials))
        waiting += [table[name] for name in names if name in table and name not in seen]
    return hashlib.sha256(repr(sorted(seen.items())).encode()).hexdigest()[:16]


def stored() -> dict[str, dict[str, Any]]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def write(results: dict[str, dict[str, Any]]) -> None:
    lines = (f"  {json.dumps(name)}: {json.dumps(result)}" for name, result in sorted(results.items()))
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main(names: list[str]) -> None:
    known = {entry.row.name for entry in MEASURED}
    results = {name: result for name, result in stored().items() if name in known}
    for entry in MEASURED:
        name = entry.row.name
        if name not in names if names else results.get(name, {}).get("row") == fingerprint(entry):
            continue
        inverse = entry.row.name.endswith("inv") and entry.row.arity > 1
        worst, failures = measure(entry, *((1, 2) if inverse else (4, 2) if entry.row.arity == 3 else (8, HIGHEST)))
        results[name] = {"row": fingerprint(entry), "errors": [round(error, 1) for error in worst]}
        print(name, *results[name]["errors"], *failures[:1], flush=True)
        write(results)
    write(results)


# ----------------------------------------------------------------------------------------------------- page


def _interval(name: str, low: float, high: float) -> str:
    if low == -float("inf"):
        return "" if high == float("inf") else f"{name} < {high:g}"
    return f"{name} > {low:g}" if high == float("inf") else f"{low:.4g} < {name} < {high:g}"


def _orders(entry: Entry, i: int) -> str:
    """How often a function can be differentiated by an operand."""
    row = entry.row
    if row.partials[i] == UNDEFINED:
        return "refused"
    if row.partials[i] is None:
        return "0"
    ends = re.search(r"(?:_by_|elliptic_[ef]_)\d", row.partials[i] or "")
    return f"to order {special.ORDERS}" if ends else "every order"


def _measured_for(entry: Entry) -> str:
    row = entry.row
    parts = [
        f"{name} = {', '.join(f'{order:g}' for order in row.orders)}"
        if row.partials[i] == UNDEFINED
        else _interval(name, *entry.sampled[i])
        for i, name in enumerate("xyz"[: row.arity])
    ]
    return " <br> ".join(filter(None, parts))


def _table(head: list[str], lines: Iterable[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in line] for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def page() -> str:
    """The page, in Markdown."""
    results = stored()
    head = ["function", "computes", "derivatives", "at corners", "measured for", *map(str, range(HIGHEST + 1))]
    lines = []
    for entry in sorted(listed(), key=lambda entry: entry.row.name):
        row = entry.row
        names = "xyz"[: row.arity]
        slopes = " <br> ".join(f"by {name}: {_orders(entry, i)}" for i, name in enumerate(names))
        numbers = [f"{error:g}" for error in results.get(row.name, {}).get("errors", [])]
        cells = [f"`{row.name}({', '.join(names)})`", row.summary, slopes, row.slope_note, _measured_for(entry)]
        lines.append([*cells, *numbers, *[""] * (HIGHEST + 1 - len(numbers))])
    own = {entry.row.name for entry in listed()}
    others = sorted(name for name in special.__all__ if name not in own)
    text = f"{_WORDS}\n{_table(head, lines)}\n## Further functions\n\n"
    text += "Those of the engine, listed with the operators, and those composed of several functions:\n\n"
    summaries = ([f"`{name}`", _summary(name)] for name in others)
    return text + _table(["function", "computes"], summaries)


def _summary(name: str) -> str:
    return (getattr(special, name).__doc__ or "").split("\n")[0].replace("``", "`")


if __name__ == "__main__":
    main(sys.argv[1:])
