"""Sparsity patterns: they hold every entry that is not zero, and where the code is plain nothing else.

Every case of every operator is walked, so each primitive and each of its settings meets a numerical Jacobian.
"""

import numpy as np
import pytest
from cases import all_cases
from engine import OPCODES, apply

import dualgrad as dg
from dualgrad import Tensor, extend, ops
from dualgrad._engine.sparse.index_sets import union_of_groups
from dualgrad._table import BY_NAME, ROWS
from dualgrad.sparse import patterns as sparsity

CASES = all_cases()
ELEMENTWISE = [row for row in extend.rows() if row.name in BY_NAME and row.partials]
OF_FLOATS = [row for row in ELEMENTWISE if not row.name.startswith("bitwise")]
WITHOUT_KERNEL = {"subtape", "custom"}


def t(x):
    return Tensor(np.asarray(x, np.float64))


def numbers(result):
    return np.concatenate([np.ravel(leaf.asnumpy()) for leaf in sparsity.leaves(result)])


def dense(fn, args):
    """The Jacobian column by column."""
    columns = []
    for i, a in enumerate(args):
        for k in range(a.size):
            directions = [np.zeros(x.shape) for x in args]
            directions[i].flat[k] = 1.0
            columns.append(numbers(dg.jvp(fn, tuple(args), tuple(t(d) for d in directions))[1]))
    return np.stack(columns, 1) if columns else np.zeros((numbers(fn(*args)).size, 0))


def inside(row):
    rng = np.random.default_rng(len(row.name))
    found = []
    for i, (low, high) in enumerate(row.domain):
        low, high = max(low, -4.0), min(high, 4.0)
        steady = row.partials and i not in row.differentiable
        found.append(float(row.orders[0]) if steady else low + (high - low) * rng.uniform(0.1, 0.9, 3))
    return found


def holds(fn, args):
    """Check that the pattern has every entry that is not zero, and return it."""
    pattern = sparsity.jacobian_pattern(fn, *args, grad_position=tuple(range(len(args))))
    jacobian = dense(fn, args)
    assert pattern.shape == jacobian.shape
    missing = (jacobian != 0) & ~pattern.dense()
    assert not missing.any()
    return pattern


@pytest.mark.rotated("case", key="operator")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_case_of_every_operator(case):
    holds(case.fn, tuple(t(a) for a in case.args))


@pytest.mark.rotated("case", key="operator")
@pytest.mark.parametrize("case", [case for case in CASES if case.order >= 2 and case.smooth], ids=str)
def test_the_hessian_of_every_case(case):
    """Gradient programs hold the transposes of what the cases call."""

    def weighted(*xs):
        leaves = [ops.real(leaf) for leaf in sparsity.leaves(case.fn(*xs))]
        return sum((leaf * np.cos(1.0 + np.arange(leaf.size)).reshape(leaf.shape)).sum() for leaf in leaves)

    args = tuple(t(a) for a in case.args)
    holds(dg.grad(weighted, tuple(range(len(args)))), args)


@pytest.mark.parametrize("row", OF_FLOATS, ids=[row.name for row in OF_FLOATS])
def test_elementwise_rows_are_diagonal(row):
    point = inside(row)
    moving = [i for i in range(len(point)) if not row.partials or i in row.differentiable]

    def fn(*xs):
        given = iter(xs)
        return (
            apply(OPCODES[row.name], None, *[next(given) if i in moving else t(p) for i, p in enumerate(point)]) * 1.0
        )

    args = tuple(t(point[i]) for i in moving)
    pattern = holds(fn, args)
    expected = [np.eye(3, dtype=bool) * (row.partials[i] is not None) for i in moving]
    np.testing.assert_array_equal(pattern.dense(), np.concatenate(expected, 1))


INTERNAL = {"sum_to": (1, 3), "identity": None, "inspect": lambda numbers: None}  # never called by name


@pytest.mark.parametrize("name", INTERNAL)
def test_rows_without_operators(name):
    holds(lambda x: apply(OPCODES[name], INTERNAL[name], x), (t(np.arange(6.0).reshape(2, 3)),))


