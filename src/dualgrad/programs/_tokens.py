"""Tokens: numbers that stand for values, so that programs can be compared without computing anything.

A token is a 64-bit number that names the origin of a value: an element of an input, a constant, or an operation on
tokens. Two computations of the same value give the same token; a value read from a wrong place gives another one (with
a chance of 1 in 10**19 to miss it). Sums and products of matrices are sums and products of tokens modulo 2**64, which
do not depend on order and grouping. Elementwise operations mix the tokens of their operands. Movements of elements move
tokens. Every other operation gives tokens that depend on all of its operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._engine.compiler.repetitions import Repetition
from .._engine.primitives.registry import primitive, table
from ._listing import CONSTANT, Listing

__all__ = ["ITEM", "TYPES", "Draws", "constant_tokens", "given_tokens", "name_of", "operation_tokens"]

Tokens = np.ndarray

# The type of each type number, and the bytes of an element.
TYPES: dict[int, np.dtype] = {
    np.dtype(code).num: np.dtype(code) for code in np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?"
}
ITEM = {number: dtype.itemsize for number, dtype in TYPES.items()}

_EQUAL_BOTH_WAYS = ("add", "mul", "absorb_mul")  # commutative bit for bit
_OFFSET = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def name_of(op: int) -> str:
    """The name of the primitive with an opcode."""
    return table()[op].name


def mixed(a: Tokens, b: Tokens) -> Tokens:
    """A token for an ordered pair of tokens."""
    with np.errstate(over="ignore"):
        x = (a + _OFFSET) * _FIRST
        x = x ^ (x >> np.uint64(29))
        x = (x + b) * _SECOND
        return x ^ (x >> np.uint64(32))


def key_token(key: Any) -> Tokens:
    """A token for a name or parameters; by identity if they are not hashable."""
    try:
        number = hash(key)
    except TypeError:
        number = id(key)
    return np.array(number % 2**64, np.uint64)


def numbered(seed: Tokens, shape: Sequence[int]) -> Tokens:
    """Distinct tokens for the elements of a value, all derived from one token."""
    size = int(np.prod(shape, dtype=np.int64))
    return mixed(seed, np.arange(size, dtype=np.uint64)).reshape(tuple(shape))


def given_tokens(kind: str, number: int, shape: Sequence[int]) -> Tokens:
    """Tokens of an input or a handle."""
    return numbered(key_token((kind, number)), shape)


def constant_tokens(array: np.ndarray) -> Tokens:
    """Tokens of numbers, by their bits. The tokens of 0 and 1 are 0 and 1, so a sum may be a product with ones."""
    dtype = array.dtype
    flat = np.ascontiguousarray(array).reshape(-1)
    if dtype.kind == "c":
        parts = constant_tokens(flat.view(f"f{dtype.itemsize // 2}"))
        tokens = mixed(parts[::2], parts[1::2])
    else:
        bits = flat.view(f"u{dtype.itemsize}").astype(np.uint64)
        tokens = np.where(bits == 0, np.uint64(0), mixed(bits, key_token(dtype.kind)))
    return np.where(flat == 1, np.uint64(1), tokens).reshape(array.shape)


class Draws:
    """Random draws and argument checks, in order of occurrence."""

    def __init__(self) -> None:
        self.drawn: int = 0
        self.checked: list[int] = []

    def next_draw(self) -> int:
        """The number of the next draw."""
        self.drawn += 1
        return self.drawn

    def check(self, params: Any, operand: Tokens) -> None:
        """Record an argument check."""
        self.checked.append(int(summary(key_token(id(params)), operand)))


def summary(seed: Tokens, tokens: Tokens) -> Tokens:
    """A token for a whole array. It depends on each element and its place."""
    with np.errstate(over="ignore"):
        flat = mixed(tokens.ravel(), np.arange(tokens.size, dtype=np.uint64))
        return mixed(seed, np.add.reduce(flat, dtype=np.uint64) + key_token(tokens.shape))


def operation_tokens(
    op: int, params: Any, operands: list[Tokens], shape: Sequence[int], dtype: np.dtype, draws: Draws
) -> Tokens:
    """Tokens of the result of a primitive with a shape and a type."""
    row = table()[op]
    structural = primitive(op)
    if structural is not None:
        with np.errstate(over="ignore"):
            found = structural.tokens(params, operands, tuple(shape))
        if found is not None:
            return found
    if row.name == "loop" and params.n >= 0:
        return loop_tokens(params, operands, draws)
    if row.name == "unpack":
        return unpacked_tokens(params, operands[0])
    if row.name == "inspect":
        draws.check(params, operands[0])
        return operands[0]
    if row.name == "draw":
        return numbered(key_token(("draw", draws.next_draw())), shape)
    if row.name == "power":
        return elementwise_tokens(op, [operands[0], constant_tokens(np.asarray(params, dtype))], shape)
    if row.name == "where":
        return elementwise_tokens(op, operands, shape)
    if row.name in ("cast", "clip_index"):
        return conversion_tokens(row.name, params, operands[0])
    if row.name == "gather" and (axes := _picked_axes(params, operands[0].shape)) is not None:
        return _gathered(axes, operands).reshape(tuple(shape))
    if row.name == "scatter_add" and (axes := _picked_axes(params[1], shape)) is not None:
        return _scattered(axes, operands, tuple(shape))
    if params is None and (row.partials or row.family == "elementwise"):
        return elementwise_tokens(op, operands, shape)
    seed = key_token((row.name, op))
    seed = mixed(seed, key_token(params))
    for operand in operands:
        seed = summary(seed, operand)
    return numbered(seed, shape)


def loop_tokens(loop: Repetition, operands: list[Tokens], draws: Draws) -> Tokens:
    """Tokens of the packed results of a loop with a known number of steps, from the tokens of its repeated steps."""
    body, p = loop.body, Listing.of(loop.body.program)
    run = _body(p, draws)
    carry, packed = operands[: body.carried], np.zeros(loop.nbytes, np.uint64)
    entries = [None if k is None else operands[k] for k in loop.stacked]
    shared = [operands[k] for k in loop.shared]
    for i in range(loop.n):
        k = loop.n - 1 - i if loop.reverse else i
        given = [constant_tokens(np.array(k)) if entry is None else entry[k] for entry in entries]
        found = run([*carry, *given, *shared])
        carry = found[: body.carried]
        for tokens, (typenum, shape, offset) in zip(
            found[body.carried : body.carried + body.made], loop.results[body.carried :], strict=False
        ):
            _pack(packed, tokens, offset + k * int(np.prod(shape[1:])) * ITEM[typenum], ITEM[typenum])
    for tokens, (typenum, _, offset) in zip(carry, loop.results, strict=False):
        _pack(packed, tokens, offset, ITEM[typenum])
    return packed


def _body(p: Listing, draws: Draws) -> Callable[[list[Tokens]], list[Tokens]]:
    def run(inputs: list[Tokens]) -> list[Tokens]:
        tokens: list[Any] = [None] * len(p.kinds)
        for slot, (kind, source) in enumerate(zip(p.kinds, p.sources, strict=True)):
            if kind == CONSTANT:
                tokens[slot] = constant_tokens(source.numpy())
            elif isinstance(source, int) and kind == 0:
                tokens[slot] = inputs[source]
        for op, params, ins, out in p.steps:
            dtype = TYPES[p.typenums[out]]
            tokens[out] = operation_tokens(op, params, [tokens[k] for k in ins], p.shapes[out], dtype, draws)
        return [tokens[slot] for slot in p.outputs]

    return run


def _pack(packed: Tokens, tokens: Tokens, offset: int, item: int) -> None:
    packed[offset : offset + tokens.size * item : item] = tokens.ravel()


def unpacked_tokens(params: tuple[int, tuple[int, ...], int], packed: Tokens) -> Tokens:
    """Tokens of one result, from the tokens of all packed results."""
    typenum, shape, offset = params
    size = int(np.prod(shape, dtype=np.int64))
    return packed[offset : offset + size * ITEM[typenum] : ITEM[typenum]][:size].reshape(shape)


def conversion_tokens(name: str, detail: int, operand: Tokens) -> Tokens:
    """Tokens of a conversion to another type, or to indices of an axis of some length."""
    return mixed(key_token((name, detail)), operand)


def elementwise_tokens(op: int, operands: list[Tokens], shape: Sequence[int]) -> Tokens:
    """Tokens of an elementwise function. A zero absorbs, and so does its token."""
    name = name_of(op)
    result = key_token(name)
    if name in _EQUAL_BOTH_WAYS:
        a, b = operands
        with np.errstate(over="ignore"):
            operands = [a + b, a * b]
    for operand in operands:
        result = mixed(result, operand)
    if name == "absorb_mul":
        result = np.where((a == 0) | (b == 0), np.uint64(0), result)
    return np.broadcast_to(result, tuple(shape))


# ------------------------------------------------------------------------------------------------------------- picks


def picked_tokens(source: Tokens, indices: Sequence[Tokens]) -> Tokens:
    """Tokens of a gather with n indices of the first axes; the other axes count as one: (n, width)."""
    at = summary(key_token("gather"), source)
    for index in indices:
        at = mixed(at, index)
    return mixed(at[:, None], np.arange(source.shape[-1], dtype=np.uint64))


def scattered_tokens(values: Tokens, indices: Sequence[Tokens], shape: tuple[int, ...]) -> Tokens:
    """Tokens of a scatter-add of (n, width) values at n indices of each axis but the last.

    They are a sum over the values, which may come in parts.
    """
    at = key_token("scatter_add")
    for index in indices:
        at = mixed(at, index)
    with np.errstate(over="ignore"):
        total = mixed(mixed(values, at[:, None]), np.arange(shape[-1], dtype=np.uint64)).sum(dtype=np.uint64)
        return total * (numbered(key_token(shape), shape) | np.uint64(1))


def _picked_axes(pattern: tuple[Any, ...], shape: Sequence[int]) -> tuple[int, int] | None:
    """(1 if the first axis is the batch axis, the number of axes with index arrays); None for other patterns."""
    samples = int(len(shape) > 0 and bool(pattern) and pattern[0] == (0, shape[0], 1))
    count = len(pattern) - samples
    return (samples, count) if count > 0 and pattern[samples:] == tuple(range(count)) else None


def _in_samples(axes: tuple[int, int], shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of an indexed array, with a batch axis in front and one axis after the indexed ones."""
    samples, count = axes
    return (*(shape[:samples] or (1,)), *shape[samples : samples + count], math.prod(shape[samples + count :]))


def _gathered(axes: tuple[int, int], operands: list[Tokens]) -> Tokens:
    source = operands[0].reshape(_in_samples(axes, operands[0].shape))
    indices = [index.ravel() for index in np.broadcast_arrays(*operands[1:])]
    return np.stack([picked_tokens(x, indices) for x in source]) if len(source) else np.zeros(0, np.uint64)


def _scattered(axes: tuple[int, int], operands: list[Tokens], shape: tuple[int, ...]) -> Tokens:
    whole = _in_samples(axes, shape)
    if not whole[0]:
        return np.zeros(shape, np.uint64)
    indices = [index.ravel() for index in np.broadcast_arrays(*operands[1:])]
    values = operands[0].reshape(whole[0], indices[0].size, whole[-1])
    return np.stack([scattered_tokens(x, indices, whole[1:]) for x in values]).reshape(shape)
