"""The Tensor as an object: construction, attributes, conversion to Python, reductions and their spellings."""

import math

import numpy as np
import pytest
from support import assert_close, f32, f64

import dualgrad as dg
from dualgrad import Tensor, ops

DATA = np.array([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]])


# ----------------------------------------------------------------------------------------------- construction


@pytest.mark.parametrize(
    "data",
    [
        3,
        2.5,
        True,
        [1, 2],
        [[1.0], [2.0]],
        ((1, 2), (3, 4)),
        [np.float64(1), 2.5],
        np.arange(6).reshape(2, 3),
    ],
    ids=repr,
)
def test_a_tensor_holds_what_it_is_given(data):
    for make in Tensor, dg.tensor:
        assert type(make(data)) is Tensor
        assert make(data).shape == np.shape(data)
        assert np.array_equal(make(data).asnumpy(), np.asarray(data))


def test_a_tensor_of_a_tensor():
    x = f64([1.0, 2.0])
    assert_close(Tensor(x), [1.0, 2.0], dtype=dg.float64)
    assert_close(Tensor(x, dg.float32), [1.0, 2.0], dtype=dg.float32)
    assert_close(Tensor(input_data=x, dtype=dg.int32), np.array([1, 2]), dtype=dg.int32)


@pytest.mark.parametrize("dtype", [dg.float32, np.float32, np.dtype("float32"), "float32"], ids=repr)
def test_the_type_can_be_named_in_several_ways(dtype):
    assert Tensor([1, 2], dtype).dtype == dg.float32
    assert Tensor([1, 2], dtype=dtype).dtype == dg.float32
    assert f64([1.5]).astype(dtype).dtype == dg.float32


def test_types_are_compared_and_hashed_by_identity():
    dtype = f32([1.0]).dtype
    assert dtype is dg.float32
    assert dtype == dg.float32
    assert dtype != dg.float64
    assert {dg.float32: "single"}[dtype] == "single"


def test_a_shape_alone_gives_zeros():
    assert_close(Tensor(shape=(2, 3), dtype=dg.float32), np.zeros((2, 3)), dtype=dg.float32)
    assert_close(Tensor(shape=(2,), dtype=dg.int32), np.zeros(2, int), dtype=dg.int32)


def test_arrays_are_copied():
    array = np.array([1.0, 2.0])
    copied = Tensor(array)
    array[0] = 7.0
    assert_close(copied, [1.0, 2.0])


def test_from_numpy_shares():
    array = np.array([1.0, 2.0])
    shared = Tensor.from_numpy(array)
    array[0] = 7.0
    assert_close(shared, [7.0, 2.0])


def test_a_write_into_asnumpy_changes_no_gradient():
    def f(x):
        y = x * x
        array = y.asnumpy()
        if array.flags.writeable:
            array[...] = 100.0
        return y * y

    x = f64([2.0, 3.0])
    assert_close(dg.grad(f)(x), [32.0, 108.0])
    outside = x.asnumpy()
    if outside.flags.writeable:
        outside[...] = 100.0
    assert_close(dg.grad(lambda x: x**2)(f64([2.0, 3.0])), [4.0, 6.0])


# ------------------------------------------------------------------------------------------------- attributes


def test_attributes():
    x = f32(DATA)
    assert (x.shape, x.ndim, x.size, x.itemsize, x.nbytes) == ((2, 3), 2, 6, 4, 24)
    assert type(x.shape) is tuple
    assert x.dtype is dg.float32
    assert_close(x.T, DATA.T)
    assert_close(f32(np.zeros((2, 3, 4))).T, np.zeros((4, 3, 2)))
    scalar = f64(1.5)
    assert (scalar.shape, scalar.ndim, scalar.size, scalar.itemsize, scalar.nbytes) == ((), 0, 1, 8, 8)


def test_length_iteration_and_membership():
    x = f64(DATA)
    assert len(x) == 2
    rows = list(x)
    assert_close(rows, [DATA[0], DATA[1]])
    assert 5.0 in x
    assert 7.0 not in x
    with pytest.raises(TypeError):
        len(f64(1.0))
    with pytest.raises(TypeError):
        iter(f64(1.0))


def test_iteration_carries_gradients():
    def f(x):
        first, second = x
        return first * second

    assert_close(dg.grad(f)(f64(DATA)), DATA[::-1])


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_element_converts_to_python(shape):
    x = Tensor(np.full(shape, 2.75))
    assert (float(x), int(x), bool(x), x.item()) == (2.75, 2, True, 2.75)
    assert type(x.item()) is float
    assert (type(Tensor(3).item()), type(Tensor(True).item())) == (int, bool)
    assert not bool(Tensor(np.zeros(shape)))
    assert complex(Tensor(1 + 2j)) == 1 + 2j


@pytest.mark.parametrize("convert", [bool, float, int, lambda x: x.item()], ids=["bool", "float", "int", "item"])
def test_many_elements_do_not(convert):
    with pytest.raises(ValueError, match=r"\(2,\)|2 elements|one element|single element"):
        convert(f64([1.0, 2.0]))


def test_tolist_and_indexing_a_list():
    assert f64(DATA).tolist() == DATA.tolist()
    assert Tensor([1, 2]).tolist() == [1, 2]
    assert Tensor(1.5).tolist() == 1.5
    assert ["a", "b", "c"][Tensor(1)] == "b"
    assert list(range(Tensor(3))) == [0, 1, 2]
    with pytest.raises(TypeError):
        ["a", "b"][f32(1.0)]


def test_hash_is_by_identity_and_none_is_no_tensor():
    x, same = f64([1.0]), f64([1.0])
    assert len({x, same, x}) == 2
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711


