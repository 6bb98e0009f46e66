"""Binomial checkpointing: which states of a loop to keep, and where to start again from.

To reverse a loop of n steps with room for s states, the first of them included, some steps are run more than once. With
every step run r times at most, C(s + r, s) steps can be reversed; the least number of steps that are run, beside the
one run of each in which it is differentiated, is r n - C(s + r, r - 1) for the smallest such r (Griewank and Walther,
Algorithm 799: revolve, 2000).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb, isqrt

__all__ = ["advances", "default_states", "first_states", "schedule", "visits"]


def repetitions(n: int, s: int) -> int:
    """How often a step is run at most, to reverse n steps with s states."""
    if s == 1:
        return n - 1
    r = 0
    while comb(s + r, s) < n:
        r += 1
    return r


def advances(n: int, s: int) -> int:
    """The least number of steps run to reverse n steps with s states, beside those that are differentiated."""
    r = repetitions(n, s)
    return r * n - comb(s + r, r - 1) if r else 0


def default_states(n: int) -> int:
    """So few states that no step is run more than twice: about the square root of 2 n."""
    s = max(1, (isqrt(8 * n) - 3) // 2)
    while comb(s + 2, 2) < n:
        s += 1
    return s


def schedule(n: int, s: int) -> Iterator[tuple[int, int, bool]]:
    """What to do, in order, to visit the steps n - 1, ..., 0 with room for s states.

    Yields (start, stop, keep): run from the state kept at step `start` to step `stop`, and keep the state there, or
    else visit step `stop`. A state is not needed any more once its own step has been visited.
    """
    kept = [0]
    end = n
    while end > 0:
        start = kept[-1]
        length = end - start
        room = s - len(kept) + 1
        if length == 1 or room == 1:
            yield start, end - 1, False
            end -= 1
            if start == end:
                kept.pop()
            continue
        stop = start + _split(length, room)
        yield start, stop, True
        kept.append(stop)


def visits(n: int, s: int, least: bool) -> Iterator[tuple[int, int, int]]:
    """What to do to visit the steps n - 1, ..., 0 with room for s states, stretch by stretch.

    `least`: with room for at least as many states as are kept by default. Yields (start, stop, first): run from the
    state kept at step `start` to step `stop`, and visit the steps `stop`, ..., `first`. Where that is no step (`first`
    is stop + 1), keep the state at `stop` instead. A stretch whose states all have room is visited at once, so that
    there are few items if there is much room.
    """
    s = max(s, default_states(n)) if least else s
    kept = [0]
    end = n
    while end > 0:
        start = kept[-1]
        room = s - len(kept) + 1
        if end - start <= room + 1:  # the last of its states is visited where it is made
            yield start, end - 1, start
            end = kept.pop()
        elif room == 1:
            end -= 1
            yield start, end, end
        else:
            stop = start + _split(end - start, room)
            yield start, stop, stop + 1
            kept.append(stop)


def first_states(n: int, s: int) -> list[int]:
    """The steps whose states `schedule` keeps before it visits a step: they can be kept by the first run."""
    steps: list[int] = []
    start = 0
    while n - start > 1 and s - len(steps) > 1:
        start += _split(n - start, s - len(steps))
        steps.append(start)
    return steps


def _split(length: int, room: int) -> int:
    """Where to keep the next state: the parts before and after are then reversed with the fewest steps.

    The last of several such places: then the parts whose states all have room are the longest.
    """
    r = repetitions(length, room)
    return min(comb(room + r - 1, room), length - comb(room + r - 2, room - 1))
