"""Padding: make axes longer at their ends, by a number or by elements from within.

A constant is placed by the transpose of a slice. Every other mode reads each element of the result at a place inside.
So it is a gather along the axis, and its transpose adds to that place.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._settings import number_or_tensor, one_of, room
from ...tensor import Tensor
from .._arguments import OP, Primitive, lengths, operand
from ..index._indices import one_axis_pattern, read

__all__ = ["MirrorPad", "Pad", "PadV3", "pad"]

_SLICE, _UNSLICE, _WHERE = OP["slice"], OP["unslice"], OP["where"]

Widths: TypeAlias = tuple[tuple[int, int], ...]
"""For each axis the number of elements added before and behind; negative numbers cut off."""

_INSIDE = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""The modes that read inside, under NumPy's names."""


def pad(input_x: Any, padding: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Make axes longer at their ends.

    Parameters
    ----------
    input_x : Tensor
        Any shape and type.
    padding : tuple or list of int, or Tensor of int
        Two numbers for an axis, beginning with the last: the number of elements to add before, and behind. Negative
        numbers cut off.
    mode : {"constant", "reflect", "replicate", "circular"}, default "constant"
        The elements to add: a number; the elements inside, mirrored at the outermost, which is not repeated; the
        outermost element; the elements from the other end.
    value : number or Tensor without axes, optional
        The number for mode "constant"; None stands for 0. Derivatives go to it.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If there is an odd number of widths or too many of them, for another mode, for a value in a mode without value,
        or if more elements are to be added than there are inside.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0, 3.0]])
    >>> print(ops.pad(x, (1, 2)), ops.pad(x, (1, 2), "reflect"), ops.pad(x, (-1, 1), "circular"))
    [[0. 1. 2. 3. 0. 0.]] [[2. 1. 2. 3. 2. 1.]] [[2. 3. 1.]]
    """
    x = operand("pad", input_x)
    given = lengths("pad", padding)
    if len(given) % 2 or len(given) > 2 * x.ndim:
        raise ValueError(
            f"pad: padding {given} for a tensor of shape {x.shape}; expected two numbers for each axis, the last "
            "axis first"
        )
    pairs = list(zip(given[::2], given[1::2], strict=True))
    widths = ((0, 0),) * (x.ndim - len(pairs)) + tuple(pairs[::-1])
    if one_of(mode, ("constant",)):
        return surrounded("pad", x, widths, 0 if value is None else value)
    if not one_of(mode, _INSIDE):
        raise ValueError(f"pad: mode is {mode!r}; expected 'constant', 'reflect', 'replicate' or 'circular'")
    if value is not None:
        raise ValueError(f"pad: value={value!r} has no meaning in mode {mode!r}; leave it out")
    for axis, ends in enumerate(widths):
        most = {"reflect": x.shape[axis] - 1, "circular": x.shape[axis]}.get(mode, max(ends))
        if max(ends) > most:
            raise ValueError(
                f"pad: {max(ends)} elements cannot be added to axis {axis} of shape {x.shape} in mode {mode!r}; "
                f"there are {most} to take"
            )
    return extended("pad", x, widths, _INSIDE[mode])


def surrounded(name: str, x: Tensor, widths: Widths, value: Any) -> Tensor:
    """Put a number around the elements."""
    inner, outer, shape = [], [], []
    for n, (before, behind) in zip(x.shape, widths, strict=True):
        cut, start = max(-before, 0), max(before, 0)
        count = n - cut - max(-behind, 0)
        if count < 0:
            raise ValueError(f"{name}: {widths} cuts off more than there is in a tensor of shape {x.shape}")
        inner.append((cut if count else 0, count, 1))
        outer.append((start if count else 0, count, 1))
        shape.append(start + count + max(behind, 0))
    if isinstance(value, Tensor | np.ndarray) and value.ndim:
        raise ValueError(f"{name}: value has shape {value.shape}; expected a single number")
    number_or_tensor(name, "the value", value)
    if not any(map(any, widths)):
        return +x
    room(name, tuple(shape))
    if any(end < 0 for ends in widths for end in ends):
        x = _engine.apply(_SLICE, tuple(inner), x)
    placed = _engine.apply(_UNSLICE, (tuple(shape), tuple(outer)), x)
    if not isinstance(value, Tensor) and value == 0:
        return placed
    inside = np.zeros(shape, bool)
    inside[tuple([slice(start, start + count) for start, count, _ in outer])] = True
    return _engine.apply(_WHERE, None, inside, placed, _engine.convert(value, x._typenum))


def extended(name: str, x: Tensor, widths: Widths, mode: str) -> Tensor:
    """Add elements from within, in one of NumPy's modes of padding."""
    x = +x
    for axis, (before, behind) in enumerate(widths):
        if before == behind == 0:
            continue
        n = x.shape[axis]
        if n == 0:
            raise ValueError(f"{name}: axis {axis} of shape {x.shape} has no element to extend it by")
        room(name, (n + max(before, 0) + max(behind, 0),))
        places = np.pad(np.arange(n), (max(before, 0), max(behind, 0)), mode)  # type: ignore[call-overload]
        places = places[max(-before, 0) : len(places) - max(-behind, 0)]
        x = read(name, one_axis_pattern(x.shape, axis), x, places)
    return x


