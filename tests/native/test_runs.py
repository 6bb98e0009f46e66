"""Which instructions of a region become one function, and what it stores: where places lie decides."""

import pytest
from engine import OPCODES

from dualgrad._engine.primitives.registry import wide_function
from dualgrad._table import ROWS
from dualgrad.native import _runs
from dualgrad.native._expressions import tree_of
from dualgrad.native._numbers import Calls, parts_of
from dualgrad.native._steps import Steps

#: A function that machine code does not call.
FOREIGN = next(r.name for k, r in enumerate(ROWS) if r.arity == 1 and not tree_of(k, 12) and not wide_function(k, 12))
WIDTH = 10
ROW = 8 * WIDTH
BLOCK_ROWS = 16
CELL = ROW * BLOCK_ROWS


def block(offset):
    """A place in the memory of a block."""
    return (1, offset, 0, ROW)


def memory(base, offset=0):
    """A place in an array."""
    return (base, offset, ROW, 0)


def loop(name, *places, **other):
    """An elementwise instruction: operands, then the result."""
    return {
        "kind": "loop", "op": OPCODES[name], "typenum": 12, "fused": None, "n_in": len(places) - 1, "low": 0,
        "args": [*places, *[(0, 0, 0, 0)] * (5 - len(places))], "high": 1000, "before": 0, "after": 0, "once": False,
        "step": [8] * len(places) + [0] * (5 - len(places)), "width": WIDTH, "period": 0, "item": 8, **other,
    }  # fmt: skip


def found(*instructions):
    """(first, how many) of each run, and the places that it stores."""
    runs = [run for run in _runs.runs_of(list(instructions), BLOCK_ROWS) if run is not None]
    return [(run.first, run.count, sorted(place[:2] for place, _ in run.stores)) for run in runs]


X, Y, OUT = memory(3), memory(4), memory(5)
A, B, C = (block(k * CELL) for k in range(3))
CHAIN = [loop("mul", X, Y, A), loop("add", A, X, B), loop("sub", B, A, C), loop("mul", C, B, OUT)]


def test_what_stays_inside_is_not_stored():
    assert found(*CHAIN) == [(0, 4, [(5, 0)])]


def test_what_is_read_later_is_stored():
    assert found(*CHAIN, loop(FOREIGN, B, memory(6))) == [(0, 4, [B[:2], (5, 0)])]
    across = (1, B[1] + ROW, 0, ROW)
    assert found(*CHAIN, loop(FOREIGN, across, memory(6))) == [(0, 4, [B[:2], C[:2], (5, 0)])]


def test_what_is_read_backwards_later_is_stored():
    last = (1, A[1] + CELL - 8, 0, -ROW)
    assert found(*CHAIN, loop(FOREIGN, last, memory(6), step=[-8, 8, 0, 0, 0])) == [(0, 4, [A[:2], (5, 0)])]


def test_what_is_read_at_every_other_place_later_is_stored():
    wide = (1, A[1] - 16 * CELL, 0, 32 * ROW)
    assert found(*CHAIN, loop(FOREIGN, wide, memory(6), step=[256, 8, 0, 0, 0])) == [
        (0, 4, [A[:2], B[:2], C[:2], (5, 0)])
    ]


@pytest.mark.parametrize("kind", ["matmul", "sum_all", "scatter_add", "gather", "sum_rows"])
def test_other_instructions_may_read_all_of_a_block(kind):
    assert found(*CHAIN, loop(FOREIGN, B, OUT, kind=kind)) == [(0, 4, [A[:2], B[:2], C[:2], (5, 0)])]


