"""A contender alone in a process of its own: what its first calls take, and how much memory its calls need.

Both are properties of a process, so they cannot be measured beside others: who compiles first warms up for the
rest, and memory that one has given back is there for the next. ``compare.py --first-call`` and ``--memory``
start this file once for each contender:

    python benchmarks/alone.py CASE CONTENDER
"""

import gc
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import rivals

#: Calls looked at one by one: libraries compile in the first, and dualgrad replays from the third on.
FIRST = 3

#: Later calls, for the median that the first ones are compared with.
LATER = 5


def resident(peak: bool = False) -> int:
    """Bytes of this process in memory, now or at their peak since `forget_peak`."""
    status = Path("/proc/self/status")
    if status.exists():
        field = "VmHWM" if peak else "VmRSS"
        return 1024 * int(re.search(rf"{field}:\s+(\d+)", status.read_text())[1])
    scale = 1 if sys.platform == "darwin" else 1024  # without /proc the peak is since the start of the process
    return scale * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def forget_peak() -> None:
    """Have the peak start from what is resident now, where Linux lets us."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def measure(case: str, contender: str) -> dict[str, Any]:
    """Seconds of preparation and of each call; bytes resident before the first call and at the peak."""
    start = time.perf_counter()
    from catalogue import CASES

    run = CASES[case].contenders[contender]()
    run.enter()
    prepared = time.perf_counter() - start
    gc.collect()
    forget_peak()
    before = resident()
    seconds = []
    for _ in range(FIRST + LATER):
        start = time.perf_counter()
        results = run.call()
        seconds.append(time.perf_counter() - start)
        del results
    return {
        "prepare": prepared,
        "first": seconds[:FIRST],
        "later": statistics.median(seconds[FIRST:]),
        "before": before,
        "peak": max(0, resident(peak=True) - before),
    }


def run(case: str, contender: str, mindspore_python: str | None) -> dict[str, Any]:
    """`measure` in a process of its own."""
    python, environment = sys.executable, dict(os.environ)
    if mindspore_python and rivals.library(contender) == "mindspore":
        python = mindspore_python
        environment.pop("PYTHONPATH", None)  # names modules for this interpreter, not for the other one
    done = subprocess.run([python, __file__, case, contender], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    return json.loads(done.stdout)


if __name__ == "__main__":
    # Libraries print to file descriptor 1 as they please; the pipe must carry the answer only.
    pipe = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print(json.dumps(measure(*sys.argv[1:])), file=pipe, flush=True)
