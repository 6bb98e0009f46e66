"""Drawings of programs as Graphviz source and as SVG, in layers: an operation lies below its operands.

Regions are placed from top to bottom in execution order. Inside a region, the nodes of a layer are ordered by the mean
place of their operands, which keeps edges short.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from ._graph import Graph, Node

__all__ = ["dot_of", "svg_document", "svg_of"]

COLOURS = {"given": "#dbe9f6", "operation": "#ffffff", "kept": "#fdebd0", "total": "#e4dff0", "result": "#dcefdc"}
LETTER, HEIGHT, GAP, MARGIN = 6.2, 34.0, 14.0, 16.0
BETWEEN = 30.0  # distance of layers


def dot_of(graph: Graph) -> str:
    """The graph in Graphviz's language."""
    lines = ["digraph program {", f"  label={_quoted(graph.title)}", "  node [shape=box, style=filled, fontsize=10]"]
    for number, title in enumerate(graph.regions):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(title)}"]
        lines += [f"    {_dot_node(i, node)}" for i, node in enumerate(graph.nodes) if node.region == number]
        lines.append("  }")
    lines += [f"  {_dot_node(i, node)}" for i, node in enumerate(graph.nodes) if node.region is None]
    lines += [f"  n{a} -> n{b}" for a, b in graph.edges]
    return "\n".join([*lines, "}"])


def _dot_node(number: int, node: Node) -> str:
    text = _quoted(f"{node.name}\n{node.detail}")
    return f"n{number} [label={text}, fillcolor={_quoted(COLOURS[node.kind])}]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


# ------------------------------------------------------------------------------------------------------------- layout


def _width(node: Node) -> float:
    return LETTER * max(len(node.name), len(node.detail)) + 16.0


def _layers(members: list[int], before: dict[int, list[int]]) -> list[list[int]]:
    """Divide the members of a box into layers, each below its operands; members come in execution order."""
    depth: dict[int, int] = {}
    for node in members:
        depth[node] = 1 + max((depth[other] for other in before[node] if other in depth), default=-1)
    layers: list[list[int]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for node in members:
        layers[depth[node]].append(node)
    return layers


def _placed(graph: Graph) -> tuple[dict[int, tuple[float, float]], list[tuple[float, float]], float]:
    """The centre of each node, the upper and lower edge of each region's box, and the width of the drawing."""
    before: dict[int, list[int]] = {i: [] for i in range(len(graph.nodes))}
    for a, b in graph.edges:
        before[b].append(a)
    number = {i: node.region for i, node in enumerate(graph.nodes)}
    groups = [[i for i, node in enumerate(graph.nodes) if node.kind == "given"]]
    groups += [[i for i in number if number[i] == region] for region in range(len(graph.regions))]
    groups.append([i for i, node in enumerate(graph.nodes) if node.kind == "result"])
    layered = [_layers(group, before) for group in groups]
    rows = [layer for layers in layered for layer in layers]
    width = max((sum(_width(graph.nodes[i]) + GAP for i in row) for row in rows), default=0.0) + 4 * MARGIN
    width = max(width, *(LETTER * len(title) + 6 * MARGIN for title in [graph.title, *graph.regions]))
    places: dict[int, tuple[float, float]] = {}
    boxes = []
    y = 3 * MARGIN
    for position, layers in enumerate(layered):
        boxed = 0 < position < len(layered) - 1
        top = y
        y += 2 * MARGIN if boxed else 0.0
        for layer in layers:
            layer.sort(key=lambda i: _mean(places[j][0] for j in before[i] if j in places))
            x = (width - sum(_width(graph.nodes[i]) + GAP for i in layer) + GAP) / 2
            for i in layer:
                places[i] = (x + _width(graph.nodes[i]) / 2, y + HEIGHT / 2)
                x += _width(graph.nodes[i]) + GAP
            y += HEIGHT + BETWEEN
        if boxed:
            y -= BETWEEN - MARGIN
            boxes.append((top, y))
            y += MARGIN
    return places, boxes, width


def _mean(numbers: Iterable[float]) -> float:
    found = list(numbers)
    return sum(found) / len(found) if found else 0.0


# ------------------------------------------------------------------------------------------------------------ drawing


def svg_document(width: float, height: float, title: str, parts: list[str]) -> str:
    """Join parts to an SVG document, with a title for screen readers."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" role="img" font-family="sans-serif" font-size="11">',
            f"<title>{html.escape(title)}</title>",
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            *parts,
            "</svg>",
        ]
    )


def svg_of(graph: Graph) -> str:
    """The graph as an SVG document."""
    places, boxes, width = _placed(graph)
    height = max([y for _, y in places.values()] + [lower for _, lower in boxes], default=0.0) + HEIGHT + MARGIN
    parts = [
        f'<text x="{MARGIN}" y="{1.6 * MARGIN}" font-size="14" font-weight="bold">{html.escape(graph.title)}</text>'
    ]
    for (top, bottom), title in zip(boxes, graph.regions, strict=True):
        parts += [
            f'<rect x="{MARGIN / 2}" y="{top:.1f}" width="{width - MARGIN:.1f}" height="{bottom - top:.1f}" rx="6" '
            f'fill="#f7f7f7" stroke="#b0b0b0"/>',
            f'<text x="{MARGIN}" y="{top + MARGIN:.1f}" fill="#555555">{html.escape(title)}</text>',
        ]
    for a, b in graph.edges:
        (x, y), (u, v) = places[a], places[b]
        y, v = y + HEIGHT / 2, v - HEIGHT / 2
        bend = min(40.0, max(10.0, (v - y) / 2))
        parts.append(
            f'<path d="M{x:.1f},{y:.1f} C{x:.1f},{y + bend:.1f} {u:.1f},{v - bend:.1f} {u:.1f},{v:.1f}" fill="none" '
            f'stroke="#777777"/>'
        )
    for i, node in enumerate(graph.nodes):
        (x, y), w = places[i], _width(node)
        radius = 12 if node.kind in ("given", "result") else 3
        parts += [
            f'<rect x="{x - w / 2:.1f}" y="{y - HEIGHT / 2:.1f}" width="{w:.1f}" height="{HEIGHT}" rx="{radius}" '
            f'fill="{COLOURS[node.kind]}" stroke="#444444"/>',
            f'<text x="{x:.1f}" y="{y - 2:.1f}" text-anchor="middle">{html.escape(node.name)}</text>',
            f'<text x="{x:.1f}" y="{y + 11:.1f}" text-anchor="middle" font-size="9" fill="#555555">'
            f"{html.escape(node.detail)}</text>",
        ]
    return svg_document(width, height, f"program of {graph.title}", parts)
