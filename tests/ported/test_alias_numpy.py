"""`mindspore.numpy` under the alias: names that `dualgrad.numpy` lacks, and second names of types."""

from importlib import import_module

import numpy as np
import pytest
from support import assert_close, assert_raises

import dualgrad as dg
import dualgrad.mindspore
from dualgrad.mindspore._table import _SECOND_NAMES, TYPES_IN

pytestmark = pytest.mark.usefixtures("mode")


@pytest.fixture(autouse=True)
def mnp():
    """`mindspore.numpy` during a test, and no trace of it afterwards."""
    dualgrad.mindspore.install()
    yield import_module("mindspore.numpy")
    dualgrad.mindspore.uninstall()


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
@pytest.mark.parametrize("points", [-2, 0, 1, 2, 7])
def test_windows(mnp, name, points):
    window = getattr(mnp, name)
    assert_close(window(points), getattr(np, name)(points).astype(np.float32), dtype=dg.float32)
    assert window.__name__ == name
    assert name in window.__doc__
    for wrong in (2.0, "3", True):
        assert_raises(TypeError, lambda wrong=wrong: window(wrong), name, type(wrong).__name__)


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
@pytest.mark.parametrize("arguments", [(3,), (3, -1), (2, 1, 4), (0,)])
def test_positions_in_triangles(mnp, name, arguments):
    rows, columns = getattr(mnp, name)(*arguments)
    for found, expected in zip((rows, columns), getattr(np, name)(*arguments), strict=True):
        assert_close(found, expected)


def test_positions_index_tensors_and_pass_gradients_on(mnp):
    x = dg.Tensor(np.arange(9.0).reshape(3, 3))
    expected = np.zeros((3, 3))
    expected[np.tril_indices(3)] = 1
    assert_close(dg.grad(lambda t: t[mnp.tril_indices(3)].sum())(x), expected)
    assert_close(x[mnp.diag_indices(3)], np.diag(x.asnumpy()))
    assert len(mnp.diag_indices(2, 3)) == 3


@pytest.mark.parametrize("sparse", [False, True])
def test_grids(mnp, sparse):
    for dtype in (np.int32, np.float32):
        found = mnp.indices((2, 3), dg.Tensor(np.zeros(1, dtype)).dtype, sparse)
        for one, expected in zip(found, np.indices((2, 3), dtype, sparse), strict=True):
            assert_close(one, expected)
    assert mnp.indices([2])[0].dtype == dg.int32


def test_membership_on_one_axis(mnp):
    x = dg.Tensor([[1, 2], [3, 4]])
    for invert in (False, True):
        assert_close(mnp.in1d(x, [2, 3], invert), np.isin([1, 2, 3, 4], [2, 3], invert=invert))


def test_former_names(mnp):
    x = dg.Tensor([[0, 1], [0, 0]])
    assert_close(mnp.sometrue(x, 1), np.array([True, False]))
    assert_close(mnp.sometrue(x, keepdims=True), np.array([[True]]))
    for dtype, expected in ((dg.float64, dg.float64), (dg.float16, dg.float16), (dg.int32, dg.float32)):
        assert mnp.asfarray([1, 2], dtype).dtype == expected
    assert mnp.asfarray(x).dtype == dg.float32
    assert_close(mnp.multi_dot([mnp.ones((2, 3)), mnp.ones((3, 4)), mnp.ones(4)]), np.full(2, 12, np.float32))
    assert_close(mnp.matrix_power(dg.Tensor([[0.0, 2.0], [1.0, 0.0]]), 2), np.diag(np.float32([2, 2])))
    x = dg.Tensor(np.arange(4.0))
    assert_close(dg.grad(lambda t: (mnp.asfarray(t, dg.float64) ** 2).sum())(x), 2 * x.asnumpy())


TYPES = [dg.bool_, dg.int8, dg.uint8, dg.int32, dg.int64, dg.float16, dg.float32, dg.float64]


@pytest.mark.parametrize("first", TYPES, ids=str)
@pytest.mark.parametrize("second", TYPES, ids=str)
def test_types_of_results(mnp, first, second):
    expected = (dg.ops.ones((1,), first) + dg.ops.ones((1,), second)).dtype
    assert mnp.promote_types(first, second) == expected


@pytest.mark.parametrize("path", TYPES_IN)
@pytest.mark.parametrize("name", _SECOND_NAMES)
def test_second_names_of_types(path, name):
    found = getattr(import_module(f"mindspore.{path}".rstrip(".")), name)
    assert found is getattr(dg, _SECOND_NAMES[name])
    if hasattr(np, name) and name != "long":  # NumPy's long is the machine's
        assert found.numpy == np.dtype(getattr(np, name))


def test_other_names_of_the_package():
    mindspore = import_module("mindspore")
    assert mindspore.is_tensor(dg.Tensor(1.0))
    assert not mindspore.is_tensor(1.0)
    mindspore.manual_seed(3)
    first = dg.ops.randn(3)
    mindspore.set_seed(3)
    assert_close(dg.ops.randn(3), first.asnumpy())


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_arrays_are_broadcast_to_indices_along_other_axes(mnp, axis):
    rng = np.random.default_rng(1)
    for shape, of_indices in (
        ((4, 1, 2), (4, 3, 2)),
        ((1, 5, 1), (2, 5, 3)),
        ((3, 5, 4), (1, 1, 4)),
        ((1, 1, 1), (2, 1, 3)),
    ):
        x = rng.standard_normal(shape)
        indices = rng.integers(0, shape[axis], of_indices)
        try:
            expected = np.take_along_axis(x, indices, axis)
        except IndexError:
            assert_raises(
                ValueError, lambda x=x, i=indices: mnp.take_along_axis(dg.Tensor(x), dg.Tensor(i), axis), "shape"
            )
            continue
        assert_close(mnp.take_along_axis(dg.Tensor(x), dg.Tensor(indices), axis), expected)
        slope = np.zeros(shape)
        places = [np.arange(n).reshape([-1 if k == at else 1 for k in range(3)]) for at, n in enumerate(expected.shape)]
        places = [place % n for place, n in zip(places, shape, strict=True)]
        places[axis] = indices
        np.add.at(slope, tuple(places), np.ones(expected.shape))
        found = dg.grad(lambda t, i=indices: mnp.take_along_axis(t, dg.Tensor(i), axis).sum())(dg.Tensor(x))
        assert_close(found, slope)
