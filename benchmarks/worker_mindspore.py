"""Runs contenders in an interpreter of their own, one round at a time, on orders from ``compare.py``.

MindSpore's extension modules were built for NumPy 1 and dualgrad needs NumPy 2, so the two cannot share a
process. This worker is started with the interpreter that has MindSpore and told over a pipe when its turn has
come; rounds then alternate between all contenders, in one command. It takes the time itself, around the loop
of calls, and the pipe is idle meanwhile.

The protocol is one JSON object per line, one answer for every order:

* ``{"do": "versions", "contenders": [name, ...]}`` is answered ``{"versions": {library: version}}``;
* ``{"do": "prepare", "case": name, "contender": name}`` builds a lane and checks its numbers:
  ``{"lane": index, "error": e, "aside": text, "calls": n, "seconds": s}``;
* ``{"do": "round", "lane": index, "calls": n}`` runs one round: ``{"seconds": s}``.

``seconds`` are per call. An order that fails is answered ``{"failure": text}``. The end of the orders ends
the worker.
"""

import json
import os
import sys
from typing import Any, TextIO

import rivals
import workload
from catalogue import CASES


class Orders:
    """What the worker can be told to do; every method answers with something JSON can say."""

    def __init__(self) -> None:
        self.lanes: list[workload.Run] = []

    def versions(self, contenders: list[str]) -> dict[str, Any]:
        return {"versions": rivals.versions(contenders)}

    def prepare(self, case: str, contender: str) -> dict[str, Any]:
        run, error = workload.prepare(CASES[case], contender)
        self.lanes.append(run)
        calls, seconds = workload.calls_per_round(run)
        return {"lane": len(self.lanes) - 1, "error": error, "aside": run.aside, "calls": calls, "seconds": seconds}

    def round(self, lane: int, calls: int) -> dict[str, Any]:
        return {"seconds": workload.time_round(self.lanes[lane], calls)}


def serve(orders: TextIO, answers: TextIO) -> None:
    """Answer every line of ``orders`` until they end."""
    work = Orders()
    for line in orders:
        order = json.loads(line)
        try:
            answer = getattr(work, order.pop("do"))(**order)
        except Exception as failure:  # whatever a library raises is an answer, not the end of the worker
            answer = {"failure": f"{type(failure).__name__}: {failure}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    # Libraries print to file descriptor 1 as they please; the pipe must carry answers only.
    pipe = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(sys.stdin, pipe)
