"""The text and the drawing of a recorded program: its steps, regions, memory and work."""

from __future__ import annotations

import html
import linecache
from collections.abc import Callable
from typing import Any

from .._engine.trace.cache import known_functions
from ..tensor import Tensor
from ._drawing import dot_of, svg_of
from ._fixed import Fixed
from ._graph import Graph, graph_of
from ._instructions import Instruction, kind_of, label
from ._listing import CONSTANT, HANDLE, INPUT, Listing, Recording, recording_of
from ._tokens import TYPES, name_of
from ._work import work_of_instruction, work_of_region
from .passes import stages_of

__all__ = ["Explanation", "explain", "functions"]

_SHOWN = 8  # most programs of a function in a line of the table


def explain(fn: Callable[..., Any], *, passes: bool = False) -> Callable[..., Explanation]:
    """Explain the program of a function: its steps, regions, memory and work, as text and as a drawing.

    Parameters
    ----------
    fn : callable
        A recorded function (`dualgrad.jit`), any function or Cell, or a gradient function.
    passes : bool, default False
        True adds the result of each compiler pass to the text; `dualgrad.programs.passes` returns it as data.

    Returns
    -------
    callable
        A function of the arguments of `fn` that returns an `Explanation`. It prints as text; notebooks also show its
        drawing.

    Raises
    ------
    TypeError
        If `fn` cannot be called.

    Notes
    -----
    A call that is not recorded yet is made two or three times, with its effects: optimisers take steps, random numbers
    are drawn. If the function cannot be replayed, the text gives the reason, and the line.

    An elementwise function counts as one operation for each element, and a matrix product as two for each product of
    elements. Bytes are counted if they move between a region and memory; data that stay in the cache with a tile are
    free.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> def energy(x):
    ...     return (ops.sin(x) * x).sum()
    >>> print(dg.explain(dg.grad(energy))(dg.Tensor([[1.0, 2.0]], dg.float64)))  # doctest: +ELLIPSIS
    grad of energy: 4 steps, 1 region, 6 instructions
      arguments  %0 float64 (1, 2)
      results    float64 (1, 2)
    ...
    """
    if not callable(fn):
        raise TypeError(f"explain: expected a function or Cell, got {type(fn).__name__}")

    def call(*args: Any, **kwargs: Any) -> Explanation:
        return Explanation(recording_of(fn, args, kwargs), passes)

    return call


def functions() -> str:
    """Return a table of the functions met so far: replayed or eager, and the reasons.

    Calls with one signature may be replayed while calls with another run eagerly; `explain` describes one signature.

    Returns
    -------
    str
        A line for each function that `dualgrad.jit` or Graph mode has met, in order of first call.

    Examples
    --------
    >>> import warnings
    >>> import dualgrad as dg
    >>> from dualgrad.programs import functions
    >>> @dg.jit
    ... def halved(x):
    ...     return x / 2 if float(x) > 1 else x
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     _ = halved(dg.Tensor(4.0))
    >>> print(functions().splitlines()[-1])  # doctest: +ELLIPSIS
    halved  runs eagerly: Python was given the numbers of a tensor that depends on the arguments (..., line ...)
    """
    lines = []
    for name, why, line, steps in known_functions():
        if steps:
            shown = [*map(str, steps[:_SHOWN]), *(["..."] if len(steps) > _SHOWN else [])]
            state = f"replayed: {_count(len(steps), 'program')} of {', '.join(shown)} steps"
            if why is not None:
                state += f"; calls of another kind run eagerly: {why}{_place(line)}"
        elif why is not None:
            state = f"runs eagerly: {why}{_place(line)}"
        else:
            state = "called, but not often enough to be replayed"
        lines.append(f"{name}  {state}")
    return "\n".join(lines)


