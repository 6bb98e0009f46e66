from collections.abc import Callable
from typing import Any

def run_jvp(
    name: str, fn: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], has_aux: bool
) -> tuple[Any, Any, Any]: ...
