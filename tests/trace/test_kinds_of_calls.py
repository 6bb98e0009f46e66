"""Arguments that look alike and are not: each recorded call gives what the function itself gives."""

import itertools
import types
import warnings
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pytest
from engine import forget_programs

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops
from dualgrad.testing import Calls

pytestmark = pytest.mark.eager("records by itself")

X = np.array([0.5, -1.0, 2.0])
LIST = [1.0, 2.0]
DICT = {"k": 2.0}


@dataclass
class Config:
    k: float = 2.0


class Scaled(Tensor):
    """A tensor with an attribute."""


class Loud(Tensor):
    """One without."""

    __slots__ = ()


CONFIG = Config()
HELD = Tensor(X)
WEIGHT = Parameter(X, name="w")


def scaled(k):
    t = Scaled(X)
    t.k = k
    return t


def weight_with(k):
    p = Parameter(X, name="w")
    p.k = k
    return p


def default(factory):
    return defaultdict(factory)


def renamed(name):
    def f(x):
        return ops.sum(x)

    f.__name__ = name
    return f


#: name -> (a function of a tensor and further arguments, ways to make these)
SORTS = {
    "a list twice": (
        lambda x, a, b: ops.sum(x) * (2 if a is b else 3),
        [lambda: [LIST, LIST], lambda: [[1.0, 2.0], [1.0, 2.0]], lambda: [LIST, [1.0, 2.0]]],
    ),
    "a list twice in a nest": (
        lambda x, a: ops.sum(x) * (2 if a[0] is a[1] else 3),
        [lambda: [[LIST, LIST]], lambda: [[[1.0, 2.0], [1.0, 2.0]]]],
    ),
    "a list that is captured": (
        lambda x, a: ops.sum(x) * (2 if a is LIST else 3),
        [lambda: [[1.0, 2.0]], lambda: [LIST]],
    ),
    "a dict that is captured": (
        lambda x, a: ops.sum(x) * (2 if a is DICT else 3),
        [lambda: [DICT], lambda: [{"k": 2.0}]],
    ),
    "a record that is captured": (
        lambda x, a: ops.sum(x) * (2 if a is CONFIG else 3),
        [lambda: [Config()], lambda: [CONFIG]],
    ),
    "a tensor twice": (
        lambda x, a, b: ops.sum(x) * (2 if a is b else 3),
        [lambda: [HELD, HELD], lambda: [Tensor(X), Tensor(X)]],
    ),
    "a tensor that is captured": (
        lambda x, a: ops.sum(x) * (2 if a is HELD else 3),
        [lambda: [Tensor(X)], lambda: [HELD]],
    ),
    "a parameter that is captured": (
        lambda x, a: ops.sum(x) * (2 if a is WEIGHT else 3),
        [lambda: [Parameter(X, name="w")], lambda: [WEIGHT]],
    ),
    "units of times": (
        lambda x, a: ops.sum(x) * float(a / np.timedelta64(1, "s")),
        [lambda: [np.timedelta64(1, "s")], lambda: [np.timedelta64(1, "m")], lambda: [np.timedelta64(1, "ms")]],
    ),
    "units of dates": (
        lambda x, a: ops.sum(x) * float((a - np.datetime64(0, "s")) / np.timedelta64(1, "s")),
        [lambda: [np.datetime64(1, "s")], lambda: [np.datetime64(1, "m")]],
    ),
    "order of bytes": (
        lambda x, a: ops.sum(x) * float(a),
        [lambda: [np.array([1.0]).view("<f8")[0]], lambda: [np.float32(1.0)], lambda: [np.int64(1)]],
    ),
    "an attribute of a derived tensor": (lambda x, a: ops.sum(x) * a.k, [lambda: [scaled(2.0)], lambda: [scaled(3.0)]]),
    "a derived class of tensors": (
        lambda x, a: ops.sum(x) * (2 if isinstance(a, Loud) else 3),
        [lambda: [Loud(X)], lambda: [Tensor(X)]],
    ),
    "an attribute of a parameter": (
        lambda x, a: ops.sum(x) * a.k,
        [lambda: [weight_with(2.0)], lambda: [weight_with(3.0)]],
    ),
    "what a defaultdict makes": (
        lambda x, a: ops.sum(x) * len([*a.keys(), a.default_factory()]),
        [lambda: [default(lambda: 2.0)], lambda: [default(lambda: 3.0)]],
    ),
    "the name of a function": (
        lambda x, a: a(x) * len(a.__name__),
        [lambda: [renamed("a")], lambda: [renamed("bcd")]],
    ),
    "keys of dicts": (
        lambda x, a: ops.sum(x) * float(sum(a)),
        [lambda: [{1: 0.0}], lambda: [{2: 0.0}], lambda: [{True: 0.0}]],
    ),
    "order of dicts": (
        lambda x, a: ops.sum(x) * next(iter(a.values())),
        [lambda: [{"a": 1.0, "b": 2.0}], lambda: [{"b": 2.0, "a": 1.0}]],
    ),
}


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize("sort", SORTS)
def test_calls_of_different_kinds_in_turns(sort, derivative):
    """In every order, each kind three times."""
    f, makers = SORTS[sort]
    g = dg.grad(f) if derivative else f
    expected = [g(Tensor(X), *make()).asnumpy() for make in makers]
    for order in itertools.permutations(range(len(makers))):
        forget_programs()
        recorded = dg.jit(g)
        for k in (*[k for k in order for _ in range(4)], *order, *order):
            np.testing.assert_array_equal(recorded(Tensor(X), *makers[k]()).asnumpy(), expected[k])


