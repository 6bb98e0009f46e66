"""Measure how exact the derivatives of every operator are, for the page of all operators.

``python docs/measure.py`` measures the rows of the table of primitives that have changed since, which takes seconds for
each, and writes docs/accuracy.json; ``python docs/measure.py sin cos`` measures these in any case. The page of all
operators takes what is stored and measures the rest.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs" / "accuracy.json"
HIGHEST = 6  # order of derivatives

sys.path.insert(0, str(ROOT / "tests"))

from accuracy import ACCURATE, measure  # noqa: E402

from dualgrad._table import BY_NAME, Row  # noqa: E402


def fingerprint(row: Row) -> str:
    """What the errors of a row depend on: how it is computed, and how the rows in its slope are."""
    seen, waiting = {}, [row]
    while waiting:
        row = waiting.pop()
        seen[row.name] = (row.c, row.ufunc, row.partials, row.domain, row.exact, row.reach, row.points)
        names = re.findall(r"\w+", " ".join(partial or "" for partial in row.partials))
        waiting += [BY_NAME[name] for name in names if name in BY_NAME and name not in seen]
    return hashlib.sha256(repr(sorted(seen.items())).encode()).hexdigest()[:16]


def public() -> list[Row]:
    """The rows whose errors are listed: all that have a name of their own and an exact function."""
    return [row for row in ACCURATE if row.example]


def stored() -> dict[str, dict[str, Any]]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def write(results: dict[str, dict[str, Any]]) -> None:
    lines = (f"  {json.dumps(name)}: {json.dumps(result)}" for name, result in sorted(results.items()))
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def measured(row: Row) -> dict[str, Any]:
    """The errors of a row, by order; and what of that of the value is a library's own, where it is off."""
    report = measure(row, order=HIGHEST)
    result = {"row": fingerprint(row), "errors": [round(error, 2) for error in report.by_order()]}
    if report.library:
        result["library"] = round(report.library, 2)
    return result


def known() -> dict[str, dict[str, Any]]:
    """The errors of every public row, stored or measured now."""
    results = stored()
    return {row.name: results[row.name] if is_current(row, results) else measured(row) for row in public()}


def is_current(row: Row, results: dict[str, dict[str, Any]]) -> bool:
    return results.get(row.name, {}).get("row") == fingerprint(row)


def main(names: list[str]) -> None:
    results = {name: result for name, result in stored().items() if name in {row.name for row in public()}}
    for row in public():
        if row.name not in names if names else is_current(row, results):
            continue
        results[row.name] = measured(row)
        print(row.name, *results[row.name]["errors"], flush=True)
        write(results)
    write(results)


if __name__ == "__main__":
    main(sys.argv[1:])
