from typing_extensions import disjoint_base

@disjoint_base
class Dependence:
    why: str | None
    def holds(self) -> bool: ...
    def broken(self) -> str | None: ...
