"""Rules for programs, after each pass that makes one. See specification.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Stages = dict[str, Any]
Predicate = Callable[[Stages, str], Iterator[str]]


def slots_are_made_before_they_are_read(stages: Stages, name: str) -> Iterator[str]:
    slots = stages[name]["slots"]
    made = {k for k, slot in enumerate(slots) if slot["kind"] != "step"}
    for k, step in enumerate(stages[name]["steps"]):
        for slot in step["ins"]:
            if slot not in made:
                yield f"step {k} ({step['name']}) reads slot {slot}"
        made.add(step["out"])
    for slot in stages[name]["results"]:
        if slot not in made:
            yield f"slot {slot} leaves the program"


def slots_are_made_once(stages: Stages, name: str) -> Iterator[str]:
    slots, made = stages[name]["slots"], set()
    for k, step in enumerate(stages[name]["steps"]):
        out = step["out"]
        if not 0 <= out < len(slots) or slots[out]["kind"] != "step" or out in made:
            yield f"step {k} ({step['name']}) makes slot {out}"
        made.add(out)


def steps_are_needed(stages: Stages, name: str) -> Iterator[str]:
    needed = set(stages[name]["results"]) | {slot for step in stages[name]["steps"] for slot in step["ins"]}
    for k, step in enumerate(stages[name]["steps"]):
        if step["out"] not in needed and step["name"] not in ("draw", "inspect"):
            yield f"step {k} ({step['name']}) makes slot {step['out']}, which no step reads"


def steps_agree_with_shapes(stages: Stages, name: str) -> Iterator[str]:
    slots = stages[name]["slots"]
    for k, step in enumerate(stages[name]["steps"]):
        ins, out = [slots[slot]["shape"] for slot in step["ins"]], slots[step["out"]]["shape"]
        if not _fits(step["name"], step["params"], ins, out):
            yield f"step {k} ({step['name']}) makes {out} from {ins}"


def _fits(name: str, params: Any, ins: Sequence[tuple[int, ...]], out: tuple[int, ...]) -> bool:
    """True if a result has the shape that follows from its operands, for primitives with a short rule."""
    if name in ("add", "sub", "mul", "div", "absorb_mul", "where"):
        return repeated(ins) == out
    if name in ("neg", "exp", "sin", "cos", "tanh", "cast", "identity"):
        return ins[0] == out
    if name == "reshape":
        return math.prod(ins[0]) == math.prod(out)
    if name == "transpose":
        return tuple(ins[0][axis] for axis in params) == out
    if name == "broadcast_to":
        return repeated([ins[0], out]) == out
    if name == "matmul" and len(ins[0]) > 1 and len(ins[1]) > 1:
        return ins[0][-1] == ins[1][-2] and (*(repeated([ins[0][:-2], ins[1][:-2]]) or ()), *_ends(ins)) == out
    return True


def _ends(ins: Sequence[tuple[int, ...]]) -> tuple[int, int]:
    return ins[0][-2], ins[1][-1]


def repeated(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The shape that these shapes broadcast to; None if they do not."""
    n = max(map(len, shapes), default=0)
    found = []
    for axis in range(-n, 0):
        extents = {shape[axis] for shape in shapes if -axis <= len(shape)} - {1}
        if len(extents) > 1:
            return None
        found.append(extents.pop() if extents else 1)
    return tuple(found)


def results_are_those_recorded(stages: Stages, name: str) -> Iterator[str]:
    def forms(part: dict[str, Any]) -> list[tuple[int, tuple[int, ...]]]:
        return [(part["slots"][k]["typenum"], part["slots"][k]["shape"]) for k in part["results"]]

    if forms(stages[name]) != forms(stages["record"]):
        yield f"{forms(stages[name])} leave the program, not {forms(stages['record'])}"


def products_are_not_more(stages: Stages, name: str) -> Iterator[str]:
    now, before = [sum(step["name"] == "matmul" for step in stages[key]["steps"]) for key in (name, "simplify")]
    if now > before:
        yield f"{now} matrix products, where there were {before}"


def products_are_fewer(stages: Stages, name: str) -> Iterator[str]:
    now, before = [sum(step["name"] == "matmul" for step in stages[key]["steps"]) for key in (name, "share")]
    if now >= before:
        yield f"{now} matrix products, where there were {before}"


#: Rules for every program.
PROGRAM: list[tuple[str, Predicate]] = [
    ("every slot is made before it is read", slots_are_made_before_they_are_read),
    ("every slot is made once", slots_are_made_once),
    ("every step is needed", steps_are_needed),
    ("shapes agree with the rules of primitives", steps_agree_with_shapes),
    ("results have the forms recorded", results_are_those_recorded),
]
