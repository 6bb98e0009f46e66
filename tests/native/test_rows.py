"""Every elementwise row gives the same bits as machine code as it does interpreted."""

import re
from pathlib import Path

import numpy as np
import pytest
from engine import OPCODES
from row_operands import ELEMENTWISE, free, operands, operation, ordinary, special

from dualgrad import Tensor
from dualgrad._table import ROWS

pytest.importorskip("llvmlite")

from machine_code import compared

from dualgrad.native import _expressions, _steps
from dualgrad.programs import _instructions

pytestmark = pytest.mark.eager("records by itself")


WRITTEN = [row for row in ELEMENTWISE if _expressions.tree_of(OPCODES[row.name], 12)]
LENGTHS = (1, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 200)

each_type = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@each_type
@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
def test_numbers(row, dtype):
    f = operation(row)
    columns = [np.concatenate(pair) for pair in zip(ordinary(row, 4, dtype), special(row, dtype)[:], strict=True)]
    several = [tuple(map(Tensor, numbers)) for numbers in zip(*columns, strict=True)]

    def program(*xs):
        a = f(*xs)
        return a, a * xs[0] + xs[-1], f(*free(row, xs, xs[::-1]))

    counted = compared(program, *several)
    assert counted["compiled"] + counted["loaded"] == 1


@each_type
@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
def test_rows(row, dtype):
    f = operation(row)

    def program(*xs):
        a = f(*xs)
        b = a * xs[0]
        c = b + xs[-1]
        return a, b, c - a, f(*free(row, xs, [b, c, a]))

    for count in LENGTHS if row in WRITTEN else (65,):
        counted = compared(program, tuple(operands(row, count, dtype)))
        assert counted["made"] >= 1
        assert counted["compiled"] + counted["loaded"] >= (row in WRITTEN)


def test_rows_are_arithmetic_or_loops():
    """Arithmetic is written out: were a row's body not understood, nothing but time would tell."""
    names = {row.name for row in WRITTEN}
    assert names >= {"add", "sub", "mul", "div", "absorb_mul", "neg", "square", "reciprocal", "sqrt", "rsqrt", "abs"}
    assert names >= {"maximum", "minimum", "step", "half_step", "sign", "relu"}
    assert not names & {"exp", "sin", "erf", "pow"}


@pytest.mark.parametrize(
    "body", ["f(x)", "x +", "x ? y : 0", "x | y", "0.5 * x", "x ^ y", "(x", "x y", "dg_share(x, y)"]
)
def test_bodies_that_say_more_have_no_tree(body):
    with pytest.raises(_expressions._Unknown):
        _expressions._Parser(body).whole()


def test_macros_mean_what_the_header_says():
    header = (Path(__file__).parents[2] / "ext/include/vector/registers.h").read_text()
    for name, meaning in (("DG_ABSORB", _expressions.ABSORB), ("DG_ABSORB_QUICK", _expressions.QUICK)):
        (body,) = re.findall(rf"#define {name}\(x, y\) (.*)", header)
        assert body.replace("(x)", "x").replace("(y)", "y") == meaning


def test_fused_operations_are_numbered_as_the_executor_does():
    names = [row.name for op in _steps.FUSED for row in (ROWS[op],)]
    assert tuple(names) == _instructions.FUSED


def test_trees_that_keep_nan_read_all_operands():
    def operands(tree):
        return (
            {tree[1]} if tree[0] == "x" else {k for part in tree[1:] if isinstance(part, tuple) for k in operands(part)}
        )

    for row in WRITTEN:
        tree = _expressions.tree_of(OPCODES[row.name], 12, quick=True)
        if _expressions.keeps_nan(tree):
            assert operands(tree) == set(range(row.arity)), row.name
