from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class ByIdentity:
    """A key that is equal to another only if both hold the same object."""

    held: Any
    def __init__(self, held: Any) -> None: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
