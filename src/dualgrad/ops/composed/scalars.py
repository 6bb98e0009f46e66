"""Other names of functions, and functions of Python values that ported code calls by name."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

from .._arguments import operand
from ..axes._joining import vstack
from ..axes._order import moveaxis, swapaxes
from ..math import elementwise as _rows
from ..math.arithmetic import div, pow
from ..shape._types import cast, identity
from ..shape.queries import shape, size

__all__ = [
    "bool_and", "bool_eq", "bool_not", "bool_or", "dict_getitem", "dyn_shape", "floordiv", "floormod", "in_dict", "is_",
    "is_not", "list_equal", "list_getitem", "list_len", "movedim", "not_in_dict", "numel", "positive", "pows",
    "row_stack", "scalar_add", "scalar_div", "scalar_eq", "scalar_floordiv", "scalar_ge", "scalar_gt", "scalar_le",
    "scalar_log", "scalar_lt", "scalar_max", "scalar_min", "scalar_mod", "scalar_mul", "scalar_ne", "scalar_pow",
    "scalar_sub", "scalar_uadd", "scalar_usub", "shape_", "shape_mul", "string_concat", "string_eq", "swapdims",
    "tensor_add", "tensor_div", "tensor_exp", "tensor_expm1", "tensor_floordiv", "tensor_ge", "tensor_gt", "tensor_le",
    "tensor_lt", "tensor_mod", "tensor_mul", "tensor_pow", "tensor_sub", "tuple_equal", "tuple_getitem", "tuple_len",
    "type_as",
]  # fmt: skip

# The same functions under other names.
dyn_shape = shape_ = shape
floordiv = tensor_floordiv = _rows.floor_divide
floormod = tensor_mod = _rows.floor_mod
movedim = moveaxis
numel = size
positive = identity
pows = tensor_pow = pow
row_stack = vstack
swapdims = swapaxes
tensor_add, tensor_sub, tensor_mul, tensor_div = _rows.add, _rows.sub, _rows.mul, div
tensor_exp, tensor_expm1 = _rows.exp, _rows.expm1
tensor_ge, tensor_gt, tensor_le, tensor_lt = _rows.ge, _rows.gt, _rows.le, _rows.lt

# Functions of Python's numbers, truth values and containers; tensors are operands of Python's operators too.
scalar_add, scalar_sub, scalar_mul, scalar_div = operator.add, operator.sub, operator.mul, operator.truediv
scalar_floordiv, scalar_mod, scalar_pow = operator.floordiv, operator.mod, operator.pow
scalar_uadd, scalar_usub = operator.pos, operator.neg
scalar_eq, scalar_ne = operator.eq, operator.ne
scalar_lt, scalar_le, scalar_gt, scalar_ge = operator.lt, operator.le, operator.gt, operator.ge
scalar_log, scalar_max, scalar_min = math.log, builtins.max, builtins.min
bool_and, bool_or, bool_not, bool_eq = operator.and_, operator.or_, operator.not_, operator.eq
is_, is_not, string_eq, string_concat = operator.is_, operator.is_not, operator.eq, operator.add
tuple_len = list_len = builtins.len
tuple_getitem = list_getitem = dict_getitem = operator.getitem
tuple_equal = list_equal = operator.eq
shape_mul = math.prod


def in_dict(key: Any, dictionary: dict[Any, Any]) -> bool:
    """Whether a dict has a key.

    Parameters
    ----------
    key : object
        The key.
    dictionary : dict
        The dict.

    Returns
    -------
    bool

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.in_dict("a", {"a": 1}), ops.not_in_dict("a", {"a": 1})
    (True, False)
    """
    return key in dictionary


def not_in_dict(key: Any, dictionary: dict[Any, Any]) -> bool:
    """Whether a dict does not have a key; the parameters are those of `in_dict`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.not_in_dict("b", {"a": 1})
    True
    """
    return key not in dictionary


def type_as(input: Any, other: Any) -> Any:
    """Convert a tensor to the type of another one.

    Parameters
    ----------
    input, other : Tensor
        What is converted, and what has the type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.type_as(dg.Tensor([1, 2]), dg.Tensor(0.0)).dtype
    dualgrad.float32
    """
    return cast(input, operand("type_as", other).dtype)


METHODS: dict[str, Callable[..., Any]] = {
    "movedim": moveaxis,
    "positive": identity,
    "swapdims": swapaxes,
    "type_as": type_as,
}
