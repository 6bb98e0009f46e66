"""The tests with a cluster of Dask, in a process of their own.

Dask starts an event loop that lives as long as its process. There it makes objects, and leaves coroutines that nothing
awaits: tests that count objects, or fail at any warning, would see them.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from work_engines import OF_DASK, needs


def test_all_of_them(request, paths):
    needs("dask")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        str(Path(__file__).parent),
        "--rootdir",
        str(request.config.rootpath),
    ]
    command += ["-m", request.config.getoption("markexpr"), "--mode", request.config.getoption("mode")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=900, env=environment | {OF_DASK: "1"}, check=False
    )
    if done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED:
        pytest.skip("none of them is wanted")
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
