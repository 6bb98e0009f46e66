"""Every case of a benchmark file with every contender, as pytest-benchmark tests.

A benchmark file lists its ``CASES``; a test in it that takes ``run`` is repeated for each case and contender.
Contenders of libraries that are not installed are skipped by name. The numbers are checked before anything is
timed, and wrong ones fail the test.
"""

import sys
from pathlib import Path

import pytest

# The files here import each other by plain names, as compare.py and its worker do.
sys.path.insert(0, str(Path(__file__).parent))

import rivals
import workload


def pytest_generate_tests(metafunc):
    if "run" in metafunc.fixturenames:
        parameters = []
        for case in metafunc.module.CASES:
            for contender in case.contenders:
                marks = [pytest.mark.benchmark(group=case.name)]
                reason = rivals.missing(contender)
                if not reason and contender in case.slow:
                    reason = "takes long to compile; compare.py --slow runs it"
                if reason:
                    marks.append(pytest.mark.skip(reason=reason))
                if rivals.library(contender) != "dualgrad":
                    # What other libraries warn about is not ours to fail on.
                    marks.append(pytest.mark.filterwarnings("default"))
                parameters.append(pytest.param((case, contender), id=f"{case.name}-{contender}", marks=marks))
        metafunc.parametrize("run", parameters, indirect=True)


@pytest.fixture
def run(request, benchmark):
    """The contender, built and checked; ``run.call`` is what a test times."""
    case, contender = request.param
    if case.unit:
        benchmark.extra_info[f"{case.unit}s"] = case.count
    prepared, error = workload.prepare(case, contender)
    benchmark.extra_info["relative error"] = error
    return prepared
