"""What every test module may use: the two execution modes and the settings of Hypothesis.

``pytest`` runs tests as they are: in PyNative mode, and in Graph mode too where they ask for the fixture `mode`.
``pytest --mode graph`` runs the whole suite in Graph mode, see graph_mode.py.
"""

import gc
import os
from contextlib import nullcontext

import pytest
from engine import forget_programs
from graph_mode import Rehearsal
from hypothesis import HealthCheck, settings
from rotation import part, rotate, take_part

import dualgrad as dg
from dualgrad.programs import verified

pytest.register_assert_rewrite("support")

# tables that enter themselves when they are imported, and what mpirun starts; neither has examples
collect_ignore_glob = ["places*.py", "mpi_program.py", "scipy_arrays"]

REHEARSAL = pytest.StashKey[Rehearsal]()

# The fixture `mode` is the same for all examples of a property, so it need not be set anew for each of them.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}
settings.register_profile("default", **_COMMON)
settings.register_profile("ci", max_examples=300, print_blob=True, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser):
    parser.addoption("--mode", choices=("pynative", "graph"), default="pynative", help="graph: record everything")
    parser.addoption("--part", type=part, metavar="K/N", help="run the Kth of N parts of the selected tests")


def pytest_configure(config):
    if config.getoption("mode") == "graph":
        config.stash[REHEARSAL] = Rehearsal()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config, items):
    """Say what is exhaustive; in Graph mode leave out what runs in PyNative mode on purpose; take a part of it all."""
    rotate(items)
    if REHEARSAL in config.stash:
        leave_out_eager(config, items)
    yield  # for the selection by -m and -k
    if config.getoption("part"):
        take_part(config, items, *config.getoption("part"))


def leave_out_eager(config, items):
    pynative = [item for item in items if mode_of(item) == dg.PYNATIVE_MODE]
    config.hook.pytest_deselected(items=pynative)
    items[:] = [item for item in items if mode_of(item) != dg.PYNATIVE_MODE]
    for item in items:
        for marker in item.iter_markers("eager"):
            item.add_marker(pytest.mark.skip(reason=f"about eager execution: {marker.args[0]}"))


def pytest_collection_finish():
    """Leave all tests and modules out of later collections of garbage: many tests collect, and some count objects."""
    gc.collect()
    gc.freeze()


def mode_of(item):
    """The mode that a test is parametrized with, or None."""
    return item.callspec.params.get("mode") if hasattr(item, "callspec") else None


@pytest.fixture(scope="session", autouse=True)
def _verified(request):
    """Every program that a test records is verified."""
    rehearsal = request.config.stash.get(REHEARSAL, None)
    with verified(), rehearsal.installed() if rehearsal else nullcontext():
        yield


@pytest.fixture(autouse=True)
def _graph_mode(request):
    """With --mode graph, tests begin and end in Graph mode."""
    if REHEARSAL not in request.config.stash:
        yield
        return
    dg.set_context(mode=dg.GRAPH_MODE)
    yield
    dg.set_context(mode=dg.PYNATIVE_MODE)


def pytest_terminal_summary(terminalreporter, config):
    """How many outermost calls were replayed, and why others were not."""
    if REHEARSAL in config.stash:
        terminalreporter.section("outermost calls in Graph mode")
        for outcome, count in config.stash[REHEARSAL].outcomes.most_common():
            terminalreporter.line(f"{count:7} {outcome}")


@pytest.fixture
def own_programs():
    """Run the test without programs that others have recorded; a module asks with ``usefixtures("own_programs")``."""
    forget_programs()
    yield
    forget_programs()


@pytest.fixture(params=[dg.PYNATIVE_MODE, dg.GRAPH_MODE], ids=["pynative", "graph"])
def mode(request):
    """Run the test in PyNative mode and again in Graph mode; a module asks with ``usefixtures("mode")``."""
    before = dg.get_context("mode")
    dg.set_context(mode=request.param)
    yield request.param
    dg.set_context(mode=before)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """In Graph mode run the body of a test three times.

    A program is recorded in the first run, confirmed in the second and replayed in the third, so a single run
    would only ever see an eager execution. With --mode graph that is done for each call.
    """
    if pyfuncitem.funcargs.get("mode") == dg.GRAPH_MODE and REHEARSAL not in pyfuncitem.config.stash:
        arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        for _ in range(2):
            pyfuncitem.obj(**arguments)
