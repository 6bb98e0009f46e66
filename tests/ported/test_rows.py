"""Rows and points of variables changed in place, and rows of copies, against NumPy; small primitive classes."""

import itertools

import numpy as np
import pytest
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops

pytestmark = pytest.mark.usefixtures("mode")
RNG = np.random.default_rng(6)
X = RNG.uniform(1.0, 2.0, (5, 3))
ROWS = np.array([[0, 3], [3, 1]])
ROW_VALUES = RNG.uniform(0.5, 3.0, (2, 2, 3))
POINTS = np.array([[0, 2], [4, 1], [0, 2]])
POINT_VALUES = RNG.uniform(0.5, 3.0, 3)
AT = {
    "update": None, "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum,
    "min": np.minimum,
}  # fmt: skip
WAYS = [*itertools.product(AT, [False, True])]


def changed(kind, points):
    """What NumPy makes of the array, one index after another."""
    index = tuple(POINTS.T) if points else ROWS
    values = POINT_VALUES if points else ROW_VALUES
    x = X.copy()
    if kind == "update":
        x[index] = values
    else:
        AT[kind].at(x, index, values)
    return x


def arguments(points):
    return (Tensor(POINTS), f64(POINT_VALUES)) if points else (Tensor(ROWS), f64(ROW_VALUES))


def callers(kind, points):
    nd = "nd_" if points else ""
    yield getattr(ops, f"scatter_{nd}{kind}")
    yield getattr(ops, f"Scatter{nd[:2].capitalize()}{kind.capitalize()}")(use_locking=True)


@pytest.mark.parametrize(("kind", "points"), WAYS)
def test_variables_change_in_place(kind, points):
    for call in callers(kind, points):
        w, x = Parameter(X, name="w"), f64(X)
        assert call(w, *arguments(points)) is w
        assert_close(w.value(), changed(kind, points))
        assert call(x, *arguments(points)) is x
        assert_close(x, changed(kind, points))


@pytest.mark.parametrize(("kind", "points"), WAYS)
def test_derivatives_of_tensors_that_change(kind, points):
    index, values = arguments(points)
    call = next(iter(callers(kind, points)))

    def through(x, v):
        y = +x
        call(y, index, v)
        return (y * y).sum()

    def functional(x, v):
        indices = index if points else ops.expand_dims(index, -1)
        return (getattr(ops, f"tensor_scatter_{kind}")(x, indices, v) ** 2).sum()

    found, expected = [dg.grad(f, (0, 1))(f64(X), values) for f in (through, functional)]
    assert_close(found[0], expected[0].asnumpy())
    assert_close(found[1], expected[1].asnumpy())


@pytest.mark.parametrize("kind", ["add", "sub", "update"])
@pytest.mark.parametrize("one", [False, True])
def test_rows_of_a_copy(kind, one):
    x, index = f64(X), (4, 0)
    values = ROW_VALUES[0, :1] if one else ROW_VALUES[0]
    expected = X.copy()
    if kind == "update":
        expected[list(index)] = values
    else:
        expected[list(index)] += values if kind == "add" else -values
    function, cls = getattr(ops, f"inplace_{kind}"), getattr(ops, f"Inplace{kind.capitalize()}")
    assert_close(function(x, f64(values), index), expected)
    assert_close(cls(index)(x, f64(values)), expected)
    assert_close(x, X)
    assert_close(function(x, f64(ROW_VALUES[0, 0]), 2), function(x, f64(ROW_VALUES[0, :1]), Tensor([2])).asnumpy())
    slopes = dg.grad(lambda x, v: (function(x, v, index) ** 2).sum(), (0, 1))(x, f64(values))
    inside = expected[list(index)] * (-2.0 if kind == "sub" else 2.0)
    kept = 2 * expected
    if kind == "update":
        kept[list(index)] = 0.0
    assert_close(slopes[0], kept)
    assert_close(slopes[1], inside.sum(0, keepdims=True) if one else inside)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_slices_are_added_in_place(axis):
    values = RNG.standard_normal((2, 3) if axis == 0 else (5, 2))
    expected = X.copy()
    np.add.at(expected.swapaxes(0, axis), [2, 0], values.swapaxes(0, axis))
    for call in (
        lambda x: ops.inplace_index_add(x, Tensor([2, 0]), f64(values), axis),
        lambda x: ops.InplaceIndexAdd(axis)(x, Tensor([2, 0]), f64(values)),
    ):
        w, x = Parameter(X, name="w"), f64(X)
        assert call(w) is w
        assert call(x) is x
        assert_close(w.value(), expected)
        assert_close(x, expected)


