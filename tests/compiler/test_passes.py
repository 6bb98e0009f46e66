"""What each pass of the compiler makes: one pass after the other, as text and as plain data."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._engine.compiler.passes import names_of_passes
from dualgrad.programs import Stage, explain, passes

pytestmark = pytest.mark.eager("records by itself")

X = Tensor(np.linspace(-1.0, 1.0, 12_000).reshape(4000, 3))
W = Tensor(np.linspace(-1.0, 1.0, 9).reshape(3, 3))

#: the passes that have nothing to do with the program below: no array is mostly zeros or one number, no steps repeat
NOTHING_TO_DO = ("entries", "reroll", "factor", "numbers")


def loss(x, w):
    """Rows, a shared matrix, neighbours, and a sum that is read again."""
    y = ops.tanh(ops.matmul(x, w)) * 2.0
    z = -ops.sin(y)
    beside = z[1:] - z[:-1]
    return (beside * beside).sum() + (y * y.mean() + y).sum()


def made(last=None):
    return passes(dg.grad(loss), last=last)(X, W)


@pytest.fixture(scope="module")
def stages():
    return made()


#: what the text of each pass says of the program above
TEXTS = {
    "record": "= neg(%",
    "simplify": "= matmul(%0, %1) float64 (4000, 3)",
    "share": "= matmul(%0, %1) float64 (4000, 3)",
    "lower": "= matmul as matmul (r0, r1) (4000, 3)",
    "partition": "added up over the rows, read until region",
    "fuse": "region 0, 4000 rows",
    "margins": "rows before a block",
    "join": "no products are joined",
    "allocate": "bytes between regions",
    "generate": "4000 rows in blocks of",
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_says_what_a_pass_has_made(stages, name):
    assert TEXTS[name] in str(stages[name])
    assert repr(stages[name]) == f"<what the pass {name} has made>"


def test_passes_come_in_their_order(stages):
    assert list(stages) == ["record", *(name for name in names_of_passes() if name not in NOTHING_TO_DO)]


@pytest.mark.parametrize("last", names_of_passes())
def test_passes_can_be_run_up_to_one(stages, last):
    found = made(last)
    wanted = [name for name in names_of_passes()[: names_of_passes().index(last) + 1] if name not in NOTHING_TO_DO]
    assert list(found) == ["record", *wanted]
    for name, stage in found.items():
        assert str(stage) == str(stages[name])


def test_a_program_on_numbers_is_code_at_once():
    found = passes(lambda x: x * x + ops.sin(x))(Tensor(0.5))
    assert list(found) == ["record", "simplify", "share", "numbers"]
    assert str(found["numbers"]).splitlines()[1:] == ["    0 sin", "    1 mul add"]


def test_lowering_keeps_one_result_for_each_operation(stages):
    order = stages["lower"].facts["orders"][0]
    outs = [o["out"] for o in order["operations"]]
    assert len(set(outs)) == len(outs)
    assert {v["buffer"] for o in order["operations"] for v in o["ins"]} <= set(range(len(order["buffers"])))


def test_negations_are_gone_after_simplify(stages):
    names = [step["name"] for step in stages["record"].facts["steps"]]
    assert "neg" in names
    assert "neg" not in [step["name"] for step in stages["simplify"].facts["steps"]]


def test_fusion_makes_fewer_operations(stages):
    before = sum(len(region["operations"]) for region in stages["partition"].facts["regions"])
    assert sum(len(region["operations"]) for region in stages["fuse"].facts["regions"]) < before


def test_memory_of_the_code_is_that_of_the_allocation(stages):
    memories = stages["allocate"].facts["memories"]
    assert [m["base"] for m in memories] == [m["base"] for m in stages["generate"].facts["memories"]][: len(memories)]
    assert stages["generate"].facts["arena"] == stages["allocate"].facts["arena"]


def test_explain_prints_the_passes():
    text = str(explain(dg.grad(loss), passes=True)(X, W))
    for name in names_of_passes():
        assert (f"after the pass {name}\n" in text) == (name not in NOTHING_TO_DO)
    assert "as recorded" in text
    assert "after the pass" not in str(explain(dg.grad(loss))(X, W))


def test_what_cannot_be_compiled_says_why():
    with pytest.raises(TypeError, match="passes: expected a function or Cell, got int"):
        passes(3)
    with pytest.raises(ValueError, match="there is no pass 'parse'; expected one of entries, reroll, simplify"):
        passes(loss, last="parse")
    given = pytest.raises(ValueError, match="runs eagerly: Python was given the numbers")
    with pytest.warns(UserWarning, match="eagerly"), given:
        passes(lambda x: x if float(x.sum()) > 1 else -x)(X)


def test_a_stage_is_for_reading(stages):
    with pytest.raises(AttributeError):
        stages["fuse"].name = "other"
    with pytest.raises(TypeError, match=r"made by dualgrad.programs.passes\(fn\)"):
        Stage("fuse", None)


def test_the_data_of_a_view_tell_which_axes_it_merges():
    stack = Tensor(np.linspace(-1.0, 1.0, 100 * 90 * 6).reshape(100, 90, 6))
    (operation,) = passes(lambda x: ops.sin(ops.reshape(x, (-1, 6))))(stack)["lower"].facts["orders"][0]["operations"]
    (view,) = operation["ins"]
    assert (view["shape"], view["strides"]) == ((9000, 6), (48, 8))
    whole = {"buffer": view["buffer"], "offset": 0, "shape": (100, 90, 6), "strides": (4320, 48, 8), "merges": None}
    assert view["merges"] == whole
