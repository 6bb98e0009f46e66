"""Sums in a fixed order: the bits do not depend on which worker adds up which blocks, and each block counts once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualgrad.distributed.backend import combined, ranges
from dualgrad.distributed.trees import Tree, added

#: Numbers whose sum depends on the order of additions.
BLOCKS = np.random.default_rng(0).normal(size=200) * 10.0 ** np.random.default_rng(1).integers(-8, 8, 200)


def tree_of(count, blocks):
    tree = Tree(count)
    for k in blocks:
        tree.add(k, [BLOCKS[k]])
    return tree


def by_pairs(numbers):
    """The definition: neighbours are added up, level by level."""
    while len(numbers) > 1:
        odd = numbers[-1:] if len(numbers) % 2 else []
        numbers = [a + b for a, b in zip(numbers[::2], numbers[1::2], strict=False)] + odd
    return numbers[0]


def test_the_order_of_additions_matters_for_these_numbers():
    assert len({float(np.sum(np.roll(BLOCKS, k)[::-1].cumsum()[-1])) for k in range(20)}) > 1


@given(st.integers(1, 200), st.integers(1, 20), st.randoms(use_true_random=False))
def test_parts_by_any_workers_give_equal_bits(count, workers, rng):
    order = list(range(count))
    rng.shuffle(order)
    parts = [tree_of(count, order[k::workers]) for k in range(workers)]
    rng.shuffle(parts)
    (total,) = combined(Tree.merged, parts).total()
    assert total == by_pairs(list(BLOCKS[:count]))


@given(st.integers(1, 200), st.integers(1, 20))
def test_a_run_of_blocks_has_few_nodes(count, workers):
    """What a worker sends grows with the logarithm of the number of its blocks."""
    for start, stop in ranges(count, workers):
        assert len(tree_of(count, range(start, stop)).nodes) <= max(1, 2 * (stop - start - 1).bit_length())


@given(st.integers(1, 60), st.data())
def test_what_is_missing_or_comes_twice_is_an_error(count, data):
    k = data.draw(st.integers(0, count - 1))
    with pytest.raises(RuntimeError, match="not complete"):
        tree_of(count, [j for j in range(count) if j != k]).total()
    whole = tree_of(count, range(count))
    with pytest.raises(RuntimeError, match="came twice"):
        whole.add(k, [BLOCKS[k]])
    with pytest.raises(RuntimeError, match="came twice"):
        tree_of(count, [k]).merged(whole)


def test_merging_changes_neither_part():
    """An engine may merge the same parts again, after a worker died."""
    a, b = tree_of(3, [0]), tree_of(3, [1, 2])
    before = dict(a.nodes), dict(b.nodes)
    assert a.merged(b).total() == a.merged(b).total()
    assert (a.nodes, b.nodes) == before


def test_blocks_of_other_sums_are_refused():
    with pytest.raises(ValueError, match="not parts of one sum"):
        Tree(3).merged(Tree(4))
    with pytest.raises(ValueError, match="no block 3"):
        Tree(3).add(3, [np.zeros(1)])


@given(st.integers(1, 500), st.integers(1, 50))
def test_ranges_cover_everything_once(count, parts):
    runs = ranges(count, parts)
    assert [k for start, stop in runs for k in range(start, stop)] == list(range(count))
    lengths = [stop - start for start, stop in runs]
    assert len(runs) == min(count, parts)
    assert max(lengths) - min(lengths) <= 1


def test_added_keeps_types_and_shapes():
    parts = [[np.ones((2, 3), np.float32), np.array(3, np.int64)]] * 2
    total = added(*parts)
    assert [(a.dtype, a.shape) for a in total] == [(np.float32, (2, 3)), (np.int64, ())]
