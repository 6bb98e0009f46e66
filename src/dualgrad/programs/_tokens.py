"""Tokens: numbers that stand for values, so that programs can be compared without computing anything.

A token is a 64-bit number that names how a value came about: an element of an input, a constant, or an operation on
tokens. Two ways of computing the same thing give the same tokens, element by element, and anything that is read from a
wrong place gives another one (up to a chance of 1 in 10**19). Sums and products of matrices are sums and products of
tokens modulo 2**64, which have the same value in every order and grouping; elementwise operations mix the tokens of
their operands; what moves elements moves tokens. An operation that is none of these gives tokens that depend on all of
its operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._engine.primitives import table

__all__ = ["ITEM", "TYPES", "Draws", "constant_tokens", "given_tokens", "name_of", "operation_tokens"]

Tokens = np.ndarray

# The type of each type number, and the bytes of an element.
TYPES: dict[int, np.dtype] = {
    np.dtype(code).num: np.dtype(code) for code in np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?"
}
ITEM = {number: dtype.itemsize for number, dtype in TYPES.items()}

_EQUAL_BOTH_WAYS = ("add", "mul", "absorb_mul")  # the same bits in either order of the operands
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
    """A token for what is no array: a name, parameters; by identity where they cannot be compared."""
    try:
        number = hash(key)
    except TypeError:
        number = id(key)
    return np.array(number % 2**64, np.uint64)


def numbered(seed: Tokens, shape: Sequence[int]) -> Tokens:
    """Tokens that all differ, for the elements of a value about which nothing more is known."""
    size = int(np.prod(shape, dtype=np.int64))
    return mixed(seed, np.arange(size, dtype=np.uint64)).reshape(tuple(shape))


def given_tokens(kind: str, number: int, shape: Sequence[int]) -> Tokens:
    """Tokens of an input or a handle."""
    return numbered(key_token((kind, number)), shape)


def constant_tokens(array: np.ndarray) -> Tokens:
    """Tokens of numbers, by their bits; those of 0 and 1 are 0 and 1, so that sums may be products with ones."""
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
    """Draws of random numbers and checks of arguments, in the order in which they are met."""

    def __init__(self) -> None:
        self.drawn = 0
        self.checked: list[int] = []

    def next_draw(self) -> int:
        """The number of the next draw."""
        self.drawn += 1
        return self.drawn

    def check(self, params: Any, operand: Tokens) -> None:
        """Take note of a check of arguments."""
        self.checked.append(int(summary(key_token(id(params)), operand)))


def summary(seed: Tokens, tokens: Tokens) -> Tokens:
    """A token for a whole array, that depends on each of its elements and on its place."""
    with np.errstate(over="ignore"):
        flat = mixed(tokens.ravel(), np.arange(tokens.size, dtype=np.uint64))
        return mixed(seed, np.add.reduce(flat, dtype=np.uint64) + key_token(tokens.shape))


def operation_tokens(
    op: int, params: Any, operands: list[Tokens], shape: Sequence[int], dtype: np.dtype, draws: Draws
) -> Tokens:
    """Tokens of the result of a primitive, which has a shape and a type."""
    row = table()[op]
    move = _MOVES.get(row.name)
    if move is not None:
        with np.errstate(over="ignore"):
            return move(params, operands, tuple(shape))
    if row.name == "inspect":
        draws.check(params, operands[0])
        return operands[0]
    if row.name == "draw":
        return numbered(key_token(("draw", draws.next_draw())), shape)
    if row.name == "power":
        return elementwise_tokens(op, [operands[0], constant_tokens(np.asarray(params, dtype))], shape)
    if row.name == "where":
        return elementwise_tokens(op, operands, shape)
    if row.name == "cast":
        return mixed(key_token(("cast", params)), operands[0])
    if params is None and (row.partials or row.family == "elementwise"):
        return elementwise_tokens(op, operands, shape)
    seed = key_token((row.name, op))
    seed = mixed(seed, key_token(params))
    for operand in operands:
        seed = summary(seed, operand)
    return numbered(seed, shape)


def elementwise_tokens(op: int, operands: list[Tokens], shape: Sequence[int]) -> Tokens:
    """Tokens of a function of single elements of its operands."""
    name = name_of(op)
    result = key_token(name)
    if name in _EQUAL_BOTH_WAYS:
        a, b = operands
        with np.errstate(over="ignore"):
            operands = [a + b, a * b]
    for operand in operands:
        result = mixed(result, operand)
    return np.broadcast_to(result, tuple(shape))


# --------------------------------------------------------------------------------------------------------- movements


def _sliced(spec: Sequence[tuple[int, int, int]]) -> tuple[slice, ...]:
    """Indices for (start, length, step) of each axis."""
    found = []
    for start, length, step in spec:
        stop = start + length * step
        found.append(slice(0, 0) if length == 0 else slice(start, None if stop < 0 else stop, step))
    return tuple(found)


def _unsliced(params: Any, operands: list[Tokens], shape: tuple[int, ...]) -> Tokens:
    out = np.zeros(shape, np.uint64)
    out[_sliced(params[1])] = operands[0]
    return out


def _summed_to(params: Any, operands: list[Tokens], shape: tuple[int, ...]) -> Tokens:
    x = operands[0]
    lead = x.ndim - len(shape)
    axes = list(range(lead)) + [lead + i for i in range(len(shape)) if shape[i] == 1 and x.shape[lead + i] != 1]
    return np.sum(x, axis=tuple(axes), dtype=np.uint64).reshape(shape)


_MOVES = {
    "identity": lambda params, ins, shape: ins[0],
    "reshape": lambda params, ins, shape: ins[0].reshape(shape),
    "transpose": lambda params, ins, shape: np.transpose(ins[0], params),
    "broadcast_to": lambda params, ins, shape: np.broadcast_to(ins[0], shape),
    "slice": lambda params, ins, shape: ins[0][_sliced(params)],
    "unslice": _unsliced,
    "concat": lambda params, ins, shape: np.concatenate(ins, axis=params),
    "sum": lambda params, ins, shape: np.sum(ins[0], axis=params[0], dtype=np.uint64).reshape(shape),
    "sum_to": _summed_to,
    "matmul": lambda params, ins, shape: np.matmul(ins[0], ins[1]),
}