class Explanation(Fixed):
    """The readable form of a recorded program; `explain` makes it.

    Attributes
    ----------
    name : str
        The name of the function.
    why : str or None
        The reason why it runs eagerly; None if it is replayed.
    flops, bytes_moved, arena_bytes, block_bytes : int
        Arithmetic operations; bytes moved between regions and memory; bytes of memory between regions, and of a tile.
    regions : list of dict
        For each region `rows`, `block` (rows of a tile), `instructions`, `flops`, `read` and `written`.
    """

    def __init__(self, recording: Recording, passes: bool = False) -> None:
        if not isinstance(recording, Recording):
            raise TypeError(
                f"Explanation: expected a recording, got {type(recording).__name__}; it is made by "
                "dualgrad.explain(fn)(*args)"
            )
        self._recording = recording
        self._stages = stages_of(recording.program) if passes and recording.program is not None else {}
        self.name: str = recording.name
        self.why: str | None = recording.why
        self._layout = {} if recording.program is None else recording.layout()
        self.arena_bytes: Any = self._layout.get("arena", 0)
        self.block_bytes: Any = self._layout.get("block_bytes", 0)
        self.regions: list[dict[str, Any]] = [_summary(region) for region in self._layout.get("regions", ())]
        self.flops: int = sum(region["flops"] for region in self.regions)
        self.bytes_moved: int = sum(region["read"] + region["written"] for region in self.regions)
        if recording.program is not None:
            self._steps = Listing.of(self._layout["program"])
            self._names = _names_of(self._steps, self._layout)

    def __str__(self) -> str:
        if self._recording.program is None:
            return self._eager_text()
        lines = [*self._head(), "", *self._step_lines(), "", *self._region_lines()]
        for name, stage in self._stages.items():
            lines += ["", f"after the pass {name}" if name != "record" else "as recorded"]
            lines += [f"  {line}" for line in str(stage).splitlines()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<explanation of {self.name}>"

    def dot(self) -> str:
        """The program as a graph in Graphviz's language, with regions as clusters.

        Returns
        -------
        str
        """
        return dot_of(self._graph())

    def svg(self) -> str:
        """A drawing of the program, with regions as boxes.

        Returns
        -------
        str
            An SVG document.
        """
        return svg_of(self._graph())

    def _repr_svg_(self) -> str | None:
        return None if self._recording.program is None else self.svg()

    def _repr_html_(self) -> str:
        drawing = "" if self._recording.program is None else self.svg()
        return f"{drawing}<pre>{html.escape(str(self))}</pre>"

    def _graph(self) -> Graph:
        if self._recording.program is None:
            raise ValueError(f"{self.name} has no program to draw: it runs eagerly; {self.why}")
        return graph_of(self._steps, self._layout, self.name)

    def _eager_text(self) -> str:
        line = self._recording.line
        text = f"{self.name} runs eagerly: {self.why}{_place(line)}"
        source = "" if line is None else linecache.getline(line[0], line[1]).strip()
        return f"{text}\n    {source}" if source else text

    def _head(self) -> list[str]:
        p, layout = self._steps, self._layout
        instructions = sum(region["instructions"] for region in self.regions)
        recording, planning = self._recording.seconds
        kinds = {kind: [s for s, k in enumerate(p.kinds) if k == kind] for kind in (INPUT, HANDLE, CONSTANT)}
        lines = [
            f"{self.name}: {_count(len(p.steps), 'step')}, {_count(len(self.regions), 'region')}, "
            f"{_count(instructions, 'instruction')}",
            f"  arguments  {', '.join(self._slot(s) for s in kinds[INPUT]) or 'none'}",
        ]
        if kinds[HANDLE]:
            lines.append(f"  reads      {', '.join(self._slot(s) for s in kinds[HANDLE])}")
        lines.append(f"  results    {', '.join(_typed(p, s) for s in p.outputs) or 'none'}")
        if p.effects:
            lines.append(f"  changes    {', '.join(_called(handle) for handle, _ in p.effects)}")
        lines += [
            f"  memory     {_bytes(layout['arena'])} between regions, {_bytes(layout['block_bytes'])} for a block, "
            f"{_bytes(layout['total_bytes'])} of totals",
            f"  work       {_scaled(self.flops)}flop, {_bytes(self.bytes_moved)} moved",
            self._guards_line(),
            f"  recorded in {1e3 * recording:.1f} ms (the call included), planned in {1e3 * planning:.1f} ms",
        ]
        if self._recording.plan is None:
            lines.append("  interpreted step by step; the regions are those it would have")
        return lines

    def _guards_line(self) -> str:
        if self._recording.guards is None or not self._recording.guards[0]:
            return "  guards     none"
        places, contents, nbytes, nanoseconds = self._recording.guards
        return (
            f"  guards     {_count(places, 'place')}, {contents} of them by content ({_bytes(nbytes)}), "
            f"{nanoseconds:.0f} ns for a look at all"
        )

    def _slot(self, slot: int) -> str:
        source = self._steps.sources[slot]
        name = f" {_called(source)}" if self._steps.kinds[slot] == HANDLE else ""
        return f"%{slot}{name} {_typed(self._steps, slot)}"

    def _step_lines(self) -> list[str]:
        p = self._steps
        lines = ["steps"]
        small = {s for s, kind in enumerate(p.kinds) if kind == CONSTANT and p.shapes[s] == ()}
        for s, kind in enumerate(p.kinds):
            if kind == CONSTANT and s not in small:
                lines.append(f"  %{s} = constant {_typed(p, s)}")
        for op, params, operands, result in p.steps:
            shown = [f"{p.sources[s].numpy()[()]:.6g}" if s in small else f"%{s}" for s in operands]
            shown += [] if params is None else [_parameters(params)]
            lines.append(f"  %{result} = {name_of(op)}({', '.join(shown)}) {_typed(p, result)}")
        lines.append(f"  return {', '.join(f'%{s}' for s in p.outputs)}")
        return lines + [f"  leave %{slot} in {_called(handle)}" for handle, slot in p.effects]

    def _region_lines(self) -> list[str]:
        lines = []
        for number, (region, summary) in enumerate(zip(self._layout["regions"], self.regions, strict=True)):
            work = (
                f"{_scaled(summary['flops'])}flop, {_bytes(summary['read'])} read, {_bytes(summary['written'])} written"
            )
            if region["generic"] is not None:
                lines.append(f"region {number}: one operation as a whole, {work}")
                task = region["generic"]
                operands = ", ".join(self._place(view["base"], view["offset"]) for view in task["ins"])
                lines.append(f"  {name_of(task['op'])}({operands}) -> {self._place(task['out']['base'], 0)}")
                continue
            rows = (
                f"{region['n_rows']} rows in blocks of {region['block']}"
                if region["rows"] is not None
                else "everything at once"
            )
            lines.append(f"region {number}: {rows}, {_bytes(region['block_bytes'])} for a block, {work}")
            width = max(len(label(instruction)) for instruction in region["instructions"])
            for place, instruction in enumerate(region["instructions"]):
                lines.append(self._instruction_line(region, place, instruction, width))
        return lines

    def _instruction_line(self, region: dict[str, Any], place: int, instruction: Instruction, width: int) -> str:
        kind = kind_of(instruction)
        reads = [self._place(*instruction["args"][a.arg][:2]) for a in kind.reads(instruction, 1)]
        out = self._place(*instruction["args"][kind.writes(instruction, 1)[-1].arg][:2])
        work = work_of_instruction(region, instruction)
        size = f"{work.elements} elements" if not work.flops else f"{_scaled(work.flops)}flop"
        once = ", first block only" if instruction["once"] else ""
        arrow = "+>" if kind.adds else "->"
        return f"  {place:3} {label(instruction):{width}}  {', '.join(reads)} {arrow} {out}  ({size}{once})"

    def _place(self, base: int, offset: int) -> str:
        name = self._names.get(base, f"base {base}")
        return f"{name}+{offset}" if base < self._layout["first_root"] else name


def _summary(region: dict[str, Any]) -> dict[str, Any]:
    """The line of a region in an explanation."""
    work = work_of_region(region)
    return {
        "rows": region.get("n_rows", 1),
        "block": region.get("block", 1),
        "instructions": max(1, len(region["instructions"])),
        "flops": work.flops,
        "read": work.read,
        "written": work.written,
    }


def _names_of(p: Listing, layout: dict[str, Any]) -> dict[int, str]:
    """The name of each base in the text."""
    slots = {id(source): f"%{s}" for s, source in enumerate(p.sources) if p.kinds[s] in (HANDLE, CONSTANT)}
    slots |= {source: f"%{s}" for s, source in enumerate(p.sources) if p.kinds[s] == INPUT}
    names = {0: "arena", 1: "block", 2: "totals"}
    made = 0
    for buffer in layout["buffers"]:
        if buffer["source"] == "input":
            names[buffer["base"]] = slots.get(buffer["which"], f"input {buffer['which']}")
        elif buffer["source"] == "constant" and buffer["shape"] == ():
            names[buffer["base"]] = f"{buffer['which'].numpy()[()]:.6g}"
        elif buffer["source"] in ("handle", "constant"):
            names[buffer["base"]] = slots.get(id(buffer["which"]), f"constant {buffer['shape']}")
        else:
            names[buffer["base"]] = f"result {made}" if buffer["source"] == "result" else f"array {made}"
            made += 1
    return names


# -------------------------------------------------------------------------------------------------------------- words


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _typed(p: Listing, slot: int) -> str:
    return f"{TYPES[p.typenums[slot]]} {p.shapes[slot]}"


def _called(handle: Any) -> str:
    """The name of a handle, or the number of an argument."""
    if isinstance(handle, int):
        return f"argument {handle}"
    name = getattr(handle, "name", None)
    return str(name) if isinstance(name, str) and name else "a captured tensor" if isinstance(handle, Tensor) else "?"


def _parameters(params: Any) -> str:
    return getattr(params, "__qualname__", None) or str(params)


def _place(line: tuple[str, int] | None) -> str:
    return "" if line is None else f" ({line[0]}, line {line[1]})"


def _scaled(n: float) -> str:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if n >= factor:
            return f"{n / factor:.3g} {prefix}"
    return f"{n:.0f} "


def _bytes(n: float) -> str:
    return f"{_scaled(n)}B"
