from collections.abc import Callable
from typing import Any

from ...tensor import Tensor

def basis(x: Tensor, first: int, rows: int) -> Tensor: ...
def run_vmap(
    name: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any, out_axes: Any
) -> Any: ...