def test_small_primitives():
    x, y = np.array([5, 2, 5, 1]), np.array([5, 3, 5, 2])
    assert_close(ops.EqualCount()(Tensor(x), Tensor(y)), np.array([2]))
    values, numbers = ops.Unique()(Tensor(x))
    assert_close(values, np.array([5, 2, 1]))
    assert_close(numbers, np.array([0, 1, 0, 2]))
    for indexing in ("xy", "ij"):
        for found, expected in zip(
            ops.Meshgrid(indexing)((Tensor(x), f64(X[0]))), np.meshgrid(x, X[0], indexing=indexing), strict=True
        ):
            assert_close(found, expected)
    assert_close(ops.FillV2()(Tensor([2, 1]), f64(3.5)), np.full((2, 1), 3.5))
    assert_close(ops.new_zeros(f64(X), (2,)), np.zeros(2), dtype=dg.float64)
    assert_close(ops.new_ones(f64(X), 3, dtype=dg.int32), np.ones(3), dtype=dg.int32)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (7, 3), (3, 3, 3)], ids=str)
@pytest.mark.parametrize("wrap", [False, True])
def test_a_number_on_the_diagonal(shape, wrap):
    x = RNG.standard_normal(shape)
    expected = x.copy()
    np.fill_diagonal(expected, 2.5, wrap)
    for call in (
        lambda t: ops.fill_diagonal(t, 2.5, wrap),
        ops.FillDiagonal(2.5, wrap),
        lambda t: t.fill_diagonal(2.5, wrap),
    ):
        assert_close(call(f64(x)), expected)
    assert_close(dg.grad(lambda t: (ops.fill_diagonal(t, 2.5, wrap) ** 2).sum())(f64(x)), 2 * x * (expected == x))
    whole = ops.fill_diagonal(Tensor(np.zeros(shape, np.int32)), 5.0, wrap)
    assert_close(whole, np.where(expected == 2.5, 5, 0), dtype=dg.int32)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)], ids=str)
@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, np.inf, -np.inf])
def test_norms_of_elements_as_one_vector(axis, order):
    x = RNG.standard_normal((2, 3, 4))
    x[0, 0, 0] = 0.0
    axes = tuple(range(3)) if axis is None else axis if isinstance(axis, tuple) else (axis % 3,)
    kept = [k for k in range(3) if k not in axes]
    flat = x.transpose(*kept, *axes).reshape(*[x.shape[k] for k in kept], -1)
    expected = np.linalg.norm(flat, order, -1)
    assert_close(ops.vector_norm(f64(x), order, axis), expected)
    wide = np.expand_dims(expected, axes)
    assert_close(ops.vector_norm(Tensor(x.astype(np.float32)), order, axis, True, dtype=dg.float64), wide, rtol=1e-6)


def test_stacks_of_stacks_of_matrices():
    a, b = RNG.standard_normal((2, 4, 1, 3)), RNG.standard_normal((2, 4, 3, 5))
    assert_close(ops.bmm(f64(a), f64(b)), a @ b)
    assert_raises(ValueError, lambda: ops.bmm(f64(a), f64(b[:, :3])), "bmm", "4 is not 3")


@pytest.mark.parametrize("training", [False, True])
def test_batches_with_their_statistics(training):
    image = RNG.standard_normal((4, 3, 2, 2))
    mean, variance = Parameter(np.array([0.1, 0.2, 0.3]), name="m"), Parameter(np.array([1.0, 2.0, 3.0]), name="v")
    scale, bias = f64([1.0, 2.0, -1.0]), f64([0.5, 0.0, 1.0])
    used = [mean.asnumpy(), variance.asnumpy()]
    if training:
        used = [image.mean((0, 2, 3)), image.var((0, 2, 3))]
    wide = [part.reshape(3, 1, 1) for part in (*used, scale.asnumpy(), bias.asnumpy())]
    expected = (image - wide[0]) / np.sqrt(wide[1] + 1e-3) * wide[2] + wide[3]
    norm = ops.BatchNorm(is_training=training, epsilon=1e-3, momentum=0.3)
    for found, wanted in zip(norm(f64(image), scale, bias, mean, variance), [expected, *used, *used], strict=True):
        assert_close(found, wanted, rtol=1e-10)
    if training:
        assert_close(mean.value(), 0.7 * np.array([0.1, 0.2, 0.3]) + 0.3 * used[0])
        assert_close(variance.value(), 0.7 * np.array([1.0, 2.0, 3.0]) + 0.3 * image.var((0, 2, 3), ddof=1))


