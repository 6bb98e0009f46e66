"""Values that are written into tensors: their kind fits, or they are refused, as MindSpore refuses them."""

import itertools

import numpy as np
import pytest
from support import assert_close, assert_raises

import dualgrad as dg
from dualgrad import Tensor, nn, ops

pytestmark = pytest.mark.usefixtures("mode")
X = np.array([[1, 2], [3, 4]])
ONE = np.array([[0, 0]])
POINT = np.array([[0, 1]])
WRITERS = {
    "tensor_scatter_update": lambda x, v: ops.tensor_scatter_update(x, POINT, v[0, :1]),
    "tensor_scatter_add": lambda x, v: ops.tensor_scatter_add(x, POINT, v[0, :1]),
    "tensor_scatter_sub": lambda x, v: ops.tensor_scatter_sub(x, POINT, v[0, :1]),
    "tensor_scatter_mul": lambda x, v: ops.tensor_scatter_mul(x, POINT, v[0, :1]),
    "tensor_scatter_max": lambda x, v: ops.tensor_scatter_max(x, POINT, v[0, :1]),
    "tensor_scatter_min": lambda x, v: ops.tensor_scatter_min(x, POINT, v[0, :1]),
    "TensorScatterAdd": lambda x, v: ops.TensorScatterAdd()(x, POINT, v[0, :1]),
    "scatter": lambda x, v: ops.scatter(x, 0, ONE, v),
    "scatter_add": lambda x, v: ops.scatter_add(x, 1, ONE[:, :1], v[:, :1]),
    "index_add": lambda x, v: ops.index_add(x, [1], v, 0),
    "index_fill": lambda x, v: ops.index_fill(x, 0, [1], v[0, 0]),
    "index_put": lambda x, v: x.index_put((np.array([0]), np.array([1])), v[0, :1]),
    "select_scatter": lambda x, v: ops.select_scatter(x, v[0], 0, 1),
    "slice_scatter": lambda x, v: ops.slice_scatter(x, v, 0, 1, 2),
    "diagonal_scatter": lambda x, v: ops.diagonal_scatter(x, v[0]),
}
TYPES = {"b": "bool", "i": "int32", "f": "float32", "c": "complex64"}


@pytest.mark.parametrize("name", WRITERS)
def test_values_of_a_wider_kind_are_refused(name):
    write = WRITERS[name]
    for own, other in itertools.product(TYPES, TYPES):
        x = Tensor(X.astype(TYPES[own]))
        v = Tensor((np.array([[5.5, 6.5]]) if other in "fc" else np.array([[5, 6]])).astype(TYPES[other]))
        if "bc".find(own) >= 0 and any(word in name for word in ("max", "min", "sub", "mul", "add", "Add")):
            continue  # no order, or no arithmetic
        if "bifc".index(other) > "bifc".index(own):
            assert_raises(TypeError, lambda write=write, x=x, v=v: write(x, v), name, str(v.dtype), str(x.dtype))
        else:
            assert_close(write(x, v), write(x, v.astype(x.dtype)), dtype=x.dtype)


def test_parameters_of_recurrent_layers_are_replaced():
    """What is assigned to the lists of an LSTM is what it computes with; other shapes are refused."""
    first, second = [nn.LSTM(3, 4, 2, bidirectional=True) for _ in range(2)]
    x = Tensor(np.random.default_rng(1).standard_normal((5, 2, 3)).astype(np.float32))
    assert abs(first(x)[0].asnumpy() - second(x)[0].asnumpy()).max() > 1e-3
    for name in ("w_ih_list", "w_hh_list", "b_ih_list", "b_hh_list"):
        setattr(second, name, getattr(first, name))
    np.testing.assert_array_equal(first(x)[0].asnumpy(), second(x)[0].asnumpy())
    assert all(a is b for a, b in zip(first.trainable_params(), second.trainable_params(), strict=True))
    other = nn.LSTM(3, 5, 2, bidirectional=True)
    assert_raises(ValueError, lambda: setattr(second, "w_hh_list", other.w_hh_list), "weight_hh", "(20, 5)", "(16, 4)")


def test_a_property_of_a_cell_is_no_name_for_a_member():
    class Fixed(nn.Cell):
        @property
        def weight(self):
            return 1

    net = Fixed()
    assert_raises(AttributeError, lambda: setattr(net, "weight", dg.Parameter([1.0], name="w")), "weight")
    assert list(net.get_parameters()) == []
