"""Candidate samplers: what they draw, in how many draws, and why the expected counts are the right ones."""

import itertools

import numpy as np
import pytest
import scipy.stats
from support import assert_close, assert_raises

import dualgrad as dg
from dualgrad import Tensor, ops

SAMPLES = 1000
TRUE = np.array([[1, 2], [5, 1]])


@pytest.fixture(autouse=True)
def _seeded():
    dg.set_seed(11)


def zipf(classes, most):
    return np.log((classes + 2) / (classes + 1)) / np.log(most + 1)


def many(sampler, true=TRUE, samples=SAMPLES):
    """What a sampler gives for as many samples of vmap, as arrays."""
    stacked = Tensor(np.broadcast_to(true, (samples, *true.shape)).copy())
    return [part.asnumpy() for part in dg.vmap(sampler)(stacked)]


def agrees(values, probability):
    """Whether whole numbers from 0 on follow their probabilities, with an error of one in a million."""
    expected = len(values) * np.asarray(probability)
    counts = np.bincount(values, minlength=len(expected)).astype(float)
    rare = expected < 5
    tail = len(values) - expected[~rare].sum(), len(values) - counts[~rare].sum()
    expected, counts = expected[~rare], counts[~rare]
    if tail[0] > 1:
        expected, counts = np.append(expected, tail[0]), np.append(counts, tail[1])
    else:
        assert tail[1] <= 10
    return len(expected) == 1 or scipy.stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > 1e-6


def stopped(p, count, hits=(), unique=True, last=80):
    """The law of (what is drawn, number of draws) by enumeration: {draws: {classes drawn: probability}}."""
    laws, states = {}, {(frozenset(), 0): 1.0}  # classes seen, candidates so far
    for t in range(1, last):
        after, done = {}, {}
        for (seen, found), mass in states.items():
            for k, pk in enumerate(p):
                good = k not in hits and not (unique and k in seen)
                key = (seen | {k}, found + good)
                place = done if key[1] == count else after
                place[key] = place.get(key, 0.0) + mass * pk
        laws[t] = {}
        for (seen, _), mass in done.items():
            laws[t][seen] = laws[t].get(seen, 0.0) + mass
        states = after
    return laws


LAWS = {"uniform": lambda most: np.full(most, 1 / most), "zipf": lambda most: zipf(np.arange(most), most)}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("most", "count", "hits"), [(4, 2, ()), (5, 3, ()), (5, 2, (1,)), (4, 2, (0,))])
def test_the_counts_are_unbiased(law, most, count, hits):
    """Both identities of the module's text, by enumeration of all draws."""
    p = LAWS[law](most)
    assert_close(ops.ones(()) * p.sum(), 1.0, 1e-6)
    again = stopped(p, count, hits, unique=False)
    draws = sum(t * sum(masses.values()) for t, masses in again.items())
    good = 1 - sum(p[k] for k in hits)
    assert abs(draws - count / good) < 1e-9  # E[t] = n / P(good), so that E[t p_k] = n p_k / P(good)
    once = stopped(p, count, hits)
    for k in range(most):
        missing = sum(
            mass / (1 - p[k]) ** t for t, masses in once.items() for seen, mass in masses.items() if k not in seen
        )
        assert abs(missing - 1) < 1e-6, k


@pytest.mark.parametrize("remove", [False, True])
def test_uniform_candidates_that_may_come_again(remove):
    most, count = 7, 3
    drawn, true, sampled = many(lambda x: ops.uniform_candidate_sampler(x, 2, count, False, most, 0, remove))
    assert (drawn.shape, true.shape, sampled.shape) == ((SAMPLES, count), (SAMPLES, 2, 2), (SAMPLES, count))
    hits = [1, 2, 5] if remove else []
    p = np.where(np.isin(np.arange(most), hits), 0, 1 / (most - len(hits)))
    assert agrees(drawn.ravel(), p)
    draws = np.rint(true[:, 0, 0] * most).astype(int)
    for counts in (true, sampled):
        assert np.allclose(counts, (draws / most).reshape(-1, *[1] * (counts.ndim - 1)), rtol=1e-6)
    if not remove:
        assert (draws == count).all()
    else:  # failures before the third success
        assert agrees(draws - count, scipy.stats.nbinom(count, 1 - 3 / most).pmf(np.arange(60)))
        assert abs(draws.mean() / most - count / (most - 3)) < 0.04


