from typing import Any, final

import numpy as np
from typing_extensions import disjoint_base

live: dict[str, int]
HOOK_NAMES: tuple[str, ...]

def largest_array(forget: bool) -> int: ...
def install(**hooks: Any) -> None: ...

@disjoint_base
class Value: ...

@final
class Array(Value):
    def numpy(self) -> np.ndarray: ...
