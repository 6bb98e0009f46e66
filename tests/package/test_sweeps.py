"""The sweeps of `.ci/run` pass only if all of their tests have run and none has failed."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from rotation import take_part

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.eager("about a script"),
    pytest.mark.skipif(sys.platform != "linux", reason="the script needs GNU's timeout"),
]

# An interpreter whose pytest passes at once, except in the sweep `graph`.
PYTHON = """#!/bin/sh
[ "$2" = pytest ] || exit 0
echo "$@" >>build/calls
case "$*" in *"--mode graph"*)
echo "t::first PASSED       [ 25%]"
THEN
esac
echo "== 1 passed, 9 deselected in 0.01s =="
"""
SECOND = 'echo "t::second FAILED      [ 50%]"; '
ENDS = {
    "exit 1": "ran to its end",
    "exit 3": "ended with status 3",
    "exit 5": "selected no test",
    "exit 0": "ended without a summary",
    "kill -SEGV $$": "ended by signal 11",
    "kill -KILL $$": "ended by signal 9",
    "exec sleep 100": "ran out of time",
}


@pytest.fixture
def sweeps(tmp_path):
    """A function that runs the sweeps with such an interpreter; it returns lines and status."""
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci")
    for name in ("pyproject.toml", "setup.py"):
        (tmp_path / name).touch()
    python = tmp_path / ".venv/bin/python"

    def run(*arguments, then="", **environment):
        python.write_text(PYTHON.replace("THEN", then))
        python.chmod(0o755)
        done = subprocess.run(
            [tmp_path / ".ci/run", "sweeps", *arguments], capture_output=True, text=True, timeout=100, check=False,
            env=os.environ | {"DUALGRAD_LIMIT": "2" if "sleep" in then else "60", "DUALGRAD_PART": "0"} | environment,
        )  # fmt: skip
        assert "kill" in then or done.stderr == ""  # the shell reports signals
        return done.stdout.splitlines(), done.returncode

    run.calls = tmp_path / "build/calls"
    return run


def test_sweeps_without_a_failure_pass(sweeps):
    lines, status = sweeps()
    assert status == 0
    assert [re.sub(r"1/\d+", "1/N", line) for line in lines if line and "==" not in line] == [
        f"{name} 1/N: 1 passed in 0.01s" for name in ("products", "large", "graph")
    ]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("failures", [0, 1])
def test_a_sweep_that_did_not_end_well_fails(sweeps, end, failures):
    """The line says how it ended and how far it came, and a failed test is named."""
    lines, status = sweeps(then=SECOND * failures + end)
    assert status != 0
    (line,) = (line for line in lines if line.startswith("graph "))
    reached = "50%" if failures else "25%"
    assert re.sub(r"1/\d+", "1/N", line) == f"graph 1/N: FAILED, {ENDS[end]} at {reached}: {failures} failed, 1 passed"
    assert ("t::second FAILED" in "\n".join(lines)) == bool(failures)


def test_pytest_tells_what_it_found_when_the_time_is_over(sweeps):
    """An interrupt arrives, although the shell runs pytest in the background."""
    code = "import time\ntry: time.sleep(100)\nexcept KeyboardInterrupt: print('found', 'so far')"
    lines, status = sweeps(then=f'exec {sys.executable} -c "{code}"')
    assert status != 0
    assert "found so far" in lines


def test_no_time_is_no_success(sweeps):
    assert sweeps(DUALGRAD_LIMIT="0")[1] != 0
    assert not sweeps.calls.exists()


def test_each_turn_runs_another_part(sweeps):
    for turn in range(3):
        sweeps("large", DUALGRAD_PART=str(turn))
    calls = sweeps.calls.read_text()
    assert re.findall(r"--part (\d+)/\d+", calls) == ["1", "2", "3"]
    assert calls.count("exhaustive and not rotated") == 3


def test_whole_sweeps_have_one_part_and_no_limit(sweeps):
    lines, status = sweeps("whole", "graph", "large", then="sleep 3", DUALGRAD_PART="3")
    assert status == 0
    assert [line for line in lines if ":" in line] == [f"{name} 1/1: 1 passed in 0.01s" for name in ("large", "graph")]


def test_a_sweep_of_another_name_is_an_error(sweeps):
    assert sweeps("whole", "graphs")[1] != 0


@dataclass(frozen=True)
class Item:
    nodeid: str


@pytest.mark.parametrize(("count", "parts"), [(1000, 7), (5, 5), (5, 1)])
def test_a_test_is_in_one_part(count, parts):
    items = [Item(f"test_{k}") for k in range(count)]
    dropped = []
    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: dropped.append(len(items))))
    taken = []
    for place in range(1, parts + 1):
        left = items.copy()
        take_part(config, left, place, parts)
        assert left == sorted(left, key=items.index)
        assert len(left) + dropped[-1] == count
        assert count < 100 or abs(len(left) - count / parts) < 0.3 * count / parts
        taken += left
    assert sorted(taken, key=items.index) == items


def test_another_test_moves_none():
    items = [Item(f"test_{k}") for k in range(200)]
    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: None))
    before, after = items[5:], items.copy()
    for left in (before, after):
        take_part(config, left, 2, 7)
    assert before == [item for item in after if item in items[5:]]


def test_the_option_selects_among_what_is_selected():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "-k", "turn or time", "--part", "2/2", __file__],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = [name for name in globals() if name.startswith("test_") and ("turn" in name or "time" in name)]
    assert len(re.findall("::test_", done.stdout)) == len(names) // 2 == 1
