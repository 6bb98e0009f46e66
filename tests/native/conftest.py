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
    """Each test begins and ends without machine code."""
    yield
    dg.set_context(native=False)
