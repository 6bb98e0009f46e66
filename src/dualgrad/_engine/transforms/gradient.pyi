from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

from ...parameter import Parameter
from ...tensor import Tensor

def tape_backward(flag: bool) -> bool: ...
def run_outermost(
    name: str,
    fn: Callable[..., Any],
    settings: tuple[Any, ...],
    call: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any: ...
def run_gradient(
    name: str,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    positions: tuple[int, ...],
    parameters: list[Parameter],
    sens: Any,
    has_sens: bool,
    has_aux: bool,
    want_value: bool,
) -> tuple[Any, Any, list[Any], list[Tensor]]: ...

@disjoint_base
class GradientFunction:
    @property
    def fn(self) -> Callable[..., Any]: ...
    def __init__(
        self,
        fn: Callable[..., Any],
        get_all: bool,
        by_list: bool,
        sens_param: bool,
        parameters: list[Parameter] | None,
        single: bool,
        parameters_of: Callable[[Any], list[Parameter]],
    ) -> None: ...
    def __copy__(self) -> GradientFunction: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
