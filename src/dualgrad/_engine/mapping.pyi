from collections.abc import Callable
from typing import Any

def run_vmap(
    name: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any, out_axes: Any
) -> Any: ...