@pytest.mark.parametrize(("law", "remove"), [("uniform", False), ("uniform", True), ("zipf", False)])
@pytest.mark.parametrize("count", [2, 4])
def test_candidates_that_come_once(law, remove, count):
    """First candidates follow the law; numbers of draws follow theirs; counts are those of the number of draws."""
    most, true = 8, TRUE
    sampler = {
        "uniform": lambda x: ops.uniform_candidate_sampler(x, 2, count, True, most, 0, remove),
        "zipf": lambda x: ops.log_uniform_candidate_sampler(x, 2, count, True, most),
    }[law]
    drawn, true_count, sampled_count = many(sampler)
    p, hits = LAWS[law](most), {1, 2, 5} if remove else set()
    assert all(len({*row} - hits) == count for row in drawn.tolist())
    first = np.array([0 if k in hits else pk for k, pk in enumerate(p)])
    assert agrees(drawn[:, 0], first / first.sum())
    many_counts = np.concatenate([true_count.reshape(SAMPLES, -1), sampled_count], 1).astype(float)
    classes = np.concatenate([np.broadcast_to(true.ravel(), (SAMPLES, 4)), drawn], 1)
    few = np.isclose(many_counts, count * p[classes], rtol=1e-6)
    draws = np.where(few, count, np.log1p(-np.where(few, 0, many_counts)) / np.log1p(-p[classes]))
    assert np.abs(draws - np.rint(draws)).max() < 1e-3
    draws = np.rint(draws).astype(int)
    assert (draws == draws[:, :1]).all()
    law_of_draws = stopped(p, count, hits)
    assert agrees(draws[:, 0], [0, *(sum(masses.values()) for masses in law_of_draws.values())])


def test_log_uniform_candidates_follow_their_law():
    for most in (1, 2, 5, 1000):
        drawn, true, sampled = (
            part.asnumpy() for part in ops.log_uniform_candidate_sampler(Tensor([[0], [7]]), 1, SAMPLES, False, most)
        )
        assert agrees(drawn, zipf(np.arange(most), most))
        assert np.allclose(sampled, SAMPLES * zipf(drawn, most), rtol=1e-6)
        assert np.allclose(true[:, 0], SAMPLES * zipf(np.array([0, 7]), most), rtol=1e-6)  # 7: beyond the range, too


SAMPLERS = {
    "uniform": lambda x, seed=0: ops.uniform_candidate_sampler(x, 2, 3, True, 6, seed),
    "again": lambda x, seed=0: ops.uniform_candidate_sampler(x, 2, 3, False, 6, seed),
    "no hits": lambda x, seed=0: ops.uniform_candidate_sampler(x, 2, 2, True, 6, seed, True),
    "zipf": lambda x, seed=0: ops.log_uniform_candidate_sampler(x, 2, 3, True, 9, seed),
    "zipf again": lambda x, seed=0: ops.log_uniform_candidate_sampler(x, 2, 3, False, 9, seed),
}


def together(parts):
    return np.concatenate([part.asnumpy().ravel() for part in parts])


@pytest.mark.parametrize("name", SAMPLERS)
def test_seeds_recordings_and_samples(name):
    sampler = SAMPLERS[name]
    x = Tensor(TRUE)
    assert np.array_equal(together(sampler(x, 3)), together(sampler(x, 3)))
    assert any(not np.array_equal(together(sampler(x, 3)), together(sampler(x, k))) for k in (4, 5, 6))
    dg.set_seed(2)
    eager = [together(sampler(x)) for _ in range(6)]
    assert any(not np.array_equal(eager[0], other) for other in eager[1:])
    recorded = dg.jit(sampler)
    dg.set_seed(2)
    for expected in eager:
        assert np.array_equal(together(recorded(x)), expected)
    with_seed = dg.jit(lambda x: sampler(x, 3))
    for _ in range(4):
        assert np.array_equal(together(with_seed(x)), together(sampler(x, 3)))
    rows = Tensor(np.stack([TRUE] * 20))
    dg.set_seed(2)
    drawn = dg.vmap(sampler)(rows)
    assert len({tuple(row) for row in drawn[0].tolist()}) > 5
    mapped = dg.jit(dg.vmap(sampler))
    for _ in range(4):
        dg.set_seed(2)
        for found, expected in zip(mapped(rows), drawn, strict=True):
            assert np.array_equal(found.asnumpy(), expected.asnumpy())


CLASSES = {
    "uniform": lambda **s: ops.UniformCandidateSampler(2, 3, True, 6, **s),
    "no hits": lambda **s: ops.UniformCandidateSampler(2, 2, True, 6, remove_accidental_hits=True, **s),
    "zipf": lambda **s: ops.LogUniformCandidateSampler(2, 3, True, 9, **s),
}


@pytest.mark.parametrize("name", CLASSES)
def test_classes_are_their_functions_and_go_on_from_their_seeds(name):
    make, x = CLASSES[name], Tensor(TRUE)
    dg.set_seed(5)
    expected = together(SAMPLERS[name](x))
    dg.set_seed(5)
    assert np.array_equal(together(make()(x)), expected)
    one, other = make(seed=7), make(seed=7)
    first = [together(one(x)) for _ in range(5)]
    assert any(not np.array_equal(first[0], later) for later in first[1:])
    assert all(np.array_equal(together(other(x)), later) for later in first)
    assert "seed=7" in repr(one)


