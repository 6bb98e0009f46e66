"""Random numbers of named distributions: their distribution functions, their seeds, derivatives by their parameters."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.stats
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import Tensor, ops

COUNT = 4000
CONTINUOUS = {
    # name: (draw, distribution)
    "standard_normal": (lambda **s: ops.standard_normal((COUNT,), **s), scipy.stats.norm()),
    "standard_laplace": (lambda **s: ops.standard_laplace((COUNT,), **s), scipy.stats.laplace()),
    "normal": (lambda **s: ops.normal((COUNT,), f64(1.0), f64(2.0), **s), scipy.stats.norm(1, 2)),
    "laplace": (lambda **s: ops.laplace((COUNT,), f64(1.0), f64(2.0), **s), scipy.stats.laplace(1, 2)),
    "uniform": (lambda **s: ops.uniform((COUNT,), f64(-1.0), f64(3.0), **s), scipy.stats.uniform(-1, 4)),
    "rand_like": (lambda **s: ops.rand_like(ops.ones((COUNT,)), **s), scipy.stats.uniform()),
    "randn_like": (lambda **s: ops.randn_like(ops.ones((COUNT,)), **s), scipy.stats.norm()),
    "gamma": (lambda **s: ops.gamma((COUNT,), f64(2.5), f64(3.0), **s), scipy.stats.gamma(2.5, scale=1 / 3)),
    "random_gamma": (lambda **s: ops.random_gamma((COUNT,), f64(0.5), **s), scipy.stats.gamma(0.5)),
}
CLASSES = {
    "StandardNormal": (lambda made: made((COUNT,)), scipy.stats.norm()),
    "StandardLaplace": (lambda made: made((COUNT,)), scipy.stats.laplace()),
    "UniformReal": (lambda made: made((COUNT,)), scipy.stats.uniform()),
    "Gamma": (lambda made: made((COUNT,), f64(2.5), f64(3.0)), scipy.stats.gamma(2.5, scale=1 / 3)),
    "RandomGamma": (lambda made: made((COUNT,), f64(0.5)), scipy.stats.gamma(0.5)),
    "TruncatedNormal": (lambda made: made((COUNT,)), scipy.stats.truncnorm(-2, 2)),
}
WHOLE = {
    "randint": (lambda **s: ops.randint(2, 7, (COUNT,), **s), scipy.stats.randint(2, 7)),
    "randint_like": (lambda **s: ops.randint_like(ops.ones((COUNT,)), 2, 7, **s), scipy.stats.randint(2, 7)),
    "uniform": (lambda **s: ops.uniform((COUNT,), 2, 7, dtype=dg.int32, **s), scipy.stats.randint(2, 7)),
    "bernoulli": (lambda **s: ops.bernoulli(ops.ones((COUNT,)), 0.3, **s), scipy.stats.bernoulli(0.3)),
    "poisson": (lambda **s: ops.poisson((COUNT,), f64(2.5), **s), scipy.stats.poisson(2.5)),
    "random_poisson": (lambda **s: ops.random_poisson((COUNT,), 2.5, **s), scipy.stats.poisson(2.5)),
    "multinomial": (
        lambda **s: ops.multinomial(f64([1.0, 0.0, 3.0]), COUNT, **s),
        scipy.stats.rv_discrete(values=([0, 2], [0.25, 0.75])),
    ),
    "random_categorical": (
        lambda seed=0: ops.random_categorical(f64([[0.0, -np.inf, np.log(3)]]), COUNT, seed)[0],
        scipy.stats.rv_discrete(values=([0, 2], [0.25, 0.75])),
    ),
    "multinomial_with_replacement": (
        lambda seed=0: ops.multinomial_with_replacement(f64([1.0, 0.0, 3.0]), seed, 0, COUNT, True),
        scipy.stats.rv_discrete(values=([0, 2], [0.25, 0.75])),
    ),
}
WHOLE_CLASSES = {
    "UniformInt": (lambda made: made((COUNT,), 2, 7), scipy.stats.randint(2, 7)),
    "Poisson": (lambda made: made((COUNT,), f64(2.5)), scipy.stats.poisson(2.5)),
    "RandomPoisson": (lambda made: made((COUNT,), f64(2.5)), scipy.stats.poisson(2.5)),
    "Multinomial": (
        lambda made: made(f64([1.0, 3.0]), COUNT),
        scipy.stats.rv_discrete(values=([0, 1], [0.25, 0.75])),
    ),
}


def follows(sample, distribution, whole):
    """Whether a sample follows a distribution, with an error of one in a million."""
    if not whole:
        return scipy.stats.kstest(sample, distribution.cdf).pvalue > 1e-6
    values = np.arange(int(sample.min()), int(sample.max()) + 1)
    counts = np.array([(sample == v).sum() for v in values])
    expected = len(sample) * distribution.pmf(values)
    assert (counts[expected == 0] == 0).all()
    likely = expected > 5
    rest = [np.append(a[likely], len(sample) - a[likely].sum()) for a in (counts, expected)]
    keep = rest[1] > 1e-6
    return scipy.stats.chisquare(rest[0][keep], rest[1][keep] * rest[0][keep].sum() / rest[1][keep].sum()).pvalue > 1e-6


@pytest.fixture(autouse=True)
def _seeded():
    dg.set_seed(1)


@pytest.mark.parametrize("name", [*CONTINUOUS, *WHOLE])
@pytest.mark.usefixtures("mode")
def test_functions_follow_their_distributions(name):
    for table, whole in ((CONTINUOUS, False), (WHOLE, True)):
        if name in table:
            draw, distribution = table[name]
            assert follows(draw().asnumpy().astype(float), distribution, whole)


@pytest.mark.parametrize("name", [*CONTINUOUS, *WHOLE])
def test_a_seed_repeats_the_numbers_of_a_function(name):
    draw = (CONTINUOUS | WHOLE)[name][0]
    first, second, other = (draw(seed=seed).asnumpy() for seed in (5, 5, 6))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
    dg.set_seed(3)
    start = draw().asnumpy()
    assert not np.array_equal(start, draw().asnumpy())
    dg.set_seed(3)
    assert np.array_equal(start, draw().asnumpy())


@pytest.mark.parametrize("name", [*CLASSES, *WHOLE_CLASSES])
def test_classes_follow_their_distributions_and_go_on(name):
    call, distribution = (CLASSES | WHOLE_CLASSES)[name]
    cls = getattr(ops, name)
    made = cls(seed=3, seed2=1)
    first, second = (call(made).asnumpy() for _ in range(2))
    assert follows(first.astype(float), distribution, name in WHOLE_CLASSES)
    assert not np.array_equal(first, second)
    again = cls(seed=3, seed2=1)
    assert np.array_equal(call(again).asnumpy(), first)
    assert np.array_equal(call(again).asnumpy(), second)
    dg.set_seed(7)
    one = call(cls()).asnumpy()
    dg.set_seed(7)
    assert np.array_equal(one, call(cls()).asnumpy())


def test_other_classes():
    sample = ops.Cauchy((COUNT,), 1.0, 2.0)().asnumpy()
    assert follows(sample, scipy.stats.cauchy(1, 2), False)
    ones = ops.Bernoulli(seed=2)(ops.ones((COUNT,)), 0.3).asnumpy()
    assert follows(ones, scipy.stats.bernoulli(0.3), True)
    chosen = ops.RandomCategorical(dg.int32)(f64([[0.0, np.log(3)]]), COUNT, 4)
    assert chosen.dtype == dg.int32
    assert follows(chosen.asnumpy()[0].astype(float), scipy.stats.bernoulli(0.75), True)


@pytest.mark.usefixtures("mode")
def test_draws_without_replacement_have_every_category_once():
    drawn = ops.multinomial(f64(np.ones((50, 6))), 6, replacement=False).asnumpy()
    assert np.array_equal(np.sort(drawn, 1), np.tile(np.arange(6), (50, 1)))
    first = ops.multinomial(f64(np.tile([1.0, 2.0, 5.0], (COUNT, 1))), 1, False).asnumpy()[:, 0]
    assert follows(first.astype(float), scipy.stats.rv_discrete(values=([0, 1, 2], [1 / 8, 2 / 8, 5 / 8])), True)
    second = ops.multinomial(f64(np.tile([0.0, 2.0, 5.0], (COUNT, 1))), 2, False).asnumpy()
    assert set(second.ravel()) == {1, 2}


@pytest.mark.usefixtures("mode")
def test_permutations_and_shuffled_rows():
    assert sorted(ops.randperm(20).tolist()) == [*range(20)]
    x = np.arange(12.0).reshape(6, 2)
    for result in ops.shuffle(f64(x)), ops.RandomShuffle()(f64(x)):
        rows = result.asnumpy()
        assert np.array_equal(rows[np.argsort(rows[:, 0])], x)


@pytest.mark.parametrize(("name", "noise"), [("normal", "standard_normal"), ("laplace", "standard_laplace")])
def test_derivatives_go_to_location_and_scale(name, noise):
    """A sample is location + scale * z: the slopes are 1 and z."""
    function = getattr(ops, name)
    draw = lambda mean, scale: function((3,), mean, scale, seed=4)
    z = function((3,), f64(0.0), f64(1.0), seed=4).asnumpy()
    dmean, dscale = dg.grad(draw, (0, 1))(f64([1.0, 2.0, 3.0]), f64([0.5, 1.0, 2.0]))
    assert_close((dmean, dscale), (np.ones(3), z))
    jitted = dg.jit(dg.grad(draw, (0, 1)))
    for _ in range(4):
        assert_close(jitted(f64([1.0, 2.0, 3.0]), f64([0.5, 1.0, 2.0])), (np.ones(3), z))
    assert noise in ops.__all__


def test_derivatives_go_to_limits_and_rates():
    u = ops.uniform((3,), f64(0.0), f64(1.0), seed=4, dtype=dg.float64).asnumpy()
    draw = lambda low, high: ops.uniform((3,), low, high, seed=4, dtype=dg.float64)
    assert_close(dg.grad(draw, (0, 1))(f64([0.0] * 3), f64([2.0] * 3)), (1 - u, u))
    g = ops.gamma((3,), f64(2.0), f64(1.0), seed=4).asnumpy()
    assert_close(dg.grad(lambda b: ops.gamma((3,), f64(2.0), b, seed=4))(f64(2.0)), -g.sum() / 4)


TRUNCATED = ops.ParameterizedTruncatedNormal()
NO_DERIVATIVE = {
    "gamma": lambda a: ops.gamma((3,), a, 1.0),
    "random_gamma": lambda a: ops.random_gamma((3,), a),
    "poisson": lambda a: ops.poisson((3,), a),
    "random_poisson": lambda a: ops.random_poisson((3,), a),
    "RandomGamma": lambda a: ops.RandomGamma()((3,), a),
    "ParameterizedTruncatedNormal": lambda a: TRUNCATED((2, 3), a, *map(f64, (1, 0, 5))),
}


@pytest.mark.parametrize("draw", NO_DERIVATIVE.values(), ids=NO_DERIVATIVE)
def test_what_is_drawn_by_rejection_refuses_a_derivative(draw):
    assert_raises(dg.LeavesDerivativeError, lambda: dg.grad(draw)(f64(2.0)), "stop_gradient")
    assert_close(dg.grad(lambda a: draw(ops.stop_gradient(a)) + 0 * a)(f64(2.0)), 0.0)


REFUSED = {
    "limits": (ValueError, lambda: ops.randint(3, 3, (2,)), "more than none"),
    "alpha": (ValueError, lambda: ops.gamma((2,), 0.0, 1.0), "positive"),
    "rate": (ValueError, lambda: ops.poisson((2,), f64(-1.0)), "0 or more"),
    "too many": (ValueError, lambda: ops.multinomial(f64([1.0, 2.0]), 3, False), "categories"),
    "logits": (ValueError, lambda: ops.random_categorical(f64([1.0]), 3), "(N, categories)"),
    "probability": (ValueError, lambda: ops.bernoulli(f64([1.0]), f64([0.5, 0.5])), "broadcast"),
    "type": (TypeError, lambda: ops.TruncatedNormal(dg.int32), "float"),
    "rows": (ValueError, lambda: ops.shuffle(f64(1.0)), "rows"),
    "negative weight": (ValueError, lambda: ops.multinomial(f64([1.0, -2.0]), 3), "none negative"),
    "no weight": (ValueError, lambda: ops.multinomial(f64([[1.0, 2.0], [0.0, 0.0]]), 3), "not all of a row 0"),
    "nan": (ValueError, lambda: dg.vmap(lambda w: ops.multinomial(w, 2))(f64([[1.0, np.nan]])), "finite"),
    "once more": (ValueError, lambda: ops.multinomial_with_replacement(f64([1.0, 2.0]), 1, 2, 3), "categories"),
    "flag": (TypeError, lambda: ops.multinomial_with_replacement(f64([1.0]), 1, 2, 1, 1), "replacement", "int"),
    "seed": (TypeError, lambda: ops.MultinomialWithReplacement(1)(f64([1.0]), 1.5, 2), "seed", "float"),
    "mask": (TypeError, lambda: ops.choice_with_mask(f64([1.0])), "Float64", "Bool"),
    "axes": (ValueError, lambda: ops.choice_with_mask(Tensor(True)), "1 to 5 axes"),
    "count": (ValueError, lambda: ops.RandomChoiceWithMask(0)(Tensor([True])), "count is 0"),
    "very many": (RuntimeError, lambda: ops.choice_with_mask(Tensor([[True]]), 2**30), "2**31"),
    "shape": (ValueError, lambda: TRUNCATED((2,), *map(f64, (0, 1, 0, 1))), "(2,)", "two axes"),
    "rows of parameters": (ValueError, lambda: TRUNCATED((2, 3), f64([0, 0, 0]), *map(f64, (1, 0, 1))), "(3,)", "(2,)"),
    "types": (TypeError, lambda: TRUNCATED((2, 3), f64(0), f64(1), Tensor(np.float32(0)), f64(1)), "min", "Float32"),
    "sigma": (ValueError, lambda: TRUNCATED((2, 3), *map(f64, (0, 0, 0, 1))), "positive standard deviations"),
    "limits of normals": (ValueError, lambda: TRUNCATED((2, 3), *map(f64, (0, 1, 1, 1))), "each min below"),
    "out of reach": (ValueError, lambda: TRUNCATED((2, 3), *map(f64, (0, 5e-324, 1, 2))), "reach"),
    "integers": (TypeError, lambda: ops.Uniform()(Tensor([1])), "Int64", "Float32"),
    "order": (ValueError, lambda: ops.Uniform(2.0, 1.0), "minval <= maxval"),
    "limit": (TypeError, lambda: ops.Uniform("a"), "minval", "str"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(case):
    assert_raises(*case)


# --------------------------------------------------------------------------------------- intervals, masks, categories

INTERVALS = {
    "around 0": (0, 1, -0.5, 1.5),
    "wide": (1, 2, -9, 20),
    "narrow": (5, 2, 5.2, 5.3),
    "far tail": (0, 1, 8, 9),
    "farther": (0, 1, 35, 60),
    "other tail": (3, 0.5, -20, -3),
    "half": (1, 3, -np.inf, 2),
    "other half": (1, 3, 0.5, np.inf),
    "half tail": (-1, 0.1, 1, np.inf),
    "at the bend": (0, 1, 0.49, 3),
    "beside it": (0, 1, 0.51, 3),
    "all": (2, 3, -np.inf, np.inf),
}


@pytest.mark.parametrize("name", INTERVALS)
@pytest.mark.usefixtures("mode")
def test_normal_numbers_between_limits(name):
    mean, sigma, low, high = INTERVALS[name]
    made = ops.ParameterizedTruncatedNormal()
    sample = made((2, COUNT // 2), *map(f64, INTERVALS[name])).asnumpy().ravel()
    assert low <= sample.min()
    assert sample.max() <= high
    law = scipy.stats.truncnorm((low - mean) / sigma, (high - mean) / sigma, mean, sigma)
    if name == "farther":  # truncnorm loses digits there: an excess of 0.1 standard deviations is exponential
        law = scipy.stats.truncexpon((high - low) * low, low, 1 / low)
        sample = low + (sample - low) * (1 + (sample - low) / (2 * low))
    assert follows(sample, law, False)


def test_parameters_go_along_the_first_axis():
    table = np.array([values for values in INTERVALS.values() if np.isfinite(values).all()])
    shape = (len(table), 300, 2)
    for kind in (np.float16, np.float32, np.float64):
        parameters = [Tensor(column.astype(kind)) for column in table.T]
        drawn = ops.ParameterizedTruncatedNormal(1, 2)(shape, *parameters)
        assert (drawn.shape, drawn.dtype) == (shape, parameters[0].dtype)
        numbers = drawn.asnumpy().reshape(len(table), -1)
        low, high = parameters[2].asnumpy()[:, None], parameters[3].asnumpy()[:, None]
        assert ((numbers >= low) & (numbers <= high)).all()
    alone = ops.ParameterizedTruncatedNormal(1, 2)(shape, *[f64(column) for column in table.T])
    mapped = dg.vmap(lambda *row: ops.ParameterizedTruncatedNormal()((300, 2), *row))(*[f64(c) for c in table.T])
    assert mapped.shape == alone.shape
    for k, (mean, sigma, low, high) in enumerate(table):
        for sample in (alone, mapped):
            law = scipy.stats.truncnorm((low - mean) / sigma, (high - mean) / sigma, mean, sigma)
            assert low > 30 or follows(sample[k].asnumpy().ravel(), law, False)


@pytest.mark.usefixtures("mode")
def test_uniform_numbers_of_the_shape_and_type_of_a_tensor():
    for kind, (low, high) in itertools.product(
        (np.float16, np.float32, np.float64), ((0.0, 1.0), (2.0, 2.5), (3.0, 3.0))
    ):
        x = Tensor(np.zeros((COUNT // 4, 4), kind))
        drawn = ops.Uniform(low, high)(x)
        assert (drawn.shape, drawn.dtype) == (x.shape, x.dtype)
        numbers = drawn.asnumpy().astype(float)
        assert ((numbers >= low) & ((numbers < high) | (low == high))).all()
        if low < high and kind is not np.float16:
            assert follows(numbers.ravel(), scipy.stats.uniform(low, high - low), False)


@pytest.mark.usefixtures("mode")
def test_places_where_a_mask_is_set():
    rng = np.random.default_rng(2)
    for shape, count in itertools.product(((7,), (3, 4), (2, 3, 2), (1, 1, 2, 1, 3), (0, 3)), (1, 3, 20)):
        mask = rng.random(shape) < 0.6
        for index, found in ops.choice_with_mask(Tensor(mask), count), ops.RandomChoiceWithMask(count, 3)(Tensor(mask)):
            assert (index.shape, index.dtype) == ((count, len(shape)), dg.int32)
            assert (found.shape, found.dtype) == ((count,), dg.bool_)
            rows, chosen = index.asnumpy(), found.asnumpy()
            number = min(count, mask.sum())
            assert np.array_equal(chosen, np.arange(count) < number)
            assert not rows[~chosen].any()
            assert len({tuple(row) for row in rows[chosen].tolist()}) == number
            assert all(mask[tuple(row)] for row in rows[chosen])
    assert repr(ops.RandomChoiceWithMask(3, 1)) == "RandomChoiceWithMask(count=3, seed=1, seed2=0)"
    assert [part.shape for part in ops.choice_with_mask(Tensor(mask))] == [(256, 2), (256,)]


def test_all_ordered_choices_are_equally_likely():
    masks = Tensor(np.tile([True, False, True, True], (COUNT, 1)))
    index, found = dg.vmap(lambda mask: ops.choice_with_mask(mask, 2))(masks)
    assert found.asnumpy().all()
    codes = index.asnumpy()[:, :, 0] @ [10, 1]
    counts = [(codes == code).sum() for code in (2, 3, 20, 23, 30, 32)]
    assert sum(counts) == COUNT
    assert scipy.stats.chisquare(counts).pvalue > 1e-6


@pytest.mark.usefixtures("mode")
def test_categories_with_two_seeds():
    w = f64([[1.0, 0.0, 3.0], [0.0, 5.0, 0.0]])
    for replacement in (True, False):
        for seed, offset in ((2, 3), (0, 1), (-1, 1)):
            found = [
                ops.MultinomialWithReplacement(3, replacement)(w, *(f(k) for k in (seed, offset)))
                for f in (int, lambda k: Tensor([k]))
            ]
            found.append(ops.multinomial_with_replacement(w, seed, offset, 3, replacement))
            assert all(np.array_equal(found[0].asnumpy(), other.asnumpy()) for other in found)
            assert found[0].dtype == dg.int64
            if not replacement:
                rows = found[0].tolist()
                assert set(rows[0][:2]) == {0, 2}
                assert (rows[0][2], rows[1]) == (1, [1, 0, 2])
    free = [[ops.multinomial_with_replacement(w, s, 0, 30, True).tolist() for _ in range(2)] for s in (0, -1)]
    assert free[0][0] != free[0][1]
    assert free[1][0] != free[1][1]


# ------------------------------------------------------------------------------------------- recordings and samples

BESIDE = {
    # name: (function of one sample, what it takes: samples along the first axis)
    "multinomial": (lambda w, **s: ops.multinomial(w, 5, **s), f64(np.ones((20, 4)))),
    "once": (lambda w, **s: ops.multinomial(w, 4, False, **s), f64(np.ones((20, 4)))),
    "rows": (lambda w, **s: ops.multinomial(w, 5, **s), f64(np.ones((20, 2, 4)))),
    "seeds": (lambda w, seed=0: ops.multinomial_with_replacement(w, seed, 0, 5, True), f64(np.ones((20, 4)))),
    "categorical": (lambda x, seed=0: ops.random_categorical(x, 5, seed), f64(np.zeros((20, 1, 4)))),
    "mask": (lambda m, **s: ops.choice_with_mask(m, 4, **s)[0], Tensor(np.ones((20, 9), bool))),
    "gamma": (lambda a, **s: ops.gamma((3,), a, 2.0, **s), f64(np.ones((20, 2)))),
    "random_gamma": (lambda a, **s: ops.random_gamma((3,), a, **s), f64(np.ones((20, 2)))),
    "poisson": (lambda a, **s: ops.poisson((3, 2), a, **s), f64(np.full((20, 2), 50.0))),
    "random_poisson": (lambda a, **s: ops.random_poisson((3,), a, **s), f64(np.full(20, 50.0))),
    "Uniform": (lambda x, seed=0: ops.Uniform(0.0, 1.0, seed)(x), f64(np.zeros((20, 3)))),
}
REMADE = {"Uniform"}  # with a seed, its source is made at each call


@pytest.mark.parametrize("name", BESIDE)
def test_samples_draw_numbers_of_their_own(name):
    """Equal samples get different numbers, those of the next level of vmap too; a seed repeats them."""
    draw, x = BESIDE[name]
    drawn = dg.vmap(draw)(x).asnumpy()
    assert len({row.tobytes() for row in drawn}) > 10
    twice = dg.vmap(dg.vmap(draw))(ops.stack((x, x))).asnumpy()
    assert len({row.tobytes() for row in twice.reshape(40, -1)}) > 12
    one, other = (dg.vmap(lambda row: draw(row, seed=3))(x).asnumpy() for _ in range(2))
    assert np.array_equal(one, other)
    shared = dg.vmap(lambda row, t: draw(row) + 0 * t, (None, 0))(x[0], f64(np.zeros(3))).asnumpy()
    assert all(np.array_equal(row, shared[0]) for row in shared)


@pytest.mark.parametrize("name", ["multinomial", "once", "seeds"])
def test_samples_draw_what_the_rows_of_one_call_draw(name):
    draw, x = BESIDE[name]
    rows = dg.vmap(lambda row: draw(row, seed=3))(x)
    assert np.array_equal(rows.asnumpy(), draw(x, seed=3).asnumpy())


@pytest.mark.parametrize("name", BESIDE)
def test_recordings_draw_anew_what_eager_calls_draw(name):
    draw, x = BESIDE[name]
    for function, operand in ((draw, x[0]), (dg.vmap(draw), x)):
        recorded = dg.jit(function)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it does not fall back to eager execution
            dg.set_seed(8)
            found = [recorded(operand).asnumpy() for _ in range(6)]
        dg.set_seed(8)
        expected = [function(operand).asnumpy() for _ in range(6)]
        assert all(map(np.array_equal, found, expected))
        assert len({numbers.tobytes() for numbers in found}) > 1
    if name not in REMADE:
        recorded = dg.jit(lambda x: draw(x, seed=3))
        for _ in range(4):
            assert np.array_equal(recorded(x[0]).asnumpy(), draw(x[0], seed=3).asnumpy())


MADE = {name: (getattr(ops, name), call) for name, (call, _) in (CLASSES | WHOLE_CLASSES).items()} | {
    "Bernoulli": (ops.Bernoulli, lambda made: made(ops.ones((30,)), 0.5)),
    "RandomChoiceWithMask": (ops.RandomChoiceWithMask, lambda made: made(Tensor([True] * 30))[0]),
    "RandomShuffle": (ops.RandomShuffle, lambda made: made(f64(np.arange(30.0)))),
    "ParameterizedTruncatedNormal": (lambda: TRUNCATED, lambda made: made((5, 6), *map(f64, (0, 1, 0, 1)))),
    "Uniform": (ops.Uniform, lambda made: made(ops.ones((30,)))),
    "UniformCandidateSampler": (
        lambda: ops.UniformCandidateSampler(1, 6, True, 30),
        lambda made: made(Tensor([[1]]))[0],
    ),
    "LogUniformCandidateSampler": (
        lambda: ops.LogUniformCandidateSampler(1, 6, True, 30),
        lambda made: made(Tensor([[1]]))[0],
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_recordings_draw_with_objects_that_were_made_before(name):
    """As a Cell holds them; without seeds."""
    made, call = MADE[name][0](), MADE[name][1]
    recorded = dg.jit(lambda t: t + call(made).astype(dg.float64))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dg.set_seed(8)
        found = [recorded(f64(0.0)).asnumpy() for _ in range(5)]
    dg.set_seed(8)
    for numbers in found:
        assert np.array_equal(call(made).asnumpy().astype(float), numbers)
    assert len({numbers.tobytes() for numbers in found}) > 1


def test_replays_read_the_parameters_of_a_distribution():
    recorded = dg.jit(lambda a: ops.random_gamma((2000,), a))
    for scale in (1.0, 2.0, 1e3, 1e4, 1e5):
        assert follows(recorded(f64(scale)).asnumpy(), scipy.stats.gamma(scale), False)
    assert_raises(ValueError, lambda: recorded(f64(-1.0)), "positive")


def test_what_is_recomputed_draws_the_same_numbers_again():
    block = dg.recompute(lambda x: x * ops.multinomial(ops.ones((4,)), 3).astype(dg.float64))
    dg.set_seed(4)
    slope = dg.grad(lambda x: block(x).sum())(f64(np.ones(3)))
    dg.set_seed(4)
    assert_close(slope, block(f64(np.ones(3))).asnumpy())


@pytest.mark.parametrize("make", [lambda: ops.StandardNormal(3), lambda: ops.UniformReal(3)], ids=["normal", "uniform"])
def test_a_source_that_a_function_makes_is_made_anew_at_every_call(make):
    """A recording would go on with the source of its first call, so such a function runs eagerly and says so."""
    drawn = lambda x: x + make()((3,))
    expected = drawn(ops.zeros((3,))).asnumpy()
    recorded = dg.jit(drawn)
    with pytest.warns(UserWarning, match="runs eagerly: a source of random numbers"):
        assert_close(recorded(ops.zeros((3,))), expected)
    for _ in range(3):
        assert_close(recorded(ops.zeros((3,))), expected)
