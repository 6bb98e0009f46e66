from typing import Any

from typing_extensions import disjoint_base

def set_graph_mode(on: bool) -> None: ...
def recorded_cell(pure: bool, kind: type) -> CellCall: ...

@disjoint_base
class CellCall:
    _recorded: bool
    _pure: bool
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
