"""Random programs reach every rewrite of the compiler's passes, and have the numbers of eager execution all the same.

    PYTHONPATH=tests python tests/compiler/test_rewrites.py 300

prints how many of so many programs reach each rewrite.
"""

import sys
import warnings
from collections import Counter
from random import Random

import numpy as np
import pytest
from engine import check_programs, forget_programs
from engine import programs as recorded_programs
from random_forms import FORMS, Form, arguments, is_unstable, judge
from random_programs import drawn
from random_steps import NUMBERS, SMALL, TABLES, TALL
from random_sweep import EXHAUSTIVE, TALLY, WILD, leaves, size_of

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.programs import passes, rewrites, specified
from dualgrad.sparse import entrywise, seeds

pytestmark = pytest.mark.eager("records by itself")

QUICK = 200  # programs: each rewrite is done for several of them
SIZES = (SMALL, *3 * (NUMBERS,), *TABLES, *2 * TALL)
ROWS = [70, 1500, 5000]


class Unstable(Exception):
    """Two right ways of computing a program may differ by anything."""


def compare(program, form, narrow, seed, size):
    """The rewrites done for one form, which is compared with eager execution at two places; none where it is wild."""
    rng = np.random.default_rng(seed)
    points = [arguments(program, form, rng, rows=ROWS) for _ in range(2)]
    weights = [{n: w + 0.1 * rng.standard_normal(w.shape) for n, w in program.weights.items()} for _ in range(2)]
    dtype, some = (np.float32 if narrow == "all" else np.float64), {0} if narrow == "first" else ()
    expected = [Form(program, form, dtype, some)(*there) for there in zip(points, weights, strict=True)]
    if not all(np.abs(b).max(initial=0.0) < WILD for there in expected for b in there.values()):
        return Counter()
    forget_programs()
    before = Counter(rewrites())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        recorded = Form(program, form, dtype, some).recorded()
        for k in (0, 0, 1):
            found = recorded(points[k], weights[k])
            run = lambda dtype, points, k=k: Form(program, form, dtype)(points, weights[k])
            try:
                judge(form, found, expected[k], size, run, points[k], dtype)
            except AssertionError:
                if is_unstable(program, form, dtype, points[k], weights[k], found, expected[k]):
                    raise Unstable from None
                raise
    assert not [w for w in caught if "runs eagerly" not in str(w.message)], caught
    assert caught or recorded_programs()[-1][1], "recorded, but never replayed"
    return Counter(rewrites()) - before


def reached(seed):
    """The rewrites done for a random program: its gradient, and another form of it, some of it maybe in float32."""
    r = Random(seed)
    program = drawn(r, SIZES)
    form, narrow = r.choice([form for form in FORMS if form != "gradient"]), r.choice(["", "", "", "first", "all"])
    found = Counter()
    try:
        size = size_of(program, 2)
        if size < WILD:
            for each in ("gradient", form):
                found += compare(program, each, narrow, seed, size)
    except NotImplementedError as error:  # a Cell with a bprop under nests that cannot reach its rule; it says so
        if "own.sine" not in program.text or "bprop" not in str(error):
            raise
    except Unstable:
        TALLY["rejected, too ill-conditioned"] += 1
    except AssertionError as error:
        raise AssertionError(f"program {seed}, {narrow or 'nothing'} in float32: {error}\n{program!r}") from None
    return found


def sweep(numbers):
    """How many of the programs reach each rewrite."""
    TALLY.clear()
    total = Counter(dict.fromkeys(rewrites(), 0))
    for seed in numbers:
        total.update(reached(seed).keys())
    assert TALLY["rejected, too ill-conditioned"] <= 0.01 * len(numbers)
    return total


@pytest.fixture
def _unverified():
    """Plans are not verified too, which takes most of the time; the exhaustive sweep does."""
    former = check_programs(None)
    yield
    check_programs(former)


@pytest.fixture
def _by_entries(monkeypatch):
    """Arrays that are mostly zeros are taken for their entries, however small they are, and whatever that costs."""
    monkeypatch.setattr(entrywise, "LEAST", 0)
    monkeypatch.setattr(entrywise, "GAIN", 0.0)
    monkeypatch.setattr(seeds, "FEW", 0)
    monkeypatch.setattr(seeds, "SPARSE", 1)


@pytest.mark.usefixtures("_unverified", "_by_entries")
def test_random_programs_reach_every_rewrite():
    total = sweep(range(QUICK))
    assert not [name for name, n in total.items() if n == 0]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("_by_entries")
def test_many_random_programs_reach_every_rewrite_often():
    with specified():
        total = sweep(range(QUICK, QUICK + EXHAUSTIVE))
    assert not [name for name, n in total.items() if n < EXHAUSTIVE // 500]


@pytest.mark.parametrize("what", ["value", "order"])
def test_what_a_plan_computes_otherwise_is_found(what, monkeypatch):
    """A wrong number is an error, and rounding does not explain it."""
    off = {"value": lambda out: out * (1.0 + 1e-8), "order": lambda out: out[::-1]}[what]
    right = dg.jit

    def wrong(f):
        return right(lambda *xs: tuple(off(x) if x.ndim and x.shape[0] > 1 else x for x in leaves(f(*xs))))

    monkeypatch.setattr(dg, "jit", wrong)
    with pytest.raises(AssertionError, match="instead of"):
        sweep(range(10))


@pytest.mark.parametrize(
    "shifted",
    [lambda x: 3.0 - x, lambda x: x - 3.0, lambda x: 3.0 + x, lambda x: x + 3.0],
    ids=["3 - x", "x - 3", "3 + x", "x + 3"],
)
def test_products_are_distributed_over_either_operand(shifted):
    """Twice x is there: twice the sum needs no product of its own, wherever the constant stands."""
    made = passes(lambda x: (ops.sin(x * 2.0), ops.cos(shifted(x) * 2.0)))
    before = rewrites()["product_distributed"]
    made(Tensor(np.linspace(-1.0, 1.0, 21)))
    assert rewrites()["product_distributed"] > before


def test_rewrites_are_counted_when_programs_are_planned_and_not_when_they_run():
    recorded = dg.jit(lambda x: x * x + ops.sin(x))
    x = Tensor([1.0, 2.0])
    for _ in range(3):
        recorded(x)
    before = rewrites()
    recorded(x)
    assert rewrites() == before


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else QUICK
    print("\n".join(f"{n:6}  {name}" for name, n in sweep(range(count)).items()))
