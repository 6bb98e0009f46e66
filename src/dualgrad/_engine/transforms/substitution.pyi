from collections.abc import Callable
from typing import Any

from ...parameter import Parameter
from ...tensor import Tensor

def call_with(
    name: str,
    fn: Callable[..., Any],
    parameters: list[Parameter],
    tensors: list[Tensor],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any: ...
