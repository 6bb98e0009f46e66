"""The test suite of the array API standard, from ``shared/suites`` beside the checkout, on `dualgrad.numpy`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dualgrad as dg

HERE = Path(__file__).parent
SUITE = HERE.parents[2] / "shared" / "suites" / "array-api-tests"
SKIPS = HERE / "skips.txt"
PARTS = ("has_names", "signatures", "inspection_functions", "constants")
"""What needs no examples."""


def left_out():
    return [line for line in SKIPS.read_text().splitlines() if line.startswith("array_api_tests")]


def run_suite(folder, examples, *parts):
    """Run the suite, or parts of it, in a process of its own that writes to a folder; its last lines if it fails."""
    if not SUITE.is_dir():
        pytest.skip(f"the suite of the array API standard is not there: {SUITE}")
    for needed in ("ndindex", "pytest_jsonreport"):
        pytest.importorskip(needed)
    files = [f"array_api_tests/test_{part}.py" for part in parts] or ["array_api_tests"]
    more = [] if examples is None else [f"--max-examples={examples}"]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={folder / 'temporary'}",
         "--disable-deadline", f"--skips-file={SKIPS}", *more, *files],
        cwd=SUITE, capture_output=True, text=True, check=False,
        env=os.environ | {
            "ARRAY_API_TESTS_MODULE": "dualgrad.numpy",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "examples"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join([str(Path(dg.__file__).parents[1]), *filter(None, sys.path)]),
        },
    )  # fmt: skip
    assert found.returncode == 0, found.stdout[-8000:] + found.stderr[-2000:]
    return found.stdout


def test_few_tests_are_left_out():
    assert 0 < len(left_out()) <= 15
    assert len(set(left_out())) == len(left_out())


@pytest.mark.eager("another process")
def test_names_and_signatures(tmp_path):
    assert " passed" in run_suite(tmp_path, 1, *PARTS)


@pytest.mark.exhaustive
@pytest.mark.eager("another process")
@pytest.mark.parametrize("examples", [50, None], ids=["50", "default"])
def test_the_whole_suite(tmp_path, examples):
    summary = run_suite(tmp_path, examples)
    assert "don't match any collected tests" not in summary  # what is left out is there
    print(summary.splitlines()[-1])
