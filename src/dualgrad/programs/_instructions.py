"""A table of the kinds of instructions: the reads, writes and computation of each.

Every reader of plans (the verifier, the text of a program, the profile) uses this table. A missing kind raises.
`executor/executor.h` describes the executor, and `describe` in the engine's inspection.pyx the fields. Machine code
(`native`) is missing, since it is not part of a plan's instructions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._engine.transforms.tensor import OPCODES
from ._tokens import (
    ITEM,
    Tokens,
    constant_tokens,
    conversion_tokens,
    elementwise_tokens,
    name_of,
    picked_tokens,
    scattered_tokens,
)

__all__ = ["FUSED", "Access", "Instruction", "Kind", "kind_of", "label"]

Instruction = dict[str, Any]


@dataclass(frozen=True)
class Access:
    """Elements of operand `arg` that an instruction reads or writes for a tile, along some axes."""

    arg: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes
    item: int  # bytes of an element


@dataclass(frozen=True)
class Kind:
    """The work of instructions of one kind on a tile of `rows` rows."""

    reads: Callable[[Instruction, int], list[Access]]
    writes: Callable[[Instruction, int], list[Access]]
    tokens: Callable[[Instruction, list[Tokens], list[Access]], list[Tokens]]  # from tokens read to tokens written
    flops: Callable[[Instruction, int], int]
    adds: bool = False  # the last result is added to
    in_place: bool = False  # a result may have exactly the memory of an operand


def kind_of(instruction: Instruction) -> Kind:
    """The table entry for an instruction."""
    kind = KINDS.get(instruction["kind"])
    if kind is None:
        raise NotImplementedError(
            f"instructions of kind {instruction['kind']!r} are not known to dualgrad.programs; add the kind to the "
            f"table in dualgrad/programs/_instructions.py"
        )
    return kind


def label(instruction: Instruction) -> str:
    """The displayed name of an instruction: of its primitive, or of its kind."""
    if instruction["kind"] == "loop" and instruction["fused"] is not None:
        *operations, factor = instruction["fused"]
        return " ".join([FUSED[k] for k in operations if k >= 0] + ["scale"] * (factor is not None))
    if instruction["kind"] in ("loop", "cast"):
        return name_of(instruction["op"])
    return str(instruction["kind"])


# ------------------------------------------------------------------------------------------------------- elementwise


def _flat(arg: int, count: int, step: int, item: int) -> Access:
    return Access(arg, (count,), (step,), item)


def _loop_reads(i: Instruction, rows: int) -> list[Access]:
    n = rows * i["width"]
    return [_flat(k, n, i["step"][k], ITEM[i["typenum"]]) for k in range(i["n_in"])]


def _loop_writes(i: Instruction, rows: int) -> list[Access]:
    return [_flat(i["n_in"], rows * i["width"], i["step"][i["n_in"]], i["item"])]


def _select_reads(i: Instruction, rows: int) -> list[Access]:
    n = rows * i["width"]
    return [_flat(0, n, i["step"][0], 1)] + [_flat(k, n, i["step"][k], i["item"]) for k in (1, 2)]


def _loop_tokens(i: Instruction, ins: list[Tokens], outs: list[Access]) -> list[Tokens]:
    shape = outs[0].shape
    if i["op"] == _SUM:
        return [_additions(ins)]
    if i["fused"] is None:
        return [elementwise_tokens(i["op"], ins, shape)]
    inner, outer, second, factor = i["fused"]
    result = _fused_tokens(inner, ins[0], ins[1], shape)
    if outer >= 0:
        right = ins[2] if second < 0 else _fused_tokens(second, ins[2], ins[3], shape)
        result = _fused_tokens(outer, result, right, shape)
    if factor is not None:
        result = _fused_tokens(FUSED.index("mul"), result, constant_tokens(factor.numpy().reshape(())), shape)
    return [result]


#: The primitive whose loops add the terms of a sum, on single numbers.
_SUM: int = OPCODES["sum"]


def _additions(ins: list[Tokens]) -> Tokens:
    """Add two, three or four tokens, in any order."""
    with np.errstate(over="ignore"):
        return np.asarray(functools.reduce(np.add, ins))


#: The operations of superinstructions, numbered as in executor/fused.h; the last swaps its operands.
FUSED = ("mul", "absorb_mul", "add", "sub", "sub")


def _fused_tokens(operation: int, x: Tokens, y: Tokens, shape: tuple[int, ...]) -> Tokens:
    operands = [y, x] if operation == len(FUSED) - 1 else [x, y]
    return elementwise_tokens(OPCODES[FUSED[operation]], operands, shape)


def _elements(i: Instruction, rows: int) -> int:
    operations = i["n_in"] - 1 + (i["fused"][3] is not None) if i["fused"] is not None else 1
    return rows * int(i["width"]) * operations


def _scale_reads(i: Instruction, rows: int) -> list[Access]:
    numbers = [Access(k, (rows,), (_from_row_to_row(i, k),), i["item"]) for k in range(1, i["n_in"])]
    return [_scaled(i, rows, 0), *numbers]


def _scaled(i: Instruction, rows: int, arg: int) -> Access:
    return Access(arg, (rows, i["width"]), (_from_row_to_row(i, arg), i["item"]), i["item"])


def _from_row_to_row(i: Instruction, arg: int) -> int:
    """The bytes between rows, in the whole array or in the tile."""
    _, _, row, local = i["args"][arg]
    return int(row + local)


def _scale_tokens(i: Instruction, ins: list[Tokens], outs: list[Access]) -> list[Tokens]:
    found, *numbers = ins
    for number, absorbs in zip(numbers, i["fused"], strict=True):
        operation = OPCODES["absorb_mul" if absorbs else "mul"]
        found = elementwise_tokens(operation, [found, number[:, None]], outs[0].shape)
    return [found]


# -------------------------------------------------------------------------------------------------------------- picks


def _pick_counts(i: Instruction, rows: int) -> tuple[int, int]:
    """The number of passes over a list of indices, and its length."""
    stack, count = (-d * rows if d < 0 else d for d in i["dims"][:2])
    return stack, count


def _indices(i: Instruction, rows: int) -> list[Access]:
    _, count = _pick_counts(i, rows)
    return [_flat(k, count, i["step"][k], i["index_item"]) for k in range(1, i["n_in"])]


def _indexed(i: Instruction, rows: int, arg: int, distance: int) -> Access:
    """The whole indexed array."""
    stack, _ = _pick_counts(i, rows)
    extents, strides = zip(*i["picks"], strict=True)
    return Access(arg, (stack, *extents, i["pick"]), (distance, *strides, i["item"]), i["item"])


def _picked(i: Instruction, rows: int, arg: int, distance: int, step: int) -> Access:
    """The gathered elements, or the elements added by a scatter."""
    stack, count = _pick_counts(i, rows)
    width = i["pick"]
    return Access(arg, (stack, count, width), (distance if step else 0, step * width, step), i["item"])


def _gather_reads(i: Instruction, rows: int) -> list[Access]:
    return [_indexed(i, rows, 0, i["from"][0]), *_indices(i, rows)]


def _scatter_reads(i: Instruction, rows: int) -> list[Access]:
    return [_picked(i, rows, 0, i["from"][0], i["step"][0]), *_indices(i, rows)]


def _scatter_tokens(i: Instruction, ins: list[Tokens], outs: list[Access]) -> list[Tokens]:
    return [np.stack([scattered_tokens(x, ins[1:], outs[0].shape[1:]) for x in ins[0]])]


def _picks_made(i: Instruction, rows: int) -> int:
    stack, count = _pick_counts(i, rows)
    return stack * count * int(i["pick"])


# ---------------------------------------------------------------------------------------------------------- products


def _dims(i: Instruction, rows: int) -> tuple[int, int, int, int]:
    stack, m, k, n = (-d * rows if d < 0 else d for d in i["dims"])
    return stack, m, k, n


def _factors(i: Instruction, rows: int) -> list[Access]:
    stack, m, k, n = _dims(i, rows)
    s, item = i["strides"], ITEM[i["typenum"]]
    return [Access(0, (stack, m, k), (s[0], s[3], s[4]), item), Access(1, (stack, k, n), (s[1], s[5], s[6]), item)]


def _product(i: Instruction, rows: int, arg: int) -> Access:
    stack, m, _, n = _dims(i, rows)
    s = i["strides"]
    return Access(arg, (stack, m, n), (s[2], s[7], s[8]), ITEM[i["typenum"]])


def _product_tokens(i: Instruction, ins: list[Tokens], outs: list[Access]) -> list[Tokens]:
    with np.errstate(over="ignore"):
        return [np.matmul(ins[0], ins[1])]


def _added_writes(i: Instruction, rows: int) -> list[Access]:
    """The product goes to scratch memory, which is then added to the total."""
    return [_product(i, rows, 3), _flat(2, i["width"], i["step"][2], ITEM[i["typenum"]])]


def _added_tokens(i: Instruction, ins: list[Tokens], outs: list[Access]) -> list[Tokens]:
    (product,) = _product_tokens(i, ins, outs)
    return [product, product.reshape(-1)]


def _onto_writes(i: Instruction, rows: int) -> list[Access]:
    """A single matrix, to which the products of all stacks are added."""
    one = _product(i, rows, 2)
    return [Access(2, one.shape[1:], one.strides[1:], one.item)]


def _onto_tokens(i: Instruction, ins: list[Tokens], outs: list[Access]) -> list[Tokens]:
    (product,) = _product_tokens(i, ins, outs)
    return [np.add.reduce(product, axis=0, dtype=np.uint64)]


def _product_flops(i: Instruction, rows: int) -> int:
    stack, m, k, n = _dims(i, rows)
    return 2 * stack * m * k * n


# ----------------------------------------------------------------------------------------------------- sums and moves


def _sum_reads(i: Instruction, rows: int) -> list[Access]:
    return [_flat(0, rows * i["width"], i["step"][1], ITEM[i["typenum"]])]


def _sum_writes(i: Instruction, rows: int) -> list[Access]:
    return [Access(1, (), (), ITEM[i["typenum"]])]


def _sum_tokens(i: Instruction, ins: list[Tokens], outs: list[Access]) -> list[Tokens]:
    return [np.asarray(np.sum(ins[0], dtype=np.uint64))]


def _sum_axis(i: Instruction, rows: int) -> tuple[int, int, int]:
    _, outer, w, inner = i["dims"]
    return -outer * rows if outer < 0 else outer, w, inner


def _sum_axis_reads(i: Instruction, rows: int) -> list[Access]:
    shape, item = _sum_axis(i, rows), i["item"]
    return [Access(0, shape, (shape[1] * shape[2] * item, shape[2] * item, item), item)]


def _sum_axis_writes(i: Instruction, rows: int) -> list[Access]:
    outer, _, inner = _sum_axis(i, rows)
    return [Access(1, (outer, inner), (inner * i["item"], i["item"]), i["item"])]


def _sum_rows_reads(i: Instruction, rows: int) -> list[Access]:
    width, item = i["width"], i["item"]
    return [Access(0, (rows, width), (width * item, item), item)]


def _copy(i: Instruction, rows: int, arg: int, strides: Sequence[int]) -> list[Access]:
    axes = i["axes"] + 1
    return [Access(arg, (rows, *i["shape"][1:axes]), tuple(strides[:axes]), i["item"])]


def _zero_writes(i: Instruction, rows: int) -> list[Access]:
    return [_flat(0, rows * i["width"], i["item"], i["item"])]


def _nothing(i: Instruction, rows: int) -> int:
    return 0


KINDS = {
    "loop": Kind(_loop_reads, _loop_writes, _loop_tokens, _elements, in_place=True),
    "select": Kind(_select_reads, lambda i, rows: [_flat(3, rows * i["width"], i["step"][3], i["item"])], _loop_tokens,
                   _elements, in_place=True),
    "cast": Kind(_loop_reads, _loop_writes,
                 lambda i, ins, outs: [conversion_tokens(name_of(i["op"]), i["target"], ins[0])], _elements),
    "scale": Kind(_scale_reads, lambda i, rows: [_scaled(i, rows, i["n_in"])], _scale_tokens,
                  lambda i, rows: rows * int(i["width"]) * (i["n_in"] - 1)),
    "gather": Kind(_gather_reads, lambda i, rows: [_picked(i, rows, i["n_in"], i["to"][0], i["item"])],
                   lambda i, ins, outs: [np.stack([picked_tokens(x, ins[1:]) for x in ins[0]])], _nothing),
    "scatter_add": Kind(_scatter_reads, lambda i, rows: [_indexed(i, rows, i["n_in"], i["to"][0])], _scatter_tokens,
                        _picks_made, adds=True),
    "matmul": Kind(_factors, lambda i, rows: [_product(i, rows, 2)], _product_tokens, _product_flops),
    "matmul_add": Kind(_factors, _added_writes, _added_tokens, _product_flops, adds=True),
    "matmul_onto": Kind(_factors, _onto_writes, _onto_tokens, _product_flops, adds=True),
    "sum_all": Kind(_sum_reads, _sum_writes, _sum_tokens, _elements, adds=True),
    "sum_axis": Kind(_sum_axis_reads, _sum_axis_writes, lambda i, ins, outs: [np.asarray(np.sum(ins[0], 1, np.uint64))],
                     lambda i, rows: math.prod(_sum_axis(i, rows))),
    "sum_rows": Kind(_sum_rows_reads, lambda i, rows: [_flat(1, i["width"], i["item"], i["item"])],
                     lambda i, ins, outs: [np.asarray(np.sum(ins[0], 0, np.uint64))], _elements, adds=True),
    "copy": Kind(lambda i, rows: _copy(i, rows, 0, i["from"]), lambda i, rows: _copy(i, rows, 1, i["to"]),
                 lambda i, ins, outs: ins, _nothing),
    "zero": Kind(lambda i, rows: [], _zero_writes, lambda i, ins, outs: [np.zeros(outs[0].shape, np.uint64)],
                 _nothing),
}  # fmt: skip
