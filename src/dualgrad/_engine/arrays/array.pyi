from typing import final

import numpy as np
from typing_extensions import disjoint_base

live: dict[str, int]

def largest_array(forget: bool) -> int: ...

@disjoint_base
class Value: ...

@final
class Array(Value):
    def numpy(self) -> np.ndarray: ...
