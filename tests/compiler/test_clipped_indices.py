"""Numbers clipped to an axis are indices that lie inside: they need no look, and picks run where they are made."""

import itertools

import numpy as np
import pytest
from engine import OPCODES, apply

import dualgrad as dg
from dualgrad import Tensor
from dualgrad.ops.index._indices import clipped
from dualgrad.programs import verify
from dualgrad.programs._listing import recording_of

pytestmark = pytest.mark.eager("records by itself")

LENGTHS = (1, 2, 7, 1 << 20, (1 << 24) + 1, (1 << 40) + 3)
NUMBERS = [0.0, -0.0, 0.5, 0.999999, 1.0, 2.5, 6.0, 6.5, 7.0, -0.5, -1.0, -3.7, 1e5, 16777216.0, 1e15, 1e300, -1e300]
NUMBERS += [np.inf, -np.inf, np.nan, -np.nan, 5e-324]
TYPES = (np.float16, np.float32, np.float64)


def expected(x, length):
    """By Python's integers."""
    return [0 if not y > 0 else length - 1 if y >= length - 1 else int(y) for y in map(float, x)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("count", [1, 30, 7000])
def test_all_numbers_are_clipped(dtype, length, count):
    """Eager, recorded on one number, on few, in blocks of rows, and where they do not lie side by side."""
    with np.errstate(over="ignore"):
        x = np.resize(np.array(NUMBERS).astype(dtype), count)
    f = lambda x: clipped(x, length)
    ways = {"eager": f, "recorded": dg.jit(f), "strided": dg.jit(lambda x: f(x[::2])), "vmap": dg.vmap(f)}
    for name, way in ways.items():
        for _ in range(3):
            found = way(Tensor(x))
            assert found.dtype == dg.int64
            assert found.asnumpy().tolist() == expected(x[::2] if name == "strided" else x, length), name


def test_what_is_no_real_number_or_no_axis_is_refused():
    for x, length in itertools.product([np.zeros(3), np.zeros(3, int), np.zeros(3, complex)], [0, -1, 5]):
        if x.dtype == float and length == 5:
            continue
        with pytest.raises(TypeError, match="clip_index: expected real numbers and an axis with elements"):
            apply(OPCODES["clip_index"], length, Tensor(x))


def picked(image, places, to):
    """Elements of an image of two axes, at places clipped to axes of two lengths."""
    return image[clipped(places[0] * 2, to[0]), clipped(places[1] * 2, to[1])] * 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(5000,), (90, 70)])
def test_picks_run_where_their_indices_are_made(shape, dtype):
    rng = np.random.default_rng(1)
    image, places = rng.normal(size=(9, 6)), rng.uniform(-2, 5, (2, *shape)).astype(dtype)
    f = lambda image, places: picked(image, places, (9, 6))
    layout = recording_of(f, (Tensor(image), Tensor(places)), {}).layout()
    assert len(layout["regions"]) == 1
    gradient = dg.jit(dg.value_and_grad(lambda image, places: (f(image, places) ** 2).sum()))
    verify(recording_of(f, (Tensor(image), Tensor(places)), {}).program)
    i, j = (np.clip(2 * places[k], 0, n - 1).astype(int) for k, n in enumerate(image.shape))
    slope = np.zeros_like(image)
    np.add.at(slope, (i, j), 18 * image[i, j])
    for _ in range(3):
        value, found = gradient(Tensor(image), Tensor(places))
        np.testing.assert_allclose(value.asnumpy(), (9 * image[i, j] ** 2).sum(), 1e-12)
        np.testing.assert_allclose(found.asnumpy(), slope, 1e-12)


@pytest.mark.parametrize("to", list(itertools.product([8, 9, 10], [5, 6, 7])))
def test_clipped_to_a_longer_axis_they_are_looked_at(to):
    """An index that is outside raises what eager execution raises."""
    image, places = np.arange(54.0).reshape(9, 6), np.linspace(0, 10, 10000).reshape(2, 5000)
    f = lambda image, places: picked(image, places, to)
    recorded = dg.jit(f)
    for _ in range(3):
        if to[0] > 9 or to[1] > 6:
            with pytest.raises(IndexError) as eager:
                f(Tensor(image), Tensor(places))
            with pytest.raises(IndexError) as found:
                recorded(Tensor(image), Tensor(places))
            assert str(found.value) == str(eager.value)
        else:
            i, j = (np.clip(2 * places[k], 0, n - 1).astype(int) for k, n in enumerate(to))
            assert (recorded(Tensor(image), Tensor(places)).asnumpy() == 3 * image[i, j]).all()
