"""Draw the layers of the package from its imports: `python docs/layers.py` writes `docs/_static/layers.svg`.

A box is a folder. It stands above all folders that it imports. A line leads to a folder that is imported; a line that
follows from others is left out.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import imports  # noqa: E402

PICTURE = ROOT / "docs" / "_static" / "layers.svg"
WIDTH, HEIGHT, GAP, RISE = 132, 30, 14, 26
COLOURS = {"include": "#e8e1d4", "_engine": "#d4e3f0", "": "#e0edd9"}


def imports_of_folders():
    """The folders that each folder imports."""
    edges = {}
    for name, targets in imports.graph().items():
        folder = imports.layer_of(name)[1]
        edges.setdefault(folder, set()).update(imports.layer_of(target)[1] for target in targets)
    return {folder: targets - {folder} for folder, targets in edges.items()}


def reach_of(edges):
    """For each folder all that it imports, directly or not."""
    reach = {}
    for folder in imports.LAYERS:
        if folder in edges:
            below = edges[folder] & edges.keys()
            reach[folder] = below.union(*(reach.get(t, set()) for t in below))
    return reach


def reduced(edges, reach):
    """The imports that do not follow from others."""
    return {
        folder: {t for t in targets if not any(t in reach.get(other, ()) for other in targets - {t})}
        for folder, targets in edges.items()
    }


def levels_of(edges):
    """Rows of folders, lowest first: each folder stands one row above the highest that it imports."""
    row = {}
    for folder in imports.LAYERS:
        if folder in edges:
            row[folder] = max((row[t] + 1 for t in edges[folder] if t in row), default=0)
    rows = [[] for _ in range(max(row.values()) + 1)]
    for folder, level in row.items():
        rows[level].append(folder)
    return rows


def title_of(folder):
    return {"": "dualgrad", ".": "tensor, parameter, dtype ..."}.get(folder, folder.replace("include.", "include/"))


def places_of(rows, width, height):
    """The left upper corner of each box."""
    places = {}
    for level, folders_of_row in enumerate(rows):
        left = (width - len(folders_of_row) * (WIDTH + GAP) + GAP) / 2
        for k, folder in enumerate(folders_of_row):
            places[folder] = (left + k * (WIDTH + GAP), height - (level + 1) * (HEIGHT + RISE) + RISE / 2)
    return places


def drawing():
    """The picture as SVG text."""
    edges = imports_of_folders()
    rows = levels_of(edges)
    width = max(len(row) for row in rows) * (WIDTH + GAP) + GAP
    height = len(rows) * (HEIGHT + RISE)
    places = places_of(rows, width, height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for folder, targets in reduced(edges, reach_of(edges)).items():
        x, y = places[folder]
        for target in sorted(targets & places.keys()):
            u, v = places[target]
            lines.append(
                f'<line x1="{x + WIDTH / 2:.0f}" y1="{y + HEIGHT:.0f}" x2="{u + WIDTH / 2:.0f}" y2="{v:.0f}" '
                'stroke="#9aa5b1" stroke-width="1"/>'
            )
    for folder, (x, y) in places.items():
        colour = COLOURS.get(folder.split(".")[0], COLOURS[""])
        middle = f'x="{x + WIDTH / 2:.0f}" text-anchor="middle"'
        lines += [
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="5" fill="{colour}"/>',
            f'<text {middle} y="{y + 19:.0f}" font-size="11">{title_of(folder)}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(drawing())
    print(f"wrote {PICTURE.relative_to(ROOT)}")
