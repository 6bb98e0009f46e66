from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import final

from typing_extensions import disjoint_base

from ..arrays.array import Value

LEAVING_ALLOWED: ContextVar[bool]

@disjoint_base
class Claim: ...

@disjoint_base
class Level:
    open: bool
    @property
    def name(self) -> str: ...
    @property
    def reverse(self) -> bool: ...
    @property
    def serial(self) -> int: ...

@disjoint_base
class Algebra:
    @property
    def channels(self) -> int: ...
    @property
    def degrees(self) -> tuple[int, ...]: ...
    @property
    def dim(self) -> int: ...
    @property
    def graded(self) -> bool: ...
    @property
    def name(self) -> str: ...
    @property
    def products(self) -> tuple[tuple[int, int, int, float], ...]: ...
    @property
    def sizes(self) -> tuple[int, ...]: ...
    @property
    def top(self) -> int: ...
    def __init__(
        self,
        name: str,
        degrees: Sequence[int],
        products: Iterable[tuple[int, int, int, float]],
        sizes: Sequence[int] | None = None,
        graded: bool = True,
        top: int | None = None,
    ) -> None: ...

@final
class Dual(Value):
    @property
    def coefficients(self) -> tuple[Value | None, ...]: ...

@final
class Node(Value): ...

def open_levels() -> list[Level]: ...
