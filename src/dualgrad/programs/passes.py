"""The result of each compiler pass, as text and as plain data."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any

from .._engine.compiler.passes import names_of_passes, stages
from .._html import preformatted
from .._settings import one_of
from ._fixed import Fixed
from ._instructions import FUSED, label
from ._listing import recording_of
from ._tokens import TYPES

__all__ = ["Stage", "passes", "stages_of"]

Facts = dict[str, Any]


def passes(fn: Callable[..., Any], *, last: str | None = None) -> Callable[..., dict[str, Stage]]:
    """Show the result of each compiler pass for a recorded function.

    Parameters
    ----------
    fn : callable
        A recorded function (`dualgrad.jit`), any function or Cell, or a gradient function.
    last : str, optional
        The pass after which to stop: "entries", "reroll", "simplify", "share", "factor", "numbers", "lower",
        "partition", "fuse", "margins", "join", "allocate" or "generate". By default all run.

    Returns
    -------
    callable
        A function of the arguments of `fn` that returns a dict: a `Stage` for each pass by name, in order. The recorded
        program comes first, as "record". A pass without work is left out; a program on single numbers is code after
        "numbers".

    Raises
    ------
    TypeError
        If `fn` cannot be called.
    ValueError
        If `last` does not name a pass, or the function runs eagerly; `dualgrad.explain` gives the reason.

    Notes
    -----
    A call that is not recorded yet is made two or three times, with its effects.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.programs import passes
    >>> made = passes(lambda x: x * x - x, last="fuse")(dg.ops.ones(100))
    >>> list(made)
    ['record', 'simplify', 'share', 'lower', 'partition', 'fuse']
    >>> print(made["fuse"])
    region 0, everything at once
      r2 = mul sub (r0, r0, r0) (100,)
    """
    if not callable(fn):
        raise TypeError(f"passes: expected a function or Cell, got {type(fn).__name__}")
    if not one_of(last, (None, *names_of_passes())):
        raise ValueError(f"passes: there is no pass {last!r}; expected one of {', '.join(names_of_passes())}")

    def call(*args: Any, **kwargs: Any) -> dict[str, Stage]:
        found = recording_of(fn, args, kwargs)
        if found.program is None:
            raise ValueError(f"passes: {found.name} runs eagerly: {found.why}; dualgrad.explain says more")
        return stages_of(found.program, last)

    return call


def stages_of(program: Any, last: str | None = None) -> dict[str, Stage]:
    """Run the compiler on an engine program. Returns the result of each pass."""
    found = stages(program, last)
    return {name: Stage(name, found) for name in found}


class Stage(Fixed):
    """The result of a compiler pass; `passes` makes it. It prints as text.

    Attributes
    ----------
    name : str
        The name of the pass.
    facts : dict
        The result as plain data. Roots (memory seen through strides) are identified by number, operations by the number
        of the buffer that they make.
    """

    def __init__(self, name: str, found: dict[str, Facts]) -> None:
        if not isinstance(found, dict) or name not in found:
            raise TypeError("Stage: expected what a pass has made; it is made by dualgrad.programs.passes(fn)(*args)")
        self.name = name
        self.facts: Facts = found[name]
        self._found = found

    def __str__(self) -> str:
        return "\n".join(_TEXTS[self.name](self._found, self.facts)) or "nothing"

    def __repr__(self) -> str:
        return f"<what the pass {self.name} has made>"

    def _repr_html_(self) -> str:
        return preformatted(f"<b>{html.escape(self.name)}</b>", str(self))


# --------------------------------------------------------------------------------------------------------------- texts


def _program(found: dict[str, Facts], p: Facts) -> list[str]:
    slots = p["slots"]
    lines = []
    for step in p["steps"]:
        slot = slots[step["out"]]
        params = "" if step["params"] is None else f", {getattr(step['params'], '__qualname__', step['params'])}"
        operands = ", ".join(f"%{k}" for k in step["ins"])
        lines.append(f"%{step['out']} = {step['name']}({operands}{params}) {TYPES[slot['typenum']]} {slot['shape']}")
    return [*lines, f"return {', '.join(f'%{k}' for k in p['results'])}"]


def _view(v: Facts) -> str:
    if v["strides"] is None:
        return f"r{v['buffer']} merged to {v['shape']}"
    return f"r{v['buffer']}" + (f"+{v['offset']}" if v["offset"] else "")


def _operation(o: Facts, buffers: Sequence[Facts]) -> str:
    shape = buffers[o["out"]]["shape"]
    what = f"{o['name']} as {o['manner']}"
    if o["manner"] == "loop":
        what = o["name"]
        if isinstance(o["params"], tuple):
            *codes, factor = o["params"]
            what = " ".join([FUSED[k] for k in codes if k >= 0] + ["scale"] * (factor is not None))
    return f"r{o['out']} = {what} ({', '.join(_view(v) for v in o['ins'])}) {shape}"


def _lowered(found: dict[str, Facts], lowered: Facts) -> list[str]:
    lines = []
    for order in lowered["orders"]:
        lines.append(f"axes of length {order['rows']} first" if order["rows"] else "axes as they are")
        for k, buffer in enumerate(order["buffers"]):
            if buffer["source"] is not None:
                lines.append(f"  r{k} = {buffer['source']} {TYPES[buffer['typenum']]} {buffer['shape']}")
        lines += [f"  {_operation(o, order['buffers'])}" for o in order["operations"]]
        lines.append(f"  return {', '.join(_view(v) for v in order['results'])}")
    return lines


def _region(region: Facts) -> str:
    return f"region {region['number']}, " + (
        "everything at once" if region["rows"] is None else f"{region['rows']} rows"
    )


def _partition(found: dict[str, Facts], partition: Facts) -> list[str]:
    lines = []
    for region in partition["regions"]:
        lines.append(_region(region))
        for out in region["operations"]:
            making = partition["makings"][out]
            how = "added up over the rows" if making["added"] else "row by row" if making["rows"] else "as a whole"
            near = f", looks {making['reach']} rows around" if making["reach"] else ""
            where = f", read until region {making['last']}" if making["outside"] else ""
            lines.append(f"  r{out} {how}{near}{where}")
    return lines


def _roots(found: dict[str, Facts]) -> Sequence[Facts]:
    first = found["partition"]["axes_first"]
    return next(order["buffers"] for order in found["lower"]["orders"] if order["rows"] == first)


def _fused(found: dict[str, Facts], fused: Facts) -> list[str]:
    lines = []
    for region in fused["regions"]:
        lines.append(_region(region))
        lines += [f"  {_operation(o, _roots(found))}" for o in region["operations"]]
    return lines


def _margins(found: dict[str, Facts], made: Facts) -> list[str]:
    lines = []
    for k, margin in enumerate(made["margins"]):
        if margin["before"] or margin["after"]:
            lines.append(f"r{k}: {margin['before']} rows before a block, {margin['after']} after it")
        if margin["within"] >= 0:
            lines.append(f"r{k} is made inside of r{margin['within']}, from row {margin['start']} on")
    return lines or ["no rows beside a block, nothing inside of others"]


def _joined(found: dict[str, Facts], made: Facts) -> list[str]:
    together = [f"{', '.join(f'r{out}' for out in group)} as one product" for group in made["together"]]
    return together or ["no products are joined"]


def _allocation(found: dict[str, Facts], made: Facts) -> list[str]:
    lines = [f"{made['arena']} bytes between regions, {sum(made['total_bytes'])} of totals"]
    for k, place in enumerate(made["places"]):
        if place["base"] == 0:
            lines.append(f"  r{k} at arena+{place['offset']}")
    return lines + [f"  r{m['buffer']} is base {m['base']} ({m['kind']})" for m in made["memories"]]


def _code(found: dict[str, Facts], code: Facts) -> list[str]:
    lines = []
    for k, region in enumerate(code["regions"]):
        if region["generic"] is not None:
            lines.append(f"region {k}: one operation as a whole")
            continue
        rows = f"{region['n_rows']} rows in blocks of {region['block']}" if region["rows"] else "everything at once"
        lines.append(f"region {k}: {rows}, {region['block_bytes']} bytes for a block, {len(region['streams'])} streams")
        lines += [f"  {n:3} {label(i)}{', first block only' * i['once']}" for n, i in enumerate(region["instructions"])]
    return lines


_TEXTS: dict[str, Callable[[dict[str, Facts], Facts], list[str]]] = {
    "record": _program,
    "entries": _program,
    "reroll": _program,
    "simplify": _program,
    "share": _program,
    "factor": _program,
    "numbers": _code,
    "lower": _lowered,
    "partition": _partition,
    "fuse": _fused,
    "margins": _margins,
    "join": _joined,
    "allocate": _allocation,
    "generate": _code,
}
