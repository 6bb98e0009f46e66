from collections.abc import Callable
from typing import Any, final

from typing_extensions import disjoint_base

from ..arrays.array import Value
from ..values.levels import Level

observers: list[Callable[[dict[str, Any]], object]]

@final
class Slots: ...

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