def _pairs(name: str, x: Tensor, paddings: Any) -> Widths:
    """The widths of a primitive class: a pair for each axis, none negative."""
    rows = paddings.tolist() if isinstance(paddings, Tensor | np.ndarray) else paddings
    if isinstance(rows, tuple | list) and len(rows) == x.ndim:
        pairs = [lengths(name, row) for row in rows]
        if all(len(pair) == 2 and min(pair) >= 0 for pair in pairs):
            return tuple([(before, behind) for before, behind in pairs])
    raise ValueError(
        f"{name}: paddings {rows!r} for a tensor of shape {x.shape}; expected a pair of numbers for each axis, none "
        "negative"
    )


class Pad(Primitive):
    """Zeros around the elements.

    Parameters
    ----------
    paddings : tuple of pairs of int
        For each axis, beginning with the first, the number of zeros before and behind.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.Pad(((0, 1), (1, 0)))(dg.Tensor([[1.0, 2.0]])))
    [[0. 1. 2.]
     [0. 0. 0.]]
    """

    __slots__ = ("paddings",)

    def __init__(self, paddings: Any) -> None:
        self.paddings: Any = paddings

    def __call__(self, x: Any) -> Tensor:
        x = operand("Pad", x)
        return surrounded("Pad", x, _pairs("Pad", x, self.paddings), 0)


class MirrorPad(Primitive):
    """The elements inside, mirrored, around them.

    Parameters
    ----------
    mode : {"REFLECT", "SYMMETRIC"}, default "REFLECT"
        Mirrored at the outermost element, or behind it, so that it is repeated.

    Raises
    ------
    ValueError
        For another mode, or if more elements are to be added than there are inside.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x, widths = dg.Tensor([1.0, 2.0, 3.0]), ((1, 2),)
    >>> print(ops.MirrorPad()(x, widths), ops.MirrorPad("SYMMETRIC")(x, widths))
    [2. 1. 2. 3. 2. 1.] [1. 1. 2. 3. 3. 2.]
    """

    __slots__ = ("mode",)

    def __init__(self, mode: str = "REFLECT") -> None:
        if not one_of(mode, ("REFLECT", "SYMMETRIC")):
            raise ValueError(f"MirrorPad: mode is {mode!r}; expected 'REFLECT' or 'SYMMETRIC'")
        self.mode = mode

    def __call__(self, x: Any, paddings: Any) -> Tensor:
        x = operand("MirrorPad", x)
        widths = _pairs("MirrorPad", x, paddings)
        for n, ends in zip(x.shape, widths, strict=True):
            if max(ends) > n - (self.mode == "REFLECT"):
                raise ValueError(
                    f"MirrorPad: paddings {widths} for a tensor of shape {x.shape}; there are fewer elements inside"
                )
        return extended("MirrorPad", x, widths, self.mode.lower())


class PadV3(Primitive):
    """Primitive class of `pad`: ``ops.PadV3(mode)(x, paddings, constant_value)``.

    Parameters
    ----------
    mode : {"constant", "reflect", "edge", "circular"}, default "constant"
        As in `pad`, where "edge" is called "replicate".
    paddings_contiguous : bool, default True
        True if both numbers of an axis stand together. Otherwise all numbers of elements before come first.

    Raises
    ------
    ValueError
        As `pad`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.PadV3("edge")(dg.Tensor([[1.0, 2.0]]), (1, 2)))
    [[1. 1. 2. 2. 2.]]
    """

    __slots__ = ("mode", "paddings_contiguous")

    def __init__(self, mode: str = "constant", paddings_contiguous: bool = True) -> None:
        if not one_of(mode, ("constant", "reflect", "edge", "circular")):
            raise ValueError(f"PadV3: mode is {mode!r}; expected 'constant', 'reflect', 'edge' or 'circular'")
        self.mode = mode
        self.paddings_contiguous: bool = paddings_contiguous

    def __call__(self, x: Any, paddings: Any, constant_value: Any = None) -> Tensor:
        given = lengths("PadV3", paddings)
        if not self.paddings_contiguous:
            half = len(given) // 2
            given = tuple([n for pair in zip(given[:half], given[half:], strict=True) for n in pair])
        return pad(x, given, "replicate" if self.mode == "edge" else self.mode, constant_value)
