from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

from ..tape.runs import CustomRule

def call_custom(
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
) -> Any: ...

@disjoint_base
class CellRule(CustomRule):
    def __init__(
        self,
        name: str,
        backward: Callable[..., Any],
        template: tuple[Any, ...],
        out_template: Any,
    ) -> None: ...
