"""SciPy's functions on tensors: the page in the documentation says what they do.

SciPy reads SCIPY_ARRAY_API when it is imported, so what calls it runs in a process of its own.
"""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

scipy = pytest.importorskip("scipy")
DOCS = Path(__file__).parents[2] / "docs"
STORED = json.loads((DOCS / "scipy.json").read_text())
FUNCTIONS = STORED["functions"]

#: Few, quick and of all kinds; in the sweep all are measured again.
SOME = ("special.gammaln", "special.rel_entr", "special.logsumexp", "stats.zscore", "stats.kurtosis", "stats.rankdata",
        "fft.rfft", "integrate.trapezoid", "interpolate.PchipInterpolator", "linalg.fiedler", "ndimage.sobel",
        "signal.lfiltic", "signal.freqz_zpk", "signal.windows.kaiser", "spatial.transform.Rotation.as_mrp")  # fmt: skip

#: Where slopes are lost because numbers are only compared; the page says so.
BY_COMPARING = {"scipy.optimize.golden"}

is_this_scipy = pytest.mark.skipif(
    STORED["scipy"] != scipy.__version__, reason=f"the page is about SciPy {STORED['scipy']}: python docs/survey.py"
)


def survey(*arguments):
    """What ``docs/survey.py --print`` finds in a process of its own, and the names in SciPy's list."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(DOCS / "survey.py"), "--print", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def essence(findings):
    """What does not depend on the last digits."""
    kept = ("label", "outcome", "order", "constant", "single")
    return [{key: finding[key] for key in kept if key in finding} for finding in findings]


@is_this_scipy
@pytest.mark.eager("another process")
def test_the_page_is_current_for_some_functions():
    """`python docs/survey.py` brings it up to date."""
    found = survey("--only", "functions", *SOME)
    assert found["names"] == sorted(FUNCTIONS), "SciPy's list is another one"
    for name, findings in found["functions"].items():
        assert essence(findings) == essence(FUNCTIONS[name]), name
    assert len(found["functions"]) >= len(SOME)


@is_this_scipy
@pytest.mark.exhaustive
@pytest.mark.eager("another process")
def test_the_page_is_current():
    found = survey()
    assert found["functions"].keys() == FUNCTIONS.keys()
    assert {name: essence(f) for name, f in found["functions"].items()} == {
        name: essence(f) for name, f in FUNCTIONS.items()
    }
    assert {n: f["outcome"] for n, f in found["others"].items()} == {
        n: f["outcome"] for n, f in STORED["others"].items()
    }


@pytest.mark.exhaustive
@pytest.mark.eager("another process")
def test_the_table_of_scikit_learn_is_current():
    sklearn = pytest.importorskip("sklearn")
    if STORED["sklearn"] != sklearn.__version__:
        pytest.skip(f"the page is about scikit-learn {STORED['sklearn']}")
    found = survey("--only", "learners")["learners"]
    assert {name: essence(f) for name, f in found.items()} == {n: essence(f) for n, f in STORED["learners"].items()}


def test_every_function_has_a_sample():
    assert [name for name, findings in FUNCTIONS.items() if not findings] == []
    assert len(FUNCTIONS) > 450


@pytest.mark.parametrize("outcome", ["wrong", "differs"])
def test_wrong_numbers_are_explained(outcome):
    """A wrong derivative or value is not the engine's: SciPy's way of computing excludes it, and the page says how."""
    for name, findings in [*FUNCTIONS.items(), *STORED["learners"].items()]:
        for finding in findings:
            assert finding["outcome"] != outcome or "wrong" in finding, f"{name}: {finding}"


def test_slopes_are_not_lost_without_a_word():
    lost = {name for name, found in STORED["others"].items() if found["outcome"] == "leak"}
    assert lost <= BY_COMPARING
    refused = [f for findings in FUNCTIONS.values() for f in findings if f["outcome"] == "refused"]
    taken = [f for f in refused if f["error"].startswith("LeavesDerivativeError")]
    assert len(taken) > 0.9 * len(refused)


def test_many_functions_have_three_derivatives():
    page = runpy.run_path(str(DOCS / "scipy_page.py"))
    right = {name for name, findings in FUNCTIONS.items() if any(map(page["is_right"], findings))}
    assert len(right) >= 150
    text = page["page"]()
    for name in FUNCTIONS:
        assert f"`{name.removeprefix(page['module_of'](name) + '.')}`" in text
    assert all(f"| `{name}`" in text for name in STORED["learners"])
    for line in text.split("\n"):
        assert not line.startswith("| ") or len(re.findall(r"(?<!\\)\|", line)) == 5, line
