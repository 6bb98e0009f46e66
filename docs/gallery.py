"""The pages of the gallery: each program in docs/examples, with what its full run printed and drew.

A full run is kept below docs/examples/results: what NAME.py printed in NAME.txt, what it drew in NAME.png.
"""

import ast
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import benchmarks_page

EXAMPLES = Path(__file__).parent / "examples"
RESULTS = EXAMPLES / "results"

#: The workloads of the benchmarks that do what a program does.
WORKLOADS = {
    "biharmonic_plate": ("application/plate",),
    "burgers_pinn": ("application/burgers/loss", "application/burgers/run"),
    "force_matching": ("force_matching/64",),
    "gaussian_process": ("application/gaussian",),
    "hmc": ("application/hmc",),
    "newton_logistic": ("hessian/logistic-50",),
    "ode_sensitivity": ("application/lynx/gradient", "application/lynx/hessian"),
    "vmc": ("application/vmc",),
}

TIMES = """\
Work of this kind beside others, from the page on :doc:`speed </generated/benchmarks>`:

.. list-table::
   :header-rows: 1

   * - workload
     - recorded
     - jax
     - torch
"""

INDEX = """\
Gallery
=======

Programs of one file each. All run with ``python docs/examples/NAME.py``, those that take minutes also with
``--quick``. The results on their pages are of full runs.

.. grid:: 1 2 3 3
   :gutter: 3

{cards}

.. toctree::
   :hidden:

{names}
"""

CARD = """\
   .. grid-item-card:: {title}
      :link: {name}
      :link-type: doc
{picture}"""


def programs() -> Iterator[tuple[str, str, str, int]]:
    """Name, title, description and first line of code of each program; its docstring has the first two."""
    for path in sorted(EXAMPLES.glob("*.py")):
        module = ast.parse(path.read_text())
        title, _, *body = (ast.get_docstring(module) or path.stem).split("\n")
        yield path.stem, title, "\n".join(body).strip(), module.body[1].lineno


@functools.cache
def measured() -> dict[str, Any]:
    """The medians of all workloads."""
    return json.loads((EXAMPLES.parent / "benchmarks.json").read_text())["cases"]


def times(name: str) -> str:
    """The workloads of a program beside jax and torch, those that were measured; empty if none was."""
    rows = ""
    for workload in WORKLOADS.get(name, ()):
        if workload in measured():
            case = measured()[workload]
            seconds = [benchmarks_page.recorded(case)]
            seconds += [benchmarks_page.least(case, benchmarks_page.RIVALS[rival]) for rival in ("jax", "torch")]
            cells = [f"``{workload}``", *[benchmarks_page.shown(found) or "-" for found in seconds]]
            rows += "".join(f"   {'*' if i == 0 else ' '} - {cell}\n" for i, cell in enumerate(cells))
    return TIMES + rows if rows else ""


def page(name: str, title: str, body: str, start: int) -> str:
    """The problem, the figure, what the program printed, and the program."""
    parts = [f"{title}\n{'=' * len(title)}\n", body]
    if (RESULTS / f"{name}.png").exists():
        parts.append(f".. image:: /examples/results/{name}.png\n   :alt: {title}\n   :width: 100%")
    if (RESULTS / f"{name}.txt").exists():
        parts.append(f"What it printed:\n\n.. literalinclude:: /examples/results/{name}.txt\n   :language: none")
    parts += [found] if (found := times(name)) else []
    parts.append(f"The program:\n\n.. literalinclude:: /examples/{name}.py\n   :lines: {start}-")
    return "\n\n".join(parts) + "\n"


def card(name: str, title: str) -> str:
    """A card of the index: the picture and the title."""
    picture = f"      :img-top: /examples/results/{name}.png\n" if (RESULTS / f"{name}.png").exists() else ""
    return CARD.format(name=name, title=title, picture=picture)


def pages() -> dict[str, str]:
    """The index and a page for each program: file name below docs/generated to text."""
    found = list(programs())
    index = INDEX.format(
        cards="\n".join(card(name, title) for name, title, *_ in found),
        names="\n".join(f"   {name}" for name, *_ in found),
    )
    return {"gallery/index.rst": index} | {f"gallery/{each[0]}.rst": page(*each) for each in found}
