from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

from ..tape.runs import CustomRule
from ..tape.tape import Tape
from ..values.levels import Level
from .handles import TensorBase

def call_custom(
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
    reverse_only: bool = False,
) -> Any: ...
def hook_tensor(t: TensorBase, hooks: Callable[[Any], Any], name: str) -> None: ...
def check_hookable(t: TensorBase, name: str) -> None: ...
def closed_levels() -> list[Level]: ...
def runs_again(levels: list[Level]) -> bool: ...
def noted(*what: Any) -> None: ...
def on_tape(t: TensorBase) -> bool: ...
def unchanged(x: Any) -> Any: ...

@disjoint_base
class CellRule(CustomRule):
    def __init__(
        self,
        name: str,
        backward: Callable[..., Any],
        template: tuple[Any, ...],
        out_template: Any,
        reverse_only: bool,
        within: Tape | None,
    ) -> None: ...
