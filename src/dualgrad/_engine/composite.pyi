from typing_extensions import disjoint_base

from .tape import SubTape
from .values import Level

@disjoint_base
class SubGradient(SubTape):
    def __init__(self, name: str) -> None: ...

@disjoint_base
class SubForward(SubTape):
    def __init__(self, name: str, level: Level) -> None: ...
