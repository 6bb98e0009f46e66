from collections.abc import Callable
from typing import Any

from .program import Program

DEBUG: bool

def check_passes(
    check: Callable[[str, dict[str, Any]], None] | None,
) -> Callable[[str, dict[str, Any]], None] | None: ...
def stages(program: Program, last: str | None = None) -> dict[str, Any]: ...
def names_of_passes() -> tuple[str, ...]: ...
