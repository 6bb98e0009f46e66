"""Sparse tensors given by places, values and a shape, against the tensors that they stand for."""

import operator

import numpy as np
import pytest
from derivatives import assert_derivatives_agree
from support import assert_close, assert_raises, f64, i32

import dualgrad as dg
from dualgrad import Tensor, ops

RNG = np.random.default_rng(11)
SHAPES = {"vector": (7,), "matrix": (4, 5), "three axes": (3, 2, 4)}


def drawn(shape, count, seed):
    """Places in no order, one of them twice, and values."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(np.prod(shape))[:count]
    chosen[-1] = chosen[0]
    return np.stack(np.unravel_index(chosen, shape), 1), rng.standard_normal(count)


def dense(places, values, shape):
    out = np.zeros(shape, np.asarray(values).dtype)
    np.add.at(out, tuple(np.asarray(places).T), values)
    return out


def triplet(places, values, shape):
    return Tensor(places), Tensor(values), shape


@pytest.mark.parametrize("name", SHAPES)
def test_to_dense(name):
    places, values = drawn(SHAPES[name], 5, 1)
    assert_close(ops.SparseToDense()(*triplet(places, values, SHAPES[name])), dense(places, values, SHAPES[name]))
    assert_close(
        ops.SparseToDense()(i32(places), f64(values), Tensor(SHAPES[name])), dense(places, values, SHAPES[name])
    )
    assert_close(ops.SparseToDense()(Tensor([2, 0]), f64([3.0, 4.0]), 4), [4.0, 0.0, 3.0, 0.0])


@pytest.mark.parametrize("name", SHAPES)
def test_two_sparse_tensors(name):
    shape = SHAPES[name]
    first, second = drawn(shape, 5, 2), drawn(shape, 4, 3)
    a, b = dense(*first, shape), dense(*second, shape)
    there = np.unique(np.ravel_multi_index(tuple(np.concatenate([first[0], second[0]]).T), shape))
    places = np.stack(np.unravel_index(there, shape), 1)
    operands = (*triplet(*first, shape), *triplet(*second, shape))
    found = ops.SparseAdd()(*operands, 0.0)
    assert_close(found, (places, (a + b).ravel()[there], np.array(shape)))
    limit = float(np.median(np.abs((a + b).ravel()[there])))
    kept = there[np.abs((a + b).ravel()[there]) >= limit]
    assert 0 < len(kept) < len(there)
    found = ops.SparseAdd()(*operands, Tensor(limit, dg.float64))
    assert_close(found[:2], (np.stack(np.unravel_index(kept, shape), 1), (a + b).ravel()[kept]))
    for pool, function in ((ops.SparseSparseMaximum, np.maximum), (ops.SparseSparseMinimum, np.minimum)):
        assert_close(pool()(*operands), (places, function(a, b).ravel()[there]))


@pytest.mark.parametrize("name", SHAPES)
def test_values_beside_a_tensor(name):
    shape = SHAPES[name]
    places, values = drawn(shape, 5, 4)
    kinds = {ops.SparseDenseCwiseAdd: operator.add, ops.SparseDenseCwiseMul: operator.mul,
             ops.SparseDenseCwiseDiv: operator.truediv}  # fmt: skip
    for kind, function in kinds.items():
        for other in (shape, shape[-1:], (1,) * len(shape), ()):
            x = RNG.uniform(1, 2, other)
            expected = function(values, np.broadcast_to(x, shape)[tuple(places.T)])
            assert_close(kind()(*triplet(places, values, shape), f64(x)), expected)


def test_order_and_shape():
    shape = SHAPES["three axes"]
    places, values = drawn(shape, 6, 5)
    numbers = np.ravel_multi_index(tuple(places.T), shape)
    order = np.argsort(numbers, kind="stable")
    assert_close(ops.SparseReorder()(*triplet(places, values, shape)), (places[order], values[order]))
    for target, full in (((6, 4), (6, 4)), ((-1, 3), (8, 3)), ((24,), (24,)), ((2, 1, -1), (2, 1, 12))):
        found = ops.SparseReshape()(Tensor(places), shape, target)
        assert_close(found, (np.stack(np.unravel_index(numbers, full), 1), np.array(full)))


def test_product_and_sum():
    places, values = drawn((4, 5), 6, 6)
    x, y = RNG.standard_normal((5, 3)), RNG.standard_normal((4, 3))
    found = ops.SparseAddmm()(*triplet(places, values, (4, 5)), f64(x), f64(y), f64([2.0]), 0.5)
    assert_close(found, 2.0 * dense(places, values, (4, 5)) @ x + 0.5 * y, scale=1.0)


SEGMENTS = {"Sum": lambda rows: rows.sum(0), "Mean": lambda rows: rows.mean(0),
            "SqrtN": lambda rows: rows.sum(0) / np.sqrt(len(rows))}  # fmt: skip


@pytest.mark.parametrize("name", SEGMENTS)
@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 2, 3)])
def test_segments(name, shape):
    x, rows, segments = RNG.standard_normal(shape), np.array([3, 0, 0, 2, 1]), np.array([0, 0, 2, 2, 5])
    for count in (6, 8):
        expected = np.zeros((count, *shape[1:]))
        for k in {*segments.tolist()}:
            expected[k] = SEGMENTS[name](x[rows[segments == k]])
        wide = getattr(ops, f"SparseSegment{name}WithNumSegments")()
        assert_close(wide(f64(x), Tensor(rows), i32(segments), i32([count])), expected, scale=1.0)
        if count == 6:
            assert_close(
                getattr(ops, f"SparseSegment{name}")()(f64(x), i32(rows), Tensor(segments)), expected, scale=1.0
            )
            if name == "Mean":
                assert_close(ops.sparse_segment_mean(f64(x), Tensor(rows), Tensor(segments)), expected, scale=1.0)
    assert getattr(ops, f"SparseSegment{name}")()(f64(x), i32([]), i32([])).shape == (0, *shape[1:])


def test_sums_of_integers():
    found = ops.SparseSegmentSum()(Tensor([1, 2, 4]), Tensor([0, 2]), Tensor([0, 0]))
    assert (found.dtype, found.tolist()) == (dg.int64, [5])


PLACES, OTHER = Tensor(drawn((4, 5), 4, 7)[0]), Tensor(drawn((4, 5), 3, 8)[0])
VALUES, MORE, MATRIX = RNG.standard_normal(4), RNG.standard_normal(3), RNG.uniform(1, 2, (4, 5))
DERIVATIVES = {
    "SparseToDense": (lambda v: ops.SparseToDense()(PLACES, v, (4, 5)), (VALUES,)),
    "SparseAdd": (lambda v, w: ops.SparseAdd()(PLACES, v, (4, 5), OTHER, w, (4, 5), 0.0)[1], (VALUES, MORE)),
    "SparseSparseMaximum": (
        lambda v, w: ops.SparseSparseMaximum()(PLACES, v, (4, 5), OTHER, w, (4, 5))[1], (VALUES, MORE)),
    "SparseSparseMinimum": (
        lambda v, w: ops.SparseSparseMinimum()(PLACES, v, (4, 5), OTHER, w, (4, 5))[1], (VALUES, MORE)),
    "SparseDenseCwiseAdd": (lambda v, x: ops.SparseDenseCwiseAdd()(PLACES, v, (4, 5), x), (VALUES, MATRIX)),
    "SparseDenseCwiseMul": (lambda v, x: ops.SparseDenseCwiseMul()(PLACES, v, (4, 5), x), (VALUES, MATRIX)),
    "SparseDenseCwiseDiv": (lambda v, x: ops.SparseDenseCwiseDiv()(PLACES, v, (4, 5), x), (VALUES, MATRIX)),
    "SparseReorder": (lambda v: ops.SparseReorder()(PLACES, v, (4, 5))[1], (VALUES,)),
    "SparseAddmm": (
        lambda v, x, y, a, b: ops.SparseAddmm()(PLACES, v, (4, 5), x, y, a, b),
        (VALUES, MATRIX.T, np.ones((4, 4)), np.array([2.0]), np.array(3.0))),
    "sparse_segment_mean": (
        lambda x: ops.sparse_segment_mean(x, Tensor([3, 0, 0]), Tensor([0, 0, 2])), (MATRIX,)),
    "SparseSegmentSqrtN": (
        lambda x: ops.SparseSegmentSqrtN()(x, Tensor([3, 0, 0]), Tensor([0, 0, 2])), (MATRIX,)),
}  # fmt: skip


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    assert_derivatives_agree(*DERIVATIVES[name])


@pytest.mark.parametrize("name", [name for name in DERIVATIVES if name not in ("SparseAdd", "SparseAddmm")])
def test_samples(name):
    """What vmap gives is what each sample gives."""
    function, args = DERIVATIVES[name]
    stacks = [f64(np.stack([a, a + 0.5, 2.0 * a])) for a in args]
    expected = np.stack([function(*[stack[k] for stack in stacks]).asnumpy() for k in range(3)])
    assert_close(dg.vmap(function)(*stacks), expected)


A = Tensor([[0, 1], [2, 0]]), f64([1.0, 2.0]), (3, 2)
ERRORS = {
    "values": (ValueError, lambda: ops.SparseToDense()(A[0], f64([1.0]), (3, 2)), "SparseToDense", "(2, 2)", "(1,)"),
    "shape": (ValueError, lambda: ops.SparseReorder()(A[0], A[1], (3, 2, 1)), "R lengths"),
    "outside": (IndexError, lambda: ops.SparseReorder()(A[0], A[1], (2, 2)), "place 1", "[2, 0]"),
    "negative": (IndexError, lambda: ops.SparseReshape()(Tensor([[-1, 0]]), (2, 2), (4,)), "place 0", "(2, 2)"),
    "outside of a dense one": (IndexError, lambda: ops.SparseToDense()(A[0], A[1], (2, 2)), "SparseToDense"),
    "two shapes": (ValueError, lambda: ops.SparseAdd()(*A, A[0], A[1], (3, 3), 0.0), "equal shapes"),
    "two types": (TypeError, lambda: ops.SparseAdd()(*A, A[0], i32([1, 2]), (3, 2), 0), "Int32", "equal types"),
    "broadcasting": (ValueError, lambda: ops.SparseDenseCwiseAdd()(*A, ops.ones((3,), dg.float64)), "broadcasts"),
    "too many axes": (ValueError, lambda: ops.SparseDenseCwiseMul()(*A, ops.ones((1, 1, 1), dg.float64)), "(1, 1, 1)"),
    "type beside": (TypeError, lambda: ops.SparseDenseCwiseMul()(*A, i32([1, 2])), "equal types"),
    "division": (
        TypeError, lambda: ops.SparseDenseCwiseDiv()(A[0], i32([1, 2]), (3, 2), i32([1])), "Int32", "floating"),
    "new shape": (ValueError, lambda: ops.SparseReshape()(A[0], (3, 2), (4, -1)), "(4, -1)"),
    "product": (
        ValueError, lambda: ops.SparseAddmm()(*A, ops.ones((2, 1)), ops.ones((2, 1)), 1.0, 1.0), "x3", "(3, 1)"),
    "order of segments": (
        ValueError, lambda: ops.sparse_segment_mean(A[1], Tensor([0, 1]), Tensor([1, 0])), "segment_ids"),
    "length of segments": (ValueError, lambda: ops.SparseSegmentSum()(A[1], Tensor([0, 1]), Tensor([1])), "(1,)"),
    "integers": (
        TypeError, lambda: ops.SparseSegmentMean()(i32([1, 2]), Tensor([0]), Tensor([0])), "Int32", "floating"),
    "number": (
        ValueError,
        lambda: ops.SparseSegmentSumWithNumSegments()(A[1], Tensor([0]), Tensor([3]), 3), "num_segments", "3"),
    "operands": (TypeError, lambda: ops.SparseSegmentSum()(A[1], Tensor([0]), Tensor([0]), 3), "4 operands"),
    "row": (IndexError, lambda: ops.SparseSegmentSum()(A[1], Tensor([5]), Tensor([0])), "5"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    assert_raises(ERRORS[name][0], ERRORS[name][1], *ERRORS[name][2:])
