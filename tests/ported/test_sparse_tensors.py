"""Classes of sparse tensors: they can be imported and asked for, and say what to make instead."""

import pytest
import scipy.sparse
from support import assert_raises, f32

import dualgrad as dg
from dualgrad import sparse
from dualgrad.common import sparse_tensor

CLASSES = {name: getattr(sparse_tensor, name) for name in sparse_tensor.__all__}


@pytest.mark.parametrize("name", CLASSES)
def test_they_are_refused_by_a_way_that_exists(name):
    assert_raises(NotImplementedError, lambda: CLASSES[name]([[0, 1]], [2.0], (2, 2)), name, "sparse.matmul")
    kind = CLASSES[name]._matrix.split("scipy.sparse.")[1]
    matrix = getattr(scipy.sparse, kind)([[0.0, 2.0], [3.0, 0.0]])
    assert sparse.matmul(matrix, f32([1.0, 5.0])).tolist() == [10.0, 3.0]


@pytest.mark.parametrize("name", CLASSES)
def test_no_tensor_is_one(name):
    assert not isinstance(dg.Tensor([1.0]), CLASSES[name])
    assert getattr(dg.common, name) is CLASSES[name]
