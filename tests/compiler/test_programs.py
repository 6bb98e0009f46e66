"""The tools around recorded programs: texts and drawings, times, and the reference that plans are compared with."""

import re
import threading
import xml.dom.minidom

import numpy as np
import pytest
from engine import Recorded, recorded_call
from planned_network import ROWS, network
from support import assert_close, f64
from ways import computed_at_once

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
from dualgrad.programs import functions, interpreted, verify
from dualgrad.programs._listing import HANDLE, Listing, recording_of, title_of
from dualgrad.programs._tokens import ITEM

pytestmark = [pytest.mark.eager("records by itself"), pytest.mark.usefixtures("own_programs")]


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
    assert all(part.seconds > 0 for row in found.regions for part in row.parts)
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
    with computed_at_once():
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
        "narrow",
    }
    assert all(ITEM[number] for number in listing.typenums)


@pytest.mark.parametrize("at", [np.s_[:, 0], np.s_[::-1, 2], np.s_[:2, 1], np.s_[0], np.s_[0, ::2]], ids=str)
def test_constants_seen_through_strides_are_not_taken_for_one_number(at):
    """In memory equal numbers come first, whatever the view of them holds."""

    def f(x):
        return ops.sin(x) * Tensor(np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [3.0, 3.0, 3.0]]))[at]

    recorded, x = dg.jit(f), f64(np.linspace(0.5, 1.0, np.zeros((3, 3))[at].size))
    for _ in range(4):
        np.testing.assert_array_equal(recorded(x).asnumpy(), f(x).asnumpy())
