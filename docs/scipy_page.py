"""The page on SciPy's functions, from what `survey.py` has stored."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import survey  # noqa: E402

HIGHEST = 3


def module_of(path: str) -> str:
    """The module of a function or method by its full name."""
    return re.sub(r"(\.[A-Z]\w*)?\.\w+$", "", path)


def is_right(finding: dict[str, Any], order: int = HIGHEST) -> bool:
    """Whether derivatives up to an order are right, and not all zero."""
    return finding["outcome"] == "slopes" and finding.get("order", 0) >= order and not finding.get("constant")


def _verdict(finding: dict[str, Any]) -> tuple[str, str, str]:
    """Whether values come out, the order of derivatives, and why there are no more."""
    outcome, order, checked = finding["outcome"], finding.get("order", 0), finding.get("checked", 0)
    error = finding.get("error", "")
    if outcome == "slopes":
        sure = f"{order}" if checked == order else f"{order} ({checked})"
        words = ["zero"] * finding.get("constant", False) + ["single"] * finding.get("single", False)
        words += ["exact"] * finding.get("exact", False)
        return "yes", sure, "; ".join(filter(None, [*words, finding.get("wrong")]))
    if outcome == "value":
        return "yes", "", "nothing to differentiate"
    if outcome == "refused":
        taken = error.startswith("LeavesDerivativeError")
        return "yes", "raises", "takes plain numbers" if taken else _shortened(error)
    if outcome == "wrong":
        return "yes", f"**wrong** from order {order + 1}", finding.get("wrong", error)
    if outcome == "differs":
        return "**no**", "", finding.get("wrong", error)
    return "raises", "", _shortened(error)


def _shortened(error: str) -> str:
    return "`" + error.replace("`", "'").replace("<", "").replace(">", "").split("; ")[0][:90] + "`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _functions(results: dict[str, Any]) -> str:
    modules: dict[str, list[list[str]]] = {}
    for path, findings in results["functions"].items():
        module = module_of(path)
        for finding in findings:
            label = f", {finding['label']}" if "label" in finding else ""
            name = f"`{path.removeprefix(module + '.')}`{label}"
            modules.setdefault(module, []).append([name, *_verdict(finding)])
    head = ["function", "values", "order", "remarks"]
    return "\n".join(f"## {module}\n\n{table(head, rows)}" for module, rows in sorted(modules.items()))


def _learners(results: dict[str, Any]) -> str:
    """The estimators and metrics of scikit-learn."""
    rows = []
    for name, findings in results["learners"].items():
        for finding in findings:
            label = f", {finding['label']}" if "label" in finding else ""
            rows.append([f"`{name}`{label}", *_verdict(finding)])
    if not rows:
        return ""
    words = (
        "With `sklearn.set_config(array_api_dispatch=True)` too, estimators and metrics of scikit-learn compute with "
        "tensors: predictions, transforms and scores, as functions of the data that are fitted. These say so.\n"
    )
    return f"## scikit-learn {results.get('sklearn', '')}\n\n{words}\n{table(['', 'values', 'order', 'remarks'], rows)}"


def _others(results: dict[str, Any]) -> str:
    """The functions that SciPy does not list, by what becomes of slopes in them."""
    words = {
        "raises": "An error inside of a derivative:",
        "right": "The first derivative is right for the arguments that were tried:",
        "leak": "**Slopes are lost**: these find numbers by comparing, through which no derivative passes. Use "
                "{py:func}`dualgrad.root`, {py:func}`dualgrad.argmin` and their kin:",
        "no arguments": "Nothing was seen: they took none of the arguments, or no floating result moved:",
    }  # fmt: skip
    text = "## Other functions\n\nSciPy says that these take NumPy's arrays only, or says nothing. Each was called "
    text += "with usual arguments, on arrays and inside of a derivative.\n"
    for outcome, title in words.items():
        names = [
            path.removeprefix("scipy.") for path, found in results["others"].items() if found["outcome"] == outcome
        ]
        if names:
            text += f"\n{title} {', '.join(f'`{name}`' for name in names)}.\n"
    return text


def summary(results: dict[str, Any]) -> str:
    """How many functions there are of each kind."""
    best = Counter()
    for findings in results["functions"].values():
        kinds = [_kind(finding) for finding in findings]
        best[min(kinds, key=KINDS.index)] += 1
    parts = [f"{best[kind]} {words}" for kind, words in zip(KINDS, WORDS, strict=True) if best[kind]]
    counted = f"Of {best.total()} functions and methods of SciPy {results['scipy']}, by the sample that goes furthest,"
    return f"\n{counted} {', '.join(parts)}.\n\n"


KINDS = ["third", "less", "zero", "value", "refused", "raises", "wrong"]
WORDS = [
    "have derivatives to the third order and more", "to a lower order", "have derivatives that are all zero",
    "give nothing that could be differentiated", "give values and raise inside of a derivative", "raise on tensors",
    "give other values or derivatives than they should, for the reason in the table",
]  # fmt: skip


def _kind(finding: dict[str, Any]) -> str:
    if finding["outcome"] == "slopes":
        return "zero" if finding.get("constant") else "third" if is_right(finding) else "less"
    return {"value": "value", "refused": "refused", "raises": "raises"}.get(finding["outcome"], "wrong")


def page() -> str:
    """The page, in Markdown."""
    results = survey.stored()
    return (
        (DOCS / "scipy.txt").read_text()
        + summary(results)
        + "\n".join(part(results) for part in (_functions, _learners, _others))
    )
