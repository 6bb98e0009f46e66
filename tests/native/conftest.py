import pytest

import dualgrad as dg


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory):
    """Machine code of these tests is kept in a folder of their own."""
    patch = pytest.MonkeyPatch()
    patch.setenv("DUALGRAD_NATIVE_CACHE", str(tmp_path_factory.mktemp("cache")))
    yield
    patch.undo()


@pytest.fixture(autouse=True)
def interpreted():
    """Each test begins without machine code, and those of other folders go on as before."""
    before = dg.get_context("native")
    dg.set_context(native=False)
    yield
    dg.set_context(native=before)