def test_a_tensor_in_a_condition_inside_a_gradient():
    def f(x):
        return x * x if x.sum() > 0 else -x

    assert_close(dg.grad(f)(f64([2.0])), [4.0])
    assert_close(dg.grad(f)(f64([-2.0])), [-1.0])


def test_a_formatted_tensor():
    assert f"{f32(0.5):.3f}" == "0.500"
    assert f"{f32([1.0, 2.0])}" == "[1. 2.]"


# ------------------------------------------------------------------------------------------------- reductions

REDUCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "amax": np.max,
    "amin": np.min,
    "prod": np.prod,
    "std": np.std,
    "var": np.var,
    "logsumexp": lambda x, axis, keepdims=False: np.log(np.sum(np.exp(x), axis, keepdims=keepdims)),
}


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_methods_that_reduce_an_axis(name, axis):
    method, expected = getattr(f64(DATA), name), REDUCTIONS[name](DATA, axis)
    kept = np.expand_dims(expected, axis)
    assert_close(method(axis), expected)
    assert_close(method(axis=axis), expected)
    for spelling in "keepdims", "keepdim", "keep_dims":
        assert_close(method(axis=axis, **{spelling: True}), kept)
        assert_close(method(axis=axis, **{spelling: False}), expected)


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("name", [name for name in REDUCTIONS if name not in ("max", "min")])
@pytest.mark.parametrize("spelling", ["axis", "dim"])
def test_functions_that_reduce_an_axis(name, spelling):
    function, expected = getattr(ops, name), REDUCTIONS[name](DATA, 1)
    assert_close(function(f64(DATA), **{spelling: 1}), expected)
    for keep in "keepdims", "keepdim", "keep_dims":
        assert_close(function(f64(DATA), **{spelling: 1, keep: True}), expected[:, None])


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "amax", "amin", "prod", "std", "var"])
def test_methods_that_reduce_everything(name):
    expected = REDUCTIONS[name](DATA)
    assert_close(getattr(f64(DATA), name)(), expected)
    assert_close(getattr(f64(DATA), name)(axis=None), expected)


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "std", "var"])
def test_methods_that_reduce_several_axes(name):
    data = np.arange(24.0).reshape(2, 3, 4) ** 1.5
    assert_close(getattr(f64(data), name)(axis=(0, 2)), REDUCTIONS[name](data, axis=(0, 2)))
    kept = REDUCTIONS[name](data, axis=(-1, 0), keepdims=True)
    assert_close(getattr(f64(data), name)(axis=(-1, 0), keepdims=True), kept)


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize(("name", "choose", "where"), [("max", np.max, np.argmax), ("min", np.min, np.argmin)])
def test_the_function_max_gives_values_and_indices(name, choose, where):
    values, indices = getattr(ops, name)(f64(DATA), 1)
    assert_close(values, choose(DATA, 1))
    assert np.array_equal(indices.asnumpy(), where(DATA, 1))
    values, _index = getattr(ops, name)(f64(DATA))
    assert_close(values, choose(DATA))
    values, indices = getattr(ops, name)(f64(DATA), 0, keepdims=True)
    assert_close(values, choose(DATA, 0, keepdims=True))
    assert indices.shape == (1, 3)


@pytest.mark.usefixtures("mode")
def test_deviations_divide_by_the_number_of_elements():
    assert_close(f64([1.0, 3.0]).var(), 1.0)
    assert_close(f64([1.0, 4.0]).std(), 1.5)
    assert_close(ops.var(f64(DATA), 1), DATA.var(1))
    assert_close(ops.std(f64(DATA), 0), DATA.std(0))


@pytest.mark.usefixtures("mode")
def test_primitive_reductions():
    assert_close(ops.ReduceSum()(f64(DATA)), DATA.sum())
    assert_close(ops.ReduceSum()(f64(DATA), ()), DATA.sum())
    assert_close(ops.ReduceSum(keep_dims=True)(f64(DATA), 1), DATA.sum(1, keepdims=True))
    assert_close(ops.ReduceMean(True)(f64(DATA), (0, 1)), DATA.mean(keepdims=True))
    assert_close(ops.ReduceProd()(f64(DATA), 0), DATA.prod(0))


@pytest.mark.usefixtures("mode")
def test_truth_and_positions():
    mask = Tensor([[True, False], [True, True]])
    assert_close(mask.all(), np.array(False))
    assert_close(mask.any(), np.array(True))
    assert_close(mask.all(axis=1), np.array([False, True]))
    assert_close(ops.any(mask, 0), np.array([True, True]))
    assert_close(f64(DATA).argmax(), np.array(5))
    assert_close(f64(DATA).argmin(axis=1), np.array([0, 1]))


@pytest.mark.usefixtures("mode")
def test_transposes():
    data = np.arange(6.0).reshape(1, 2, 3)
    assert_close(f64(data).transpose(), data.T)
    assert_close(f64(data).transpose(2, 0, 1), data.transpose(2, 0, 1))
    assert_close(f64(data).transpose((2, 0, 1)), data.transpose(2, 0, 1))
    assert_close(f64(data).transpose([2, -3, 1]), data.transpose(2, 0, 1))
    assert_close(f64(data).swapaxes(0, 2), data.T)
    assert_close(f64(data).permute(1, 2, 0), data.transpose(1, 2, 0))


@pytest.mark.usefixtures("mode")
def test_reductions_of_special_values():
    assert math.isnan(float(f64([1.0, math.nan]).max()))
    assert math.isnan(float(f64([1.0, math.nan]).sum()))
    assert_close(ops.zeros((0, 3), dg.float64).sum(0), np.zeros(3))
    assert_close(dg.grad(lambda x: x.sum())(ops.zeros((0, 3), dg.float64)), np.zeros((0, 3)))
