"""The specification of the compiler's passes: it holds for random programs, and refuses what has been damaged.

Each predicate is given what the passes have made of a program, once as it is, and once with something wrong in it.
"""

import random

import numpy as np
import pytest
import random_lines
import random_programs
import random_steps
from ways import whole_arrays

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._engine.compiler.passes import check_passes, names_of_passes, stages
from dualgrad.programs import SpecificationError, specified
from dualgrad.programs._listing import recording_of
from dualgrad.programs.specification import SPECIFICATION, violations

pytestmark = pytest.mark.eager("records by itself")

RNG = np.random.default_rng(31)


def table(*shape):
    return Tensor(RNG.normal(size=shape))


def neighbours(x):
    """Rows beside each row, in the gradient added up inside of others."""
    return ops.sum(ops.sin(x[2:]) * x[:-2] + ops.exp(x[1:-1]) * ops.tanh(x[:-2] * x[2:]))


def regions(x):
    """Regions that need each other's sums, and memory between them; a part that no loop of ours does."""
    y = ops.exp(x) * ops.sin(ops.cos(x).mean()) - x * x
    z = ops.sort(y)[0]
    return (z * ops.tanh(y.mean()) + y).mean() * x


def layers(x, *w):
    for a in w:
        x = ops.tanh(ops.matmul(x, a))
    return x


def rolled(x, y):
    """Steps that repeat, beside others."""
    z = y
    for _ in range(200):
        z = ops.sin(z * 1.1) + ops.cos(ops.matmul(x, z)) * 0.1
    return ops.matmul(x, y), ops.reshape(x, (16,)), z * 2.0


#: programs with what the damages need: a function and its arguments
PROGRAMS = {
    "few": (lambda x, y: (ops.matmul(x, y), ops.sin(x) * 2.0, ops.reshape(x, (12,))), table(4, 3), table(3, 4)),
    "numbers": (lambda x: x * x + ops.sin(ops.exp(x)), Tensor(0.5)),
    "sums": (lambda x, y: (ops.matmul(x, y) - ops.matmul(ops.sin(x), y), x * 2.0, ops.reshape(x, (12,))),
             table(4, 3), table(3, 4)),
    "entries": (dg.hessian(lambda x: ops.sum(ops.sin(x[1:]) * ops.exp(x[:-1]))), table(60)),
    "rolled": (rolled, table(4, 4), table(4)),
    "neighbours": (dg.grad(neighbours), table(20_000)),
    "regions": (regions, table(20_000)),
    "joined": (lambda x, t, *w: dg.jvp(lambda x: layers(x, *w), x, t), table(1000, 24), table(1000, 24),
               *(table(24, 24) for _ in range(4))),
    "gradient": (dg.grad(lambda w, x: layers(x, *w).sum()), [table(24, 24) for _ in range(3)], table(3000, 24)),
    "streams": (lambda x: ops.exp(x), table(800_000)),
}  # fmt: skip


def copied(x):
    """Plain data of its own; arrays and tensors in it are shared."""
    if isinstance(x, dict):
        return {key: copied(value) for key, value in x.items()}
    return [copied(value) for value in x] if isinstance(x, list) else x


@pytest.fixture(scope="module")
def made():
    """What the passes make of each program."""
    return {name: stages(recording_of(fn, tuple(args), {}).program) for name, (fn, *args) in PROGRAMS.items()}


# ------------------------------------------------------------------------------------------------------------- damages
# Each of them is given what a pass has made, and what all have, and changes something in the first.


def read_too_early(facts, found):
    facts["steps"][0]["ins"] = (facts["steps"][-1]["out"],)


def make_twice(facts, found):
    facts["steps"].append(dict(facts["steps"][-1]))


def make_in_vain(facts, found):
    facts["slots"].append({"kind": "step", "typenum": 12, "shape": ()})
    facts["steps"].append({"op": 0, "name": "sin", "params": None, "ins": (0,), "out": len(facts["slots"]) - 1})


def another_shape(facts, found):
    for step in facts["steps"]:
        if step["name"] in ("mul", "matmul", "reshape"):
            facts["slots"][step["out"]]["shape"] = (77, 5)


def result_of_another_shape(facts, found):
    facts["slots"][facts["results"][0]]["shape"] = (3, 3, 3)


def more_products(facts, found):
    found["simplify"]["steps"] = [step for step in facts["steps"] if step["name"] != "matmul"]


def as_many_products(facts, found):
    found["share"]["steps"] = facts["steps"]


def view_beyond(facts, found):
    facts["orders"][0]["operations"][0]["ins"][0]["offset"] = 1 << 40


