"""The tools around recorded programs: texts and drawings, times, and a verifier that notices what is wrong."""

import copy
import re
import threading
import warnings
import xml.dom.minidom

import numpy as np
import pytest
from engine import Recorded, check_programs, forget_programs, recorded_call
from support import assert_close, f64

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
from dualgrad.programs import ProgramError, functions, interpreted, verified, verify
from dualgrad.programs._instructions import KINDS, kind_of
from dualgrad.programs._listing import HANDLE, INPUT, Listing, recording_of, title_of
from dualgrad.programs._tokens import ITEM
from dualgrad.programs.verify import BLOCK, verify_layout, verify_steps

pytestmark = [pytest.mark.eager("records by itself"), pytest.mark.usefixtures("own_programs")]

ROWS = 300
SMALLER = 128  # rows of a block in the plan that is verified, so that there are several, the last of them smaller


def network():
    """A function whose plan has all kinds of instructions, and its arguments."""
    rng = np.random.default_rng(1)
    w = Parameter(0.1 * rng.normal(size=(20, 20)), name="w")
    b = Parameter(rng.normal(size=20), name="b")

    def loss(x):
        h = ops.tanh(ops.sin(ops.exp(ops.matmul(x, w))) + b)
        h = ops.where(h > 0.1, h, ops.matmul(h, ops.transpose(w, (1, 0))))
        h = ops.cat([h, h[:, ::2]], 1)
        h = h + h[np.arange(ROWS)[::-1].copy()]
        return (h.reshape((-1, 10, 3)).sum(2) ** 2).sum() + ops.argmax(ops.cat([h, h], 1).sum(0)).astype(dg.float64)

    return dg.value_and_grad(loss, None, [w, b]), (Tensor(rng.normal(size=(ROWS, 20))),)


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


# ---------------------------------------------------------------------------------------------------------- verifier


def test_every_kind_of_instruction_is_verified(recording):
    kinds = {i["kind"] for i in instructions(recording[1])}
    assert kinds == set(KINDS)
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


# ------------------------------------------------------------------------------------------------- texts and drawings


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(np.ones((2, 2)), name="w")

    def construct(self, x):
        return ops.tanh(ops.matmul(x, self.w))


def cube(x):
    return (x * x * x).sum()


