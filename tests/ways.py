"""The ways in which recorded functions come to their numbers."""

from collections.abc import Iterator
from contextlib import contextmanager

from dualgrad._engine import promises, replay

#: as ever; with everything put off while it is recorded that can be; step by step
WAYS = ("planned", "put off", "interpreted")


@contextmanager
def programs_run(way: str) -> Iterator[None]:
    """Inside the block recorded functions run in one of the ``WAYS``."""
    planned = replay.plan_programs(way != "interpreted")
    least = promises.put_off_from(0) if way == "put off" else None
    try:
        yield
    finally:
        replay.plan_programs(planned)
        if least is not None:
            promises.put_off_from(least)
