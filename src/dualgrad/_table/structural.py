"""Rows whose rule is a structure rather than a scalar partial: shapes, sums, products, indices.

``linear`` rows are linear in their first operand (in every operand when ``variadic``); the engine finds the transpose
of each by name. ``selection`` rows select elements; ties share the slope equally. ``constant`` rows have no slope.
Parameters (axes, shapes, index patterns) are static; index *arrays* are operands.

This file has the primitives whose opcodes engine files use by name; the build assigns the opcodes. The primitives
themselves are in ``ext/dualgrad/_engine/structural``. A primitive whose opcode no other file names defines its own row.
"""

from __future__ import annotations

from .row import structural

SHAPE = (
    structural("reshape", "linear", summary="the same elements in another shape", keeps_ints=True),
    structural("transpose", "linear", summary="axes permuted", keeps_ints=True),
    structural("broadcast_to", "linear", summary="axes of length 1 repeated", keeps_ints=True),
    structural("sum_to", "linear", summary="summed down to a shape it broadcasts from", keeps_ints=True),
    structural("sum", "linear", summary="sum over axes", keeps_ints=True),
    structural("cast", "linear", summary="converted to another type",
               slope_note="the cotangent is cast back; zero from floats to integers", result="any"),
    structural("identity", "linear", summary="the operand itself", keeps_ints=True),
    structural("cumsum", "linear", summary="running sum along an axis", keeps_ints=True),
    structural("concat", "linear", -1, variadic=True, summary="operands joined along an axis", keeps_ints=True),
)  # fmt: skip

INDEXING = (
    structural("slice", "linear", summary="basic slicing", keeps_ints=True),
    structural("unslice", "linear", summary="placed into zeros at a basic slice", keeps_ints=True),
    structural("gather", "linear", -1, summary="elements picked by index arrays", keeps_ints=True),
    structural("scatter_add", "linear", -1, summary="added into zeros at index arrays", keeps_ints=True),
    structural("where", "linear", 3, summary="x where the condition holds, y elsewhere", keeps_ints=True),
)

PRODUCTS = (
    structural("matmul", "bilinear", 2, summary="matrix product, stacked over leading axes", keeps_ints=True),
    structural("power", "elementwise", 1, summary="x to a fixed power n",
               slope_note="n * x**(n-1); the polynomial's at 0 for integer n, never nan", keeps_ints=True),
)  # fmt: skip

SELECTION = (
    structural("reduce_max", "selection", summary="largest element over axes", slope_note="ties share equally"),
    structural("reduce_min", "selection", summary="smallest element over axes", slope_note="ties share equally"),
)  # fmt: skip

CONSTANT = (
    structural("argmax", "constant", result="int", summary="position of the first largest element"),
    structural("argmin", "constant", result="int", summary="position of the first smallest element"),
    structural("argsort", "constant", result="int", summary="positions in ascending order"),
    structural("clip_index", "constant", result="int", summary="as an index of an axis: clamped to it, nan as 0"),
    structural("all", "constant", result="bool", summary="whether all elements hold"),
    structural("any", "constant", result="bool", summary="whether any element holds"),
    structural(
        "inspect", "linear", result="any", summary="the operand itself, after a look at its numbers", keeps_ints=True
    ),
    structural("draw", "constant", 0, result="any", summary="random numbers, drawn anew at every execution"),
    structural("count_nonzero", "constant", result="int", summary="number of elements that are not 0"),
)

# Instructions of the tape that contain a whole inner transform or a user's rule; they have no kernel.
COMPOSITE = (
    structural("subtape", "composite", -1, result="any", summary="a transform run inside another, as one node"),
    structural("custom", "composite", -1, result="any", summary="a function with a rule of its own"),
)  # fmt: skip

STRUCTURAL = (*SHAPE, *INDEXING, *PRODUCTS, *SELECTION, *CONSTANT, *COMPOSITE)