def operations_backwards(facts, found):
    facts["orders"][0]["operations"].reverse()


def operand_of_another_shape(facts, found):
    loop = next(o for o in facts["orders"][0]["operations"] if o["manner"] == "loop")
    loop["ins"][0]["shape"] = (77, 5)


def another_result(facts, found):
    facts["orders"][0]["results"].reverse()


def operation_left_out(facts, found):
    facts["regions"][0]["operations"].pop()


def regions_backwards(facts, found):
    facts["regions"].reverse()


def neither_row_by_row_nor_added(facts, found):
    for making in facts["makings"]:
        making["rows"] = making["added"] = False


def add_up_what_is_read(facts, found):
    for making in facts["makings"]:
        making["added"] = True


def forget_readers(facts, found):
    for making in facts["makings"]:
        making["last"] = 0


def look_far(facts, found):
    facts["makings"][-1]["reach"] = 17


def beside_a_generic_one(facts, found):
    generic = {o["out"] for o in found["lower"]["orders"][0]["operations"] if o["manner"] == "generic"}
    next(r for r in facts["regions"] if generic & set(r["operations"]))["operations"].append(0)


def operations_of_a_region_backwards(facts, found):
    for region in facts["regions"]:
        region["operations"].reverse()


def lose_an_operation(facts, found):
    facts["regions"][-1]["operations"].pop(0)


def lose_a_result(facts, found):
    for region in facts["regions"]:
        region["operations"] = [
            o for o in region["operations"] if not found["partition"]["makings"][o["out"]]["outside"]
        ]


def no_rows_beside(facts, found):
    for margin in facts["margins"]:
        margin["before"] = margin["after"] = 0


def inside_of_too_few_rows(facts, found):
    next(margin for margin in facts["margins"] if margin["within"] >= 0)["start"] = 1 << 30


def inside_of_itself(facts, found):
    k, margin = next((k, margin) for k, margin in enumerate(facts["margins"]) if margin["within"] >= 0)
    facts["margins"][margin["within"]].update(within=k, start=0)


def no_halo(facts, found):
    facts["halos"] = [0 for _ in facts["halos"]]


def another_factor(facts, found):
    out = facts["together"][0][1]
    for region in facts["regions"]:
        for o in region["operations"]:
            if o["out"] == out:
                o["ins"][1]["buffer"] = 0


def too_many_together(facts, found):
    facts["together"][0] *= 5


def in_two_groups(facts, found):
    facts["beside"].append(facts["beside"][0])


def one_place_for_all(facts, found):
    for place in facts["places"]:
        place["offset"] = 0 if place["base"] == 0 else place["offset"]


def no_arena(facts, found):
    facts["arena"] = 0


def no_place(facts, found):
    for place in facts["places"]:
        place["base"] = -1


def one_base_for_two(facts, found):
    facts["memories"][1]["base"] = facts["memories"][0]["base"]


def one_total_for_all(facts, found):
    facts["totals"][0] *= 2


def too_few_bytes_of_totals(facts, found):
    facts["total_bytes"] = [0 for _ in facts["total_bytes"]]


def operand_beyond(facts, found):
    for region in facts["regions"]:
        for instruction in region["instructions"]:
            base, offset, *moves = instruction["args"][0]
            instruction["args"][0] = (base, offset + (1 << 30), *moves)


def unknown_base(facts, found):
    instruction = next(i for region in facts["regions"] for i in region["instructions"])
    instruction["args"][0] = (999, *instruction["args"][0][1:])


def blocks_of_no_rows(facts, found):
    for region in facts["regions"]:
        if region["instructions"]:
            region["workers"] = 0


def memory_for_no_block(facts, found):
    facts["block_bytes"] = facts["total_bytes"] = -1


def stream_beyond(facts, found):
    facts["regions"][0]["streams"].append((3, 1 << 40, 8, 0, 1))


def result_beyond(facts, found):
    facts["results"][0]["offset"] = 1 << 40


