"""Indexing with arrays, masks and conversions in recorded programs.

They give the numbers and errors of eager execution, in regions rather than as operations on their own.
"""

from collections.abc import Callable

import numpy as np
import pytest
from engine import forget_programs
from ways import WAYS, programs_run

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.programs import interpreted, verify
from dualgrad.programs._listing import recording_of

pytestmark = pytest.mark.usefixtures("own_programs")

SHAPE = (20, 3, 2)
FLOATS = (np.float32, np.float64)
INDICES = (np.int32, np.int64)
COUNTS = (1, 7, 700)  # one index, few, and enough for blocks of rows

#: name -> function of (array of SHAPE, indices of its first axis, of its second, rows of twenty)
PICKS: dict[str, Callable] = {
    "one axis": lambda x, i, j, rows: x[i],
    "two axes": lambda x, i, j, rows: x[i, j],
    "three axes": lambda x, i, j, rows: x[i, j, j % 2],
    "every other index": lambda x, i, j, rows: x[i[::2]],
    "indices in two axes": lambda x, i, j, rows: x[i.reshape((1, -1, 1))],
    "indices that broadcast": lambda x, i, j, rows: x[i[:, None], j[None, :5]],
    "one number": lambda x, i, j, rows: x[i[0]],
    "the second axis": lambda x, i, j, rows: x[:, j],
    "the second axis and the third": lambda x, i, j, rows: x[:, j, j % 2],
    "a transposed array": lambda x, i, j, rows: x.transpose((1, 0, 2))[j, i],
    "a slice": lambda x, i, j, rows: x[2:18:2][j],
    "indices made by the program": lambda x, i, j, rows: x[(j + i) % 3],
    "out of each row": lambda x, i, j, rows: rows[:, i[:5]],
    "out of each row, made in a region": lambda x, i, j, rows: ops.exp(rows)[:, i[:5]],
    "picks of picks": lambda x, i, j, rows: x[i][j % i.shape[0]],
    "behind a slice": lambda x, i, j, rows: x[3:, j],
    "no index": lambda x, i, j, rows: x[i[:0]],
    "constant indices": lambda x, i, j, rows: x[np.array([2, -1, 2, 0])],
}

CONVERSIONS: dict[str, Callable] = {
    "a mask": lambda x, i, j, rows: rows * (rows > 0),
    "not a number": lambda x, i, j, rows: ops.where(rows > 0, ops.log(rows), 0.5 * rows),
    "infinite slope": lambda x, i, j, rows: ops.where(rows == rows, rows, ops.sqrt(rows - rows)),
    "the other float": lambda x, i, j, rows: rows.astype(dg.float32).astype(dg.float64),
    "integers": lambda x, i, j, rows: rows * j.reshape((-1, 1)),
    "a mask as an integer": lambda x, i, j, rows: x[(rows[:, 0] > 0).astype(dg.int32)],
}


def arguments(dtype: type, index: type, count: int) -> list[Tensor]:
    """An array, negative and repeated indices of its axes, and rows with zeros among them."""
    rng = np.random.default_rng(count)
    rows = rng.standard_normal((count, 20)).round(1).astype(dtype)
    ends = (SHAPE[0], SHAPE[1])
    indices = [rng.integers(-end, end, count).astype(index) for end in ends]
    return [Tensor(rng.standard_normal(SHAPE).astype(dtype)), *map(Tensor, indices), Tensor(rows)]


def gradients(f: Callable) -> Callable:
    """Of a function whose second derivatives are not constant, by all floats, and their product with a direction."""
    first = dg.grad(lambda x, i, j, rows: (f(x, i, j, rows) ** 3).sum(), (0, 3))

    def both(x, i, j, rows):
        second = dg.grad(lambda x, i, j, rows: sum((g * g).sum() for g in first(x, i, j, rows)), (0, 3))
        return first(x, i, j, rows), second(x, i, j, rows)

    return both


