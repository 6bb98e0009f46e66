"""Additions of zero are left out only where no result shows it, and nearly everywhere else.

Random programs are evaluated here as trees, on operands that are zeros of both signs as often as numbers, with the
additions and without those that are left out: every stored number has to have the same bits.
"""

import itertools
import random

import numpy as np
import pytest
from engine import OPCODES

from dualgrad.native._steps import OPAQUE, Steps
from dualgrad.native._zeros import without_zeros

UNARY = ("neg", "sqrt", "abs", "square", "reciprocal")
BINARY = ("absorb_mul", "absorb_mul", "absorb_mul", "mul", "add", "add", "sub", "sub", "div", "maximum")
NUMBERS = np.array([0.0, -0.0, 1.0, -1.0, 2.0])
COMPUTE = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "sqrt": np.sqrt,
    "fabs": np.abs, "less": np.less, "more": np.greater, "same": np.equal, "other": np.not_equal, "or": np.logical_or,
    "and": np.logical_and, "choose": np.where,
}  # fmt: skip


def evaluated(tree, operands):
    """What a tree computes of arrays."""
    if tree[0] == "x":
        return operands[tree[1]]
    if tree[0] == "number":
        return np.float64(tree[1])
    return COMPUTE[tree[0]](*[evaluated(part, operands) for part in tree[1:]])


def results(steps, given):
    """The numbers of all values. A function shows the sign of its operand."""
    found = []
    for _, _, how, operands in steps.steps:
        ins = [found[k] for k in operands]
        if how[0] == "read":
            found.append(given[how[1]])
        elif how[0] == "constant":
            found.append(np.full_like(given[0], how[1]))
        elif how[0] == "function":
            found.append(np.copysign(1.5, ins[0]))
        else:
            found.append(np.broadcast_to(evaluated(how, ins), given[0].shape) * 1.0)
    return found


def random_steps(rng):
    steps = Steps()
    values = [steps.read(12, k) for k in range(3)] + [steps.constant(12, rng.choice([0.0, -0.0, 3.0]))]
    for _ in range(rng.randrange(4, 16)):
        recent = values[-5:] if rng.random() < 0.7 else values
        kind = rng.random()
        if kind < 0.05:
            values.append(steps.function(12, 0, rng.choice(recent)))
        else:
            name = rng.choice(UNARY if kind < 0.2 else BINARY)
            count = 1 if name in UNARY else 2
            made = steps.apply(OPCODES[name], 12, tuple([rng.choice(recent) for _ in range(count)]))
            assert made is not None, name
            values.append(made)
    return steps, {values[-1], *rng.sample(values, 2)}


def additions(steps):
    return sum(
        how[0] == "add" and how[2:] == (("number", 0.0),) for _, _, how, _ in steps.steps if how[0] not in OPAQUE
    )


def compared(steps, stored):
    """How many additions there are before and after; the stored numbers are compared."""
    given = np.array(list(itertools.product(NUMBERS, repeat=3))).T
    with np.errstate(all="ignore"):
        before, many = results(steps, given), additions(steps)
        for _ in without_zeros(steps, stored):
            pass
        after = results(steps, given)
    watched = [before[v] for v in steps.watched() if v is not None]
    whole = ~np.any(np.isnan(watched), axis=0) if watched else np.ones(given.shape[1], bool)
    for value in stored:
        a, b = before[value][whole], after[value][whole]
        assert np.array_equal(a.view(np.int64)[~np.isnan(a)], b.view(np.int64)[~np.isnan(a)]), value
        assert np.array_equal(np.isnan(a), np.isnan(b))
    return many, additions(steps)


@pytest.mark.parametrize("seed", range(20))
def test_no_result_shows_it(seed):
    rng = random.Random(seed)
    before = after = 0
    for _ in range(150):
        counts = compared(*random_steps(rng))
        before, after = before + counts[0], after + counts[1]
    assert after < before


def sum_of_products(count):
    steps = Steps()
    x, y, z = (steps.read(12, k) for k in range(3))
    terms = [
        steps.apply(OPCODES["absorb_mul"], 12, pair)
        for pair in itertools.islice(itertools.cycle(((x, y), (y, z))), count)
    ]
    total = terms[0]
    for term in terms[1:]:
        total = steps.apply(OPCODES["add"], 12, (total, term))
    return steps, total


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_one_addition_of_a_sum_stays(count):
    steps, total = sum_of_products(count)
    assert compared(steps, {total}) == (count, 1)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("positive", ["square", "abs"])
def test_it_goes_beside_what_is_never_negative(positive, order):
    steps = Steps()
    x, y = steps.read(12, 0), steps.read(12, 1)
    terms = steps.apply(OPCODES["absorb_mul"], 12, (x, y)), steps.apply(OPCODES[positive], 12, (x,))
    total = steps.apply(OPCODES["add"], 12, tuple([terms[k] for k in order]))
    assert compared(steps, {total}) == (1, 0)


def test_all_go_where_a_comparison_reads_the_sum():
    steps, total = sum_of_products(4)
    x = steps.read(12, 0)
    chosen = steps.apply(OPCODES["step"], 12, (total,))
    last = steps.apply(OPCODES["mul"], 12, (chosen, x))
    assert compared(steps, {last}) == (4, 0)


@pytest.mark.parametrize("name", ["div", "function", "stored"])
def test_they_stay_where_the_sign_is_read(name):
    steps = Steps()
    x, y = steps.read(12, 0), steps.read(12, 1)
    product = steps.apply(OPCODES["absorb_mul"], 12, (x, y))
    if name == "function":
        last = steps.function(12, 0, product)
    else:
        last = steps.apply(OPCODES["div"], 12, (x, product)) if name == "div" else product
    assert compared(steps, {last}) == (1, 1)