def test_a_tensor_that_is_captured_and_given_is_replayed():
    """The first call tells that it is captured; two more are recorded. Another tensor takes the program of its own."""
    calls, held, other = Calls(), Tensor(X), Tensor(X + 1.0)

    def f(x):
        calls.note()
        return x * held

    recorded = dg.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(12):
            np.testing.assert_array_equal(recorded(held).asnumpy(), X * X)
        assert len(calls) == 3
        for _ in range(12):
            np.testing.assert_array_equal(recorded(other).asnumpy(), (X + 1.0) * X)
            np.testing.assert_array_equal(recorded(held).asnumpy(), X * X)
        assert len(calls) == 5


#: name -> (what makes an argument, what changes it, a function of a tensor and the argument)
CHANGES = {
    "attribute of a derived tensor": (
        lambda: scaled(2.0),
        lambda t: setattr(t, "k", 3.0),
        lambda x, a: ops.sum(x) * a.k,
    ),
    "attribute of a parameter": (
        lambda: weight_with(2.0),
        lambda p: setattr(p, "k", 3.0),
        lambda x, a: ops.sum(x) * a.k,
    ),
    "factory of a defaultdict": (
        lambda: defaultdict(lambda: 2.0),
        lambda d: setattr(d, "default_factory", lambda: 3.0),
        lambda x, a: ops.sum(x) * a.default_factory(),
    ),
    "entry of a defaultdict": (
        lambda: defaultdict(float, k=2.0),
        lambda d: d.update(k=3.0),
        lambda x, a: ops.sum(x) * a["k"],
    ),
    "name of a function": (
        lambda: renamed("a"),
        lambda f: setattr(f, "__name__", "bcd"),
        lambda x, a: a(x) * len(a.__name__),
    ),
    "attribute of an object": (
        lambda: types.SimpleNamespace(k=2.0),
        lambda o: setattr(o, "k", 3.0),
        lambda x, a: ops.sum(x) * a.k,
    ),
    "class of a derived tensor": (
        lambda: scaled(2.0),
        lambda t: setattr(t, "__class__", type("Other", (Scaled,), {"k2": 3.0})),
        lambda x, a: ops.sum(x) * getattr(a, "k2", 5.0),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_argument_that_is_changed_between_calls(name):
    make, change, f = CHANGES[name]
    a = make()
    recorded = dg.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            for _ in range(4):
                np.testing.assert_array_equal(recorded(Tensor(X), a).asnumpy(), f(Tensor(X), a).asnumpy())
            change(a)


def test_shared_lists_in_arguments_are_read_once():
    """A nest of lists that hold one list twice has a key in proportion to its lists."""
    nest = [1.0]
    for _ in range(40):
        nest = [nest, nest]
    calls = Calls()

    def f(x, nest):
        calls.note()
        return ops.sum(x * 2)

    recorded = dg.jit(f)
    for _ in range(4):
        assert recorded(Tensor(X), nest).asnumpy() == 3.0
    assert len(calls) == 2


# ------------------------------------------------------------------------------------------------ errors of replays


def inverse_or(x, k):
    try:
        return ops.sum(dg.numpy.linalg.cholesky(x)) * k
    except np.linalg.LinAlgError:
        return ops.sum(x) * 7.0


def solved_or(x, k):
    try:
        return ops.sum(dg.numpy.linalg.inv(x)) * k
    except np.linalg.LinAlgError:
        return ops.sum(x) * 5.0


@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize("f", [inverse_or, solved_or])
def test_what_a_replay_raises_is_caught_by_the_function(f, derivative):
    """Numbers for which a primitive raises come among others; the function has its own way then."""
    good, bad = np.diag([1.0, 2.0]), np.array([[1.0, 1.0], [1.0, 1.0]]) * -0.0
    g = dg.grad(f) if derivative else f
    expected = [g(Tensor(a), 2.0).asnumpy() for a in (good, bad)]
    forget_programs()
    recorded = dg.jit(g)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (0, 0, 0, 0, 1, 0, 1, 1, 0):
            np.testing.assert_allclose(recorded(Tensor((good, bad)[k]), 2.0).asnumpy(), expected[k])
