"""The verifier of plans and of steps: what is right passes, and each thing that is wrong is noticed."""

import copy
import warnings

import numpy as np
import pytest
from engine import OPCODES, apply, check_programs, forget_programs
from planned_network import network
from support import assert_close, f64

import dualgrad as dg
from dualgrad.programs import ProgramError, verified, verify
from dualgrad.programs._instructions import KINDS, kind_of
from dualgrad.programs._listing import INPUT, Listing, recording_of
from dualgrad.programs.verify import BLOCK, verify_layout, verify_steps

pytestmark = [pytest.mark.eager("records by itself"), pytest.mark.usefixtures("own_programs")]

SMALLER = 128  # rows of a block in the plan that is verified, so that there are several, the last of them smaller


@pytest.fixture(scope="module")
def recording():
    forget_programs()
    function, arguments = network()
    found = recording_of(function, arguments, {})
    layout = found.layout()
    verify_layout(Listing.of(layout["program"]), layout)
    for region in layout["regions"]:
        if region["rows"]:
            region["block"] = min(SMALLER, region["block"])
    verify_layout(Listing.of(layout["program"]), layout)
    return found, layout


def instructions(layout, kind=None):
    return [i for region in layout["regions"] for i in region["instructions"] if kind in (None, i["kind"])]


def test_every_kind_of_instruction_is_verified(recording):
    kinds = {i["kind"] for i in instructions(recording[1])}
    assert kinds | {"matmul_onto"} == set(KINDS)  # that one is by loops that not all machines have
    assert any(i["once"] for i in instructions(recording[1]))
    region = max((r for r in recording[1]["regions"] if r["rows"]), key=lambda r: len(r["instructions"]))
    assert region["n_rows"] % region["block"]


def moved(instruction, arg, **changes):
    """Change a place of an operand: its base, offset, or step from row to row."""
    place = dict(zip(("base", "offset", "row", "local"), instruction["args"][arg], strict=True))
    for name, change in changes.items():
        place[name] += change
    instruction["args"][arg] = tuple(place.values())


def each_operand(layout):
    """(region, instruction, number of an operand or result) for all that there are."""
    for region in layout["regions"]:
        for instruction in region["instructions"]:
            kind = kind_of(instruction)
            for access in [*kind.reads(instruction, 1), *kind.writes(instruction, 1)]:
                yield region, instruction, access.arg


def corrupted(recording, change):
    """The plan with a change; `change` gets a copy."""
    layout = copy.deepcopy({k: v for k, v in recording[1].items() if k not in ("buffers", "program")})
    layout["program"] = recording[1]["program"]
    layout["buffers"] = [dict(buffer) for buffer in recording[1]["buffers"]]
    change(layout)
    return layout


def rejected(recording, change, locate=True):
    with pytest.raises(ProgramError) as caught:
        verify_layout(Listing.of(recording[1]["program"]), corrupted(recording, change), locate)
    return str(caught.value)


# Scratch memory may lie wherever there is room, and the first of these zeros is written over by what is placed there.
HARMLESS = {("matmul_add", 3), ("zero", 0)}


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("shift", [8, -64])
def test_operands_at_a_wrong_place_are_noticed(recording, shift, every):
    """Every operand and result of every instruction, or each fourth, moved by an element."""
    count = len([*each_operand(recording[1])])
    assert count > 60
    for number in range(shift % every, count, every):

        def change(layout, number=number):
            _, instruction, arg = [*each_operand(layout)][number]
            moved(instruction, arg, offset=shift)

        _, instruction, arg = [*each_operand(recording[1])][number]
        base = instruction["args"][arg][0]
        buffer = next((r for r in recording[1]["buffers"] if r["base"] == base), None)
        if buffer is not None and buffer["source"] == "constant" and shift > 0:
            continue  # among ones, the place does not matter
        if (instruction["kind"], arg) in HARMLESS:
            continue
        rejected(recording, change, locate=False)


def test_rows_left_out_are_noticed(recording):
    """The last block is smaller; an instruction that stops before its end is wrong."""
    region = next(region for region in recording[1]["regions"] if region["rows"])
    for number, instruction in enumerate(region["instructions"]):
        if instruction["once"] or instruction["kind"] == "zero":
            continue

        def change(layout, number=number):
            regions = [region for region in layout["regions"] if region["rows"]]
            regions[0]["instructions"][number]["high"] -= 1

        rejected(recording, change, locate=False)


def test_less_memory_is_noticed(recording):
    for name in ("block_bytes", "total_bytes"):

        def change(layout, name=name):
            region = max(layout["regions"], key=lambda r: r.get(name, 0))
            region[name] //= 2

        assert "touches the bytes" in rejected(recording, change)

    def arena(layout):
        layout["arena"] = 0

    assert "the arena" in rejected(recording, arena)


def test_an_instruction_left_out_is_noticed(recording):
    for number in range(len(instructions(recording[1]))):

        def change(layout, number=number):
            removed = instructions(layout)[number]
            for region in layout["regions"]:
                region["instructions"] = [i for i in region["instructions"] if i is not removed]

        rejected(recording, change, locate=False)


def test_instructions_in_a_wrong_order_are_noticed(recording):
    def change(layout):
        region = max(layout["regions"], key=lambda r: len(r["instructions"]))
        region["instructions"].reverse()

    assert "not ready" in rejected(recording, change)


def test_regions_in_a_wrong_order_are_noticed(recording):
    def change(layout):
        layout["regions"].reverse()

    assert "no instruction" in rejected(recording, change)


