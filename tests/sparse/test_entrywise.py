"""Programs by entries agree with those that were recorded, for every operator, and are taken where they are less.

The pass of the compiler that takes arrays of directions for their entries is forced on every program here, however
small, and compared with none.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from cases import Case, all_cases
from engine import forget_programs
from support import f64
from ways import computed_at_once, programs_run

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
from dualgrad.programs import passes
from dualgrad.sparse import entrywise, seeds

pytestmark = pytest.mark.eager("records by itself")

RNG = np.random.default_rng(12)


@contextlib.contextmanager
def taken(always: bool):
    """Inside the block the entries are taken always, or never."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entrywise, "LEAST", 0)
        patch.setattr(entrywise, "GAIN", 0.0 if always else np.inf)
        patch.setattr(seeds, "FEW", 0)
        patch.setattr(seeds, "SPARSE", 1)
        yield


def leaves(x):
    return [x] if isinstance(x, Tensor) else [leaf for part in x for leaf in leaves(part)]


def replayed(fn, *args, always):
    """The third call of a recorded function, planned with or without the entries; None if it cannot be recorded."""
    forget_programs()
    recorded = dg.jit(fn)
    with taken(always), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            found = recorded(*args)
    assert all("runs eagerly" in str(w.message) for w in caught)
    return None if caught else [leaf.asnumpy() for leaf in leaves(found)]


def assert_same(fn, *args, rtol=1e-11):
    """By entries, by directions, and eagerly. Whether there was anything to compare."""
    ways = [replayed(fn, *args, always=always) for always in (True, False)]
    if ways[0] is None or ways[1] is None:
        assert ways[0] is ways[1]
        return False
    for found, expected in zip(*ways, strict=True):
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(found[~finite], expected[~finite])
        scale = np.abs(expected[finite]).max(initial=0.0)
        np.testing.assert_allclose(found[finite], expected[finite], rtol=rtol, atol=max(rtol * scale, 1e-14))
    return True


def real(case: Case) -> bool:
    """Whether a case is of one array at least that has more than one element."""
    return bool(case.args) and case.args[0].size > 1


CASES = [case for case in all_cases() if real(case)]


class Question(NamedTuple):
    operator: str
    case: Case
    way: str


QUESTIONS = [
    Question(case.operator, case, way)
    for case in CASES
    for way in ("jacfwd", "jacrev", "hessian")
    if case.order > 1 or way != "hessian"
]


@pytest.mark.rotated("question", key="operator")
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: f"{question.way}-{question.case}")
def test_every_operator(question):
    """Jacobians both ways, and the Hessian of a function of the results that is curved everywhere."""
    case = question.case

    def curved(*args):
        return sum(ops.sum(ops.sin(y) * y) for y in leaves(case.fn(*args)))

    derivatives = getattr(dg, question.way)(curved if question.way == "hessian" else case.fn)
    assert_same(derivatives, *[f64(a) for a in case.args])


# ------------------------------------------------------------------------------------------------------------- modes

N = 12
EYE = np.eye(N)


