"""Programs and plans as plain data, and the recording of a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

from .._engine.compiler.inspection import describe, plan_of
from .._engine.compiler.plan import Plan
from .._engine.compiler.program import Program
from .._engine.trace.cache import Recorded, recorded_call
from .._engine.transforms.calls import CellCall
from .._engine.transforms.gradient import GradientFunction
from .._engine.transforms.transformed import Transformed

__all__ = ["CONSTANT", "HANDLE", "INPUT", "STEP", "Listing", "Recording", "recording_of", "title_of"]

INPUT, HANDLE, CONSTANT, STEP = range(4)  # the source of the array in each slot
CALLS = 6  # after this many calls a function is either replayed or runs eagerly for ever


@dataclass
class Listing:
    """A program: slots, the steps that fill them, outputs and effects."""

    kinds: list[int]
    sources: list[Any]
    typenums: list[int]
    shapes: list[tuple[int, ...]]
    steps: list[tuple[int, Any, tuple[int, ...], int]]
    effects: list[tuple[Any, int]]
    outputs: list[int]

    @classmethod
    def of(cls, program: Program) -> Listing:
        """Copy the data of an engine program."""
        p = program
        lists = (p.kinds, p.sources, p.typenums, p.shapes, p.steps, p.effects, p.outputs)
        return cls(*(list(part) for part in lists))

    @property
    def leaving(self) -> list[int]:
        """Slots of outputs, then of effects."""
        return [*self.outputs, *(slot for _, slot in self.effects)]


@dataclass
class Recording:
    """The recording of a call, or the reason why there is none."""

    name: str
    why: str | None  # the reason why it runs eagerly
    line: tuple[str, int] | None
    program: Program | None
    plan: Plan | None
    inputs: list[Any]
    seconds: tuple[float, float]  # the times of the last recording, including the call, and of planning
    guards: tuple[int, int, int, float] | None  # guards, guards on contents, their bytes, total nanoseconds

    def layout(self) -> dict[str, Any]:
        """Describe the plan as data; makes a plan if the program is interpreted."""
        assert self.program is not None
        return describe(self.plan if self.plan is not None else plan_of(self.program))


def recording_of(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Recording:
    """The recording of a call. Calls the function until there is one."""
    if isinstance(fn, MethodType) and isinstance(fn.__func__, Recorded):
        args = (fn.__self__, *args)
        fn = fn.__func__
    pure = fn._pure if isinstance(fn, CellCall) else isinstance(fn, Recorded) and fn.pure
    while isinstance(fn, Recorded):
        fn = fn.__wrapped__
    call = fn if isinstance(fn, CellCall) and fn._recorded else Recorded(fn, pure)
    found = recorded_call(fn, args, kwargs, pure)
    for _ in range(CALLS):
        if found["eager"] is not None or found["program"] is not None:
            break
        call(*args, **kwargs)
        found = recorded_call(fn, args, kwargs, pure)
    seconds = (found.get("recording", 0.0), found.get("planning", 0.0))
    why = found["eager"]
    if why is None and found["program"] is None:
        why = "its arguments, or where it is called, do not let it be recorded"
    inputs, guards = found.get("inputs", []), found.get("guards")
    return Recording(title_of(fn), why, found["line"], found["program"], found["plan"], inputs, seconds, guards)


def title_of(fn: Any) -> str:
    """The name of a function in texts; a derivative names its function."""
    if isinstance(fn, Transformed):
        fn = fn.fn
    if isinstance(fn, GradientFunction):
        return f"gradient of {title_of(fn.fn)}"
    if isinstance(fn, FunctionType) and fn.__module__ == "dualgrad.transforms.gradient" and fn.__closure__:
        held = dict(zip(fn.__code__.co_freevars, (cell.cell_contents for cell in fn.__closure__), strict=True))
        if "fn" in held and "name" in held:
            return f"{held['name']} of {title_of(held['fn'])}"
    if isinstance(fn, CellCall):
        return type(fn).__name__
    return getattr(fn, "__qualname__", None) or type(fn).__name__
