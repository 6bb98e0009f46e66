from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class Region: ...

def install_random(get: Callable[[], Any], put: Callable[[Any], None]) -> None: ...
