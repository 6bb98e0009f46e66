from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class Branch: ...

def register(cls: Any, flatten: Callable[..., Any], unflatten: Callable[..., Any]) -> None: ...
def as_plain_tuple(cls: type) -> None: ...
