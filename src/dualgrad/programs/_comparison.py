"""Compare two runs of a function: results, errors and numbers, exactly or up to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._engine.compiler.inspection import describe, plan_of
from .._engine.compiler.plan import Plan
from .._engine.compiler.repetitions import Repetition, Reversal
from .._engine.transforms.handles import TensorBase
from .._engine.transforms.pytrees import flat
from ._tokens import TYPES

__all__ = ["ROUNDING", "difference", "in_order", "near", "numbers"]

#: kinds of instructions with the same order of operations as eager execution
IN_ORDER = {"loop", "select", "copy", "zero", "cast", "gather", "scale"}
ROUNDING = 512.0  # units in the last place of an array's largest number, for sums in another order


def in_order(plan: Plan) -> bool:
    """True if a plan, including its loops, runs the operations in the order of eager execution.

    NumPy's complex products round differently depending on the memory of their operands. From its third step on, a
    solver of differential equations runs programs of its own.
    """
    plain = describe(plan)
    regions = plain["regions"]
    kinds = {i["kind"] for region in regions for i in region.get("instructions", ())}
    types = {TYPES[o["typenum"]].kind for region in regions for o in region["operations"]}
    settings = [params for _, params, _, _ in plain["program"].steps]
    loops = [loop for params in settings for loop in _loops(params)]
    if not kinds <= IN_ORDER or "c" in types or any(map(_solves, settings)):
        return False
    return all(in_order(plan_of(loop.body.program)) for loop in loops)


def _loops(params: Any) -> list[Repetition]:
    """The loops in a step of a program."""
    if isinstance(params, Reversal):
        return [params.forward, params.backward]
    return [params] if isinstance(params, Repetition) else []


def _solves(params: Any) -> bool:
    """True if a step of a program is a solver that replays programs of its own."""
    named = params if isinstance(params, tuple) else ()
    return any(isinstance(p, tuple) and getattr(p[-1], "replays_steps", False) for p in named if p)


def numbers(nest: Any) -> Any:
    """Replace the tensors of a pytree by arrays, and objects without numbers by their types."""
    if isinstance(nest, TensorBase):
        return nest._detached()._numpy()
    if isinstance(nest, tuple | list):
        return [type(nest), *(numbers(part) for part in nest)]
    if isinstance(nest, dict):
        return {key: numbers(part) for key, part in nest.items()}
    if isinstance(nest, np.ndarray | bool | int | float | complex | str | bytes) or nest is None:
        return nest
    return [type(nest), *map(numbers, flat(nest))]  # the tensors of other pytrees


def difference(found: Any, expected: Any, rounding: float | None, where: str = "", scale: float = 0.0) -> str | None:
    """Describe the first difference of two pytrees of numbers; None if there is none. See `near`."""
    if isinstance(expected, list | dict):
        if type(found) is not type(expected) or len(found) != len(expected):
            return f"{where or 'the result'} is {found!r} instead of {expected!r}"
        for key in expected if isinstance(expected, dict) else range(len(expected)):
            if isinstance(expected, dict) and key not in found:
                return f"{where or 'the result'} has the keys {list(found)} instead of {list(expected)}"
            inner = difference(found[key], expected[key], rounding, f"{where}[{key!r}]", scale)
            if inner is not None:
                return inner
        return None
    if isinstance(expected, np.ndarray):
        same = isinstance(found, np.ndarray) and (found.dtype, found.shape) == (expected.dtype, expected.shape)
        if same and near(found, expected, rounding, scale):
            return None
    elif found is expected or (type(found) is type(expected) and (found == expected or found != found)):
        return None
    return f"{where or 'the result'} is\n{found!r}\ninstead of\n{expected!r}"


def near(found: np.ndarray, expected: np.ndarray, rounding: float | None, scale: float = 0.0) -> bool:
    """True if two arrays of one type and shape agree to `rounding` units in the last place; None means bit for bit.

    The unit belongs to the largest number, or to `scale` if it is larger.
    """
    if found.tobytes() == expected.tobytes():
        return True
    if expected.dtype.kind not in "fc":
        return False
    parts = expected.real.dtype
    a, b = (np.ascontiguousarray(x).view(parts) for x in (found, expected))
    other = ~(np.isnan(a) & np.isnan(b))
    a, b = a[other], b[other]
    if rounding is None:
        return a.tobytes() == b.tobytes()
    with np.errstate(all="ignore"):
        finite = np.isfinite(b)
        scale = np.abs(b[finite]).max(initial=scale)
        off = np.abs(a[finite] - b[finite]) <= rounding * np.finfo(parts).eps * scale
    return bool(off.all() and np.array_equal(a[~finite], b[~finite]))
