"""A plugin of pytest that runs the collected tests against mutants of the engine, each in a fork; see mutants.py.

The tests are collected once. The forks of a first round run all of them as they are and write down which mutants each
test reaches, and how long it takes. Then each mutant is switched on in a fork of its own, which runs the tests that
reach it, the most closely concerned ones first, until one fails.
"""

import ctypes
import gc
import json
import os
import resource
import signal
import time
from pathlib import Path

import pytest

SIZE = 4096
STATE = (ctypes.c_int * SIZE)()  # as in mutants.h: the number of the mutant at work; then which were reached
os.environ["DG_MUTANTS_AT"] = str(ctypes.addressof(STATE))  # before conftest.py imports the engine
WALL = 900  # seconds without any news, after which a fork waits for what will not come
LIMIT = 8 << 30  # bytes of address space

failures = []


def pytest_runtest_logreport(report):
    if report.failed:
        failures.append(report)


def cpu():
    return sum(os.times()[:4])


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    os.environ.pop("DG_MUTANTS_AT")  # other processes have numbers of their own
    job = json.loads(Path(os.environ["DG_MUTANTS_JOB"]).read_text())
    folder = Path(job["folder"])
    items = some_of_each(session.items, job["most"])
    imported = [n for n in range(1, job["count"] + 1) if STATE[n]]
    (folder / "imported.json").write_text(json.dumps(imported))
    gc.collect()
    gc.freeze()
    if not (folder / "reached.json").exists():
        reached = record(items, folder, job)
        (folder / "reached.json").write_text(json.dumps(reached))
    reached = json.loads((folder / "reached.json").read_text())
    Forks(job["jobs"]).run([Hunt(int(n), path, items, reached, job) for n, path in job["mutants"].items()])
    return True


def some_of_each(items, most):
    """At most so many tests of each function, evenly spread."""
    by_function = {}
    for item in items:
        by_function.setdefault(item.nodeid.split("[")[0], []).append(item)
    return [item for group in by_function.values() for item in group[:: -(-len(group) // most)]]


# ---------- forks


class Forks:
    """Runs tasks in forks, some at a time; a task has `child`, which runs in the fork, and `ended`."""

    def __init__(self, jobs):
        self.jobs, self.running = jobs, {}

    def run(self, tasks):
        for task in tasks:
            while len(self.running) >= self.jobs:
                self.wait()
            pid = os.fork()
            if pid == 0:
                self.within(task)
            self.running[pid] = task, time.monotonic()
        while self.running:
            self.wait()

    def within(self, task):
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 2)
        try:
            task.child()
        finally:
            os._exit(0)

    def wait(self):
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in self.running:
            task, _ = self.running.pop(pid)
            task.ended(status)
            return
        for pid, (task, since) in self.running.items():
            if time.monotonic() - max(since, task.news()) > WALL:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def run_items(session, items, durations, then):
    """Run tests; `then` is told of each and says whether to go on."""
    session.config.pluginmanager.get_plugin("terminalreporter")._tw._file = open(os.devnull, "w")
    for item, following in zip(items, [*items[1:], None], strict=True):
        failures.clear()
        before = cpu()
        signal.setitimer(signal.ITIMER_PROF, 30 + 20 * durations.get(item.nodeid, 30))
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if not then(item, cpu() - before):
            return


# ---------- which tests reach what


class Recording:
    """A share of the tests, run as they are."""

    def __init__(self, items, path, count):
        self.items, self.path, self.count = items, path, count

    def news(self):
        return time.monotonic()

    def child(self):
        with open(self.path, "w", buffering=1) as file:

            def note(item, seconds):
                hit = [n for n in range(1, self.count + 1) if STATE[n]]
                file.write(json.dumps([item.nodeid, seconds, not failures, hit]) + "\n")
                ctypes.memset(STATE, 0, ctypes.sizeof(STATE))
                return True

            run_items(self.items[0].session, self.items, {}, note)

    def ended(self, status):
        if status:
            print(f"a recording ended with {status}, after {self.path.read_text().splitlines()[-1:]}")


def record(items, folder, job):
    """What is known of each test: [its name, seconds, whether it passes, the mutants it reaches]."""
    by_file = {}
    for item in items:
        by_file.setdefault(item.nodeid.split("::")[0], []).append(item)
    tasks = [Recording(some, folder / f"recording-{i}", job["count"]) for i, some in enumerate(by_file.values())]
    Forks(job["jobs"]).run(tasks)
    return [json.loads(line) for task in tasks for line in task.path.read_text().splitlines()]


# ---------- one mutant


def closeness(test, path):
    """How closely a test is concerned with a source: 0 is closest."""
    layer, module = Path(path).parent.name, Path(path).stem
    file = Path(test.split("::")[0])
    if file.stem.startswith(f"test_{module}"):
        return 0
    near = {
        "executor": ("compiler",), "memory": ("tensor",), "arrays": ("tensor",), "structural": ("primitives",),
        "transforms": ("tape", "tensor"), "compiler": ("trace",), "tape": ("transforms",), "primitives": ("compiler",),
        "values": ("transforms", "primitives"), "trace": ("compiler",),
    }.get(layer, ())  # fmt: skip
    folders = (layer, *near)
    return 1 + folders.index(file.parent.name) if file.parent.name in folders else 1 + len(folders)


class Hunt:
    """A mutant, and the tests that may kill it, in their order, as long as there is time."""

    def __init__(self, number, path, items, reached, job):
        self.number, self.folder, self.session = number, Path(job["folder"]), items[0].session
        known = {name: seconds for name, seconds, passed, hit in reached if passed and number in hit}
        self.durations = known
        self.reaching = len(known)
        occurrence = {}
        tests = []
        for item in sorted((item for item in items if item.nodeid in known), key=lambda item: known[item.nodeid]):
            function = item.nodeid.split("[")[0]
            occurrence[function] = occurrence.get(function, -1) + 1
            tests.append((occurrence[function] >= 3, closeness(item.nodeid, path), occurrence[function], item))
        tests.sort(key=lambda test: test[:3])
        self.items, left = [], job["budget"]
        for *_, item in tests:
            if known[item.nodeid] < left:
                left -= known[item.nodeid]
                self.items.append(item)
        self.budget = job["budget"]
        self.now = self.folder / f"now-{number}"
        self.now.write_text("")

    def news(self):
        return time.monotonic() - (time.time() - self.now.stat().st_mtime)

    def child(self):
        os.environ["DG_MUTANT"] = str(self.number)
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        STATE[0] = self.number
        killer = []

        def note(item, seconds):
            if failures:
                killer.append((item.nodeid, str(failures[0].longreprtext).strip().splitlines()[-1:]))
                return False
            self.now.write_text(item.nodeid)
            return True

        if self.items:
            run_items(self.session, self.items, self.durations, note)
        self.write(killer[0] if killer else None, "failed" if killer else "survived")

    def write(self, killer, how):
        result = {"how": how, "killer": killer, "reaching": self.reaching, "run": len(self.items)}
        (self.folder / f"result-{self.number}.json").write_text(json.dumps(result))

    def ended(self, status):
        if os.WIFSIGNALED(status):
            name = signal.Signals(os.WTERMSIG(status)).name
            how = "timeout" if name in ("SIGPROF", "SIGKILL", "SIGXCPU") else "crashed"
            self.write([f"after {self.now.read_text()}", [name]], how)
        self.now.unlink(missing_ok=True)
        result = json.loads((self.folder / f"result-{self.number}.json").read_text())
        print(self.number, result["how"], result["killer"], f"{result['run']}/{result['reaching']} tests", flush=True)