COPIES = {
    "one of its rows": ({"from": [ROW, 8], "shape": [0, WIDTH], "axes": 1}, B, [B]),
    "numbers of a column": ({"from": [ROW], "shape": [0], "axes": 0}, B, [B]),
    "across two": ({"from": [ROW, 8], "shape": [0, 2 * WIDTH], "axes": 1}, B, [B, C]),
    "backwards": ({"from": [ROW, -8], "shape": [0, WIDTH], "axes": 1}, B, [A, B, C]),
    "rows backwards": ({"from": [-ROW, 8], "shape": [0, WIDTH], "axes": 1}, C, [B, C]),
    "another array": ({"from": [ROW, 8], "shape": [0, WIDTH], "axes": 1}, X, []),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_read_what_they_copy(name):
    how, source, read = COPIES[name]
    copy = loop(FOREIGN, source, memory(6), kind="copy", width=0, **how)
    assert found(*CHAIN, copy) == [(0, 4, [*[place[:2] for place in read], (5, 0)])]


def test_what_is_written_anew_before_it_is_read_is_not_stored():
    later = [loop(FOREIGN, X, B), loop(FOREIGN, B, memory(6))]
    assert found(*CHAIN, *later) == [(0, 4, [(5, 0)])]
    fewer = [loop(FOREIGN, X, B, high=900), loop(FOREIGN, B, memory(6))]  # in some blocks only
    assert found(*CHAIN, *fewer) == [(0, 4, [B[:2], (5, 0)])]


@pytest.mark.parametrize("offset", [8, ROW, CELL - 8, -ROW])
def test_results_that_lie_across_an_operand_end_a_run(offset):
    across = loop("add", B, C, block(A[1] + offset))
    assert found(*CHAIN[:3], across, loop("add", X, Y, OUT))[0][:2] == (0, 3)


def test_results_in_the_place_of_an_operand_do_not():
    assert found(*CHAIN[:3], loop("add", A, C, A), loop("mul", A, A, OUT)) == [(0, 5, [(5, 0)])]


def test_rows_of_one_array_that_are_apart_do_not():
    far = memory(5, 2000 * ROW)
    assert found(*CHAIN, loop("add", X, B, far)) == [(0, 5, [(5, 0), (5, 2000 * ROW)])]
    assert found(*CHAIN, loop("add", X, B, memory(5, ROW)))[0][:2] == (0, 4)


ODD = {
    "another type": {"typenum": 11, "item": 4, "step": [4, 4, 4, 0, 0]},
    "other rows": {"before": 1},
    "fewer rows": {"high": 999},
    "another width": {"width": 5},
    "for the first block": {"once": True},
    "begun again": {"period": 3},
    "strides": {"step": [16, 8, 8, 0, 0]},
    "strides of the result": {"step": [8, 8, 16, 0, 0]},
    "truths": {"item": 1},
    "another kind": {"kind": "select"},
    "a function": {"op": OPCODES["hypot"]},
}


@pytest.mark.parametrize("what", ODD)
def test_what_does_not_fit_ends_a_run(what):
    odd = loop("add", X, Y, memory(7), **ODD[what])
    assert [run[:2] for run in found(*CHAIN, odd, *CHAIN)] == [(0, 4), (5, 4)]


def test_few_instructions_are_no_run():
    assert found(*CHAIN[: _runs.LEAST - 1]) == []


def test_runs_have_a_length_at_most():
    many = [loop("add", A, X, A) for _ in range(_runs.MOST + 10)]
    assert [run[:2] for run in found(*many)] == [(0, _runs.MOST), (_runs.MOST, 10)]
    inside = _runs.MOST_PLACES - 2
    wide = [loop("add", X, A, memory(10 + k)) for k in range(inside + 100)]
    assert [run[:2] for run in found(*wide)] == [(0, inside), (inside, 100)]


def test_places_that_stay_inside_are_no_arguments():
    chain = [loop("add", X, Y, A), *[loop("add", block(k * CELL), X, block((k + 1) * CELL)) for k in range(50)]]
    (run,) = [run for run in _runs.runs_of([*chain, loop("mul", block(50 * CELL), X, OUT)], BLOCK_ROWS) if run]
    assert run.places == [X, Y, OUT]


@pytest.mark.skipif(wide_function(OPCODES["exp"], 12) == 0, reason="this compiler makes no functions of vectors")
@pytest.mark.parametrize("by_address", [False, True])
def test_functions_get_vectors_as_the_compiler_of_the_engine_passes_them(by_address, monkeypatch):
    monkeypatch.setattr(_runs, "wide_by_address", lambda: by_address)
    (run,) = [run for run in _runs.runs_of([*CHAIN, loop("exp", B, A), *CHAIN], BLOCK_ROWS) if run is not None]
    text = "".join([part[1] for part in _runs.functions_of(run, 128) if part is not None])
    assert text.count("@exp_double(ptr %operand)") == (2 if by_address else 0)
    assert text.count("@exp_double(<2 x double> %") == (0 if by_address else 2)


@pytest.mark.skipif(wide_function(OPCODES["exp"], 12) == 0, reason="this compiler makes no functions of vectors")
def test_functions_are_part_of_a_run():
    (run,) = [run for run in _runs.runs_of([*CHAIN, loop("exp", B, A), *CHAIN], BLOCK_ROWS) if run is not None]
    assert run.count == 9
    assert run.functions == {"exp_double": wide_function(OPCODES["exp"], 12)}
    assert [how for _, _, how, _ in run.steps.steps if how[0] == "wide"] == [("wide", "exp_double")]


def test_one_look_finds_the_nan_of_all():
    """Of products in a chain the last one is looked at, and what a choice could hide."""
    steps = Steps()
    x, y = (steps.read(12, k) for k in "xy")
    first = steps.apply(OPCODES["absorb_mul"], 12, (x, y))
    total = steps.apply(OPCODES["add"], 12, (first, x))
    hidden = steps.apply(OPCODES["absorb_mul"], 12, (total, x))
    steps.apply(OPCODES["step"], 12, (hidden,))
    last = steps.apply(OPCODES["absorb_mul"], 12, (first, y))
    assert {value for value in steps.watched() if value is not None} == {hidden, last}


def test_parts_of_a_program_meet_in_memory():
    """A number that a later part reads is stored, others are not."""
    count = 1100
    steps = [(OPCODES["add"], 12, None, [(1, 8 * (k - 1)) if k else (3, 0), (3, 0)], (1, 8 * k)) for k in range(count)]
    steps.append((OPCODES["add"], 12, None, [(1, 0), (1, 8 * (count - 1))], (4, 0)))
    parts = [part for part in parts_of([steps], Calls()) if part is not None]
    stored = [text.count("store double") for _, text in parts]
    assert [name for name, _ in parts] == ["part0", "part1", "part2"]
    assert stored == [2, 1, 1]