#: predicate -> [(program, damage)]
DAMAGES = {
    "slots_are_made_before_they_are_read": [("few", read_too_early)],
    "slots_are_made_once": [("few", make_twice)],
    "steps_are_needed": [("few", make_in_vain)],
    "steps_agree_with_shapes": [("few", another_shape)],
    "results_are_those_recorded": [("few", result_of_another_shape)],
    "products_are_not_more": [("few", more_products)],
    "products_are_fewer": [("sums", as_many_products)],
    "views_stay_inside": [("few", view_beyond)],
    "roots_are_made_before_they_are_read": [("regions", operations_backwards)],
    "operands_repeat_to_the_result": [("few", operand_of_another_shape)],
    "results_have_their_forms": [("few", another_result)],
    "regions_hold_each_operation_once": [("regions", operation_left_out)],
    "regions_come_after_what_they_need": [("regions", regions_backwards)],
    "rows_are_those_of_the_region": [("regions", neither_row_by_row_nor_added)],
    "totals_are_read_later": [("regions", add_up_what_is_read)],
    "readers_are_known": [("regions", forget_readers)],
    "looks_are_near": [("regions", look_far)],
    "generic_operations_are_alone": [("regions", beside_a_generic_one)],
    "operations_come_after_what_they_need": [("regions", operations_of_a_region_backwards)],
    "fusion_loses_no_operation": [("regions", lose_an_operation)],
    "what_others_read_is_made": [("regions", lose_a_result)],
    "margins_are_enough": [("neighbours", no_rows_beside)],
    "results_inside_of_others_fit": [("neighbours", inside_of_too_few_rows), ("neighbours", inside_of_itself)],
    "halos_are_the_widest_margins": [("neighbours", no_halo)],
    "joining_keeps_operations": [("joined", lose_an_operation)],
    "joined_products_share_a_factor": [("joined", another_factor), ("joined", too_many_together)],
    "joined_roots_are_in_one_group": [("joined", in_two_groups)],
    "lives_in_the_arena_are_apart": [("regions", one_place_for_all)],
    "arena_holds_all": [("regions", no_arena)],
    "what_others_read_has_a_place": [("regions", no_place)],
    "bases_are_one_for_each_root": [("regions", one_base_for_two)],
    "totals_are_apart": [("gradient", one_total_for_all), ("gradient", too_few_bytes_of_totals)],
    "operands_lie_inside_of_their_memory": [("regions", operand_beyond), ("joined", unknown_base)],
    "blocks_are_of_rows": [("regions", blocks_of_no_rows)],
    "memory_of_blocks_is_enough": [("regions", memory_for_no_block)],
    "streams_are_in_range": [("streams", stream_beyond)],
    "results_are_in_memory_of_their_own": [("regions", result_beyond)],
}

#: passes that have nothing to do with other programs
OWN = {"entries": "entries", "reroll": "rolled", "factor": "sums", "numbers": "numbers"}

CASES = [
    pytest.param(name, what, predicate, OWN.get(name, program), damage, id=f"{name}-{damage.__name__}")
    for name, rules in SPECIFICATION.items()
    for what, predicate in rules
    for program, damage in DAMAGES[predicate.__name__]
]


def test_each_pass_is_specified():
    assert list(SPECIFICATION) == list(names_of_passes())
    assert all(SPECIFICATION.values())


@pytest.mark.parametrize(("name", "what", "predicate", "program", "damage"), CASES)
def test_what_is_damaged_is_refused(made, name, what, predicate, program, damage):
    found = copied(made[program])
    assert not list(predicate(found, name))
    damage(found[name], found)
    assert list(predicate(found, name))
    assert any(why.startswith(f"{what}: ") for why in violations(name, found))


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_holds(made, name):
    for made_by in list(made[name])[1:]:
        assert violations(made_by, made[name]) == []


def replay(fn, *args):
    recorded = dg.jit(fn)
    for _ in range(3):
        recorded(*args)


@pytest.mark.parametrize("seed", range(24))
def test_it_holds_for_random_programs(seed):
    program = random_programs.drawn(random.Random(seed), (random_steps.SMALL, *random_steps.TABLES))
    fn = program.compiled(random_lines.ENGINE, program.parameters())
    with specified():
        replay(fn, *[Tensor(x) for x in program.points])


def test_what_is_unsound_raises_where_it_is_planned(monkeypatch):
    def never(found, name):
        yield "it never is"

    monkeypatch.setitem(SPECIFICATION, "fuse", [("operations are what they should be", never)])
    with (
        whole_arrays(),
        specified(),
        pytest.raises(SpecificationError, match=r"pass fuse .*\n  operations are what .*: it never is"),
    ):
        replay(lambda x: ops.sin(x) * x, Tensor([1.0, 2.0]))


def test_a_pass_changes_nothing_that_came_before():
    def meddle(name, found):
        if name == "fuse":
            found["partition"]["makings"][0]["last"] = 99  # as if a later pass had written it

    former = check_passes(meddle)
    try:
        with whole_arrays(), pytest.raises(AssertionError, match="what the pass partition has made was changed"):
            replay(lambda x: ops.sin(x) * x, Tensor([1.0, 2.0]))
    finally:
        check_passes(former)
