"""Random programs under `jit`: planned, interpreted, and executed as they are, they give the same numbers.

Each is recorded in several forms: its value, its gradient, many tangents of its gradient (`vmap` of `jvp` of `grad`),
and many samples of it. Those have an axis that is long enough for a plan to run them block by block; so have programs
of tables, whose inputs have hundreds of rows. A program is replayed at another point, with other weights, than it was
recorded at.

Programs with surroundings read places outside (`random_surroundings`), some of which change between the calls.
"""

import itertools
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from engine import forget_programs, recorded_call
from engine import programs as recorded_programs
from random_forms import FORMS, Form, arguments, judge
from random_lines import Line, Program
from random_programs import programs
from random_steps import TABLES
from random_surroundings import KINDS, Surrounded, other_numbers, surrounded
from random_sweep import EXHAUSTIVE, TALLY, WILD, size_of, sweep
from ways import WAYS, programs_run

import dualgrad as dg
from dualgrad import Tensor

pytestmark = pytest.mark.eager("records by itself")


def compare(program, form, way, size):
    """One form, recorded and then replayed elsewhere; whether it could be recorded."""
    rng = np.random.default_rng(len(program.text))
    places = [arguments(program, form, rng) for _ in range(2)]
    weights = [{n: w + 0.1 * rng.standard_normal(w.shape) for n, w in program.weights.items()} for _ in range(2)]
    expected = [Form(program, form)(*there) for there in zip(places, weights, strict=True)]
    if not all(np.abs(b).max(initial=0.0) < WILD**2 for there in expected for b in there.values()):
        return False  # the samples lie elsewhere than the point whose derivatives are moderate
    forget_programs()
    with programs_run(way):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            recorded = Form(program, form).recorded()
            for call, k in enumerate((0, 0, 1, 0)):
                found = recorded(places[k], weights[k])
                where = f"{form}, {way}, call {call}"
                run = lambda dtype, points, k=k: Form(program, form, dtype)(points, weights[k])
                judge(where, found, expected[k], size, run, places[k])
        state = recorded_programs()[-1]
        forget_programs()
    assert not [w for w in caught if "runs eagerly" not in str(w.message)], caught
    if caught:
        TALLY[f"eager: {str(caught[0].message).split(': ')[1].split(' (')[0]}"] += 1
        return False
    assert state[1], "recorded, but never replayed"
    TALLY[way] += 1
    if re.search(r"region of \d+ rows", state[2]):
        TALLY[f"{form}, by rows"] += 1
    return True


CHANGING = 8  # calls while the surroundings change
STEADY = 3  # after which they are replayed again


def compare_among_changes(around, form, way, size):
    """A form of a program, while what lies around it changes; whether it could be recorded."""
    program = around.program
    rng = np.random.default_rng(len(program.text))
    places = [arguments(program, form, rng) for _ in range(2)]
    weights = [{n: w + 0.1 * rng.standard_normal(w.shape) for n, w in program.weights.items()} for _ in range(2)]
    forget_programs()
    recorded = Form(around, form).recorded()
    numbers = dict(recorded.places.numbers)
    with programs_run(way), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call in range(CHANGING + STEADY):
            if 2 < call < CHANGING and rng.random() < 0.5:
                numbers = other_numbers(numbers, rng)
            k = int(rng.integers(2))
            expected = Form(around, form)(places[k], weights[k], numbers)
            if not all(np.abs(b).max(initial=0.0) < WILD**2 for b in expected.values()):
                return False
            held = [Tensor(x) for x in places[k]]
            recorded.places.put(numbers)
            TALLY["replayed"] += recorded_call(recorded.call.__wrapped__, tuple(held), {})["program"] is not None
            found = recorded(places[k], weights[k], numbers)
            where = f"{around.kinds}, {numbers}, {form}, {way}, call {call}"
            run = lambda dtype, points, k=k, n=numbers: Form(around, form, dtype)(points, weights[k], n)
            judge(where, found, expected, size, run, places[k])
        replayed = recorded_programs()[-1][1]
        forget_programs()
    assert not [w for w in caught if "runs eagerly" not in str(w.message)], caught
    if caught:
        TALLY[f"eager: {str(caught[0].message).split(': ')[1].split(' (')[0]}"] += 1
        return False
    assert replayed, "recorded, but not replayed in the end"
    TALLY[way] += 1
    TALLY.update(set(around.kinds.values()))
    return True