def chain(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def pairs(x):
    """A potential of pairs of points in a plane."""
    p = x.reshape((-1, 2))
    d = p.reshape((-1, 1, 2)) - p.reshape((1, -1, 2))
    inverse = 1 / ((d * d).sum(-1) + f64(EYE[: N // 2, : N // 2]))
    return ((inverse * inverse - inverse) * (1 - f64(EYE[: N // 2, : N // 2]))).sum()


def picked(x):
    """Index arrays, conditions, axes that are turned, put side by side, and repeated."""
    y = x[Tensor([3, 1, 1, 7])] * x[Tensor([2, 2, 5, 0])]
    z = ops.where(x > 0.1, ops.sin(x), x**3).reshape((3, 4)).transpose(1, 0)
    return (ops.concat([y, z[0] * z[1]]) ** 2).sum() + (z.sum(0, keepdims=True) * z).sum() + ops.cumsum(x, 0).sum()


def infinite(x):
    """Slopes that are not finite beside elements that do not move."""
    return ops.sqrt(x * (x > 0)).sum() + (x[1:] * ops.sqrt(x[:-1] * 0)).sum()


def layered(x):
    """A matrix product behind what keeps elements apart."""
    return ops.tanh(ops.matmul(x * x, f64(np.arange(36.0).reshape(12, 3) / 36))).sum() + chain(x)


def cancelling(x):
    """Terms that cancel, with infinite slopes among them: their difference is not a number."""
    y = ops.sqrt(x * (x > 0))
    return ((y - y) * x).sum() + ((3.0 * y - y - 2.0 * y) * x[::-1]).sum() + (x * x - x * x).sum()


def scaled(x):
    """Large and small constants."""
    return ops.sin(x * 1e200).sum() * 1e-200 + ((x * 1e-30 * 0.1 * x) * 1e30).sum() + (x * 0.0 * ops.exp(x)).sum()


class Own(nn.Cell):
    """A rule that is no derivative."""

    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (3.0 * x * dout,)


OWN = Own()


def owned(x):
    return (OWN(x) * ops.sin(x)).sum()


def steered(x):
    """Python reads numbers."""
    return (x * x * x).sum() if x.asnumpy().sum() > 0 else chain(x)


class Weighted(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(f64(np.linspace(0.5, 1.5, N)), name="w")

    def construct(self, x):
        return chain(x * self.w) + (self.w**3).sum()


WEIGHTED = Weighted()
FUNCTIONS = {f.__name__: f for f in (chain, pairs, picked, infinite, cancelling, scaled, layered, owned, steered)} | {
    "cell": WEIGHTED
}
WAYS = {
    "hessian": dg.hessian,
    "forwards": lambda f: dg.jacfwd(lambda x: ops.sin(x) * f(x) + x[::-1] ** 2),
    "backwards": lambda f: dg.jacrev(lambda x: ops.sin(x) * f(x) + x[::-1] ** 2),
    "jacobian of a gradient": lambda f: dg.jacfwd(dg.grad(f)),
    "in a gradient": lambda f: dg.grad(lambda x: (dg.hessian(f)(x) ** 2).sum()),
    "in samples": lambda f: lambda x: dg.vmap(dg.hessian(f))(ops.stack([x, x + 0.5])),
    "in a Hessian": lambda f: dg.hessian(lambda x: ops.trace(dg.hessian(f)(x))),
    "by parts": lambda f: dg.hessian(lambda x, y: f(ops.concat([x, y * x.sum()])), (0, 1)),
    "read as a whole": lambda f: lambda x: ops.matmul(dg.hessian(f)(x), x) * f64(np.r_[np.inf, np.ones(N - 1)]),
}
X = f64(np.random.default_rng(3).normal(size=N))


def arguments(way):
    return (X[:5], X[5:]) if way == "by parts" else (X,)


def numbers_of(fn, *args):
    try:
        return [leaf.asnumpy() for leaf in leaves(fn(*args))]
    except (NotImplementedError, ValueError, TypeError) as error:  # some ways are refused, in any mode
        return str(error)


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_ways_and_modes_agree(name, way):
    fn = WAYS[way](FUNCTIONS[name])
    args = arguments(way)
    with taken(False), computed_at_once():
        expected = numbers_of(fn, *args)
    modes = {}
    with taken(True):
        for mode in ("planned", "deferred", "interpreted"):
            forget_programs()
            with programs_run(mode):
                recorded = dg.jit(fn)
                modes[f"recorded, {mode}"] = [numbers_of(recorded, *args) for _ in range(3)][-1]
        with programs_run("deferred"):
            modes["eager, deferred"] = [numbers_of(fn, *args) for _ in range(2)][-1]
    for mode, found in modes.items():
        assert isinstance(found, str) == isinstance(expected, str), mode
        for a, b in zip(found, expected, strict=True) if not isinstance(found, str) else ():
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            scale = np.abs(b[np.isfinite(b)]).max(initial=1.0)
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13 * scale, err_msg=mode)


@pytest.mark.parametrize("way", ["by weights", "by both"])
def test_weights(way):
    position = None if way == "by weights" else 0
    fn = dg.hessian(WEIGHTED, position, weights=WEIGHTED.w)
    with taken(False), computed_at_once():
        expected = numbers_of(fn, X)
    with taken(True):
        recorded = dg.jit(fn)
        for _ in range(3):
            found = numbers_of(recorded, X)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13 * np.abs(b).max())


def test_numbers_of_captured_tensors_may_change():
    """A program does not rely on the numbers that a tensor had while it was recorded, zeros least of all."""
    table = Parameter(f64(EYE), name="table")
    recorded = dg.jit(dg.jacfwd(lambda x: (table * x * x).sum(0)))
    with taken(True):
        for value in (EYE, EYE, EYE, np.ones((N, N)), EYE[::-1]):
            table.set_data(f64(value))
            np.testing.assert_allclose(recorded(X).asnumpy(), np.diag(2 * X.asnumpy() * value.sum(0)), atol=1e-15)


def test_arguments_are_checked_where_nothing_reads_them():
    """A step that raises is needed, even if no entry is."""

    def f(x, labels):
        return chain(x) + 0.0 * ops.cross_entropy(x.reshape((4, 3)), labels)

    right, wrong = Tensor(np.array([1, 0, 2, 2])), Tensor(np.array([1, 0, 2, 7]))
    recorded = dg.jit(dg.hessian(f))
    with taken(True):
        for _ in range(3):
            recorded(X, right)
        names = [step["name"] for step in passes(dg.hessian(f), last="entries")(X, right)["entries"].facts["steps"]]
        assert "inspect" in names
        with pytest.raises(ValueError, match="7"):
            recorded(X, wrong)


def test_random_numbers_are_drawn_as_often():
    """A first batch of directions is recorded twice only if nothing was drawn in it."""
    noisy = dg.jacfwd(lambda x: x * x * ops.dropout(ops.ones_like(x), p=0.5))
    x = f64(np.ones(100))
    found = []
    for call in (noisy, dg.jit(noisy)):
        dg.set_seed(5)
        found.append([call(x).asnumpy() for _ in range(4)])
    np.testing.assert_array_equal(found[0], found[1])


# ------------------------------------------------------------------------------------------------------------- choice


def elements(stages):
    """The elements that the operations of a plan compute, those that only move numbers aside."""
    total = 0
    (order, *_) = stages["lower"].facts["orders"]
    for o in order["operations"]:
        size = int(np.prod(order["buffers"][o["out"]]["shape"], dtype=np.int64))
        read = max([int(np.prod(v["shape"], dtype=np.int64)) for v in o["ins"]], default=0)
        total += 64 + {"scatter": size + 5 * read, "gather": 4 * size}.get(o["manner"], max(size, read))
    return total


def pairs_of(n):
    eye = f64(np.eye(n))

    def potential(x):
        d = x.reshape((-1, 1, 3)) - x.reshape((1, -1, 3))
        inverse = 1 / ((d * d).sum(-1) + eye)
        return ((inverse * inverse - inverse) * (1 - eye)).sum()

    return potential


INPUTS = f64(RNG.normal(size=(50, 20)))


def net(x):
    return (ops.tanh(ops.matmul(INPUTS, ops.reshape(x, (20, 3)))) ** 2).sum()


#: functions and sizes, and whether entries are taken
CHOICES = {
    "chain-6": (chain, (6,), False),
    "chain-200": (chain, (200,), True),
    "pairs-4": (pairs_of(4), (4, 3), False),
    "pairs-20": (pairs_of(20), (20, 3), True),
    "pairs-40": (pairs_of(40), (40, 3), True),
    "net": (net, (60,), False),
    "sum of all": (lambda x: ops.exp(x.sum()) * x.sum(), (60,), False),
}


@pytest.mark.parametrize("name", CHOICES)
def test_the_choice_is_the_plan_that_computes_less(name):
    fn, shape, expected = CHOICES[name]
    x = f64(np.random.default_rng(1).normal(size=shape))
    fn = dg.hessian(fn)
    chosen = passes(fn, last="lower")(x)
    assert ("entries" in chosen) == expected
    made = {}
    for always in (True, False):
        with taken(always):
            made[always] = passes(fn, last="lower")(x)
    if elements(made[False]) > entrywise.LEAST:  # below it no way is looked for
        assert elements(chosen) <= 1.25 * min(map(elements, made.values()))
    if expected:
        assert 2 * elements(chosen) < elements(made[False])
