"""Eager, recorded, mapped and forward evaluation agree."""

import numpy as np
import pytest
from stats_points import ALL, FUNCTIONS, place_of, points_of, shapes_of

import dualgrad as dg
from dualgrad import Tensor


@pytest.mark.parametrize(("name", "f"), [each for each in FUNCTIONS if each[1] in ("logpdf", "logpmf", "logsf", "ppf")])
def test_the_modes_agree(name, f):
    x = points_of(name, f)
    given = [Tensor(np.asarray(v), dg.float64) for v in (x, *shapes_of(name), *place_of(name))]
    ours = getattr(ALL[name], f)
    eager = ours(*given).asnumpy()
    recorded = dg.jit(lambda *given: dg.value_and_grad(lambda *g: ours(*g).sum(), tuple(range(len(given))))(*given))
    results = [recorded(*given) for _ in range(3)]
    slopes = dg.grad(lambda *g: ours(*g).sum(), tuple(range(len(given))))(*given)
    for value, replayed in results:
        np.testing.assert_allclose(value.item(), eager.sum(), rtol=1e-12, atol=1e-13)
        for one, other in zip(slopes, replayed, strict=True):
            np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-10, atol=1e-12)
    mapped = dg.vmap(lambda x: ours(x, *given[1:]))(given[0]).asnumpy()
    np.testing.assert_allclose(mapped, eager, rtol=1e-13, atol=1e-15)
    _, forward = dg.jvp(lambda x: ours(x, *given[1:]), given[0], Tensor(np.ones(x.shape)))
    np.testing.assert_allclose(forward.asnumpy(), slopes[0].asnumpy(), rtol=1e-12, atol=1e-14)
