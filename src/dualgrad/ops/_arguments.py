"""Settle arguments: operands, axes, shapes and the spellings of keywords.

The engine trusts its arguments. So each function brings its static arguments into one canonical form (axes not negative
and sorted, shapes complete) before it applies a primitive. It raises errors there, in the user's terms.

MindSpore spells the same keyword in several ways: ``axis`` and ``dim``, ``keepdims``, ``keepdim`` and ``keep_dims``.
Functions are written with the first spelling of each. Other spellings land in ``**other``, which `respell` resolves, so
the common call costs nothing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._dtypes import _RANK, default_float
from .._engine.transforms import tensor as _engine
from .._engine.transforms.handles import operand_from
from .._settings import one_of, room, truth_value
from ..dtype import DType, as_dtype
from ..tensor import Tensor

OP = _engine.OPCODES
IS_COMPLEX = frozenset(np.dtype(name).num for name in ("complex64", "complex128"))
IS_FLOAT = frozenset(np.dtype(name).num for name in ("float16", "float32", "float64", "complex64", "complex128"))
ALL_AXES = [tuple(range(n)) for n in range(65)]
_RESHAPE, _TRANSPOSE, _BROADCAST, _SUM = OP["reshape"], OP["transpose"], OP["broadcast_to"], OP["sum"]

_SPELLINGS = {
    "dim": "axis",
    "dims": "axis",
    "keepdim": "keepdims",
    "keep_dims": "keepdims",
}


class Primitive:
    """The base of primitive classes with settings: made with settings, called with operands.

    A class without settings that does the same as a function names it: ``class Real(Primitive, of=real)``. Its
    docstring is made from the function's.

    Examples
    --------
    >>> from dualgrad import ops
    >>> isinstance(ops.Gather(), ops.Primitive)
    True
    """

    __slots__: tuple[str, ...] = ()

    def __init_subclass__(cls, of: Callable[..., Any] | None = None) -> None:
        if of is not None:
            cls.__doc__ = _documented(cls, of)

    def add_prim_attr(self, name: str, value: Any) -> Primitive:
        """Return the primitive itself: attributes are for MindSpore's compiler."""
        return self

    def set_device(self, device_target: str) -> Primitive:
        """Return the primitive itself: there is one device."""
        return self

    def __repr__(self) -> str:
        names = [name for cls in reversed(type(self).__mro__) for name in getattr(cls, "__slots__", ())]
        settings = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({settings})"


def _documented(cls: type, function: Callable[..., Any]) -> str:
    """The docstring of a primitive class: its call, and the example of its function."""
    call: Any = cls.__call__
    code = call.__code__
    words = ", ".join(code.co_varnames[1 : code.co_argcount - len(call.__defaults__ or ())])
    name = function.__name__
    before, title, after = (function.__doc__ or "").partition("Examples\n")
    indent = before[len(before.rstrip(" ")) :]  # none from Python 3.13 on
    calls = f"{indent}{title}{after if title else ''}".replace(f"ops.{name}(", f"ops.{cls.__name__}()(")
    return f"Primitive class of `{name}`: ``ops.{cls.__name__}()({words})``.\n\n{calls}"


class Reduction(Primitive):
    """The base of primitive classes of reductions: one setting, `keep_dims`."""

    __slots__ = ("keep_dims",)

    def __init__(self, keep_dims: bool = False) -> None:
        if not isinstance(keep_dims, bool):
            raise TypeError(f"{type(self).__name__}: keep_dims must be a bool, got {type(keep_dims).__name__}")
        self.keep_dims: bool = keep_dims


def respell(name: str, other: dict[str, Any], **canonical: Any) -> Any:
    """Return the values of keywords that may have another spelling, in the order of `canonical`.

    Raises
    ------
    TypeError
        For a keyword that is not a spelling of any of them, and for a keyword under two spellings.
    """
    for word, value in other.items():
        right = _SPELLINGS.get(word)
        if right not in canonical:
            known = ", ".join(
                [
                    *canonical,
                    *(alias for alias, to in _SPELLINGS.items() if to in canonical and alias != "dims"),
                ]
            )
            raise TypeError(f"{name}: unexpected keyword argument {word!r}; expected one of {known}")
        if canonical[right] is not None and canonical[right] is not False:
            raise TypeError(f"{name}: {right} is given twice, as {canonical[right]!r} and as {word}={value!r}")
        canonical[right] = value
    values = tuple(canonical.values())
    return values[0] if len(values) == 1 else values


