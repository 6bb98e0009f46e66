"""Assignments that would be lost: ``a[0][1] = 2``, ``a.T[0] = 1``, ``a.ravel()[3] = 1``.

NumPy's slices are views, and such a line changes the array that they are taken from. Here each is a tensor of its own,
which nothing else holds: it would be changed and dropped. That is seen by the number of references to it. Where the
interpreter does not count those of names (Python 3.14), it cannot be seen, and the check is off.
"""

from __future__ import annotations

import dis
import sys
from typing import Any

__all__ = ["refuse_lost_write"]

_STORES = {dis.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in dis.opmap}


def _measured() -> tuple[int, int]:
    """How many references are counted in an assignment: of an object with a name, and of one that nothing holds."""
    counts = []

    class Probe:
        def __setitem__(self, index: Any, value: Any) -> None:
            counts.append(_counted(self))

    def _counted(probe: Any) -> int:
        return sys.getrefcount(probe)

    named = Probe()
    named[0] = 0
    Probe()[0] = 0
    return counts[0], counts[1]


_NAMED, _HELD_BY_NOTHING = _measured()
SEEN = _NAMED != _HELD_BY_NOTHING  # whether references of names are counted


def refuse_lost_write(t: Any) -> None:
    """An error if an assignment to an item of `t` would be lost; the method of the assignment calls this."""
    if not SEEN or sys.getrefcount(t) > _HELD_BY_NOTHING:
        return
    caller = sys._getframe(2)
    if caller.f_code.co_code[caller.f_lasti] not in _STORES:  # compiled code, whose references are not counted so
        return
    raise RuntimeError(
        f"t[index] = value: nothing holds the tensor on the left (shape {t.shape}), so the assignment would be lost: "
        "tensors are no views of what they are taken from. Write one index (a[i, j] = value, not a[i][j] = value), or "
        "give the tensor a name, change it, and assign it to its place (b = a.T; b[0] = value; a = b.T)"
    )
