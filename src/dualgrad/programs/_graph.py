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
    detail: str  # in small letters below the name
    kind: str  # given, operation (result in block memory), kept (result in memory), total, result
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
    """The operations of a plan with its inputs and results, without single numbers."""
    graph = Graph(name)
    made: dict[int, int] = {}  # id of a root -> node

    def add(node: Node, root: int | None) -> int:
        graph.nodes.append(node)
        if root is not None:
            made[root] = len(graph.nodes) - 1
        return len(graph.nodes) - 1

    inner = {op["id"] for region in layout["regions"] for op in region["operations"]}
    read = {root for region in layout["regions"] for op in region["operations"] for root in op["ins"]}
    for root in layout["roots"]:
        if root["source"] in ("input", "handle", "constant") and root["id"] in read and root["shape"] != ():
            label = getattr(root["which"], "name", None) if root["source"] == "handle" else None
            label = label or (f"input {root['which']}" if root["source"] == "input" else root["source"])
            add(Node(label, _typed(root), "given"), root["id"])
    for number, region in enumerate(layout["regions"]):
        if region["generic"] is not None:
            graph.regions.append(f"region {number}: as a whole")
        elif region["rows"] is None:
            graph.regions.append(f"region {number}")
        else:
            graph.regions.append(f"region {number}: {region['n_rows']} rows in blocks of {region['block']}")
        for op in region["operations"]:
            node = add(Node(name_of(op["op"]), _typed(op), _KINDS[op["place"]], number), op["id"])
            graph.edges += [(made[root], node) for root in dict.fromkeys(op["ins"]) if root in made]
    for number, view in enumerate(layout["results"]):
        label = f"result {number}" if number < len(program.outputs) else "effect"
        if view["id"] in made or view["id"] in inner:
            graph.edges.append((made[view["id"]], add(Node(label, _typed(view), "result"), None)))
    return graph


def _typed(thing: dict[str, Any]) -> str:
    return f"{TYPES[thing['typenum']]} {thing['shape']}"
