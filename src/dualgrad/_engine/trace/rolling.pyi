from collections.abc import Callable, Iterator, Sequence
from typing import Any

from typing_extensions import disjoint_base

from ...tensor import Tensor

class NotRecorded(Exception): ...

@disjoint_base
class Rolled:
    @property
    def done(self) -> int: ...
    @property
    def impure(self) -> bool: ...
    @property
    def misled(self) -> bool: ...
    @property
    def succeeded(self) -> bool: ...
    def is_pure(self) -> bool: ...
    def result(self) -> tuple[list[Any], list[Any], int]: ...
    def reversed_by(
        self,
        back: Rolled,
        states: int | float | None,
        schedule: Callable[[int, int, bool], Iterator[tuple[int, int, int]]],
    ) -> tuple[list[Any], list[Any]]: ...

def roll(
    name: str,
    step: Callable[[list[Any], list[Tensor], int], tuple[list[Any], list[Tensor], Any]],
    carry: Sequence[Any],
    stacked: list[Tensor],
    n: int,
    reverse: bool,
    truth: Tensor | None = None,
    reached: list[Any] | None = None,
    before: Rolled | None = None,
    counts: bool = False,
    pick: Callable[[int], list[Tensor]] | None = None,
) -> Rolled: ...
def rolls() -> bool: ...
def truth_of(t: Tensor) -> tuple[bool, bool]: ...
def written_down(t: Tensor) -> bool: ...
def choose(name: str, truth: Tensor, branches: Sequence[Callable[[], Sequence[Tensor | None]]]) -> list[Any] | None: ...
