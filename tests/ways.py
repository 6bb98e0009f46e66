"""The ways in which recorded functions come to their numbers."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from dualgrad._engine.compiler.scalarisation import largest_array
from dualgrad._engine.primitives.execute import synchronize
from dualgrad._engine.trace import deferred, recordings

#: as ever; with no array taken apart; with everything deferred while it is recorded that can be; step by step
WAYS = ("planned", "whole", "deferred", "interpreted")


#: bytes of arrays that are deferred, where that is not left to the engine; also with none deferred
_LEAST = {"deferred": 0, "executed": 1 << 62}


@contextmanager
def programs_run(way: str) -> Iterator[None]:
    """Inside the block recorded functions run in one of the ``WAYS``; "executed": with nothing deferred."""
    planned = recordings.plan_programs(way != "interpreted")
    least = deferred.defer_from(_LEAST[way]) if way in _LEAST else None
    try:
        with whole_arrays() if way == "whole" else nullcontext():
            yield
    finally:
        recordings.plan_programs(planned)
        if least is not None:
            deferred.defer_from(least)


@contextmanager
def whole_arrays() -> Iterator[None]:
    """Inside the block no array of a program is taken apart."""
    former = largest_array(1)
    try:
        yield
    finally:
        largest_array(former)


@contextmanager
def computed_at_once() -> Iterator[None]:
    """Inside the block eager calls defer nothing, so that their sums are added in the order of the interpreter."""
    former = synchronize(True)
    try:
        yield
    finally:
        synchronize(former)
