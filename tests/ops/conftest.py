"""What holds for all tests of operators."""

import pytest

from dualgrad.ops.index import _views


@pytest.fixture(autouse=True)
def _views_as_in_numpy():
    """Another test may have installed the alias, under which no tensor is an array."""
    _views.switched(True)
