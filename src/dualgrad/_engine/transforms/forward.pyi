from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from ..values.levels import Algebra

def run_jvp(
    name: str, fn: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], has_aux: bool
) -> tuple[Any, Any, Any]: ...
def run_forward(
    name: str, algebra: Algebra, fn: Callable[..., Any], inputs: list[list[Tensor | None]]
) -> list[Any]: ...
