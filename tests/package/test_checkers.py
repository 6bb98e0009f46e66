"""What type checkers say of users' programs: all that is wrong in `typed/planted.py`, nothing of `typed/correct.py`."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from package.typed import correct

import dualgrad as dg

HERE = Path(__file__).with_name("typed")
NAMES = ("planted.py", "correct.py")
SOURCE = Path(dg.__file__).parents[1]


def marked():
    """The lines of the planted errors, counted from 1."""
    lines = (HERE / "planted.py").read_text().splitlines()
    return {i for i, line in enumerate(lines, 1) if line.endswith("# error")}


@cache
def mypy_says():
    """The lines of errors in each file, as mypy finds them by the settings of the project."""
    pytest.importorskip("mypy")
    root = SOURCE.parent
    if not (root / "pyproject.toml").exists():
        pytest.skip("the settings of mypy are in the source tree")
    files = [str(HERE / name) for name in NAMES]
    run = subprocess.run([sys.executable, "-m", "mypy", *files], capture_output=True, text=True, cwd=root)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return {name: {int(line) for line in re.findall(rf"{name}:(\d+): error", run.stdout)} for name in NAMES}


def pyright(*arguments):
    """What pyright answers; its program comes from the npm registry when it first runs."""
    program = shutil.which("pyright", path=Path(sys.executable).parent)
    if program is None:
        pytest.skip("pyright is not installed")
    command = [program, "--outputjson", "--pythonpath", sys.executable, *arguments]
    # The settings of the tree, where there are some, are not asked for.
    run = subprocess.run(
        command, capture_output=True, text=True, cwd=HERE, env={**os.environ, "PYTHONPATH": str(SOURCE)}
    )
    if not run.stdout.startswith("{"):
        pytest.skip("pyright has not got its program from the npm registry")
    return json.loads(run.stdout)


@cache
def pyright_says():
    """The lines of errors in each file, as pyright finds them."""
    found = {name: set() for name in NAMES}
    for each in pyright(*(str(HERE / name) for name in NAMES))["generalDiagnostics"]:
        if each["severity"] == "error":
            found[Path(each["file"]).name].add(each["range"]["start"]["line"] + 1)
    return found


CHECKERS = pytest.mark.parametrize("said", [mypy_says, pyright_says])


@CHECKERS
def test_each_planted_error_is_found_and_nothing_else(said):
    assert said()["planted.py"] == marked()


@CHECKERS
def test_correct_programs_are_not_reported(said):
    assert said()["correct.py"] == set()


def test_the_types_of_public_symbols_are_known():
    completeness = pyright("--verifytypes", "dualgrad", "--ignoreexternal")["typeCompleteness"]
    unknown = [s["name"] for s in completeness["symbols"] if s["isExported"] and not s["isTypeKnown"]]
    assert completeness["completenessScore"] > 0.95, unknown


@pytest.mark.parametrize("program", correct.PROGRAMS, ids=lambda program: program.__name__)
def test_correct_programs_run(program):
    program()