WRONG = {
    "no variable": (TypeError, lambda: ops.scatter_update(X, [0], X[:1]), "scatter_update", "ndarray"),
    "no axis": (TypeError, lambda: ops.scatter_add(f64(X), 0, Tensor([0])), "src", "three arguments"),
    "a wider kind": (TypeError, lambda: ops.scatter_max(Tensor([1, 2]), [0], f64([1.5])), "Int64"),
    "rows": (ValueError, lambda: ops.inplace_add(f64(X), f64(X[:3]), (0, 1)), "inplace_add", "one row"),
    "no such row": (IndexError, lambda: ops.inplace_sub(f64(X), f64(X[:1]), 5), "5"),
    "shapes": (ValueError, lambda: ops.equal_count(f64(X), f64(X[:1])), "equal_count", "one shape"),
    "a vector": (ValueError, lambda: ops.fill_diagonal(f64(X[0]), 1.0), "fill_diagonal", "two axes"),
    "half a number": (TypeError, lambda: ops.fill_diagonal(Tensor([[1]]), 0.5), "fill_diagonal", "Int64"),
    "order of axes": (ValueError, lambda: ops.BatchNorm(data_format="NHWC"), "NHWC"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused(name):
    error, call, *words = WRONG[name]
    assert_raises(error, call, *words)


@pytest.mark.parametrize("adjoint_dt", [False, True])
@pytest.mark.parametrize("adjoint_st", [False, True])
@pytest.mark.parametrize("as_cell", [False, True])
def test_sparse_matrix_times_matrix(as_cell, adjoint_st, adjoint_dt):
    """Against the dense product: the value, and gradients by values and by the matrix."""
    rng = np.random.default_rng(7)
    places, shape = np.array([[0, 1], [2, 0], [0, 1], [2, 1]]), (3, 2)
    values, matrix = rng.standard_normal(4), rng.standard_normal((3 if adjoint_st else 2, 4))
    matrix = matrix.T.copy() if adjoint_dt else matrix
    product = (dg.nn if as_cell else ops).SparseTensorDenseMatmul(adjoint_st, adjoint_dt)

    def sparse(v, m):
        return product(dg.Tensor(places), v, shape, m)

    def dense(v, m):
        a = ops.scatter_nd(dg.Tensor(places), v, shape)
        return ops.matmul(a.T if adjoint_st else a, m.T if adjoint_dt else m)

    operands = dg.Tensor(values), dg.Tensor(matrix)
    assert_close(sparse(*operands), dense(*operands).asnumpy(), scale=1.0)
    for function in (
        lambda f: dg.grad(lambda *x: (f(*x) ** 3).sum(), (0, 1)),
        lambda f: dg.grad(lambda *x: (dg.grad(lambda *y: (f(*y) ** 3).sum())(*x) ** 2).sum(), (0, 1)),
    ):
        found, expected = function(sparse)(*operands), function(dense)(*operands)
        for one, other in zip(found, expected, strict=True):
            assert_close(one, other.asnumpy(), rtol=1e-11, scale=100.0)


def test_wrong_sparse_products():
    product, ones = ops.SparseTensorDenseMatmul(), ops.ones
    places = dg.Tensor([[0, 1]])
    assert_raises(ValueError, lambda: product(places, ones((2,)), (2, 2), ones((2, 2))), "(1, 2)", "(n, 2)")
    assert_raises(ValueError, lambda: product(places, ones((1,)), (2, 3), ones((2, 2))), "(2, 3) times", "(2, 2)")
    values = dg.Tensor(np.ones(1, complex))
    adjoint = ops.SparseTensorDenseMatmul(True)
    assert_raises(ValueError, lambda: adjoint(places, values, (2, 2), ones((2, 2))), "adjoint of a complex")


def test_rows_replaced_by_class():
    x, v = dg.Tensor(np.arange(6.0).reshape(3, 2)), dg.Tensor([[7.0, 8.0], [9.0, 1.0]], dg.float64)
    expected = x.asnumpy().copy()
    expected[[2, 0]] = v.asnumpy()
    assert_close(ops.InplaceUpdateV2()(x, dg.Tensor([2, 0]), v), expected)
    assert_close(
        dg.grad(lambda t: ops.InplaceUpdateV2()(t, (2, 0), v).sum())(x), np.array([[0.0] * 2, [1.0] * 2, [0.0] * 2])
    )
