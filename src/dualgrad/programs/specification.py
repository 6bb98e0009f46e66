"""Rules for the result of each compiler pass: a list of (text, predicate) for each pass.

A predicate gets the results of all passes so far, as plain data by the name of the pass (`stages` in the engine's
passes.pyx), and the name of the pass to check. It yields violations in words. The debug build checks all rules whenever
a program is planned; other builds only inside `specified`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._engine.compiler.passes import DEBUG, check_passes
from ._code_rules import ARENA, CODE, FIRST, HALO, inside, nbytes
from ._program_rules import PROGRAM, Predicate, Stages, products_are_fewer, products_are_not_more, repeated

__all__ = ["SPECIFICATION", "SpecificationError", "specified", "violations"]

MOST_JOINED = 4  # most products computed as one
ALIGN = 64  # bytes: the alignment of places
NOWHERE = -1


class SpecificationError(AssertionError):
    """The result of a compiler pass breaks a rule: a fault of dualgrad, never of the function."""


def violations(name: str, stages: Stages) -> list[str]:
    """The violations in the result of a pass; empty if there are none."""
    return [f"{what}: {why}" for what, predicate in SPECIFICATION[name] for why in predicate(stages, name)]


@contextmanager
def specified() -> Iterator[None]:
    """Inside the block, the result of each compiler pass is checked, for every planned program.

    Returns
    -------
    context manager

    Raises
    ------
    SpecificationError
        From the call whose program is planned, if a pass breaks a rule.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> from dualgrad.programs import specified
    >>> with specified():
    ...     recorded = dg.jit(lambda x: ops.exp(x) + x)
    ...     print([recorded(dg.Tensor([0.0])) for _ in range(3)][-1])
    [1.]
    """
    former = check_passes(_check)
    try:
        yield
    finally:
        check_passes(former)


def _check(name: str, stages: Stages) -> None:
    found = violations(name, stages)
    if found:
        raise SpecificationError("\n  ".join([f"the pass {name} has made something unsound", *found]))


# ------------------------------------------------------------------------------------------------------------ lowering


def views_stay_inside(stages: Stages, name: str) -> Iterator[str]:
    for order in stages[name]["orders"]:
        for o in order["operations"]:
            for v in [*o["ins"], *(part[2] for part in _parts(o))]:
                if not inside(v, order["buffers"][v["buffer"]]):
                    yield f"{_called(o)} reads {v}"
        for v in order["results"]:
            if not inside(v, order["buffers"][v["buffer"]]):
                yield f"{v} leaves the program"


def _parts(o: dict[str, Any]) -> list[Any]:
    return [part for part in o["params"] if part is not None] if o["manner"] == "copies" else []


def _called(o: dict[str, Any]) -> str:
    return f"{o['name']} as {o['manner']}, which makes buffer {o['out']},"


def roots_are_made_before_they_are_read(stages: Stages, name: str) -> Iterator[str]:
    for order in stages[name]["orders"]:
        made = {k for k, buffer in enumerate(order["buffers"]) if buffer["source"] is not None}
        for o in order["operations"]:
            for v in o["ins"]:
                if v["buffer"] not in made:
                    yield f"{_called(o)} reads buffer {v['buffer']}"
            if o["out"] in made:
                yield f"{_called(o)} makes what is there"
            made.add(o["out"])


def operands_repeat_to_the_result(stages: Stages, name: str) -> Iterator[str]:
    for order in stages[name]["orders"]:
        for o in order["operations"]:
            shape = order["buffers"][o["out"]]["shape"]
            if (
                o["manner"] in ("loop", "select", "cast", "scale")
                and repeated([v["shape"] for v in o["ins"]] + [shape]) != shape
            ):
                yield f"{_called(o)} has operands of {[v['shape'] for v in o['ins']]} for {shape}"


def results_have_their_forms(stages: Stages, name: str) -> Iterator[str]:
    p = stages["share"]
    expected = [(p["slots"][k]["typenum"], p["slots"][k]["shape"]) for k in p["results"]]
    for order in stages[name]["orders"]:
        found = [(order["buffers"][v["buffer"]]["typenum"], v["shape"]) for v in order["results"]]
        if found != expected:
            yield f"{found} leave the program, not {expected}"


# ----------------------------------------------------------------------------------------------------------- partition


def _order(stages: Stages) -> Any:
    """The operations, with their axes in the chosen order."""
    first = stages["partition"]["axes_first"]
    return next(order for order in stages["lower"]["orders"] if order["rows"] == first)


def _outside(operations: Sequence[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {o["out"]: o for o in operations}


def regions_hold_each_operation_once(stages: Stages, name: str) -> Iterator[str]:
    found = sorted(out for region in stages[name]["regions"] for out in region["operations"])
    expected = sorted(o["out"] for o in _order(stages)["operations"])
    if found != expected:
        yield f"they hold those that make {found}, not {expected}"
    for k, region in enumerate(stages[name]["regions"]):
        wrong = [out for out in region["operations"] if stages[name]["makings"][out]["region"] != region["number"]]
        if region["number"] != k or wrong or not region["operations"]:
            yield f"region {k} has the number {region['number']}, and buffers {wrong} are said to be made elsewhere"


def regions_come_after_what_they_need(stages: Stages, name: str) -> Iterator[str]:
    operations = _outside(_order(stages)["operations"])
    made = set()
    for region in stages[name]["regions"]:
        for out in region["operations"]:
            for v in operations[out]["ins"] if out in operations else ():
                if v["buffer"] in operations and v["buffer"] not in made:
                    yield f"{_called(operations[out])} in region {region['number']} reads buffer {v['buffer']}"
            made.add(out)


def rows_are_those_of_the_region(stages: Stages, name: str) -> Iterator[str]:
    buffers = _order(stages)["buffers"]
    for region in stages[name]["regions"]:
        for out in region["operations"]:
            making = stages[name]["makings"][out]
            if making["rows"] + making["added"] != (region["rows"] is not None):
                yield f"buffer {out} of region {region['number']} is not made as a region of rows, or none, does it"
            elif making["rows"] and not 0 <= region["rows"] - buffers[out]["shape"][0] <= HALO:
                rows = buffers[out]["shape"][0]
                yield f"buffer {out} has {rows} rows, region {region['number']} has {region['rows']}"


def totals_are_read_later(stages: Stages, name: str) -> Iterator[str]:
    operations, makings = _outside(_order(stages)["operations"]), stages[name]["makings"]
    for region in stages[name]["regions"]:
        for out in region["operations"]:
            for v in operations[out]["ins"] if out in operations else ():
                if makings[v["buffer"]]["added"] and makings[v["buffer"]]["region"] == region["number"]:
                    yield f"buffer {v['buffer']} is read in region {region['number']}, which adds it up"


def readers_are_known(stages: Stages, name: str) -> Iterator[str]:
    order, makings, regions = _order(stages), stages[name]["makings"], stages[name]["regions"]
    last = {v["buffer"]: len(regions) for v in order["results"]}
    outside = set(last)
    operations = _outside(order["operations"])
    for region in regions:
        for out in region["operations"]:
            for v in operations[out]["ins"] if out in operations else ():
                last[v["buffer"]] = max(last.get(v["buffer"], -1), region["number"])
                if makings[v["buffer"]]["region"] != region["number"]:
                    outside.add(v["buffer"])
    for k, making in enumerate(makings):
        if making["last"] != last.get(k, -1) or making["outside"] != (k in outside):
            reader = last.get(k, -1)
            yield f"buffer {k} is read last by region {reader}, outside of its own: {k in outside}; not {making}"


def looks_are_near(stages: Stages, name: str) -> Iterator[str]:
    for k, making in enumerate(stages[name]["makings"]):
        if not 0 <= making["reach"] <= HALO:
            yield f"buffer {k} depends on rows {making['reach']} away"


def generic_operations_are_alone(stages: Stages, name: str) -> Iterator[str]:
    generic = {o["out"] for o in _order(stages)["operations"] if o["manner"] == "generic"}
    for region in stages[name]["regions"]:
        if generic & set(region["operations"]) and len(region["operations"]) > 1:
            yield f"region {region['number']} has others beside one"


# -------------------------------------------------------------------------------------------------------------- fusion


def operations_come_after_what_they_need(stages: Stages, name: str) -> Iterator[str]:
    given = {k for k, buffer in enumerate(_order(stages)["buffers"]) if buffer["source"] is not None}
    for region in stages[name]["regions"]:
        for o in region["operations"]:
            for v in o["ins"]:
                if v["buffer"] not in given:
                    yield f"{_called(o)} in region {region['number']} reads buffer {v['buffer']}"
            given.add(o["out"])


def _elementary(o: dict[str, Any]) -> int:
    """The number of operations that are computed as one."""
    if o["manner"] == "scale":
        return len(o["params"])
    if o["manner"] != "loop" or not isinstance(o["params"], tuple):
        return 1
    _, outer, second, factor = o["params"]
    return 1 + (outer >= 0) + (second >= 0) + (factor is not None)


def fusion_loses_no_operation(stages: Stages, name: str) -> Iterator[str]:
    for region, before in zip(stages[name]["regions"], stages["partition"]["regions"], strict=True):
        done = sum(_elementary(o) for o in region["operations"])
        if done != len(before["operations"]):
            yield f"region {region['number']} does {done} operations, not {len(before['operations'])}"
        more = {o["out"] for o in region["operations"]} - set(before["operations"])
        if more or (region["number"], region["rows"]) != (before["number"], before["rows"]):
            yield f"region {region['number']} over {region['rows']} rows makes {more} too"


def what_others_read_is_made(stages: Stages, name: str) -> Iterator[str]:
    for region in stages[name]["regions"]:
        made = {o["out"] for o in region["operations"]}
        for k, making in enumerate(stages["partition"]["makings"]):
            if making["region"] == region["number"] and making["outside"] and k not in made:
                yield f"buffer {k} is no more made in region {region['number']}"


# ------------------------------------------------------------------------------------------------------------- margins


def margins_are_enough(stages: Stages, name: str) -> Iterator[str]:
    margins = stages[name]["margins"]
    for out, buffer, shift in stages[name]["looks"]:
        reader, read = margins[out], margins[buffer]
        if read["before"] < reader["before"] - shift or read["after"] < reader["after"] + shift:
            yield f"buffer {buffer} has {read}, buffer {out} looks at rows {shift} further on and has {reader}"
    for k, margin in enumerate(margins):
        if margin["before"] < 0 or margin["after"] < 0:
            yield f"buffer {k} has {margin}"


def results_inside_of_others_fit(stages: Stages, name: str) -> Iterator[str]:
    buffers, margins, makings = _order(stages)["buffers"], stages[name]["margins"], stages["partition"]["makings"]
    for k, inner in enumerate(margins):
        around, seen = inner["within"], {k}
        if around == NOWHERE:
            continue
        rows = buffers[around]["shape"][0] if around not in seen and buffers[around]["shape"] else 0
        if makings[around]["region"] != makings[k]["region"] or makings[k]["outside"] or makings[around]["outside"]:
            yield f"buffer {k} is made inside of buffer {around}, and one of them is for another region"
        if not 0 <= inner["start"] <= inner["start"] + buffers[k]["shape"][0] <= rows:
            yield f"buffer {k} is made in rows from {inner['start']} on of buffer {around}, which has {rows}"
        while around != NOWHERE and around not in seen:
            seen.add(around)
            around = margins[around]["within"]
        if around != NOWHERE:
            yield f"buffer {k} is made inside of itself"


def halos_are_the_widest_margins(stages: Stages, name: str) -> Iterator[str]:
    for region, halo in zip(stages["fuse"]["regions"], stages[name]["halos"], strict=True):
        margins = [stages[name]["margins"][o["out"]] for o in region["operations"]]
        if halo != max(m["before"] + m["after"] for m in margins):
            yield f"region {region['number']} has a halo of {halo} rows"


# ------------------------------------------------------------------------------------------------------ joined products


def joining_keeps_operations(stages: Stages, name: str) -> Iterator[str]:
    for now, before in zip(stages[name]["regions"], stages["fuse"]["regions"], strict=True):
        if sorted(o["out"] for o in now["operations"]) != sorted(o["out"] for o in before["operations"]):
            yield f"those of region {now['number']} are others"


def joined_products_share_a_factor(stages: Stages, name: str) -> Iterator[str]:
    operations = {o["out"]: o for region in stages[name]["regions"] for o in region["operations"]}
    places = {out: k for k, out in enumerate(operations)}
    for group in stages[name]["together"]:
        products = [operations[out] for out in group]
        if any(o["manner"] != "matmul" or o["ins"][1] != products[0]["ins"][1] for o in products):
            yield f"{group} are no products with the same factor"
        if not 2 <= len(group) <= MOST_JOINED or [places[out] - places[group[0]] for out in group] != [
            *range(len(group))
        ]:
            yield f"{group} are not behind each other, or are too many"
        if {v["buffer"] for o in products for v in o["ins"]} & set(group):
            yield f"one of {group} needs another"


def joined_roots_are_in_one_group(stages: Stages, name: str) -> Iterator[str]:
    seen: set[int] = set()
    for group in stages[name]["beside"]:
        if seen & set(group) or len(set(group)) != len(group):
            yield f"buffers {sorted(seen & set(group)) or group} are in two groups"
        seen |= set(group)


# ---------------------------------------------------------------------------------------------------------- allocation


def _lives(stages: Stages) -> list[tuple[int, int, int, int, int]]:
    """The (buffer, first and last region, first and last byte) of everything in the arena."""
    buffers, makings = _order(stages)["buffers"], stages["partition"]["makings"]
    return [
        (k, makings[k]["region"], makings[k]["last"], place["offset"], place["offset"] + nbytes(buffers[k]))
        for k, place in enumerate(stages["allocate"]["places"])
        if place["base"] == ARENA
    ]


def lives_in_the_arena_are_apart(stages: Stages, name: str) -> Iterator[str]:
    lives = sorted(_lives(stages), key=lambda life: life[1])
    for i, (a, _, last, begin, end) in enumerate(lives):
        for b, first, _, begin2, end2 in lives[i + 1 :]:
            if first > last:
                break
            if begin < end2 and begin2 < end:
                yield f"buffers {a} and {b} are both there in region {first}, at {begin} and {begin2}"


def arena_holds_all(stages: Stages, name: str) -> Iterator[str]:
    for buffer, _, _, begin, end in _lives(stages):
        if begin % ALIGN or begin < 0 or end > stages[name]["arena"]:
            yield f"buffer {buffer} is at {begin} to {end} of {stages[name]['arena']}"


def what_others_read_has_a_place(stages: Stages, name: str) -> Iterator[str]:
    for k, (making, place) in enumerate(zip(stages["partition"]["makings"], stages[name]["places"], strict=True)):
        if making["outside"] and place["base"] < 0:
            yield f"buffer {k} has none"
    for v in _order(stages)["results"]:
        if stages[name]["places"][v["buffer"]]["base"] < FIRST:
            yield f"buffer {v['buffer']} leaves the program, and is no memory of its own"


def bases_are_one_for_each_root(stages: Stages, name: str) -> Iterator[str]:
    memories = stages[name]["memories"]
    if [m["base"] for m in memories] != [*range(FIRST, FIRST + len(memories))]:
        yield f"they are {[m['base'] for m in memories]}"
    found = {m["buffer"]: m["base"] for m in memories}
    for k, place in enumerate(stages[name]["places"]):
        if place["base"] >= FIRST and (found.get(k) != place["base"] or place["offset"] != 0):
            yield f"buffer {k} is at {place}, not at the beginning of base {found.get(k)}"


def totals_are_apart(stages: Stages, name: str) -> Iterator[str]:
    buffers = _order(stages)["buffers"]
    for k, (totals, room) in enumerate(zip(stages[name]["totals"], stages[name]["total_bytes"], strict=True)):
        places = sorted((stages[name]["places"][buffer]["total"], nbytes(buffers[buffer])) for buffer in totals)
        ends = [begin + nbytes for begin, nbytes in places]
        if any(end > begin for end, (begin, _) in zip(ends, places[1:], strict=False)) or max(ends, default=0) > room:
            yield f"those of region {k} are at {places} of {room} bytes"


#: Rules for the result of each pass.
SPECIFICATION: dict[str, list[tuple[str, Predicate]]] = {
    "entries": PROGRAM,
    "reroll": PROGRAM,
    "simplify": PROGRAM,
    "share": [*PROGRAM, ("matrix products are not more", products_are_not_more)],
    "factor": [*PROGRAM, ("matrix products are fewer", products_are_fewer)],
    "numbers": CODE,
    "lower": [
        ("views stay inside of their buffers", views_stay_inside),
        ("every buffer is made once, before it is read", roots_are_made_before_they_are_read),
        ("operands repeat to the shape of the result", operands_repeat_to_the_result),
        ("results have the forms of the program", results_have_their_forms),
    ],
    "partition": [
        ("regions hold each operation once", regions_hold_each_operation_once),
        ("regions come after what they need", regions_come_after_what_they_need),
        ("rows are those of the region", rows_are_those_of_the_region),
        ("what is added up is read later", totals_are_read_later),
        ("the readers of each buffer are known", readers_are_known),
        ("operations look at rows nearby", looks_are_near),
        ("generic operations are alone", generic_operations_are_alone),
    ],
    "fuse": [
        ("operations come after what they need", operations_come_after_what_they_need),
        ("fusion loses no operation", fusion_loses_no_operation),
        ("what others read is still made", what_others_read_is_made),
    ],
    "margins": [
        ("readers have the rows that they look at", margins_are_enough),
        ("results inside of others fit", results_inside_of_others_fit),
        ("the halo is the widest margin", halos_are_the_widest_margins),
    ],
    "join": [
        ("operations come after what they need", operations_come_after_what_they_need),
        ("joining keeps the operations", joining_keeps_operations),
        ("joined products share a factor, and need nothing of each other", joined_products_share_a_factor),
        ("a buffer is in one group", joined_roots_are_in_one_group),
    ],
    "allocate": [
        ("what lives at the same time is apart in the arena", lives_in_the_arena_are_apart),
        ("the arena holds all", arena_holds_all),
        ("what others read has a place", what_others_read_has_a_place),
        ("each buffer with a base has one of its own", bases_are_one_for_each_root),
        ("totals are apart", totals_are_apart),
    ],
    "generate": CODE,
}

if DEBUG:
    check_passes(_check)
