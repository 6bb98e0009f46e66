from collections.abc import Callable
from typing import Any

from ..._table import Row

def add_elementwise(row: Row, kernel: Any) -> int: ...
def add_rule(
    row: Row, kernel: Callable[..., Any], jvps: Any, vjps: Any, residual: Any, correction: Any, core: Any
) -> int: ...