def test_the_cases_walk_every_row():
    met = {*INTERNAL}
    for case in CASES:
        args = tuple(t(a) for a in case.args)
        program = sparsity.capture(lambda *xs, fn=case.fn: sparsity.leaves(fn(*xs)), args)[0]
        met |= {sparsity.table()[op].name for op, *_ in program.steps}
    met |= {row.name for row in ELEMENTWISE}
    assert {row.name for row in ROWS} - met - WITHOUT_KERNEL == set()


EXACT = {
    "sums are linear": (lambda x: (x[:2] + 3 * x[1:3]).sum(), np.zeros((4, 4))),
    "a product": (lambda x: x[0] * x[1], [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),
    "a square": (lambda x: x[0] * x[0] + x[1] ** 2, np.diag([1, 1, 0, 0])),
    "a quotient": (lambda x: x[0] / x[1], [[0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),
    "elementwise": (lambda x: ops.sin(x).sum(), np.eye(4)),
    "a mask": (lambda x: (np.array([1.0, 0.0, 1.0, 0.0]) * x * x).sum(), np.diag([1, 0, 1, 0])),
    "where": (lambda x: ops.where(Tensor([True, False, True, False]), x * x, x).sum(), np.diag([1, 0, 1, 0])),
    "a chain": (lambda x: (x[1:] * x[:-1]).sum(), np.eye(4, k=1) + np.eye(4, k=-1)),
    "an index": (
        lambda x: (x[np.array([0, 2])] * x[np.array([3, 3])]).sum(),
        [[0, 0, 0, 1], [0] * 4, [0, 0, 0, 1], [1, 0, 1, 0]],
    ),
    "a reversal": (lambda x: (x * x[::-1]).sum(), np.eye(4)[::-1]),
    "a matrix": (lambda x: (ops.matmul(t(np.eye(4)), x.reshape(4, 1)) ** 3).sum(), np.eye(4)),
    "a sum squared": (lambda x: x[:2].sum() ** 2, np.pad(np.ones((2, 2)), (0, 2))),
    "a convolution": (
        lambda x: (np.convolve(x, t([1.0, -1.0]), "valid") ** 3).sum(),
        np.abs(np.subtract.outer(range(4), range(4))) < 2,
    ),
    "rounding": (lambda x: (ops.floor(x) * x).sum(), np.zeros((4, 4))),
    "a constant": (lambda x: t(3.0), np.zeros((4, 4))),
}


@pytest.mark.parametrize("name", EXACT)
def test_patterns_of_hessians_are_exact(name):
    fn, expected = EXACT[name]
    pattern = sparsity.jacobian_pattern(dg.grad(fn), t([0.3, -1.2, 2.5, 0.7]))
    np.testing.assert_array_equal(pattern.dense(), np.asarray(expected, bool))


@pytest.mark.eager("knows nothing of modes")
@pytest.mark.parametrize("n", [40, 5000])
@pytest.mark.parametrize("size", [1, 2, 7, 12, 13, 100])
def test_unions_of_sets_are_in_order(size, n):
    """Small ones are sorted by insertion, larger ones by the library, those of many of all n members by a scan."""
    rng = np.random.default_rng(size)
    sets = [np.unique(rng.integers(0, n, size)).astype(np.int32) for _ in range(10)]
    groups = [(9, 0), (3, 3), (), (5, 1, 2), (4,), (8, 7)]
    starts = np.cumsum([0, *map(len, sets)])
    found = union_of_groups(np.cumsum([0, *map(len, groups)]), np.concatenate(groups).astype(np.int64), starts,
                            np.concatenate(sets), n, 10_000)  # fmt: skip
    for i, group in enumerate(groups):
        expected = np.unique(np.concatenate([np.zeros(0, np.int32), *(sets[k] for k in group)]))
        np.testing.assert_array_equal(found[1][found[0][i] : found[0][i + 1]], expected)