FUNCTIONS = {
    "cube": cube,
    "jit": dg.jit(cube),
    "grad of cube": dg.grad(cube),
    "grad of grad of cube": dg.grad(dg.grad(cube)),
    "gradient of cube": ops.GradOperation()(cube),
    "Layer": Layer(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_explanations_of_all_sorts_of_functions(name):
    function = FUNCTIONS[name]
    found = dg.explain(function)(f64([[1.0, 2.0], [3.0, 4.0]]))
    title = title_of(function.__wrapped__ if isinstance(function, Recorded) else function)
    assert name == "jit" or title == name
    text = str(found)
    assert re.match(rf"{re.escape(title)}: \d+ steps?, \d+ regions?, \d+ instructions?\n", text)
    for word in ("arguments", "results", "memory", "work", "recorded in", "steps", "return", "region 0"):
        assert word in text
    assert verify(function)(f64([[1.0, 2.0], [3.0, 4.0]])) == sum(r["instructions"] for r in found.regions)


def test_explain_counts_work_and_memory():
    x = Tensor(np.ones((ROWS, 20)))
    w = Parameter(np.ones((20, 20)), name="w")
    found = dg.explain(lambda x: ops.exp(ops.matmul(x, w)))(x)
    assert found.flops == 2 * ROWS * 20 * 20 + ROWS * 20
    assert found.bytes_moved == 8 * (2 * ROWS * 20 + 20 * 20)
    assert found.regions[0]["rows"] == ROWS
    assert found.arena_bytes == 0
    assert found.block_bytes > 0
    text = str(found)
    assert "reads      %1 w float64 (20, 20)" in text
    assert re.search(r"exp +block\+0 -> result 0  \(6 kflop\)", text)


def test_explain_names_effects_and_what_runs_as_a_whole():
    count = Parameter(np.zeros(3), name="count")

    def step(x):
        ops.assign_add(count, x)
        return ops.sort(x)[0]

    text = str(dg.explain(step)(f64([3.0, 1.0, 2.0])))
    assert "changes    count" in text
    assert "in count" in text
    assert "one operation as a whole" in text


def test_functions_that_run_eagerly_say_why():
    def decides(x):
        return x if float(x.sum()) > 0 else -x  # the reason

    with pytest.warns(UserWarning, match="runs eagerly"):
        found = dg.explain(decides)(f64([1.0]))
    assert "Python was given the numbers" in found.why
    assert re.search(
        r"decides runs eagerly: .* \(.*test_programs.py, line \d+\)\n +return x if .*# the reason", str(found)
    )
    assert re.search(r"decides  runs eagerly: Python was given", functions())
    with pytest.raises(ValueError, match="no program to draw"):
        found.svg()
    with pytest.raises(ValueError, match="runs eagerly, so it has no program"):
        dg.profile(decides)(f64([1.0]))
    assert "<pre>" in found._repr_html_()
    assert found._repr_svg_() is None


def test_known_functions_are_listed():
    recorded = dg.jit(cube)
    recorded(f64([1.0]))
    assert "cube  called, but not often enough" in functions()
    recorded(f64([1.0]))
    assert "cube  replayed: 1 program of 3 steps" in functions()


def test_drawings_are_documents_with_every_operation():
    function, arguments = network()
    found = dg.explain(function)(*arguments)
    document = xml.dom.minidom.parseString(found.svg()).documentElement
    width, height = (float(document.getAttribute(name)) for name in ("width", "height"))
    words = [text.firstChild.data for text in document.getElementsByTagName("text")]
    for word in ("w", "b", "input 0", "matmul", "tanh", "result 0"):
        assert word in words
    assert sum(word.startswith("region ") for word in words) == len(found.regions)
    boxes = []
    for box in document.getElementsByTagName("rect"):
        x, y, w, h = (float(box.getAttribute(name) or 0) for name in ("x", "y", "width", "height"))
        assert x >= 0
        assert y >= 0
        assert x + w <= width
        assert y + h <= height
        if h == 34.0:
            boxes.append((x, y, w, h))
    for i, (x, y, w, h) in enumerate(boxes):  # nodes lie apart
        assert not any(x < u + p and u < x + w and y < v + q and v < y + h for u, v, p, q in boxes[:i])
    dot = found.dot()
    assert dot.count("subgraph cluster_") == len(found.regions)
    assert dot.count("label=") == len(boxes) + len(found.regions) + 1
    assert dot.count("{") == dot.count("}")
    assert found._repr_html_().startswith("<svg")


def test_arguments_are_checked():
    for tool in (dg.explain, dg.profile):
        with pytest.raises(TypeError, match=f"{tool.__name__}: expected a function or Cell, got int"):
            tool(3)
    with pytest.raises(TypeError, match="expected an int for repeats, got str"):
        dg.profile(cube, repeats="3")
    with pytest.raises(ValueError, match="got 0 repeats"):
        dg.profile(cube, repeats=0)


# -------------------------------------------------------------------------------------------------------------- times


def test_profiles_have_every_region_and_instruction():
    function, arguments = network()
    before = [a.asnumpy() for a in function(*arguments)[1]]
    found = dg.profile(function, repeats=2)(*arguments)
    explained = dg.explain(function)(*arguments)
    assert [row.name for row in found.regions] == [f"region {k}" for k in range(len(explained.regions))]
    assert [sum(part.count for part in row.parts) for row in found.regions] == [
        region["instructions"] for region in explained.regions
    ]
    assert sum(row.share for row in found.regions) == pytest.approx(1.0)
    assert all(sum(part.share for part in row.parts) == pytest.approx(1.0) for row in found.regions)
    assert found.seconds > 0
    assert sum(row.work.flops for row in found.regions) == explained.flops
    lines = str(found).split("\n")
    assert lines[1].split() == ["share", "us", "ns/element", "GFLOP/s", "GB/s"]
    assert len(lines) == 2 + sum(1 + len(row.parts) for row in found.regions)
    document = xml.dom.minidom.parseString(found._repr_svg_())
    assert "matmul" in [text.firstChild.data for text in document.getElementsByTagName("text")]
    assert "<pre>" in found._repr_html_()
    for a, b in zip(function(*arguments)[1], before, strict=True):  # the timed runs leave the program as it was
        assert_close(a, b)
    recorded = dg.jit(function)
    assert_close([recorded(*arguments) for _ in range(3)][-1][1][0], before[0], rtol=1e-9)


def test_profiles_leave_no_effects():
    w = Parameter(np.zeros(3), name="w")
    step = dg.jit(lambda x: ops.assign_add(w, x))
    for _ in range(3):
        step(f64([1.0, 1.0, 1.0]))
    dg.profile(step)(f64([1.0, 1.0, 1.0]))
    assert w.asnumpy().tolist() == [3.0] * 3


# ---------------------------------------------------------------------------------------------------------- reference


def test_the_reference_executor_is_a_switch():
    function, arguments = network()
    planned = dg.jit(function)
    expected = function(*arguments)
    for _ in range(3):
        planned(*arguments)
    assert recorded_call(function, arguments, {})["plan"] is not None
    with interpreted():
        interpreting = dg.jit(function)
        found = [interpreting(*arguments) for _ in range(3)][-1]
        state = recorded_call(function, arguments, {})
        assert state["program"] is not None
        assert state["plan"] is None
        assert "interpreted step by step" in str(dg.explain(function)(*arguments))
    assert found[0].asnumpy() == expected[0].asnumpy()
    for a, b in zip(found[1], expected[1], strict=True):
        assert (a.asnumpy() == b.asnumpy()).all()


def test_a_thread_that_interprets_leaves_the_others_their_plans():
    """Whatever the order in which threads begin and end to interpret."""
    begun, ended = threading.Event(), threading.Event()

    def interpret():
        with interpreted():
            begun.set()
            ended.wait()

    thread = threading.Thread(target=interpret)
    function, arguments = network()
    thread.start()
    begun.wait()
    with interpreted():
        ended.set()
        thread.join()
    recorded = dg.jit(function)
    for _ in range(3):
        recorded(*arguments)
    assert recorded_call(function, arguments, {})["plan"] is not None


def test_handles_are_found_in_listings():
    function, arguments = network()
    listing = Listing.of(recording_of(function, arguments, {}).program)
    assert {source.name for kind, source in zip(listing.kinds, listing.sources, strict=True) if kind == HANDLE} == {
        "w",
        "b",
    }
    assert all(ITEM[number] for number in listing.typenums)
