"""The table of Cells and Parameters that notebooks show for a Cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dualgrad._html import table

if TYPE_CHECKING:
    from dualgrad.nn.cell import Cell

__all__ = ["cell_html"]

_LONGEST: Final = 100  # rows; a longer table shows both ends
_EDGE: Final = 40
_HEAD: Final = ("name", "class", "shape", "dtype", "trainable", "elements")


def cell_html(net: Cell) -> str:
    """A row for each Cell and each Parameter, in their order, and the sums. A shared Parameter counts once."""
    rows: list[tuple[str, ...]] = []
    seen: set[int] = set()
    total = trained = 0
    for path, cell in net.cells_and_names():
        rows.append((path or "(the whole)", f"{type(cell).__name__}({cell.extend_repr()})", "", "", "", ""))
        for name, p in cell._own_parameters():
            if id(p) in seen:
                continue
            seen.add(id(p))
            total += p.size
            trained += p.size if p.requires_grad else 0
            trainable = "yes" if p.requires_grad else "no"
            where = f"{path}.{name}" if path else name
            rows.append((where, type(p).__name__, str(tuple(p.shape)), str(p.dtype), trainable, f"{p.size:,}"))
    if len(rows) > _LONGEST:
        left_out = f"{len(rows) - 2 * _EDGE} rows are left out"
        rows = [*rows[:_EDGE], ("...", left_out, "", "", "", ""), *rows[-_EDGE:]]
    foot = ("total", f"{len(seen)} Parameters", "", "", f"{trained:,}", f"{total:,}")
    return table(_HEAD, rows, foot)
