"""Parts that are put into zeros side by side and added up are one concatenation: the same bits as eager sums."""

import itertools

import numpy as np
import pytest
from engine import OPCODES, apply

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.programs import passes, rewrites
from dualgrad.programs._listing import recording_of

pytestmark = pytest.mark.eager("records by itself")

LENGTH = 12
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1.0, -2.5]
# What the parts are: computed so that -0 may come of it, or cannot.
MADE = {
    "given": lambda x: x,
    "products": lambda x: x * -1.5,
    "sums": lambda x: x + x,
    "differences": lambda x: x - x,
    "negatives": lambda x: -x,
    "absorbed": lambda x: dg.grad(lambda y: (y * y * x).sum())(x),
    "differences of absorbed": lambda x: dg.grad(lambda y: (y * y * x - y * x).sum())(x),
}
NEGATED = ("products", "negatives")  # the sum is that of their negatives, which is negated where it is needed
# Where the parts lie along the axis: (start, stop), and whether they fill it.
PLACES = {
    "halves": ([(0, 6), (6, 12)], True),
    "thirds": ([(0, 1), (1, 5), (5, 12)], True),
    "single": ([(k, k + 1) for k in range(12)], True),
    "a gap": ([(0, 5), (6, 12)], False),
    "overlapping": ([(0, 7), (6, 12)], False),
    "overlapping, with the length of the axis": ([(0, 7), (6, 11)], False),
    "short of the end": ([(0, 5), (5, 11)], False),
    "twice": ([(0, 6), (0, 6)], False),
}


def put(part, axis, place, shape):
    """A part in zeros: the transpose of a slice."""
    box = tuple((place[0], place[1] - place[0], 1) if k == axis else (0, n, 1) for k, n in enumerate(shape))
    return apply(OPCODES["unslice"], (shape, box), part)


def bits(x):
    x = np.asarray(x)
    return np.where(np.isnan(x), np.nan, x).tobytes()


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("shape", [(LENGTH,), (LENGTH, 500), (500, LENGTH), (3, LENGTH, 2)])
def test_sums_of_parts_have_the_bits_of_eager_sums(made, name, shape):
    places, fills = PLACES[name]
    axis = shape.index(LENGTH)
    rng = np.random.default_rng(5)
    given = [rng.choice(SPECIAL, [b - a if k == axis else n for k, n in enumerate(shape)]) for a, b in places]

    def total(order, *parts):
        parts = [put(MADE[made](part), axis, place, shape) for part, place in zip(parts, places, strict=True)]
        sums = [parts[k] for k in order]
        while len(sums) > 1:  # the last two, so that sums are added to sums
            sums[-2:] = [sums[-2] + sums[-1]]
        return sums[0]

    for order in itertools.islice(itertools.permutations(range(len(places))), 3):
        f = lambda *parts, order=order: total(order, *parts)
        before = rewrites()["parts_joined"]
        tensors = [Tensor(part) for part in given]
        recording_of(f, tuple(tensors), {}).layout()
        assert (rewrites()["parts_joined"] > before) == (fills and made not in NEGATED)
        recorded = dg.jit(f)
        for _ in range(3):
            assert bits(recorded(*tensors).asnumpy()) == bits(f(*tensors).asnumpy())


def test_a_gradient_by_columns_has_no_zeros():
    """What users write: columns taken out of an array, each by its own index."""

    def energy(x):
        a, b, c = x[:, 0], x[:, 1], x[:, 2]
        return (a * b * c + ops.sin(a) * c).sum()

    x = Tensor(np.random.default_rng(2).normal(size=(2000, 3)))
    gradient = dg.jit(dg.grad(energy))
    assert "unslice" in str(passes(dg.grad(energy))(x)["record"])
    assert "unslice" not in str(passes(dg.grad(energy))(x)["simplify"])
    for _ in range(3):
        assert bits(gradient(x).asnumpy()) == bits(dg.grad(energy)(x).asnumpy())
