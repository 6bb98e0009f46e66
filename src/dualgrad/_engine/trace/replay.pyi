from collections.abc import Callable
from typing import Any

COMPARE: Callable[..., Any] | None

def check_replays(on: bool) -> bool: ...
def compare_replays_by(compare: Callable[..., Any]) -> None: ...
