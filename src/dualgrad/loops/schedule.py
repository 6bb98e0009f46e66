"""Binomial checkpointing: the states of a loop to keep, and the steps to repeat.

To reverse a loop of n steps with room for s states, including the first, some steps run more than once. If every step
runs at most r times, C(s + r, s) steps can be reversed. In addition to the differentiated run of each step, at least r
n - C(s + r, r - 1) runs are needed, for the smallest such r (Griewank and Walther, Algorithm 799: revolve, 2000).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb, isqrt

__all__ = ["advances", "default_states", "first_states", "schedule", "visits"]


def repetitions(n: int, s: int) -> int:
    """The most runs of a step needed to reverse n steps with s states."""
    if s == 1:
        return n - 1
    r = 0
    while comb(s + r, s) < n:
        r += 1
    return r


def advances(n: int, s: int) -> int:
    """The fewest runs of steps that reverse n steps with s states, without the differentiated ones."""
    r = repetitions(n, s)
    return r * n - comb(s + r, r - 1) if r else 0


def default_states(n: int) -> int:
    """A number of states with which no step runs more than twice: about the square root of 2 n."""
    s = max(1, (isqrt(8 * n) - 3) // 2)
    while comb(s + 2, 2) < n:
        s += 1
    return s


def schedule(n: int, s: int) -> Iterator[tuple[int, int, bool]]:
    """The actions that visit the steps n - 1, ..., 0 with room for s states.

    Yields (start, stop, keep): run from the state kept at step `start` to step `stop`, and keep the state there, or
    else visit step `stop`. A state is free once its own step has been visited.
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
    """The actions that visit the steps n - 1, ..., 0 with room for s states, by stretches of steps.

    `least` raises s to the default number of states. Yields (start, stop, first): run from the state kept at step
    `start` to step `stop`, and visit the steps `stop`, ..., `first`. If that range is empty (`first` is stop + 1), keep
    the state at `stop` instead. A stretch whose states all fit is visited at once, so that much room leads to few
    items.
    """
    s = max(s, default_states(n)) if least else s
    kept = [0]
    end = n
    while end > 0:
        start = kept[-1]
        room = s - len(kept) + 1
        if end - start <= room + 1:  # the last of its states is visited without being kept
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
    """The steps whose states `schedule` keeps before its first visit: the first run can keep them."""
    steps: list[int] = []
    start = 0
    while n - start > 1 and s - len(steps) > 1:
        start += _split(n - start, s - len(steps))
        steps.append(start)
    return steps


def _split(length: int, room: int) -> int:
    """The place of the next state, so that the parts before and after it are reversed with the fewest steps.

    Chooses the last of several such places, which makes stretches whose states all fit longest.
    """
    r = repetitions(length, room)
    return min(comb(room + r - 1, room), length - comb(room + r - 2, room - 1))
