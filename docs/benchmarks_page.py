"""The page on speed: a table and a picture of docs/benchmarks.json.

The file has the medians that `benchmarks/compare.py` wrote with --json, for every contender of a workload, in seconds:
its form, with one round.
"""

import io
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "benchmarks"))

import tables  # noqa: E402

#: A rival's name on the page, and which contenders are its; the fastest of them counts.
RIVALS = {"jax": tables.OPPONENTS["jax"], "torch": lambda name: name in ("torch", "torch func", "torch coloured"),
          "torch.compile": lambda name: name == "torch compile", "casadi, C": tables.OPPONENTS["casadi c"]}  # fmt: skip
COLOURS = {"jax": "#3b7dd8", "torch": "#e8843c", "torch.compile": "#b5473c", "casadi, C": "#3d9a5f"}
OURS = [tables.WAYS[way] for way in ("eager", "recorded", "native")]

TEXT = """\
# Speed

Medians of alternating runs in one table, on {machine}, {measured}. `jax` is compiled, and `folx` where that is
faster; `torch` is eager; `torch.compile` has a C++ compiler. CasADi's C is a function of numbers, without sensitivities
where that matters. A ratio above 1 means that dualgrad is faster.

![Time of each rival divided by that of the recorded program]({picture})

| workload | eager | recorded | machine code | {rivals} | best array rival / recorded | floor |
|---|---|---|---|{lines}|---|---|
{rows}

Geometric means of the last but one column: {recorded:.2g} recorded, {native:.2g} as machine code. *Recorded* is
`dualgrad.jit`, *machine code* the same with llvmlite installed ([machine code](../howto/native.md)). The floor is the
time of the recorded program over that of its bytes and arithmetic at the best rates of this machine. torch.compile of
networks, particles and operators was timed in runs of its own beside the recorded program, and stands here by its ratio
to that. Versions: {versions}.

{applications}
Measure on your own machine, beside the rivals that are installed there: `python benchmarks/compare.py`. The workloads
are described in `benchmarks/README.md`.
"""

APPLICATIONS = """\
## Applications

What the [programs of the gallery](gallery/index.rst) do most of their time, at their full sizes, and three problems
that others solve by implicit derivatives: measured in the same way, each rival in its fastest form.

| application | recorded | machine code | best rival | which | rival / recorded |
|---|---|---|---|---|---|
{rows}
"""

GREY = "#808890"  # seen on white and on black
STYLE = {"svg.hashsalt": "dualgrad", "svg.fonttype": "none"} | dict.fromkeys(
    ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), GREY
)


def least(case: dict[str, Any], wanted: Any) -> float:
    """The time of the fastest contender of those that are wanted; nan if there is none."""
    name = tables.fastest(case, wanted, asides=True)
    return case["seconds"][name][0] if name else math.nan


def recorded(case: dict[str, Any]) -> float:
    return least(case, tables.WAYS["recorded"])


def best(case: dict[str, Any]) -> float:
    """The fastest library of arrays."""
    return least(case, tables.OPPONENTS["best array rival"])


def shown(seconds: float) -> str:
    return "" if math.isnan(seconds) else tables.readable(seconds).replace("us", "µs")


def rows(cases: dict[str, Any]) -> Iterator[str]:
    for name, case in cases.items():
        times = [least(case, wanted) for wanted in (*OURS, *RIVALS.values())]
        ratio, floor = best(case) / recorded(case), recorded(case) / case["floor"] if case["floor"] else math.nan
        ends = ["" if math.isnan(number) else f"{number:.2g}" for number in (ratio, floor)]
        yield "| " + " | ".join([f"`{name}`", *map(shown, times), *ends]) + " |"


def applications(cases: dict[str, Any]) -> str:
    """The table of the applications."""
    lines = []
    for name, case in cases.items():
        rival = tables.fastest(case, tables.OPPONENTS["best array rival"], asides=True)
        times = recorded(case), least(case, tables.WAYS["native"]), best(case)
        name = name.removeprefix("application/")
        ratio = "" if rival is None else f"{best(case) / recorded(case):.2g}"
        lines.append("| " + " | ".join([f"`{name}`", *map(shown, times), rival or "", ratio]) + " |")
    return APPLICATIONS.format(rows="\n".join(lines))


def mean(cases: dict[str, Any], way: str) -> float:
    """The geometric mean of the best array rival's time over ours."""
    ratios = [ratio for case in cases.values() if (ratio := best(case) / least(case, tables.WAYS[way])) > 0]
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios))


def picture(cases: dict[str, Any]) -> str:
    """An SVG: for each workload the ratios of all rivals to the recorded program, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        fig, axes = plt.subplots(figsize=(8, 0.24 * len(cases) + 1), layout="constrained")
        for rival, wanted in RIVALS.items():
            ratios = [least(case, wanted) / recorded(case) for case in cases.values()]
            axes.plot(ratios, range(len(cases)), "o", color=COLOURS[rival], markersize=5, label=rival)
        axes.axvline(1.0, color=GREY, linewidth=1)
        axes.set(xscale="log", xlabel="time of the rival / time of the recorded program", yticks=range(len(cases)))
        axes.set_yticklabels(cases, fontsize=8)
        axes.invert_yaxis()
        axes.grid(True, color=GREY, alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="lower right")
        text = io.StringIO()
        fig.savefig(text, format="svg", transparent=True, metadata={"Date": None})
        plt.close(fig)
    return text.getvalue()


def pages() -> dict[str, str]:
    """The page and its picture: file name below docs/generated to text."""
    data = json.loads((DOCS / "benchmarks.json").read_text())
    all_cases = data["cases"]
    of_applications = {name: case for name, case in all_cases.items() if name.startswith("application/")}
    cases = {name: case for name, case in all_cases.items() if name not in of_applications}
    versions = ", ".join(f"{name} {number}" for name, number in data["versions"].items() if name != "dualgrad")
    page = TEXT.format(machine=data["machine"], measured=data["measured"], picture="benchmarks.svg",
                       rivals=" | ".join(RIVALS), lines="|".join(["---"] * len(RIVALS)), rows="\n".join(rows(cases)),
                       recorded=mean(cases, "recorded"), native=mean(cases, "native"), versions=versions,
                       applications=applications(of_applications))  # fmt: skip
    return {"benchmarks.md": page, "benchmarks.svg": picture(cases)}
