"""Tokens of loops: a loop in a plan has to stand for the steps that it repeats, wherever those came from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.compiler.loops import Repetition
from ._listing import CONSTANT, Listing
from ._tokens import ITEM, TYPES, Tokens, constant_tokens, operation_tokens

__all__ = ["loop_tokens", "unpacked_tokens"]


def loop_tokens(loop: Repetition, operands: list[Tokens], draws: Any) -> Tokens:
    """Tokens of the packed results of a loop of a known number of steps."""
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


def _body(p: Listing, draws: Any) -> Callable[[list[Tokens]], list[Tokens]]:
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
    """Tokens of one of the results, from those of all."""
    typenum, shape, offset = params
    size = int(np.prod(shape, dtype=np.int64))
    return packed[offset : offset + size * ITEM[typenum] : ITEM[typenum]][:size].reshape(shape)
