"""Tensors, Parameters and Cells through copy, deepcopy, pickle and DLPack."""

import copy
import pickle

import numpy as np
import pytest
from support import Curve, assert_close, f32, f64

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn


def through_pickle(value):
    return pickle.loads(pickle.dumps(value))


WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": through_pickle}
DEEP_WAYS = {"deepcopy": copy.deepcopy, "pickle": through_pickle}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    "array",
    [
        np.array([[1.0, 2.0]], np.float32),
        np.array(3.5),
        np.array([True, False]),
        np.zeros((0, 2)),
        np.arange(5),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_a_tensor_comes_back(way, array):
    tensor = Tensor(array)
    again = way(tensor)
    assert again is not tensor
    assert_close(again, array, dtype=tensor.dtype)


@pytest.mark.parametrize("way", DEEP_WAYS.values(), ids=DEEP_WAYS)
def test_a_copied_tensor_is_independent(way):
    tensor = f64([1.0, 2.0])
    again = way(tensor)
    again[0] = 7.0
    assert_close((tensor, again), ([1.0, 2.0], [7.0, 2.0]))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("requires_grad", [True, False])
def test_a_parameter_comes_back_with_its_name(way, requires_grad):
    parameter = Parameter(np.array([1.0, 2.0], np.float32), name="weight", requires_grad=requires_grad)
    again = way(parameter)
    assert type(again) is Parameter
    assert again is not parameter
    assert (again.name, again.requires_grad, again.dtype) == ("weight", requires_grad, dg.float32)
    assert_close(again * 1.0, [1.0, 2.0])


@pytest.mark.parametrize("way", DEEP_WAYS.values(), ids=DEEP_WAYS)
def test_a_copied_parameter_is_a_weight_of_its_own(way):
    parameter = Parameter(np.array([1.0, 2.0]), name="weight")
    again = way(parameter)
    again.set_data(f64([5.0, 6.0]))
    assert_close(parameter * 1.0, [1.0, 2.0])
    both = dg.grad(lambda x: parameter * x + again * x * x, None, [parameter])(f64([3.0, 4.0]))
    assert_close(both, ([3.0, 4.0],))


@pytest.mark.parametrize("way", DEEP_WAYS.values(), ids=DEEP_WAYS)
def test_a_cell_comes_back_with_its_weights(way):
    net = Curve()
    again = way(net)
    x, y = f64([1.0, 2.0]), f64([3.0, 4.0])
    assert_close(again(x, y), net(x, y).asnumpy())
    assert [p.name for p in again.trainable_params()] == ["w", "b"]
    assert again.w is not net.w
    again.w.set_data(f64([10.0]))
    assert_close(net.w * 1.0, [2.0])
    gradient = dg.grad(again, None, again.trainable_params())(x, y)
    expected = again.gradients(x, y)
    assert_close(gradient, (expected["w"], expected["b"]))


@pytest.mark.parametrize("way", DEEP_WAYS.values(), ids=DEEP_WAYS)
def test_a_tree_of_cells_comes_back(way):
    net = nn.SequentialCell(nn.Dense(2, 3, activation="tanh"), nn.Dense(3, 1))
    again = way(net)
    x = f32([[0.5, -1.0]])
    assert_close(again(x), net(x).asnumpy())
    names = [p.name for p in net.get_parameters()]
    assert [p.name for p in again.get_parameters()] == names == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert again[0].weight is again.trainable_params()[0]
    assert not {id(p) for p in again.get_parameters()} & {id(p) for p in net.get_parameters()}


def test_a_shared_parameter_stays_shared_in_a_copy():
    class Tied(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first = nn.Dense(2, 2)
            self.second = nn.Dense(2, 2)
            self.second.weight = self.first.weight

        def construct(self, x):
            return self.second(self.first(x))

    again = copy.deepcopy(Tied())
    assert again.first.weight is again.second.weight


# ----------------------------------------------------------------------------------------------------- DLPack


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint8", "bool", "complex64"])
def test_numpy_reads_a_tensor_through_dlpack(dtype):
    array = np.array([[0, 1], [2, 3]]).astype(dtype)
    tensor = Tensor(array)
    assert tensor.__dlpack_device__() == (1, 0)
    found = np.from_dlpack(tensor)
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)


def test_a_write_through_dlpack_is_refused_or_harmless():
    tensor = f64([2.0, 3.0])
    found = np.from_dlpack(tensor)
    if found.flags.writeable:
        found[...] = 0.0
    assert_close(tensor, [2.0, 3.0])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint8", "bool", "complex64"])
def test_a_tensor_reads_an_array_through_dlpack(dtype):
    array = np.array([[0, 1, 1], [2, 3, 0]]).astype(dtype)
    for given in array, array.T, array[:, ::2], array[::-1].copy():
        tensor = Tensor.from_dlpack(given)
        assert type(tensor) is Tensor
        assert tensor.dtype == Tensor(array).dtype
        assert np.array_equal(tensor.asnumpy(), given)


def test_a_tensor_from_dlpack_is_differentiable():
    tensor = Tensor.from_dlpack(np.array([1.0, 2.0]))
    assert_close(dg.grad(lambda x: x**3)(tensor), [3.0, 12.0])
    assert_close(Tensor.from_dlpack(tensor * 2.0), [2.0, 4.0])
