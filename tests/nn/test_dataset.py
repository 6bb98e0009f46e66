"""Datasets: sources, operations, iterators, and functions bound to them."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor
from dualgrad import dataset as ds


class Squares:
    """A source with __getitem__ and __len__."""

    def __init__(self, n):
        self.n = n

    def __getitem__(self, k):
        return np.float32(k), np.array([k, k * k])

    def __len__(self):
        return self.n


class Restarting:
    """An iterable whose __iter__ starts again."""

    def __iter__(self):
        self.k = 0
        return self

    def __next__(self):
        self.k += 1
        if self.k > 3:
            raise StopIteration
        return (self.k,)


def values(data, column=0):
    return [row[column].tolist() for row in data.create_tuple_iterator()]


def plain(n=5):
    return ds.NumpySlicesDataset(list(range(n)), "x", shuffle=False)


SOURCES = {
    "sequence": (ds.GeneratorDataset([10, 20, 30], "x", shuffle=False), [10, 20, 30]),
    "indexed": (ds.GeneratorDataset(Squares(3), ["k", "both"], shuffle=False), [0.0, 1.0, 2.0]),
    "function": (ds.GeneratorDataset(lambda: ((k,) for k in range(3)), ["x"]), [0, 1, 2]),
    "iterable": (ds.GeneratorDataset(Restarting(), ["x"]), [1, 2, 3]),
    "limited": (ds.GeneratorDataset(Squares(9), ["k", "both"], num_samples=2, shuffle=False), [0.0, 1.0]),
    "sampled": (ds.GeneratorDataset(Squares(9), ["k", "both"], sampler=[4, 4, 2]), [4.0, 4.0, 2.0]),
    "sharded": (ds.GeneratorDataset(Squares(5), ["k", "b"], shuffle=False, num_shards=2, shard_id=1), [1.0, 3.0]),
    "lists": (ds.GeneratorDataset([[1, 2], [3, 4]], "x", shuffle=False), [[1, 2], [3, 4]]),
    "typed": (ds.GeneratorDataset([1, 2], "x", [dg.float32], shuffle=False), [1.0, 2.0]),
    "array": (ds.NumpySlicesDataset(np.arange(4).reshape(2, 2), shuffle=False), [[0, 1], [2, 3]]),
    "tuple": (ds.NumpySlicesDataset(([1, 2], [3, 4]), shuffle=False), [1, 2]),
    "dict": (ds.NumpySlicesDataset({"a": [1, 2], "b": [3, 4]}, shuffle=False), [1, 2]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_sources(name):
    data, expected = SOURCES[name]
    assert values(data) == expected
    assert values(data) == expected, "a second epoch is like the first"
    assert data.get_dataset_size() == len(data) == len(expected)


OPERATIONS = {
    "batch": (plain().batch(2), [[0, 1], [2, 3], [4]]),
    "batch without remainder": (plain().batch(2, drop_remainder=True), [[0, 1], [2, 3]]),
    "repeat": (plain(2).repeat(3), [0, 1, 0, 1, 0, 1]),
    "batches go on over the end": (plain(3).repeat(2).batch(2), [[0, 1], [2, 0], [1, 2]]),
    "repeated batches": (plain(3).batch(2).repeat(2), [[0, 1], [2], [0, 1], [2]]),
    "take": (plain().take(2), [0, 1]),
    "take all": (plain().take(), [0, 1, 2, 3, 4]),
    "skip": (plain().skip(3), [3, 4]),
    "endless": (plain(2).repeat().take(5), [0, 1, 0, 1, 0]),
    "map": (plain(3).map([lambda x: x + 1, lambda x: x * 2]), [2, 4, 6]),
    "filter": (plain().filter(lambda x: x % 2), [1, 3]),
    "project": (ds.NumpySlicesDataset({"a": [1, 2], "b": [3, 4]}, shuffle=False).project("b"), [3, 4]),
    "zip": (ds.zip((plain(2), plain(3).rename("x", "y"))), [0, 1]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name):
    data, expected = OPERATIONS[name]
    assert values(data) == expected
    if name != "endless":
        assert data.get_dataset_size() == len(expected)


def test_columns_follow_the_names():
    data = ds.NumpySlicesDataset({"a": [1, 2], "b": [3, 4]}, shuffle=False)
    total = data.map(lambda a, b: (a + b, a - b), output_columns=["sum", "difference"])
    assert total.get_col_names() == ["sum", "difference"]
    assert values(total, 1) == [-2, -2]
    part = data.map(lambda b: b * 10, input_columns="b")
    assert [(item["a"].item(), item["b"].item()) for item in part.create_dict_iterator()] == [(1, 30), (2, 40)]
    assert values(data.rename("a", "c").zip(plain(2)), 2) == [0, 1]
    assert [y.item() for (y,) in data.create_tuple_iterator(columns=["b"])] == [3, 4]
    assert data.output_shapes() == [[], []]
    assert data.batch(2).get_batch_size() == 2


def test_items_are_tensors_or_copies():
    array = np.arange(3.0)
    data = ds.NumpySlicesDataset(array, shuffle=False).batch(3)
    (item,) = next(iter(data))
    assert isinstance(item, Tensor)
    assert item.dtype is dg.float64
    (item,) = next(data.create_tuple_iterator(output_numpy=True))
    item[0] = 7.0
    assert array[0] == 0.0


def test_shuffling_is_repeatable():
    numbers = list(range(50))

    def order(data):
        dg.set_seed(4)
        return values(data)

    for data in (
        ds.NumpySlicesDataset(numbers),
        plain(50).shuffle(50),
        ds.GeneratorDataset(lambda: iter(numbers), "x").shuffle(8),
    ):
        first = order(data)
        assert first != numbers
        assert sorted(first) == numbers
        assert order(data) == first
        assert values(data) != first, "another epoch, another order"
    near = order(plain(50).shuffle(4))
    assert all(value < place + 4 for place, value in enumerate(near))


def test_iterators_go_through_epochs():
    iterator = plain(2).create_tuple_iterator(num_epochs=2)
    assert [[x.item() for (x,) in iterator] for _ in range(2)] == [[0, 1], [0, 1]]
    with pytest.raises(RuntimeError, match="make a new one"):
        next(iterator)
    iterator = plain(2).create_dict_iterator()
    assert [next(iterator)["x"].item(), iterator.get_next()["x"].item(), next(iterator, None)] == [0, 1, None]
    assert next(iterator)["x"].item() == 0


def test_data_sink():
    seen = []

    def step(x):
        seen.append(x.item())
        return x * 2

    sink = dg.data_sink(step, plain(3), sink_size=2)
    assert [sink().item() for _ in range(3)] == [2, 0, 4]
    assert seen == [0, 1, 2, 0, 1, 2]


def test_run_check(capsys):
    dg.run_check()
    assert "order 4 are right" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (TypeError, lambda: ds.GeneratorDataset([1])),
        (TypeError, lambda: ds.GeneratorDataset(3, "x")),
        (TypeError, lambda: ds.GeneratorDataset((k for k in range(3)), "x")),
        (ValueError, lambda: ds.GeneratorDataset(Restarting(), "x", shuffle=True)),
        (ValueError, lambda: ds.GeneratorDataset([1], "x", sampler=[0], shuffle=True)),
        (ValueError, lambda: ds.GeneratorDataset([1], "x", num_shards=2)),
        (ValueError, lambda: ds.GeneratorDataset([1], "x", num_shards=2, shard_id=2)),
        (ValueError, lambda: ds.GeneratorDataset([1], ["x", "x"])),
        (ValueError, lambda: values(ds.GeneratorDataset([(1, 2)], "x"))),
        (TypeError, lambda: values(ds.GeneratorDataset(["a", object()], "x", shuffle=False))),
        (ValueError, lambda: ds.NumpySlicesDataset(([1, 2], [3]))),
        (ValueError, lambda: ds.NumpySlicesDataset([1, 2], ["x", "y"])),
        (TypeError, lambda: ds.NumpySlicesDataset(3)),
        (TypeError, lambda: plain().batch(2.0)),
        (ValueError, lambda: plain().batch(0)),
        (TypeError, lambda: plain().batch(2, workers=3)),
        (ValueError, lambda: values(ds.GeneratorDataset([[1, 2], [3, 4, 5]], "x").batch(2))),
        (ValueError, lambda: plain().project("y")),
        (ValueError, lambda: plain().rename("y", "z")),
        (TypeError, lambda: plain().map(3)),
        (ValueError, lambda: values(plain().map(lambda x: (x, x)))),
        (ValueError, lambda: plain().create_tuple_iterator(num_epochs=0)),
        (ValueError, lambda: ds.zip((plain(), plain()))),
        (ValueError, lambda: plain().filter(lambda x: False).output_shapes()),
        (TypeError, lambda: dg.data_sink(3, plain())),
        (TypeError, lambda: dg.data_sink(len, [1, 2])),
        (ValueError, lambda: dg.data_sink(len, plain(), 0)),
        (ValueError, lambda: dg.data_sink(len, plain().filter(lambda x: False))()),
    ],
)
def test_errors(error, call):
    with pytest.raises(error):
        call()