def test_another_primitive_or_order_of_operands_is_noticed(recording):
    def other(layout):
        first, *others = (i for i in instructions(layout, "loop") if i["n_in"] == 1)
        first["op"] = next(i["op"] for i in others if i["op"] != first["op"])

    assert "no value of the program" in rejected(recording, other)

    def swapped(layout):
        args = instructions(layout, "select")[0]["args"]
        args[1], args[2] = args[2], args[1]

    rejected(recording, swapped)


def test_what_is_done_once_has_to_be_the_same_for_all_blocks(recording):
    def once(layout):
        region = max(layout["regions"], key=lambda r: len(r["instructions"]))
        region["instructions"][0]["once"] = True

    assert "first block only" in rejected(recording, once)

    def reused(layout):
        """What was copied for the first block is overwritten there before it is read in the next."""
        region = next(r for r in layout["regions"] if any(i["once"] for i in r["instructions"]))
        copied = next(i for i in region["instructions"] if i["once"])
        first = region["instructions"][0]
        kept = copied["args"][1]
        for i in region["instructions"]:
            if i is not copied:
                i["args"] = [kept if place == first["args"][2] else place for place in i["args"]]

    rejected(recording, reused)


def test_a_row_of_another_block_is_noticed(recording):
    """A place per block that is not written in each of them."""

    def change(layout):
        region = max(layout["regions"], key=lambda r: len(r["instructions"]))
        for instruction in region["instructions"]:
            for arg, (base, _, row, _) in enumerate(instruction["args"]):
                if base > BLOCK and row:
                    moved(instruction, arg, row=-8)

    rejected(recording, change)


def test_inputs_are_not_written(recording):
    inputs = [buffer["base"] for buffer in recording[1]["buffers"] if buffer["source"] == "input"]

    def change(layout):
        instruction = instructions(layout, "loop")[0]
        instruction["args"][instruction["n_in"]] = (inputs[0], 0, 160, 0)

    assert "not its own" in rejected(recording, change)


def test_results_and_roots_are_compared(recording):
    def offset(layout):
        layout["results"][1]["offset"] += 8

    assert "touches the bytes" in rejected(recording, offset)

    def shape(layout):
        layout["results"][0]["shape"] = (1,)

    assert "expected ()" in rejected(recording, shape)

    def fewer(layout):
        layout["results"].pop()

    assert "results leave the plan" in rejected(recording, fewer)

    def twice(layout):
        layout["buffers"].append(layout["buffers"][0])

    assert "two buffers" in rejected(recording, twice)


def test_unknown_kinds_are_refused(recording):
    def change(layout):
        instructions(layout)[0]["kind"] = "kind 99"

    with pytest.raises(NotImplementedError, match="kind 99"):
        verify_layout(Listing.of(recording[1]["program"]), corrupted(recording, change))


def broken_steps(recording, change):
    listing = Listing.of(recording[1]["program"])
    change(listing)
    with pytest.raises(ProgramError) as caught:
        verify_steps(listing)
    return str(caught.value)


def test_steps_are_verified(recording):
    listing = Listing.of(recording[1]["program"])
    verify_steps(listing)
    for number, (op, params, operands, result) in enumerate(listing.steps):
        if not operands:
            continue

        def late(p, step=(op, params, (result, *operands[1:]), result), number=number):
            p.steps[number] = step

        assert "not made before" in broken_steps(recording, late)

        def wide(p, result=result):
            p.shapes[result] = (*p.shapes[result], 2)

        assert "is written down" in broken_steps(recording, wide) or "cannot work" in broken_steps(recording, wide)

        def other_type(p, result=result):
            p.typenums[result] = 1

        assert "is written down" in broken_steps(recording, other_type)


def test_what_leaves_a_program_is_verified(recording):
    count = len(recording[1]["program"].kinds)
    assert "no step makes it" in broken_steps(recording, lambda p: p.outputs.append(count))
    assert "effect" in broken_steps(recording, lambda p: p.effects.append((7, p.outputs[0])))
    assert "there already" in broken_steps(recording, lambda p: p.steps.append(p.steps[-1]))

    def numbered(p):
        p.sources[p.kinds.index(INPUT)] = 3

    assert "inputs have the numbers" in broken_steps(recording, numbered)


def test_verify_counts_what_it_has_checked():
    function, arguments = network()
    assert verify(function)(*arguments) > 20
    assert verify(dg.jit(lambda x: x * 2.0))(f64([1.0])) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert verify(lambda x: x if float(x) > 0 else -x)(f64(1.0)) == 0


@pytest.mark.parametrize("first", [0, 1])
def test_rows_picked_of_none_are_verified(first):
    """Picks along the second axis with no rows left, and their gradient, which adds them up in no rows."""
    picked = lambda x: (x[first:, [0, 2, 0]] ** 2).sum()
    assert verify(dg.grad(picked))(f64([[1.0, 2.0, 3.0]])) > 0


def test_programs_of_the_tests_are_verified():
    """The switch in conftest.py is on, and what it calls may raise."""
    former = check_programs(None)
    assert former is not None
    check_programs(former)

    def refuse(program, plan):
        raise ProgramError("refused")

    recorded = dg.jit(lambda x: x * 3.0)
    check_programs(refuse)
    try:
        recorded(f64([1.0]))
        with pytest.raises(ProgramError, match="refused"):
            recorded(f64([1.0]))
    finally:
        check_programs(former)
    with verified():
        assert_close([recorded(f64([1.0])) for _ in range(3)][-1], [3.0])


def test_results_come_from_bytes_in_any_layout():
    """The verifier makes up operands whose bytes do not lie side by side."""
    packed = np.arange(64, dtype=np.uint8)[::2]
    found = apply(OPCODES["unpack"], (np.dtype(np.float64).num, (2,), 8), packed)
    np.testing.assert_array_equal(found.asnumpy(), packed[8:24].copy().view(np.float64))
