"""Other layers with parameters, and dropout, with PyTorch's signatures."""

from __future__ import annotations

from typing import Any

from dualgrad import nn
from dualgrad.common.initializer import Normal
from dualgrad.dtype import float32
from dualgrad.mint.nn import functional
from dualgrad.nn import Cell
from dualgrad.ops import embedding
from dualgrad.ops._arguments import integer, operand
from dualgrad.parameter import Parameter
from dualgrad.tensor import initialized

from ..._settings import truth_value, whole_number

__all__ = [
    "Dropout",
    "Embedding",
    "Linear",
    "PReLU",
]


class Dropout(Cell):
    """In training set elements to zero with probability `p`, and divide the others by 1 - p.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.nn.Dropout(0.5)(dg.Tensor([1.0])))
    [1.]
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        truth_value(type(self).__name__, "inplace", inplace)
        if inplace:
            raise ValueError("mint.nn.Dropout: got inplace=True; tensors are not changed in place, leave it out")
        self.p = p

    def construct(self, input: Any) -> Any:
        return functional.dropout(input, self.p, self.training)  # type: ignore[attr-defined]


class Linear(nn.Dense):
    """``x Wᵀ + b``: `dualgrad.nn.Dense` with PyTorch's signature.

    Parameters
    ----------
    in_features, out_features : int
        The lengths of the last axis of input and output.
    bias : bool, default True
        True to add b.
    weight_init, bias_init : optional
        Their initial values, as in ``dualgrad.common.initializer.initializer``.
    dtype : type, default float32
        Their type.

    Examples
    --------
    >>> import dualgrad as dg
    >>> layer = dg.mint.nn.Linear(3, 2, bias=False)
    >>> layer(dg.ops.ones((5, 3))).shape, layer.weight.shape
    ((5, 2), (2, 3))
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_features, out_features, weight_init, bias_init, bias, None, float32 if dtype is None else dtype
        )
        self.in_features = in_features
        self.out_features = out_features


class Embedding(Cell):
    """Rows of a table, by their numbers.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        The shape of the table.
    padding_idx : int, optional
        The number of a row that is not trained; it starts with zeros.
    _weight : Tensor, optional
        The table; standard normal numbers by default.
    _freeze : bool, default False
        True to keep the table constant.
    dtype : type, default float32
        The type of the table.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.mint.nn.Embedding(10, 3)(dg.Tensor([1, 5])).shape
    (2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        _weight: Any = None,
        _freeze: bool = False,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = "mint.nn.Embedding"
        shape = whole_number(name, "num_embeddings", num_embeddings), whole_number(name, "embedding_dim", embedding_dim)
        if padding_idx is not None and not -shape[0] <= integer(name, "padding_idx", padding_idx) < shape[0]:
            raise ValueError(f"{name}: padding_idx is {padding_idx}; expected a row of a table of {shape[0]}, or None")
        table = (
            initialized(Normal(1.0), shape, float32 if dtype is None else dtype)
            if _weight is None
            else operand(name, _weight)
        )
        if tuple(table.shape) != shape:
            raise ValueError(f"mint.nn.Embedding: _weight has shape {tuple(table.shape)}; expected {shape}")
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        truth_value(name, "_freeze", _freeze)
        self.weight: Parameter = Parameter(table, name="weight", requires_grad=not _freeze)
        if padding_idx is not None and _weight is None:
            values = table.asnumpy().copy()
            values[padding_idx] = 0.0
            self.weight.set_data(values)

    def construct(self, input: Any) -> Any:
        return embedding(input, self.weight, self.padding_idx)


class PReLU(nn.PReLU):
    """`dualgrad.nn.PReLU` with PyTorch's signature: ``PReLU(num_parameters=1, init=0.25)``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.mint.nn.PReLU()(dg.Tensor([[-4.0, 1.0]])))
    [[-1.  1.]]
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        super().__init__(num_parameters, init)
