"""Rows looked up by number, elements scattered by primitive classes, and neighbouring numbers."""

import numpy as np
import pytest
from support import assert_close, f32, f64

import dualgrad as dg
from dualgrad import Tensor, nn, ops

TABLE = np.random.default_rng(7).normal(size=(4, 3))


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("offset", [0, 2, -3])
def test_numbers_without_a_row_give_zeros_and_take_no_slope(offset):
    index = np.array([[-1, 0, 3], [5, 2, 3]])
    there = (index - offset >= 0) & (index - offset < 4)
    expected = np.where(there[..., None], TABLE[np.clip(index - offset, 0, 3)], 0.0)
    lookup = ops.EmbeddingLookup()
    assert_close(lookup(f64(TABLE), Tensor(index), offset), expected)
    slope = dg.grad(lambda table: lookup(table, Tensor(index), offset).sum())(f64(TABLE))
    counts = np.bincount((index - offset)[there], minlength=4)
    assert_close(slope, np.repeat(counts[:, None] * 1.0, 3, axis=1))


@pytest.mark.usefixtures("mode")
def test_rows_of_a_lookup_are_shortened_and_no_longer_rows_stay():
    lengths = np.linalg.norm(TABLE, axis=1)
    largest = float(np.median(lengths))
    lookup = nn.EmbeddingLookup(4, 3, f64(TABLE), max_norm=largest, dtype=dg.float64)
    expected = TABLE * np.minimum(1.0, largest / lengths)[:, None]
    assert_close(lookup(Tensor([[3, 1], [0, 2]])), expected[[[3, 1], [0, 2]]], rtol=1e-14)
    assert [p.name for p in lookup.trainable_params()] == ["embedding_table"]
    plain = nn.EmbeddingLookup(4, 3, f64(TABLE), dtype=dg.float64)
    assert_close(plain(Tensor([2, 2])), nn.Embedding(4, 3, False, f64(TABLE), dg.float64)(Tensor([2, 2])).asnumpy())


@pytest.mark.parametrize("reduction", ["none", "add"])
def test_the_class_scatters_as_the_function_does(reduction):
    x, index, updates = f64(TABLE), Tensor([[0, 2, 1], [3, 3, 3]]), f64(TABLE[:2] * 2.0)
    found = ops.TensorScatterElements(0, reduction)(x, index, updates)
    assert_close(found, ops.tensor_scatter_elements(x, index, updates, 0, reduction).asnumpy())


@pytest.mark.parametrize("make", [f32, f64])
def test_next_numbers_are_those_of_numpy(make):
    special = [0.0, -0.0, 1.0, -1.5, 1e-40, 3e38, np.inf, -np.inf, np.nan]
    x, y = (make(each.ravel()) for each in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        expected = np.nextafter(x.asnumpy(), y.asnumpy())
    assert np.array_equal(ops.nextafter(x, y).asnumpy(), expected, equal_nan=True)
    slopes = dg.grad(lambda x, y: ops.NextAfter()(x, y).sum(), (0, 1))(make([1.0, 2.0]), make([2.0, -1.0]))
    assert [slope.tolist() for slope in slopes] == [[1.0, 1.0], [0.0, 0.0]]


def test_the_loss_of_classes_comes_with_the_sum_of_the_weights():
    logs, classes, weights = f64(np.log(np.full((3, 4), 0.25))), Tensor([1, 0, 3]), f64([0.5, 1.0, 2.0, 4.0])
    for reduction in ("none", "sum", "mean"):
        assert ops.NLLLoss(reduction)(logs, classes, weights)[1].item() == 5.5