def respelled_axis(name: str, other: dict[str, Any], axis: Any, default: int = 0) -> Any:
    """Return an axis with a default, unless it is given under another spelling."""
    return respell(name, other, axis=None if axis == default else axis)


def operand(name: str, x: Any) -> Tensor:
    """Convert an operand to a tensor: a Tensor is itself, arrays and numbers become constants."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, np.ndarray):
        return operand_from(x)
    if isinstance(x, bool | int | float | complex | np.generic):
        return Tensor(x)
    raise TypeError(f"{name}: expected a Tensor, a NumPy array or a number, got {type(x).__name__}")


def beside(name: str, x: Any, other: Tensor) -> Tensor:
    """Convert an operand to a tensor; a number takes the common type with another operand."""
    found = operand(name, x)
    return found if isinstance(x, Tensor | np.ndarray) else _engine.convert(x, _engine.common_type(other, x))


def operands(name: str, many: Any) -> list[Tensor]:
    """A collection of operands as a list of tensors."""
    if isinstance(many, Tensor | np.ndarray) or not hasattr(many, "__iter__") or isinstance(many, str | dict):
        raise TypeError(
            f"{name}: expected a tuple or list of Tensors, got {type(many).__name__}; put the tensors in parentheses"
        )
    return [operand(name, x) for x in many]


def together(name: str, *many: Any) -> list[Tensor]:
    """Convert operands to tensors; numbers take the common type with the tensors among them."""
    if not any(isinstance(x, Tensor | np.ndarray) for x in many):
        return [operand(name, x) for x in many]
    return [
        operand(name, x)
        if isinstance(x, Tensor | np.ndarray) or not isinstance(x, bool | int | float | complex | np.generic)
        else _engine.convert(x, _engine.common_type(*[y for y in many if isinstance(y, Tensor | np.ndarray)], x))
        for x in many
    ]


def floating(name: str, x: Any) -> Tensor:
    """An operand of a float type: integers and bools get the default type."""
    x = operand(name, x)
    return x if x._typenum in IS_FLOAT else _engine.convert(x, default_float().num)


def converted(name: str, what: str, x: Any, like: Tensor) -> Tensor:
    """Convert an operand to the type of another, which must be of its kind or wider: integers cannot hold floats."""
    x = operand(name, x)
    if x._typenum == like._typenum:
        return x
    if _RANK[x.dtype.numpy.kind] > _RANK[like.dtype.numpy.kind]:
        raise TypeError(
            f"{name}: {what} of type {x.dtype} for a tensor of type {like.dtype}, which cannot hold them; convert one "
            "of them first (astype)"
        )
    return _engine.convert(x, like._typenum)


def alike(tensors: list[Tensor]) -> list[Tensor]:
    """Convert tensors to their common type."""
    first = tensors[0]._typenum
    if all(t._typenum == first for t in tensors):
        return tensors
    common = _engine.common_type(*tensors)
    return [_engine.convert(t, common) for t in tensors]


def type_or(name: str, dtype: Any, default: DType) -> DType:
    """A type argument, or the default where it is None."""
    return default if dtype is None else as_dtype(dtype, where=name)


# -------------------------------------------------------------------------------------------- axes and shapes


def integer(name: str, what: str, value: Any) -> int:
    """Return an integer argument. A tensor of one integer counts as an integer, as in MindSpore."""
    if type(value) is int:
        return value
    try:
        return operator.index(pythons(value))
    except (TypeError, ValueError):
        raise TypeError(f"{name}: {what} must be an int, got {type(value).__name__}") from None


def pythons(value: Any) -> Any:
    """Convert a tensor of one integer to a Python int; return anything else unchanged."""
    return int(value) if isinstance(value, Tensor) and value.dtype.is_int and value.size == 1 else value


def one_axis(name: str, axis: Any, shape: tuple[int, ...], extra: int = 0) -> int:
    """Count an axis from the front; `extra` axes are about to be added to the shape.

    Raises
    ------
    numpy.exceptions.AxisError
        An error that is both a ValueError and an IndexError, if the axis does not exist.
    """
    axis = integer(name, "axis", axis)
    ndim = len(shape) + extra
    if -ndim <= axis < ndim:
        return axis if axis >= 0 else axis + ndim
    room = f"axes -{ndim} to {ndim - 1}" if ndim else "no axes at all"
    raise np.exceptions.AxisError(
        f"{name}: axis {axis} is not there; a tensor of shape {shape} has {room}"
        if not extra
        else f"{name}: axis {axis} is out of range for a tensor of shape {shape}; expected one of {room}"
    )


def several_axes(name: str, axes: Any, shape: tuple[int, ...], extra: int = 0) -> tuple[int, ...]:
    """Count axes from the front, in the order given; one int stands for itself.

    Raises
    ------
    ValueError
        If an axis comes twice.
    """
    if isinstance(axes, tuple | list):
        found = tuple(one_axis(name, axis, shape, extra) for axis in axes)
        if len(set(found)) != len(found):
            raise ValueError(f"{name}: an axis comes twice in {tuple(axes)} for a tensor of shape {shape}")
        return found
    return (one_axis(name, axes, shape, extra),)


def reduced_axes(name: str, axes: Any, x: Tensor) -> tuple[int, ...]:
    """The sorted axes of a reduction; None and () stand for all. A number accepts axis 0 but has no axes."""
    ndim = x.ndim
    if axes is None:
        return ALL_AXES[ndim]
    if type(axes) is int and -ndim <= axes < ndim:
        return (axes if axes >= 0 else axes + ndim,)
    shape = x.shape
    if isinstance(axes, tuple | list):
        if not axes:
            return ALL_AXES[len(shape)]
    elif not shape and one_of(axes, (0, -1)):
        return ()
    found = several_axes(name, axes, shape)
    return found if len(found) == 1 else tuple(sorted(found))


def kept(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with the given axes of length 1."""
    return tuple([1 if k in axes else n for k, n in enumerate(shape)])


