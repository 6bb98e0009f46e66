from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class Program:
    kinds: list[int]
    sources: list[Any]
    typenums: list[int]
    shapes: list[tuple[int, ...]]
    steps: list[tuple[int, Any, tuple[int, ...], int]]
    inputs: list[int]
    effects: list[tuple[Any, int]]
    outputs: list[int]
    def __len__(self) -> int: ...
