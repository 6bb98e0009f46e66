"""Functions as Cells: sums and norms over axes, products, triangles, one-hot vectors, and others with settings."""

from __future__ import annotations

import math
from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad._settings import real_number, truth_value
from dualgrad.common.initializer import Uniform, initializer
from dualgrad.dtype import DType, as_dtype
from dualgrad.nn.cell import Cell
from dualgrad.ops._arguments import integer, operand
from dualgrad.ops.neural._sliding import numbers
from dualgrad.parameter import Parameter
from dualgrad.tensor import Tensor

__all__ = [
    "BiDense", "ClipByNorm", "Dropout1d", "Dropout2d", "Dropout3d", "L1Regularizer", "MatMul", "Moments", "Norm",
    "OneHot", "Range", "ReduceLogSumExp", "Roll", "SparseTensorDenseMatmul", "Tril", "Triu", "Unflatten",
]  # fmt: skip


class _OverAxes(Cell):
    """A reduction with its axes."""

    def __init__(self, axis: Any, keep_dims: Any) -> None:
        super().__init__()
        self.axis = axis
        truth_value(type(self).__name__, "keep_dims", keep_dims)
        self.keep_dims: bool = bool(keep_dims)

    def extend_repr(self) -> str:
        return f"axis={self.axis}, keep_dims={self.keep_dims}"


class Norm(_OverAxes):
    """Root of the sum of squares; derivative 0 where it is 0.

    Parameters
    ----------
    axis : int or tuple of int, default ()
        The axes to reduce; () stands for all axes.
    keep_dims : bool, default False
        True to keep these axes with length 1.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.Norm(axis=1)(Tensor([[3.0, 4.0], [0.0, 0.0]])))
    [5. 0.]
    """

    def __init__(self, axis: Any = (), keep_dims: bool = False) -> None:
        super().__init__(axis, keep_dims)

    def construct(self, x: Tensor) -> Tensor:
        return ops.sqrt(ops.sum(ops.square(x), self.axis, self.keep_dims))


class ReduceLogSumExp(_OverAxes):
    """Logarithm of the sum of exponentials, without overflow.

    Parameters
    ----------
    axis : int or tuple of int
        The axes to reduce; () stands for all axes.
    keep_dims : bool, default False
        True to keep these axes with length 1.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.ReduceLogSumExp(1)(Tensor([[1000.0, 1000.0]])))
    [1000.6932]
    """

    def __init__(self, axis: Any, keep_dims: bool = False) -> None:
        super().__init__(axis, keep_dims)

    def construct(self, x: Tensor) -> Tensor:
        return ops.logsumexp(x, self.axis, self.keep_dims)


class Moments(_OverAxes):
    """Mean and variance, the latter without correction.

    Parameters
    ----------
    axis : int or tuple of int, optional
        The axes to reduce; by default all axes.
    keep_dims : bool, optional
        True to keep these axes with length 1.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> mean, variance = nn.Moments(axis=0)(Tensor([1.0, 3.0]))
    >>> print(mean, variance)
    2.0 1.0
    """

    def __init__(self, axis: Any = None, keep_dims: bool | None = None) -> None:
        super().__init__(() if axis is None else axis, keep_dims)

    def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return ops.mean(x, self.axis, self.keep_dims), ops.var(x, self.axis, 0, self.keep_dims)


class ClipByNorm(Cell):
    """Shorten a tensor to a norm, if it is longer: ``x * clip_norm / max(norm(x), clip_norm)``.

    Called with ``(x, clip_norm)``.

    Parameters
    ----------
    axis : int or tuple of int, optional
        The axes of the norm; by default all.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.ClipByNorm()(Tensor([3.0, 4.0]), 1.0))
    [0.6 0.8]
    """

    def __init__(self, axis: Any = None) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor, clip_norm: Any) -> Tensor:
        length = ops.sqrt(ops.sum(ops.square(x), self.axis, True))
        return x * (clip_norm / ops.clamp(length, clip_norm))


class OneHot(Cell):
    """Vectors with one value at one place and another elsewhere; see `ops.one_hot`.

    Parameters
    ----------
    axis : int, default -1
        The axis of the vectors in the result.
    depth : int, default 1
        Length of the vectors.
    on_value, off_value : number, default 1.0 and 0.0
        The two values.
    dtype : type, default float32
        Type of the result.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.OneHot(depth=3)(Tensor([2, 0])))
    [[0. 0. 1.]
     [1. 0. 0.]]
    """

    def __init__(
        self,
        axis: int = -1,
        depth: int = 1,
        on_value: Any = 1.0,
        off_value: Any = 0.0,
        dtype: Any = mstype.float32,
    ) -> None:
        super().__init__()
        self.axis = axis
        self.depth = depth
        self.dtype: DType = as_dtype(dtype, where="OneHot")
        self.on_value: Tensor = Tensor(on_value, self.dtype)
        self.off_value: Tensor = Tensor(off_value, self.dtype)

    def construct(self, indices: Tensor) -> Tensor:
        return ops.one_hot(indices, self.depth, self.on_value, self.off_value, self.axis)

    def extend_repr(self) -> str:
        return f"axis={self.axis}, depth={self.depth}"


