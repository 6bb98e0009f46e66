from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

from ...tensor import Tensor
from ..arrays.array import Array
from ..compiler.program import Program
from ..transforms.handles import TensorBase
from .dependence import Dependence

def capture(
    fn: Callable[..., list[Tensor]], args: tuple[Tensor, ...], others: tuple[Any, ...] = ()
) -> tuple[Program, list[Tensor], list[int | None], bool, list[tuple[TensorBase, Array]], Dependence]: ...
def array_behind(handle: TensorBase) -> Array: ...

@disjoint_base
class Probe: ...
