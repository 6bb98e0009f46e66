from typing_extensions import disjoint_base

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
    @property
    def reverse_only(self) -> bool: ...
