"""Guards are compared four at a time: whichever of some changes, the replay sees it."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor

MOST = 9


class Settings:
    """Attributes that a function reads, each behind an object of its own."""

    def __init__(self):
        self.value = 1.0


@pytest.mark.parametrize("n", range(1, MOST + 1))
def test_each_of_n_places(n):
    places = [Settings() for _ in range(n)]
    recorded = dg.jit(lambda x: x * sum(place.value * 10.0**k for k, place in enumerate(places)))
    x = Tensor(np.array([1.0]))
    for changes in [*([k] for k in range(n)), range(n), range(0, n, 2)]:
        for _ in range(12):  # often enough for a recording to pay
            expected = sum(place.value * 10.0**k for k, place in enumerate(places))
            assert recorded(x).asnumpy().item() == expected
        for k in changes:
            places[k].value += 1.0
        expected = sum(place.value * 10.0**k for k, place in enumerate(places))
        assert recorded(x).asnumpy().item() == expected
        for _ in range(2):
            assert recorded(x).asnumpy().item() == expected