def examine(program, forms):
    """Whether the program could be compared in all forms and ways."""
    try:
        size = size_of(program, 2)
        if not size < WILD:
            return False
        for form, way in itertools.product(forms, WAYS):
            if not compare(program, form, way, size):
                return False
    except NotImplementedError as error:  # a Cell with a bprop under nests that cannot reach its rule; it says so
        if "own.sine" not in program.text or "bprop" not in str(error):
            raise
        return False
    return True


def examine_among_changes(program, forms, every_way):
    """The same for a program among surroundings; in one of the ways, or in every one."""
    try:
        size = size_of(program, 2)
        if not size < WILD:
            return False
        around = surrounded(program, np.random.default_rng(len(program.text)))
        if not around.kinds:
            return False
        for k, (form, way) in enumerate(itertools.product(forms, WAYS)):
            if every_way or k % len(WAYS) == len(program.text) % len(WAYS):
                if not compare_among_changes(around, form, way, size):
                    return False
    except NotImplementedError as error:
        if "own.sine" not in program.text or "bprop" not in str(error):
            raise
        return False
    return True


def sweep_small(examples):
    sweep(examples, programs(), examine, list(FORMS))
    by_rows(examples, "tangents", "samples")


def sweep_tables(examples):
    sweep(examples, programs(sizes=TABLES, most=12), examine, ["value", "gradient", "tangents"])
    by_rows(examples, "value", "gradient", "tangents")


def by_rows(examples, *forms):
    """Enough of the programs have been run block by block."""
    for form in forms:
        assert TALLY[f"{form}, by rows"] >= examples // 12, f"{form}: only {TALLY[f'{form}, by rows']} by rows"


def test_recorded_programs():
    sweep_small(16)


def test_recorded_tables():
    sweep_tables(8)


def test_recorded_programs_among_changes():
    sweep(20, programs(most=12), examine_among_changes, ["value", "gradient"], False)
    assert len(KINDS.keys() & TALLY.keys()) > len(KINDS) // 2


@pytest.mark.exhaustive
def test_many_recorded_programs_among_changes():
    sweep(EXHAUSTIVE // 10, programs(), examine_among_changes, ["value", "gradient", "samples"], True)
    assert KINDS.keys() <= TALLY.keys()


@pytest.mark.exhaustive
def test_many_recorded_programs():
    sweep_small(EXHAUSTIVE // 5)


@pytest.mark.exhaustive
def test_many_recorded_tables():
    sweep_tables(EXHAUSTIVE // 10)


# -------------------------------------------------------------------------------------- the sweep itself is tested


@pytest.mark.parametrize("form", FORMS)
def test_what_a_replay_computes_otherwise_is_found(form, monkeypatch):
    lines = (Line(("v1",), "own.cube(x0)"), Line((), "return v1"))
    program = Program(lines, (np.ones((70, 2)),), {})
    assert examine(program, [form])
    off = lambda out: tuple(map(off, out)) if isinstance(out, tuple) else out * (1.0 + 1e-9)
    right = dg.jit
    monkeypatch.setattr(dg, "jit", lambda f: right(lambda *xs: off(f(*xs))))
    with pytest.raises(AssertionError, match="instead of"):
        examine(program, [form])


def test_what_a_replay_reads_no_more_is_found(monkeypatch):
    lines = (Line(("v1",), "own.cube(x0)"), Line((), "return v1"))
    line = replace(lines[0], code=KINDS["list"].read.format(e=lines[0].code, s="s0"))
    around = Surrounded(Program((line, lines[1]), (np.ones((70, 2)),), {}), {"s0": "list"})
    assert compare_among_changes(around, "value", "planned", 1.0)
    right = dg.jit
    monkeypatch.setattr(dg, "jit", lambda f: right(f, pure=True))
    with pytest.raises(AssertionError, match="instead of"):
        compare_among_changes(around, "value", "planned", 1.0)