class MatMul(Cell):
    """Matrix product; see `ops.matmul`. Called with ``(x1, x2)``.

    Parameters
    ----------
    transpose_x1, transpose_x2 : bool, default False
        True to exchange the last two axes of an operand first.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.MatMul(transpose_x2=True)(ops.ones((2, 3)), ops.ones((4, 3))).shape
    (2, 4)
    """

    def __init__(self, transpose_x1: bool = False, transpose_x2: bool = False) -> None:
        super().__init__()
        self.transpose_x1 = truth_value("MatMul", "transpose_x1", transpose_x1)
        self.transpose_x2 = truth_value("MatMul", "transpose_x2", transpose_x2)

    def construct(self, x1: Tensor, x2: Tensor) -> Tensor:
        x1, x2 = operand("MatMul", x1), operand("MatMul", x2)
        x1 = ops.swapaxes(x1, -1, -2) if self.transpose_x1 and x1.ndim > 1 else x1
        x2 = ops.swapaxes(x2, -1, -2) if self.transpose_x2 and x2.ndim > 1 else x2
        return ops.matmul(x1, x2)


class SparseTensorDenseMatmul(Cell):
    """Product of a sparse matrix with a matrix; see `ops.SparseTensorDenseMatmul`.

    Called with ``(indices, values, sparse_shape, dense)``.

    Parameters
    ----------
    adjoint_st, adjoint_dt : bool, default False
        True to transpose the sparse or the other matrix first.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import nn
    >>> places, values = dg.Tensor([[0, 1], [1, 0]]), dg.Tensor([2.0, 3.0])
    >>> print(nn.SparseTensorDenseMatmul()(places, values, (2, 2), dg.Tensor([[1.0], [10.0]])))
    [[20.]
     [ 3.]]
    """

    def __init__(self, adjoint_st: bool = False, adjoint_dt: bool = False) -> None:
        super().__init__()
        self._product = ops.SparseTensorDenseMatmul(adjoint_st, adjoint_dt)

    def construct(self, indices: Any, values: Any, sparse_shape: Any, dense: Any) -> Tensor:
        return self._product(indices, values, sparse_shape, dense)


class Tril(Cell):
    """The lower triangle of matrices, zeros above; see `ops.tril`. Called with ``(x, k=0)``.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> print(nn.Tril()(ops.ones((2, 2))))
    [[1. 0.]
     [1. 1.]]
    """

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        return ops.tril(x, k)


class Triu(Cell):
    """The upper triangle of matrices, zeros below; see `ops.triu`. Called with ``(x, k=0)``.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> print(nn.Triu()(ops.ones((2, 2))))
    [[1. 1.]
     [0. 1.]]
    """

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        return ops.triu(x, k)


class L1Regularizer(Cell):
    """``scale`` times the sum of magnitudes.

    Parameters
    ----------
    scale : number
        The factor, above 0.

    Raises
    ------
    ValueError
        If `scale` is not positive and finite.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.L1Regularizer(0.5)(Tensor([1.0, -3.0])))
    2.0
    """

    def __init__(self, scale: float) -> None:
        super().__init__()
        real_number("L1Regularizer", "scale", scale)
        if not 0 < scale < math.inf:
            raise ValueError(f"L1Regularizer: scale is {scale}; expected a positive number")
        self.scale = scale

    def construct(self, weights: Tensor) -> Tensor:
        return self.scale * ops.sum(ops.abs(weights))


class Range(Cell):
    """The numbers from `start` up to, but not including, `limit`; see `ops.arange`. Called without arguments.

    Parameters
    ----------
    start : number
        The first number; without `limit`, the limit, and 0 is the first.
    limit : number, optional
        The end of the numbers.
    delta : number, default 1
        The step.

    Examples
    --------
    >>> from dualgrad import nn
    >>> print(nn.Range(1, 8, 2)())
    [1 3 5 7]
    """

    def __init__(self, start: Any, limit: Any = None, delta: Any = 1) -> None:
        super().__init__()
        if real_number("Range", "delta", delta) == 0:
            raise ValueError("Range: delta is 0; expected a step")
        self.start: Any = 0 if limit is None else start
        self.limit: Any = start if limit is None else limit
        self.delta = delta

    def construct(self) -> Tensor:
        return ops.arange(self.start, self.limit, self.delta)


class Roll(Cell):
    """Move elements along axes; elements that leave at one end enter at the other; see `ops.roll`.

    Parameters
    ----------
    shift, axis : int or tuple of int
        The distances, and the axes.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.Roll(1, 0)(Tensor([1.0, 2.0, 3.0])))
    [3. 1. 2.]
    """

    def __init__(self, shift: Any, axis: Any) -> None:
        super().__init__()
        self.shift = shift
        self.axis = axis

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.roll(input_x, self.shift, self.axis)