def test_types_ranges_and_classes_beyond_them():
    for kind in (np.int32, np.int64):
        for drawn, true, sampled in (
            ops.uniform_candidate_sampler(Tensor(TRUE.astype(kind)), 2, 3, True, 4),
            ops.log_uniform_candidate_sampler(Tensor(TRUE.astype(kind)), 2, 3, True, 4),
        ):
            assert drawn.asnumpy().dtype == kind
            assert true.dtype == sampled.dtype == dg.float32
    assert ops.uniform_candidate_sampler(Tensor(TRUE), 2, 3, True, 2**62)[0].asnumpy().max() > 2**32
    everything = ops.log_uniform_candidate_sampler(Tensor(TRUE), 2, 300, True, 300)[0]
    assert sorted(everything.tolist()) == [*range(300)]
    beyond = Tensor(np.array([[1], [100]]))  # 100 takes no place of the four that are drawn from
    drawn = ops.uniform_candidate_sampler(beyond, 1, 3, True, 4, 0, True)[0]
    assert sorted(drawn.tolist()) == [0, 2, 3]
    empty = ops.uniform_candidate_sampler(Tensor(np.zeros((0, 2), int)), 2, 3, True, 4, 0, True)
    assert [part.shape for part in empty] == [(3,), (0, 2), (3,)]
    only = ops.uniform_candidate_sampler(Tensor(TRUE), 2, 1, True, 1)
    assert_close(only[1], np.ones((2, 2)))


def hits_by_loops(true, sampled):
    return [
        (row, place)
        for row, column in itertools.product(*map(range, true.shape))
        for place, candidate in enumerate(sampled)
        if true[row, column] == candidate
    ]


@pytest.mark.usefixtures("mode")
def test_accidental_hits():
    rng = np.random.default_rng(3)
    for rows, columns, count in itertools.product((0, 1, 4), (1, 3), (0, 1, 6)):
        true, sampled = rng.integers(5, size=(rows, columns)), rng.integers(5, size=count)
        found = ops.ComputeAccidentalHits(columns)(Tensor(true), Tensor(sampled))
        expected = np.array(hits_by_loops(true, sampled), int).reshape(-1, 2)
        assert [part.dtype for part in found] == [dg.int32, dg.int64, dg.float32]
        assert np.array_equal(found[0].asnumpy(), expected[:, 0])
        assert np.array_equal(found[1].asnumpy(), expected[:, 1])
        assert (found[2].asnumpy() == np.finfo(np.float32).min).all()
        assert found[2].shape == (len(expected),)


T, U, LOG = Tensor(TRUE), ops.uniform_candidate_sampler, ops.log_uniform_candidate_sampler
REFUSED = {
    "type": (TypeError, lambda: U(Tensor(TRUE * 1.0), 2, 3, True, 4), "Float64", "Int32 or Int64"),
    "columns": (ValueError, lambda: U(T, 1, 3, True, 4), "(2, 2)", "num_true=1"),
    "axes": (ValueError, lambda: LOG(Tensor([1, 2]), 2), "(2,)", "(batch, num_true)"),
    "too many": (ValueError, lambda: U(T, 2, 5, True, 4), "num_sampled is 5", "range_max 4"),
    "none": (ValueError, lambda: U(T, 2, 0, True, 4), "num_sampled is 0"),
    "range": (ValueError, lambda: LOG(T, 2, 1, True, 0), "range_max is 0"),
    "seed": (ValueError, lambda: U(T, 2, 3, True, 4, -1), "seed is -1"),
    "bool": (TypeError, lambda: U(T, 2, 3, 1, 4), "unique", "int"),
    "another bool": (TypeError, lambda: U(T, 2, 3, True, 4, 0, 1), "remove_accidental_hits", "int"),
    "int": (TypeError, lambda: LOG(T, 2, 3.0), "num_sampled", "float"),
    "hits": (ValueError, lambda: U(T, 2, 4, True, 6, 0, True), "4 candidates of 6", "3 of which are true"),
    "all hits": (ValueError, lambda: U(Tensor([[0], [1]]), 1, 1, False, 2, 0, True), "2 of which are true"),
    "negative": (ValueError, lambda: LOG(Tensor([[-1]]), 1), "none below 0"),
    "narrow": (ValueError, lambda: U(Tensor(TRUE.astype(np.int32)), 2, 3, True, 2**40), "Int64"),
    "class": (ValueError, lambda: ops.LogUniformCandidateSampler(0), "num_true is 0"),
    "hits' types": (TypeError, lambda: ops.ComputeAccidentalHits(2)(T, Tensor([1.0])), "candidates", "integers"),
    "hits' shapes": (ValueError, lambda: ops.ComputeAccidentalHits(2)(T, T), "(2, 2)", "(candidates,)"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_errors(case):
    assert_raises(*case)
