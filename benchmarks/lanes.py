"""Where a contender runs: in this process, or in a worker of its own behind a pipe.

A lane is a contender that is ready to run. It has the number of calls that make a round and can run one round
when it is told to, so that whoever drives several lanes decides the order of their rounds.
"""

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import floor
import workload

WORKER = Path(__file__).with_name("worker_mindspore.py")


class LocalLane:
    """A contender in this process."""

    def __init__(self, case: workload.Case, contender: str) -> None:
        self.contender = contender
        self._run, self.error = workload.prepare(case, contender)
        self.aside = self._run.aside
        self.calls, self.seconds = workload.calls_per_round(self._run)

    def round(self) -> float:
        """Seconds per call in one round."""
        return workload.time_round(self._run, self.calls)

    def floor(self) -> float | None:
        """Seconds that the recorded program takes at best; None for what has no such program."""
        if self._run.recorded is None:
            return None
        from dualgrad.programs._listing import recording_of

        function, arguments = self._run.recorded
        program = recording_of(function, tuple(arguments), {}).program
        return None if program is None else floor.of_program(program)


class Worker:
    """Another interpreter, started when it is first asked something; use it in a ``with`` block."""

    def __init__(self, python: str) -> None:
        # PYTHONPATH names modules for this interpreter, not for the other one.
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        self._process = subprocess.Popen(
            [python, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has died already
            self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def ask(self, order: str, **arguments: Any) -> dict[str, Any]:
        """Send one order and wait for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps({"do": order, **arguments}), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker died on the order {order!r}")
        answer = json.loads(line)
        if "failure" in answer:
            raise RuntimeError(answer["failure"])
        return answer


class WorkerLane:
    """A contender in a worker process."""

    def __init__(self, worker: Worker, case: workload.Case, contender: str) -> None:
        self.contender = contender
        self._worker = worker
        answer = worker.ask("prepare", case=case.name, contender=contender)
        self._lane = answer["lane"]
        self.error, self.aside = answer["error"], answer["aside"]
        self.calls, self.seconds = answer["calls"], answer["seconds"]

    def round(self) -> float:
        """Seconds per call in one round."""
        return self._worker.ask("round", lane=self._lane, calls=self.calls)["seconds"]
