"""Assignments that would be lost: ``a[0][1] = 2``, ``a.T[0] = 1``, ``a.ravel()[3] = 1``.

NumPy's slices are views, and such a line changes the array that they are taken from. A tensor that is not an array has
no views: its slices are tensors of their own. Nothing else holds such a slice, so the line would change a tensor that
is dropped at once. The number of references to it shows that. From Python 3.14 on the reference of a local variable is
not counted; there the bytecode says whether the tensor on the left comes from a variable.
"""

from __future__ import annotations

import dis
import functools
import sys
from types import CodeType, FrameType
from typing import Any

__all__ = ["refuse_lost_write"]

# The number of stack entries from the container on.
_STORES = {dis.opmap[name]: n for name, n in (("STORE_SUBSCR", 2), ("STORE_SLICE", 3)) if name in dis.opmap}


def _measured() -> tuple[int, int]:
    """Count the references in an assignment: to an object with a name, and to an object that nothing holds."""
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
_SETTINGS = {"counted": _NAMED != _HELD_BY_NOTHING}  # true if references of names are counted


def refuse_lost_write(t: Any) -> None:
    """Raise a RuntimeError if an assignment to an item of `t` would be lost; `__setitem__` calls this."""
    if sys.getrefcount(t) > _HELD_BY_NOTHING:
        return
    caller = sys._getframe(2)
    if caller.f_code.co_code[caller.f_lasti] not in _STORES:  # compiled code counts references in another way
        return
    if not _SETTINGS["counted"] and _has_a_name(caller):
        return
    raise RuntimeError(
        f"t[index] = value: nothing holds the tensor on the left (shape {t.shape}), so the assignment would be lost: "
        "tensors that are no arrays have no views. Write one index (a[i, j] = value, not a[i][j] = value), or make an "
        "array of the tensor (a = np.asarray(a))"
    )


def _has_a_name(frame: FrameType) -> bool:
    """True if the tensor on the left of the assignment that a frame executes is the value of a variable."""
    return _comes_from_variable(frame.f_code, frame.f_lasti)


@functools.lru_cache(1024)
def _comes_from_variable(code: CodeType, place: int) -> bool:
    """True if a variable is the container of an assignment to an item.

    Follow the bytecode backwards to the instruction that has put the container on the stack.
    """
    instructions = list(dis.get_instructions(code))
    at = next(k for k, i in enumerate(instructions) if i.offset == place)
    depth = _STORES[code.co_code[place]] - 1  # of the container, counted from the top of the stack
    while at > 0:
        at = _before(instructions, at)
        i = instructions[at]
        given = i.arg or 0
        if i.opname == "SWAP":
            depth = {0: given - 1, given - 1: 0}.get(depth, depth)
        elif i.opname == "COPY":
            depth = given - 1 if depth == 0 else depth - 1
        elif depth < _pushed(i):
            return i.opname.startswith(_VARIABLES)
        else:
            depth -= dis.stack_effect(i.opcode, i.arg if i.opcode >= dis.HAVE_ARGUMENT else None, jump=False)
    return True


_VARIABLES = ("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT")
_NOTHING = ("POP_", "STORE_", "PRECALL", "KW_NAMES", "NOP", "CACHE", "RESUME", "JUMP", "EXTENDED_ARG", "COPY_FREE")


def _pushed(i: dis.Instruction) -> int:
    """How many values an instruction puts on the stack."""
    if i.opname.startswith(_NOTHING):
        return 0
    if i.opname == "LOAD_METHOD" or i.opname.count("LOAD_FAST") == 2:
        return 2
    if i.opname == "LOAD_GLOBAL" or (i.opname == "LOAD_ATTR" and sys.version_info >= (3, 12)):
        return 1 + ((i.arg or 0) & 1)  # with a mark for methods
    return 1


def _before(instructions: list[dis.Instruction], at: int) -> int:
    """The instruction that runs before another one; in a conditional expression it follows the second branch."""
    if instructions[at - 1].opname not in ("JUMP_FORWARD", "JUMP_BACKWARD"):
        return at - 1
    here = instructions[at].offset
    jumps = (k for k in range(at - 1) if "JUMP" in instructions[k].opname and instructions[k].argval == here)
    return next(jumps, at - 1)
