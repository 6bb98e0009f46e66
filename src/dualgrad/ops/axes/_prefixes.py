"""All prefixes of a sequence, combined by an associative function.

Neighbours are combined to pairs. The sequence of pairs, half as long, is treated the same way, and the prefixes that
end inside a pair are filled in. That makes about 2 n applications of the function in 2 log2(n) calls on whole arrays.
Nothing is ever divided or subtracted to leave an element out, so results and derivatives of every order are as accurate
as the function itself. A 0 among factors, or a -inf among logarithms, does no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import OP, to_shape
from ._joining import cat, stack

Elements: TypeAlias = tuple[Tensor, ...]
"""A sequence of elements. An element may consist of several numbers, with one tensor for each."""

_SLICE = OP["slice"]


def every(x: Tensor, axis: int, start: int, count: int, step: int = 1) -> Tensor:
    """Take `count` elements along an axis, from `start` in steps of `step`."""
    spec = [(start, count, step) if k == axis else (0, n, 1) for k, n in enumerate(x.shape)]
    return _engine.apply(_SLICE, tuple(spec), x)


def prefixes(combine: Callable[[Elements, Elements], Elements], parts: Elements, axis: int) -> Elements:
    """The elements x0, x0 x1, (x0 x1) x2 ... along an axis, where juxtaposition is `combine`.

    `combine` takes two stretches of elements and works elementwise; it must be associative. The depth of the
    recursion is the logarithm of the length.
    """
    n = parts[0].shape[axis]
    if n < 2:
        return parts
    half, inner = n // 2, (n - 1) // 2
    first = tuple([every(x, axis, 0, half, 2) for x in parts])
    second = tuple([every(x, axis, 1, half, 2) for x in parts])
    odd = prefixes(combine, combine(first, second), axis)
    even = tuple([every(x, axis, 0, 1) for x in parts])
    if inner:
        before = tuple([every(x, axis, 0, inner) for x in odd])
        itself = tuple([every(x, axis, 2, inner, 2) for x in parts])
        even = tuple([cat(pair, axis) for pair in zip(even, combine(before, itself), strict=True)])
    return tuple([_interleaved(x, y, axis) for x, y in zip(even, odd, strict=True)])


def _interleaved(even: Tensor, odd: Tensor, axis: int) -> Tensor:
    """Interleave the elements at even and at odd places; there may be one more even element."""
    half = odd.shape[axis]
    rest = even.shape[axis] - half
    pairs = stack((every(even, axis, 0, half), odd), axis + 1)
    joined = to_shape(pairs, (*odd.shape[:axis], 2 * half, *odd.shape[axis + 1 :]))
    return cat((joined, every(even, axis, half, 1)), axis) if rest else joined