class Unflatten(Cell):
    """Split an axis into several.

    Parameters
    ----------
    axis : int
        The axis.
    unflattened_size : tuple of int
        The lengths of the axes in its place; one may be -1.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.Unflatten(1, (2, -1))(ops.ones((3, 8, 5))).shape
    (3, 2, 4, 5)
    """

    def __init__(self, axis: int, unflattened_size: Any) -> None:
        super().__init__()
        self.axis = integer("Unflatten", "axis", axis)
        if not isinstance(unflattened_size, tuple | list):
            raise TypeError(
                f"Unflatten: unflattened_size must be a tuple of lengths, got {type(unflattened_size).__name__}"
            )
        self.unflattened_size: tuple[Any, ...] = tuple(unflattened_size)

    def construct(self, x: Tensor) -> Tensor:
        x = operand("Unflatten", x)
        if not -x.ndim <= self.axis < x.ndim:
            raise ValueError(f"Unflatten: the input has shape {x.shape}; there is no axis {self.axis}")
        axis, shape = self.axis % x.ndim, x.shape
        whole = ops.reshape(ops.zeros((shape[axis],)), self.unflattened_size).shape  # finds what -1 is
        return ops.reshape(x, (*shape[:axis], *whole, *shape[axis + 1 :]))


class BiDense(Cell):
    """Bilinear map: output k is ``x1 @ weight[k] @ x2 + bias[k]``. Called with ``(input1, input2)``.

    Parameters
    ----------
    in1_channels, in2_channels, out_channels : int
        Length of the last axis of both inputs and of the output.
    weight_init, bias_init : str, number, Tensor or Initializer, optional
        As in `initializer`; without them both are uniform on ``+-1 / sqrt(in1_channels)``.
    has_bias : bool, default True
        True to add a bias.
    dtype : type, default float32
        Type of the initial values.

    Attributes
    ----------
    weight : Parameter
        Shape (out_channels, in1_channels, in2_channels).
    bias : Parameter
        Shape (out_channels,); None without bias.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.BiDense(2, 3, 4)(ops.ones((5, 2)), ops.ones((5, 3))).shape
    (5, 4)
    """

    in1_channels: int
    in2_channels: int
    out_channels: int

    def __init__(
        self,
        in1_channels: int,
        in2_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        dtype: Any = mstype.float32,
    ) -> None:
        super().__init__()
        channels = in1_channels, in2_channels, out_channels
        self.in1_channels, self.in2_channels, self.out_channels = numbers("BiDense", "channels", channels, 3)
        self.has_bias = has_bias
        default = Uniform(1.0 / math.sqrt(in1_channels))
        shape = (out_channels, in1_channels, in2_channels)
        weight = initializer(default if weight_init is None else weight_init, shape, dtype)
        self.weight: Parameter = Parameter(weight, name="weight")
        self.bias: Parameter | None = None
        truth_value(type(self).__name__, "has_bias", has_bias)
        if has_bias:
            bias = initializer(default if bias_init is None else bias_init, (out_channels,), dtype)
            self.bias = Parameter(bias, name="bias")

    def construct(self, input1: Tensor, input2: Tensor) -> Tensor:
        return ops.bidense(input1, input2, self.weight, self.bias)

    def extend_repr(self) -> str:
        return (
            f"in1_channels={self.in1_channels}, in2_channels={self.in2_channels}, out_channels={self.out_channels}, "
            f"has_bias={self.has_bias}"
        )


class _ChannelDropout(Cell):
    """In training, whole channels become 0 at random."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        real_number(type(self).__name__, "p", p)
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__}: p is {p}; expected a probability")
        self.p = p

    def extend_repr(self) -> str:
        return f"p={self.p}"


class Dropout1d(_ChannelDropout):
    """In training, set whole channels to 0 at random and divide the others; see `ops.dropout1d`.

    Parameters
    ----------
    p : float, default 0.5
        The probability of a channel to become 0.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.Dropout1d(0.2)(ops.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.dropout1d(x, self.p, self.training)


class Dropout2d(_ChannelDropout):
    """In training, set whole channels to 0 at random and divide the others; see `ops.dropout2d`.

    Parameters
    ----------
    p : float, default 0.5
        The probability of a channel to become 0.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.Dropout2d(0.2)(ops.ones((2, 3, 4, 5))).shape
    (2, 3, 4, 5)
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.dropout2d(x, self.p, self.training)


class Dropout3d(_ChannelDropout):
    """In training, set whole channels to 0 at random and divide the others; see `ops.dropout3d`.

    Parameters
    ----------
    p : float, default 0.5
        The probability of a channel to become 0.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.Dropout3d(0.2)(ops.ones((2, 3, 4, 5, 6))).shape
    (2, 3, 4, 5, 6)
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.dropout3d(x, self.p, self.training)
