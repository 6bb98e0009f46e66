"""What every test module may use: the two execution modes and the settings of Hypothesis."""

import os

import pytest
from hypothesis import HealthCheck, settings

import dualgrad as dg
from dualgrad.programs import verified

pytest.register_assert_rewrite("support")

# The fixture `mode` is the same for all examples of a property, so it need not be set anew for each of them.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}
settings.register_profile("default", **_COMMON)
settings.register_profile("ci", max_examples=300, print_blob=True, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session", autouse=True)
def _verified():
    """Every program that a test records is verified."""
    with verified():
        yield


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
    would only ever see an eager execution.
    """
    if pyfuncitem.funcargs.get("mode") == dg.GRAPH_MODE:
        arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        for _ in range(2):
            pyfuncitem.obj(**arguments)