def dropped(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without the given axes."""
    return tuple([n for k, n in enumerate(shape) if k not in axes])


def reduced_count(x: Tensor, axes: tuple[int, ...]) -> int:
    """The number of elements that are reduced to one."""
    if len(axes) == x.ndim:
        return x.size
    shape = x.shape
    return math.prod([shape[k] for k in axes])


def lengths(name: str, shape: Any) -> tuple[int, ...]:
    """Convert a shape argument (an int, a tuple or list, a tensor of ints) to a tuple of ints, which may contain -1."""
    if type(shape) is tuple and all(type(n) is int for n in shape):
        return shape
    if isinstance(shape, Tensor | np.ndarray):
        shape = shape.tolist()
    if isinstance(shape, tuple | list):
        return tuple([integer(name, "a length in the shape", n) for n in shape])
    return (integer(name, "the shape", shape),)


def new_shape(name: str, shape: Any) -> tuple[int, ...]:
    """Check the shape of a new tensor."""
    found = lengths(name, shape)
    if any(n < 0 for n in found):
        raise ValueError(f"{name}: the shape {found} has a negative length")
    room(name, found)
    return found


def unpacked(arguments: tuple[Any, ...]) -> Any:
    """Return arguments that are given one by one or as a single tuple or list."""
    return arguments[0] if len(arguments) == 1 else arguments


# ------------------------------------------------------------------------------- shortest forms of primitives
# A no-op returns a new handle on the same value: writing into it must not reach x.


def to_shape(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Reshape to a complete shape."""
    return +x if x.shape == shape else _engine.apply(_RESHAPE, shape, x)


def permuted(x: Tensor, order: tuple[int, ...]) -> Tensor:
    """Transpose to an order of axes."""
    return +x if order == ALL_AXES[len(order)] else _engine.apply(_TRANSPOSE, order, x)


def expanded(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Broadcast to a shape that is known to fit."""
    return +x if x.shape == shape else _engine.apply(_BROADCAST, shape, x)


def total(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Sum over sorted axes, in the tensor's own type."""
    kept = keepdims if type(keepdims) is bool else truth_value("sum", "keepdims", keepdims)
    return _engine.apply(_SUM, (axes, kept), x)


def reduced(name: str, op: int, x: Any, axis: Any, keepdims: bool) -> Tensor:
    """Apply a primitive that reduces axes, with its arguments as the user gave them."""
    x = operand(name, x)
    return _engine.apply(op, (reduced_axes(name, axis, x), truth_value(name, "keepdims", keepdims)), x)
