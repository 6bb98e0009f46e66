from collections.abc import Callable
from typing import Any

READS: dict[str, Callable[..., Any]]
ACCUMULATED: dict[str, Callable[..., list[Any]]]
