"""The time of a recorded program by region, and in each region by primitive."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .._engine.compiler.inspection import plan_of, run_timed
from ._drawing import svg_document
from ._fixed import Fixed
from ._instructions import label
from ._listing import Recording, recording_of
from ._tokens import name_of
from ._work import Work, work_of_instruction, work_of_region

__all__ = ["Profile", "Row", "profile"]


@dataclass
class Row:
    """The time and work of a region, or of all its instructions with one name."""

    name: str
    seconds: float
    work: Work
    share: float = 0.0  # of the whole program; in a region, of the sum over its instructions
    count: int = 1  # number of instructions
    parts: list[Row] = field(default_factory=list)

    def cells(self) -> list[str]:
        """The cells of the table row."""
        nanoseconds = 1e9 * self.seconds
        per_element = nanoseconds / self.work.elements if self.work.elements else 0.0
        moved = self.work.read + self.work.written
        return [
            f"{100 * self.share:.1f} %",
            f"{1e6 * self.seconds:.4g}",
            f"{per_element:.3g}",
            f"{self.work.flops / nanoseconds:.2f}" if self.work.flops and nanoseconds else "",
            f"{moved / nanoseconds:.2f}" if moved and nanoseconds else "",
        ]


def profile(fn: Callable[..., Any], *, repeats: int = 5) -> Callable[..., Profile]:
    """Measure the times of the regions and instructions of a recorded program.

    Parameters
    ----------
    fn : callable
        A recorded function (`dualgrad.jit`), any function or Cell, or a gradient function.
    repeats : int, default 5
        The number of runs; for each region the fastest counts.

    Returns
    -------
    callable
        A function of the arguments of `fn` that returns a `Profile`. It prints as a table, and notebooks show a chart.

    Raises
    ------
    TypeError
        If `fn` cannot be called, or `repeats` is not an int.
    ValueError
        If `repeats` is less than 1, or the function runs eagerly and has no program.

    Notes
    -----
    A call that is not recorded yet is made two or three times, with its effects. The timed runs themselves leave no
    effects, but draw their random numbers. Regions are timed as they run, on all their threads. Instructions are timed
    one by one and tile by tile, on one thread and with a clock reading in between. Their sum exceeds the region's time,
    so read only their shares. Elements are counted in the largest operand or result, and bytes if they move between a
    region and memory.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> result = dg.profile(lambda x: ops.exp(ops.sin(x)))(dg.Tensor([1.0, 2.0]))
    >>> [(region.name, sorted(part.name for part in region.parts)) for region in result.regions]
    [('region 0', ['exp', 'sin'])]
    """
    if not callable(fn):
        raise TypeError(f"profile: expected a function or Cell, got {type(fn).__name__}")
    if isinstance(repeats, bool) or not isinstance(repeats, int):
        raise TypeError(f"profile: expected an int for repeats, got {type(repeats).__name__}")
    if repeats < 1:
        raise ValueError(f"profile: got {repeats} repeats; expected 1 or more")

    def call(*args: Any, **kwargs: Any) -> Profile:
        recording = recording_of(fn, args, kwargs)
        if recording.program is None:
            raise ValueError(f"profile: {recording.name} runs eagerly, so it has no program: {recording.why}")
        return Profile(recording.name, _timed(recording, repeats))

    return call


def _timed(recording: Recording, repeats: int) -> list[Row]:
    """One row for each region, from the fastest of several runs."""
    assert recording.program is not None
    plan = recording.plan if recording.plan is not None else plan_of(recording.program)
    runs = [run_timed(plan, recording.inputs) for _ in range(repeats)]
    found = []
    for number, region in enumerate(recording.layout()["regions"]):
        times = [run[number] for run in runs if run is not None]
        row = Row(f"region {number}", min(whole for whole, _ in times), work_of_region(region))
        if region["generic"] is not None:
            row.parts = [Row(name_of(region["generic"]["op"]), row.seconds, row.work, 1.0)]
        else:
            each = [min(column) for column in zip(*(parts for _, parts in times), strict=True)]
            row.count = len(each)
            row.parts = _by_name(region, each)
        found.append(row)
    total = sum(row.seconds for row in found) or 1.0
    for row in found:
        row.share = row.seconds / total
    return found


def _by_name(region: dict[str, Any], seconds: list[float]) -> list[Row]:
    """The instructions of a region by name, the slowest first."""
    rows: dict[str, Row] = {}
    for instruction, time in zip(region["instructions"], seconds, strict=True):
        row = rows.setdefault(label(instruction), Row(label(instruction), 0.0, Work(), count=0))
        row.seconds += time
        row.work += work_of_instruction(region, instruction)
        row.count += 1
    total = sum(seconds) or 1.0
    for row in rows.values():
        row.share = row.seconds / total
    return sorted(rows.values(), key=lambda row: -row.seconds)


class Profile(Fixed):
    """The times of a recorded program; `profile` makes it.

    Attributes
    ----------
    name : str
        The name of the function.
    regions : list
        For each region its `name`, `seconds`, `share` of the whole, `work` (`flops`, `elements`, bytes `read` and
        `written`), and `parts`: the same for its instructions by name, with their `count`.
    seconds : float
        The time of all regions.
    """

    def __init__(self, name: str, regions: list[Row]) -> None:
        if not isinstance(name, str) or not isinstance(regions, list) or not all(isinstance(r, Row) for r in regions):
            raise TypeError(
                f"Profile: expected a name and the times of regions, got {type(name).__name__} and "
                f"{type(regions).__name__}; it is made by dualgrad.profile(fn)(*args)"
            )
        self.name = name
        self.regions = regions
        self.seconds = sum(row.seconds for row in regions)

    def __str__(self) -> str:
        head = ["", "share", "us", "ns/element", "GFLOP/s", "GB/s"]
        lines = [head]
        for region in self.regions:
            lines.append([f"{region.name} ({region.count} instructions)", *region.cells()])
            lines += [[f"  {part.count} x {part.name}", *part.cells()] for part in region.parts]
        widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
        text = [
            "  ".join(
                [line[0].ljust(widths[0])] + [cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True)]
            )
            for line in lines
        ]
        regions = "1 region" if len(self.regions) == 1 else f"{len(self.regions)} regions"
        return "\n".join([f"{self.name}: {1e6 * self.seconds:.4g} us in {regions}", *(line.rstrip() for line in text)])

    def __repr__(self) -> str:
        return f"<profile of {self.name}: {1e6 * self.seconds:.1f} us>"

    def svg(self) -> str:
        """A chart of the regions: a bar as long as the time of each, divided among its instructions.

        Returns
        -------
        str
            An SVG document.
        """
        width, bar, left = 760.0, 22.0, 130.0
        longest = max((row.seconds for row in self.regions), default=0.0) or 1.0
        parts = [f'<text x="10" y="22" font-size="14" font-weight="bold">{html.escape(self.name)}, '
                 f"{1e6 * self.seconds:.1f} us</text>"]  # fmt: skip
        colours = _colours(self.regions)
        y = 40.0
        for region in self.regions:
            x, full = left, (width - left - 110) * region.seconds / longest
            parts.append(f'<text x="{left - 8}" y="{y + 15:.1f}" text-anchor="end">{html.escape(region.name)}</text>')
            for part in region.parts:
                w = full * part.share
                parts.append(
                    f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{bar}" fill="{colours[part.name]}">'
                    f"<title>{html.escape(part.name)}: {100 * part.share:.1f} %</title></rect>"
                )
                x += w
            parts.append(f'<text x="{x + 6:.1f}" y="{y + 15:.1f}">{1e6 * region.seconds:.1f} us</text>')
            y += bar + 8
        column = 40.0 + 6.5 * max(map(len, colours), default=0)
        columns = max(1, int((width - 20) // column))
        for k, (name, colour) in enumerate(colours.items()):
            x, line = 20 + column * (k % columns), y + 16 + 18 * (k // columns)
            parts.append(f'<rect x="{x}" y="{line - 9:.1f}" width="10" height="10" fill="{colour}"/>')
            parts.append(f'<text x="{x + 15}" y="{line:.1f}">{html.escape(name)}</text>')
        height = y + 30 + 18 * -(-len(colours) // columns)
        return svg_document(width, height, f"profile of {self.name}", parts)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return f"{self.svg()}<pre>{html.escape(str(self))}</pre>"


def _colours(regions: list[Row]) -> dict[str, str]:
    """A colour for each name, the slowest first; neighbours differ."""
    seconds: dict[str, float] = {}
    for region in regions:
        for part in region.parts:
            seconds[part.name] = seconds.get(part.name, 0.0) + region.seconds * part.share
    names = sorted(seconds, key=lambda name: -seconds[name])
    return {name: f"hsl({(k * 137) % 360}, 55%, {62 if k % 2 else 70}%)" for k, name in enumerate(names)}
