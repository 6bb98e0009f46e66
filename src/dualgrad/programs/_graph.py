"""A plan as a graph: operations and their operands, in regions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ._listing import Listing
from ._tokens import TYPES, name_of

__all__ = ["Graph", "Node", "graph_of"]


@dataclass
class Node:
    """An input, an operation or a result."""

    name: str
    detail: str  # small text below the name
    kind: str  # given, operation (result in tile memory), kept (result in memory), total, result
    region: int | None = None


@dataclass
class Graph:
    """Nodes by number, edges as pairs of numbers, and the title of each region."""

    title: str
    nodes: list[Node] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    regions: list[str] = field(default_factory=list)


_KINDS = {"block": "operation", "memory": "kept", "total": "total"}


def graph_of(program: Listing, layout: dict[str, Any], name: str) -> Graph:
    """Make the graph of a plan: operations, inputs and results, without single numbers."""
    graph = Graph(name)
    made: dict[int, int] = {}  # id of a buffer -> node

    def add(node: Node, buffer: int | None) -> int:
        graph.nodes.append(node)
        if buffer is not None:
            made[buffer] = len(graph.nodes) - 1
        return len(graph.nodes) - 1

    inner = {op["id"] for region in layout["regions"] for op in region["operations"]}
    read = {buffer for region in layout["regions"] for op in region["operations"] for buffer in op["ins"]}
    for buffer in layout["buffers"]:
        if buffer["source"] in ("input", "handle", "constant") and buffer["id"] in read and buffer["shape"] != ():
            label = getattr(buffer["which"], "name", None) if buffer["source"] == "handle" else None
            label = label or (f"input {buffer['which']}" if buffer["source"] == "input" else buffer["source"])
            add(Node(label, _typed(buffer), "given"), buffer["id"])
    for number, region in enumerate(layout["regions"]):
        if region["generic"] is not None:
            graph.regions.append(f"region {number}: as a whole")
        elif region["rows"] is None:
            graph.regions.append(f"region {number}")
        else:
            graph.regions.append(f"region {number}: {region['n_rows']} rows in blocks of {region['block']}")
        for op in region["operations"]:
            node = add(Node(name_of(op["op"]), _typed(op), _KINDS[op["place"]], number), op["id"])
            graph.edges += [(made[buffer], node) for buffer in dict.fromkeys(op["ins"]) if buffer in made]
    for number, view in enumerate(layout["results"]):
        label = f"result {number}" if number < len(program.outputs) else "effect"
        if view["id"] in made or view["id"] in inner:
            graph.edges.append((made[view["id"]], add(Node(label, _typed(view), "result"), None)))
    return graph


def _typed(thing: dict[str, Any]) -> str:
    return f"{TYPES[thing['typenum']]} {thing['shape']}"
