from collections.abc import Callable
from typing import Any, Self, final

from typing_extensions import disjoint_base

from .array import Value
from .values import Level

observers: list[Callable[[dict[str, Any]], object]]

@final
class Slots:
    def __new__(cls, n: int = 0) -> Self: ...

@disjoint_base
class Tape(Level):
    @property
    def exact(self) -> bool: ...
    @property
    def leaf_links(self) -> list[Value | None]: ...
    @property
    def leaf_slots(self) -> list[int]: ...
    @property
    def n_entries(self) -> int: ...
    def __new__(cls, name: str, reverse: bool = True) -> Self: ...
    def report(self) -> dict[str, Any]: ...

@disjoint_base
class Run: ...

@disjoint_base
class SubTape:
    @property
    def name(self) -> str: ...

@disjoint_base
class CustomRule:
    @property
    def name(self) -> str: ...
