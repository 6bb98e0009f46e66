"""The ways in which recorded functions come to their numbers."""

from collections.abc import Iterator
from contextlib import contextmanager

from dualgrad._engine.primitives.execute import synchronize
from dualgrad._engine.trace import deferred, recordings

#: as ever; with everything deferred while it is recorded that can be; step by step
WAYS = ("planned", "deferred", "interpreted")


#: bytes of arrays that are deferred, where that is not left to the engine; also with none deferred
_LEAST = {"deferred": 0, "executed": 1 << 62}


@contextmanager
def programs_run(way: str) -> Iterator[None]:
    """Inside the block recorded functions run in one of the ``WAYS``; "executed": with nothing deferred."""
    planned = recordings.plan_programs(way != "interpreted")
    least = deferred.defer_from(_LEAST[way]) if way in _LEAST else None
    try:
        yield
    finally:
        recordings.plan_programs(planned)
        if least is not None:
            deferred.defer_from(least)


@contextmanager
def computed_at_once() -> Iterator[None]:
    """Inside the block eager calls defer nothing, so that their sums are added in the order of the interpreter."""
    former = synchronize(True)
    try:
        yield
    finally:
        synchronize(former)
