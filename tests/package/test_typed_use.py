"""Types of the public names: mypy checks this file (`.ci/run lint`), and pytest runs it."""

from typing import assert_type

import numpy as np

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
from dualgrad.dtype import DType
from dualgrad.ops import cat
from dualgrad.ops import operations as P


def test_tensors_and_operators() -> None:
    x = Tensor([[1.0, 2.0]])
    assert_type(x + 1, Tensor)
    assert_type(2.0 * x, Tensor)
    assert_type(-x @ x.T, Tensor)
    assert_type(x == x, Tensor)
    assert_type(x[0], Tensor)
    assert_type(x.shape, tuple[int, ...])
    assert_type(x.dtype, DType)
    assert_type(float(x[0, 0]), float)
    assert_type(list(x), list[Tensor])
    assert isinstance(x.asnumpy(), np.ndarray)


def test_methods_that_are_attached() -> None:
    x = Tensor([[1.0, 2.0]])
    assert_type(x.sum(), Tensor)
    assert_type(x.reshape(2, 1).astype(dg.float64), Tensor)
    assert_type(x.split(1, axis=1), tuple[Tensor, ...])


def test_operations_of_every_kind_of_file() -> None:
    x = Tensor([[1.0, 2.0]])
    assert_type(ops.sin(x), Tensor)
    assert_type(ops.tile(x, (2, 1)), Tensor)
    assert_type(cat((x, x)), Tensor)
    assert_type(ops.Add()(x, x), Tensor)
    assert_type(ops.softmax(x), Tensor)
    assert P.Add is ops.Add


class Square(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(Tensor([2.0]), name="w")

    def construct(self, x: Tensor) -> Tensor:
        return x * x * self.w


def test_cells_and_gradients() -> None:
    cell = Square()
    assert cell(Tensor([3.0])).item() == 18.0
    assert dg.grad(cell)(Tensor([3.0])).item() == 12.0
    assert_type(cell.trainable_params(), list[Parameter])
    assert_type(ops.GradOperation(get_all=True), ops.GradOperation)
