"""Aliases of functions, and functions of Python values that ported code calls by name."""

from __future__ import annotations

# Aliases of a function are imports, so that checkers know its type. Functions of Python's numbers, truth values and
# containers are Python's own; tensors are operands of Python's operators, too.
from builtins import len as list_len
from builtins import len as tuple_len
from builtins import max as scalar_max
from builtins import min as scalar_min
from collections.abc import Callable
from math import log as scalar_log
from math import prod as shape_mul
from operator import add as scalar_add
from operator import add as string_concat
from operator import and_ as bool_and
from operator import eq as bool_eq
from operator import eq as list_equal
from operator import eq as scalar_eq
from operator import eq as string_eq
from operator import eq as tuple_equal
from operator import floordiv as scalar_floordiv
from operator import ge as scalar_ge
from operator import getitem as dict_getitem
from operator import getitem as list_getitem
from operator import getitem as tuple_getitem
from operator import gt as scalar_gt
from operator import is_, is_not
from operator import le as scalar_le
from operator import lt as scalar_lt
from operator import mod as scalar_mod
from operator import mul as scalar_mul
from operator import ne as scalar_ne
from operator import neg as scalar_usub
from operator import not_ as bool_not
from operator import or_ as bool_or
from operator import pos as scalar_uadd
from operator import pow as scalar_pow
from operator import sub as scalar_sub
from operator import truediv as scalar_div
from typing import Any

from .._arguments import operand
from ..axes._joining import vstack as row_stack
from ..axes._order import moveaxis, swapaxes
from ..axes._order import moveaxis as movedim
from ..axes._order import swapaxes as swapdims
from ..math.arithmetic import div as tensor_div
from ..math.arithmetic import pow as pows
from ..math.arithmetic import pow as tensor_pow
from ..math.elementwise import add as tensor_add
from ..math.elementwise import exp as tensor_exp
from ..math.elementwise import expm1 as tensor_expm1
from ..math.elementwise import floor_divide as floordiv
from ..math.elementwise import floor_divide as tensor_floordiv
from ..math.elementwise import floor_mod as floormod
from ..math.elementwise import floor_mod as tensor_mod
from ..math.elementwise import ge as tensor_ge
from ..math.elementwise import gt as tensor_gt
from ..math.elementwise import le as tensor_le
from ..math.elementwise import lt as tensor_lt
from ..math.elementwise import mul as tensor_mul
from ..math.elementwise import sub as tensor_sub
from ..shape._types import cast, identity
from ..shape._types import identity as positive
from ..shape.queries import shape as dyn_shape
from ..shape.queries import shape as shape_
from ..shape.queries import size as numel

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


def _check_dict(name: str, dictionary: Any, key: Any) -> None:
    try:
        hash(key)
    except TypeError:
        raise TypeError(f"{name}: a {type(key).__name__} cannot be the key of a dict") from None
    if not isinstance(dictionary, dict):
        raise TypeError(f"{name}: expected a dict, got {type(dictionary).__name__}")


def in_dict(key: Any, dictionary: dict[Any, Any]) -> bool:
    """True if a dict has a key.

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
    _check_dict("in_dict", dictionary, key)
    return key in dictionary


def not_in_dict(key: Any, dictionary: dict[Any, Any]) -> bool:
    """True if a dict does not have a key; the parameters are as in `in_dict`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.not_in_dict("b", {"a": 1})
    True
    """
    _check_dict("not_in_dict", dictionary, key)
    return key not in dictionary


def type_as(input: Any, other: Any) -> Any:
    """Convert a tensor to the type of another.

    Parameters
    ----------
    input, other : Tensor
        The tensor to convert, and the tensor with the type.

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
