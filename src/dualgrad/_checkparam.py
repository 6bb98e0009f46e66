"""Argument checks with MindSpore's names: each returns its argument or raises.

A name states a kind of number and a comparison: `check_positive_int`, `check_non_negative_float_sequence` ...
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

__all__ = [
    "EQ", "GE", "GT", "INC_BOTH", "INC_LEFT", "INC_NEITHER", "INC_RIGHT", "LE", "LT", "NE", "check_bool",
    "check_equal_int", "check_float", "check_float_range", "check_int", "check_int_range", "check_is_float",
    "check_is_int", "check_isinstance", "check_str_by_regular", "check_string", "check_subclass", "check_type_name",
    "check_value_type",
]  # fmt: skip

EQ, NE, LT, LE, GT, GE = "==", "!=", "<", "<=", ">", ">="
INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH = "()", "[)", "(]", "[]"

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    EQ: operator.eq, NE: operator.ne, LT: operator.lt, LE: operator.le, GT: operator.gt, GE: operator.ge,
}  # fmt: skip
_SIGNS = {"positive": GT, "negative": LT, "non_negative": GE, "non_positive": LE}
_KINDS: dict[str, tuple[type, ...]] = {"int": (int, np.integer), "float": (float, np.floating)}


def _of(prim_name: str | None) -> str:
    return f"{prim_name}: " if prim_name else ""


def _number(kind: str, value: Any, name: str | None, prim_name: str | None) -> Any:
    """Check that an argument is a number of a kind. Refuses bools."""
    if isinstance(value, bool) or not isinstance(value, _KINDS[kind]):
        raise TypeError(f"{_of(prim_name)}{name or 'the argument'} must be {kind}, got {type(value).__name__}")
    return value


def _compared(value: Any, bound: Any, rel: str, name: str | None, prim_name: str | None) -> Any:
    if not _COMPARE[rel](value, bound):
        raise ValueError(f"{_of(prim_name)}{name or 'the argument'} must be {rel} {bound}, got {value}")
    return value


def check_is_int(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    """Check that an argument is an int."""
    return _number("int", arg_value, arg_name, prim_name)


def check_is_float(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    """Check that an argument is a float."""
    return _number("float", arg_value, arg_name, prim_name)


def check_int(arg_value: Any, value: Any, rel: str, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    """Check that an argument is an int and that ``arg_value rel value`` holds."""
    return _compared(_number("int", arg_value, arg_name, prim_name), value, rel, arg_name, prim_name)


def check_float(arg_value: Any, value: Any, rel: str, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    """Check that an argument is a float and that ``arg_value rel value`` holds."""
    return _compared(_number("float", arg_value, arg_name, prim_name), value, rel, arg_name, prim_name)


def check_equal_int(arg_value: Any, value: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    """Check that an argument is an int equal to another."""
    return check_int(arg_value, value, EQ, arg_name, prim_name)


def _range(kind: str) -> Callable[..., Any]:
    def check(
        arg_value: Any, lower_limit: Any, upper_limit: Any, rel: str, arg_name: str | None = None,
        prim_name: str | None = None,
    ) -> Any:  # fmt: skip
        value = _number(kind, arg_value, arg_name, prim_name)
        above = _COMPARE[GE if rel[0] == "[" else GT](value, lower_limit)
        below = _COMPARE[LE if rel[1] == "]" else LT](value, upper_limit)
        if not (above and below):
            text = f"{rel[0]}{lower_limit}, {upper_limit}{rel[1]}"
            raise ValueError(f"{_of(prim_name)}{arg_name or 'the argument'} must be in {text}, got {value}")
        return value

    check.__name__ = check.__qualname__ = f"check_{kind}_range"
    check.__doc__ = f"Check that an argument is of type {kind} and in a range, whose brackets `rel` has."
    return check


check_int_range, check_float_range = _range("int"), _range("float")


def _signed(kind: str, sign: str, several: bool) -> Callable[..., Any]:
    """Make the check that compares a number, or each number of a sequence, with zero."""

    def check(value: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
        if several and not isinstance(value, tuple | list):
            raise TypeError(f"{_of(prim_name)}{arg_name or 'the argument'} must be a tuple or list of {kind}")
        for entry in value if several else (value,):
            _compared(_number(kind, entry, arg_name, prim_name), 0, _SIGNS[sign], arg_name, prim_name)
        return value

    check.__name__ = check.__qualname__ = f"check_{sign}_{kind}" + ("_sequence" if several else "")
    check.__doc__ = f"Check that {'all entries are' if several else 'an argument is'} {kind} and {_SIGNS[sign]} 0."
    return check


for _kind in _KINDS:
    for _sign in _SIGNS:
        for _several in (False, True):
            _check = _signed(_kind, _sign, _several)
            globals()[_check.__name__] = _check
            __all__ += [_check.__name__]


def check_bool(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> bool:
    """Check that an argument is a bool."""
    if not isinstance(arg_value, bool):
        raise TypeError(f"{_of(prim_name)}{arg_name or 'the argument'} must be a bool, got {type(arg_value).__name__}")
    return arg_value


def check_string(
    arg_value: Any, valid_values: Iterable[str], arg_name: str | None = None, prim_name: str | None = None
) -> str:
    """Check that an argument is one of several texts."""
    known = list(valid_values)
    if not isinstance(arg_value, str) or arg_value not in known:
        raise ValueError(f"{_of(prim_name)}{arg_name or 'the argument'} must be one of {known}, got {arg_value!r}")
    return arg_value


def check_str_by_regular(
    target: Any, reg: str | None = None, flag: int = re.ASCII, prim_name: str | None = None
) -> bool:
    """Check that a text matches a pattern; by default a name or path without spaces."""
    pattern = r"^[0-9a-zA-Z+\-\.\_\/\\:\d]*$" if reg is None else reg
    if not isinstance(target, str) or re.match(pattern, target, flag) is None:
        raise ValueError(f"{_of(prim_name)}{target!r} does not match {pattern}")
    return True


def check_isinstance(arg_name: str, arg_value: Any, classes: Any) -> Any:
    """Check that an argument is of a class."""
    return check_value_type(arg_name, arg_value, classes)


def check_value_type(arg_name: str, arg_value: Any, valid_types: Any, prim_name: str | None = None) -> Any:
    """Check that an argument is of one of several types. A bool does not count as an int."""
    types = tuple(valid_types) if isinstance(valid_types, Iterable) else (valid_types,)
    if not isinstance(arg_value, types) or (isinstance(arg_value, bool) and bool not in types):
        names = ", ".join(getattr(kind, "__name__", str(kind)) for kind in types)
        raise TypeError(f"{_of(prim_name)}{arg_name} must be of type {names}, got {type(arg_value).__name__}")
    return arg_value


def check_subclass(
    arg_name: str, type_: Any, template_types: Any, prim_name: str | None = None, addition_error_info: Any = None
) -> None:
    """Check that a type is one of several types or derived from one of them."""
    several = tuple(template_types) if isinstance(template_types, Iterable) else (template_types,)
    related = any(type_ is each or (isinstance(type_, type) and isinstance(each, type) and issubclass(type_, each))
                  for each in several)  # fmt: skip
    if not related:
        raise TypeError(f"{_of(prim_name)}{arg_name} must be one of {', '.join(map(str, several))}, got {type_}")


def check_type_name(arg_name: str, arg_type: Any, valid_types: Any, prim_name: str | None = None) -> Any:
    """Check that a type is one of several."""
    if arg_type not in (valid_types if isinstance(valid_types, Iterable) else (valid_types,)):
        raise TypeError(f"{_of(prim_name)}{arg_name} must be one of {valid_types}, got {arg_type}")
    return arg_type