def flat(results: tuple) -> list[np.ndarray]:
    return [r.asnumpy() for part in results for r in part]


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("dtype", "index"), list(zip(FLOATS, INDICES, strict=True)))
@pytest.mark.parametrize("name", [*PICKS, *CONVERSIONS])
def test_programs_give_what_eager_execution_gives(name, dtype, index, count):
    args = arguments(dtype, index, count)
    f = gradients({**PICKS, **CONVERSIONS}[name])
    expected = flat(f(*args))
    recorded = dg.jit(f)
    for _ in range(3):
        found = flat(recorded(*args))
    verify(recorded)(*args)
    forget_programs()
    with interpreted():
        recorded = dg.jit(f)
        for _ in range(3):
            stepwise = flat(recorded(*args))
    for ours, theirs, plain in zip(found, expected, stepwise, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(plain, theirs)
        # Sums over rows may come in another order, or by a product with ones.
        np.testing.assert_allclose(ours, theirs, rtol=1e-5 if dtype is np.float32 else 1e-12, atol=1e-30)


def test_sums_at_indices_are_those_of_eager_execution_bit_for_bit():
    x, i, _, _ = arguments(np.float64, np.int64, 3000)
    threads = dg.get_num_threads()
    dg.set_num_threads(1)
    try:
        f = dg.grad(lambda x, i: ops.sin(x[i]).sum())
        expected = f(x, i).asnumpy()
        recorded = dg.jit(f)
        for _ in range(3):
            found = recorded(x, i).asnumpy()
    finally:
        dg.set_num_threads(threads)
    np.testing.assert_array_equal(found, expected)


LEFT_TO_NUMPY = ("behind a slice", "no index")


@pytest.mark.parametrize("name", [name for name in (*PICKS, *CONVERSIONS) if name not in LEFT_TO_NUMPY])
def test_nothing_is_left_to_numpy(name):
    args = arguments(np.float64, np.int64, 3000)
    f = dg.grad(lambda *args: ({**PICKS, **CONVERSIONS}[name](*args) ** 3).sum(), (0, 3))
    found = recording_of(dg.jit(f), tuple(args), {})
    alone = [region["generic"]["op"] for region in found.layout()["regions"] if region["generic"]]
    names = [row.name for row in map(dg._engine.primitives.registry.table().__getitem__, alone)]
    assert not set(names) & {"gather", "scatter_add", "cast", "where"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("wrong", [SHAPE[0], -SHAPE[0] - 1, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("made", [False, True], ids=["given", "made by the program"])
def test_an_index_that_lies_outside_raises_what_it_raises_eagerly(index, wrong, made, way):
    x, i, _, _ = arguments(np.float64, index, 3000)
    forget_programs()
    f = lambda x, i: (x[i % SHAPE[0] + (i - i % SHAPE[0])] if made else x[i]).sum()
    recorded = dg.jit(f)
    bad = i.asnumpy().copy()
    bad[1700] = wrong
    with pytest.raises(IndexError) as eager:
        f(x, Tensor(bad))
    with programs_run(way):
        for _ in range(3):
            recorded(x, i)
        with pytest.raises(IndexError) as replayed:
            recorded(x, Tensor(bad))
    assert str(replayed.value) == str(eager.value)
    assert str(eager.value) == f"index {wrong} is out of bounds for axis 0 with size 20; the tensor has shape {SHAPE}"
    np.testing.assert_allclose(recorded(x, i).asnumpy(), f(x, i).asnumpy(), rtol=1e-13)


def test_embeddings_larger_than_what_is_looked_up():
    """The gradient by a table is not made as a sum of each block."""
    rng = np.random.default_rng(0)
    table, i = Tensor(rng.standard_normal((5000, 64))), Tensor(rng.integers(0, 5000, 100))
    f = dg.grad(lambda table, i: ops.tanh(table[i]).sum())
    recorded = dg.jit(f)
    for _ in range(3):
        found = recorded(table, i)
    verify(recorded)(table, i)
    np.testing.assert_array_equal(found.asnumpy(), f(table, i).asnumpy())
