"""The README says what works: its example runs, and its second command is what CI calls."""

import doctest
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_runs():
    failed, attempted = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert attempted >= 8
    assert failed == 0


def test_ci_calls_the_test_command():
    readme = (ROOT / "README.md").read_text()
    command = ".venv/bin/python -m pytest"
    assert f"```console\n{command}\n```" in readme
    assert command in (ROOT / ".ci/run").read_text()
