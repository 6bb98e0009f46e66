"""Einstein's summation convention, composed of transposes, reshapes, sums and matrix products.

The operands are contracted from left to right. Before two of them meet, each has its repeated letters turned
into diagonals and the letters that nobody else needs summed away. What remains is sorted into four groups of
letters:

========  ===============================  ==================================
shared    in both operands and in the rest  stacked: leading axes of the product
rows      in the first operand only         rows of the first matrix
columns   in the second operand only        columns of the second matrix
summed    in both operands, not in the rest summed by the product
========  ===============================  ==================================

so that a pair is always one matrix product, and its derivatives are matrix products too.
"""

from __future__ import annotations

import math
import string
from typing import Any

from ..tensor import Tensor
from ._arguments import alike, operands, permuted, to_shape, total
from ._diagonals import diagonal

_DOTS = "..."


def einsum(equation: str, *tensors: Any) -> Tensor:
    """Sum of products, written with letters for axes.

    Parameters
    ----------
    equation : str
        Letters for the axes of each operand, operands separated by commas, then ``->`` and the letters of the
        result. Letters that the result lacks are summed over; without an arrow the result has the letters
        that occur once, in alphabetical order. A letter twice in one operand takes the diagonal. ``...``
        stands for leading axes that broadcast.
    *tensors : Tensor
        As many as the equation has operands.

    Returns
    -------
    Tensor
        In the type the operands have together.

    Raises
    ------
    ValueError
        If the equation is malformed, or does not fit the shapes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(ops.einsum("ij,kj->ik", x, x), ops.einsum("ii", x))
    [[ 5. 11.]
     [11. 25.]] 5.0
    """
    if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
        tensors = tuple(tensors[0])
    parts = alike(operands("einsum", tensors))
    inputs, output, parts = _parsed(equation, parts)
    lengths = _lengths(equation, inputs, parts)
    letters, result = _reduced(inputs[0], parts[0], output + "".join(inputs[1:]))
    for k in range(1, len(parts)):
        later = output + "".join(inputs[k + 1 :])
        second, operand = _reduced(inputs[k], parts[k], letters + later)
        letters, result = _contracted(letters, result, second, operand, later, lengths)
    letters, result = _reduced(letters, result, output)
    result = permuted(result, tuple([letters.index(c) for c in output]))
    return result


def _parsed(equation: str, tensors: list[Tensor]) -> tuple[list[str], str, list[Tensor]]:
    """The letters of the operands and of the result, with letters for the axes that ellipses stand for."""
    if not isinstance(equation, str):
        raise TypeError(f"einsum: the equation must be a string, got {type(equation).__name__}")
    left, arrow, output = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(tensors) or not tensors:
        raise ValueError(f"einsum: {equation!r} is for {len(inputs)} operands, got {len(tensors)}")
    free = [c for c in string.ascii_letters if c not in equation]
    widths = []
    for letters, x in zip(inputs, tensors, strict=True):
        named = letters.replace(_DOTS, "", 1)
        if not all(c in string.ascii_letters for c in named):
            raise ValueError(f"einsum: {letters!r} in {equation!r} holds something other than letters and one '...'")
        width = x.ndim - len(named)
        if width < 0 or (width and _DOTS not in letters):
            raise ValueError(f"einsum: {letters!r} in {equation!r} does not fit an operand of shape {x.shape}")
        widths.append(width)
    most = max(width if _DOTS in letters else 0 for letters, width in zip(inputs, widths, strict=True))
    dots = "".join(free[:most])
    if not arrow:
        names = left.replace(_DOTS, "").replace(",", "")
        output = (_DOTS if _DOTS in left else "") + "".join(sorted(c for c in set(names) if names.count(c) == 1))
    if _DOTS in left and _DOTS not in output and most:
        raise ValueError(f"einsum: the result of {equation!r} lacks the '...' of the operands")
    inputs = [letters.replace(_DOTS, dots[most - width :]) for letters, width in zip(inputs, widths, strict=True)]
    output = output.replace(_DOTS, dots, 1)
    known = set("".join(inputs))
    if len(set(output)) != len(output) or not set(output) <= known:
        raise ValueError(f"einsum: the result of {equation!r} must have letters of the operands, each of them once")
    return inputs, output, tensors


def _lengths(equation: str, inputs: list[str], tensors: list[Tensor]) -> dict[str, int]:
    """How long the axis of each letter is. Axes of length 1 broadcast: they are taken out of the operands."""
    lengths: dict[str, int] = {}
    for letters, x in zip(inputs, tensors, strict=True):
        for c, n in zip(letters, x.shape, strict=True):
            if lengths.setdefault(c, n) == 1:
                lengths[c] = n
            elif n not in (1, lengths[c]):
                raise ValueError(
                    f"einsum: axis {c!r} of {equation!r} has length {lengths[c]} in one operand and {n} in another"
                )
    for k, x in enumerate(tensors):
        letters, shape = inputs[k], x.shape
        fitting = [n == lengths[c] for c, n in zip(letters, shape, strict=True)]
        if not all(fitting):
            inputs[k] = "".join(c for c, fits in zip(letters, fitting, strict=True) if fits)
            tensors[k] = to_shape(x, tuple([n for n, fits in zip(shape, fitting, strict=True) if fits]))
    return lengths


def _reduced(letters: str, x: Tensor, needed: str) -> tuple[str, Tensor]:
    """An operand with each letter once, and without the letters that nobody needs."""
    for c in dict.fromkeys(letters):
        while letters.count(c) > 1:
            i = letters.index(c)
            j = letters.index(c, i + 1)
            x = diagonal(x, 0, i, j)
            letters = letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + c
    lost = tuple([k for k, c in enumerate(letters) if c not in needed])
    if lost:
        x = total(x, lost, False)
        letters = "".join(c for c in letters if c in needed)
    return letters, x


def _contracted(
    first: str, x: Tensor, second: str, y: Tensor, needed: str, lengths: dict[str, int]
) -> tuple[str, Tensor]:
    """Two operands as one product of (stacks of) matrices."""
    shared = [c for c in first if c in second and c in needed]
    summed = [c for c in first if c in second and c not in needed]
    rows = [c for c in first if c not in second]
    columns = [c for c in second if c not in first]
    size = {
        name: [lengths[c] for c in group] for name, group in zip("hrcs", (shared, rows, columns, summed), strict=True)
    }
    stack = tuple(size["h"])
    m, n, k = math.prod(size["r"]), math.prod(size["c"]), math.prod(size["s"])
    left = to_shape(permuted(x, tuple([first.index(c) for c in (*shared, *rows, *summed)])), (*stack, m, k))
    right = to_shape(permuted(y, tuple([second.index(c) for c in (*shared, *summed, *columns)])), (*stack, k, n))
    product = left * right if k == 1 else left @ right
    return "".join((*shared, *rows, *columns)), to_shape(product, (*stack, *size["r"], *size["c"]))
