"""Operands for the elementwise rows of the table of primitives: ordinary numbers, and special ones."""

import itertools

import numpy as np
from engine import OPCODES, apply

from dualgrad import Tensor
from dualgrad._table import ROWS, UNDEFINED

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.75, -2.5, 3.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1e-45, 1e300, -3e38, 1e-3)


def computes_floats(row):
    """Whether a row that NumPy computes has floating-point results."""
    return any(loop == "d" * row.arity + "->d" for loop in getattr(np, row.ufunc).types)


ELEMENTWISE = [row for row in ROWS if row.family in ("elementwise", "constant") and (row.c or row.vector or row.ufunc)]
ELEMENTWISE = [row for row in ELEMENTWISE if row.result == "same" and (row.c or row.vector or computes_floats(row))]


def choices(row, k):
    """The numbers that an operand may be, where those are few: it is a number of a derivative, or an order."""
    if (row.name.endswith("_partial") and row.domain[k] == (1, 21)) or row.name == "order_of":
        return range(1, 21)
    return row.orders if k < row.partials.count(UNDEFINED) or (row.orders and k == 0) else ()


def ordinary(row, count, dtype):
    """Operands inside of the row's domain."""
    rng = np.random.default_rng(len(row.name))
    found = []
    for k, (low, high) in enumerate(row.domain):
        low, high = max(low, -3.0), min(high, 3.0)
        numbers = rng.uniform(low, max(high, low + 1), count)
        found.append((rng.choice(choices(row, k), count) if choices(row, k) else numbers).astype(dtype))
    return found


def special(row, dtype):
    """Special operands, each beside each other."""
    few = SPECIAL[::3] if row.arity == 3 else SPECIAL
    with np.errstate(over="ignore", under="ignore"):
        columns = zip(*itertools.product(*[choices(row, k) or few for k in range(row.arity)]), strict=True)
        return [np.array(column, dtype) for column in columns]


def free(row, xs, others):
    """Other operands, except for those that may be few numbers only."""
    return [x if choices(row, k) else y for k, (x, y) in enumerate(zip(xs, others, strict=False))]


def operation(row):
    """The primitive of a row on tensors."""
    op = OPCODES[row.name]
    return lambda *xs: apply(op, None, *xs)


def operands(row, count, dtype):
    """Ordinary and special ones behind each other, so many."""
    both = zip(ordinary(row, count, dtype), special(row, dtype), strict=True)
    return [Tensor(np.concatenate([a[: (count + 1) // 2], np.resize(b, count // 2)])) for a, b in both]
