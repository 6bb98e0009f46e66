"""Random numbers of named distributions: their distribution functions, their seeds, derivatives by their parameters."""

import numpy as np
import pytest
import scipy.stats
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import ops

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
        lambda seed=0: ops.multinomial_with_replacement(f64([1.0, 0.0, 3.0]), seed, 0, COUNT),
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


NO_DERIVATIVE = {
    "gamma": lambda a: ops.gamma((3,), a, 1.0),
    "random_gamma": lambda a: ops.random_gamma((3,), a),
    "poisson": lambda a: ops.poisson((3,), a),
    "random_poisson": lambda a: ops.random_poisson((3,), a),
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
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(case):
    assert_raises(*case)


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
