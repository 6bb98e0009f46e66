"""Closed calls, for rematerialisation: a call that is run again knows everything that it reads from outside.

Design
------
A call that is one instruction of a tape (rematerialisation.pyx) is run again when it is differentiated, so all it
depends on has to be known. Besides its arguments that is what it reads from outside: parameters, tensors it closes
over. They are handles, and every handle is read through one function (handles.pyx: `read`). While a closed call runs, a
handle that is older than the call is looked up in the table of the call. At the first run the table is filled: what is
found outside becomes an operand of the instruction, as an argument is. At a later run the table holds the operands to
use.

New values given to older handles (running statistics, counters) stay in the table. After the first run they leave the
call as results and the handles are set, once; those of later runs are forgotten. Random numbers are drawn from the
state that the first run found.
"""
from ..arrays.array cimport GET_RANDOM, HOOKS, NODE, PUT_RANDOM, Value
from .nodes cimport without_closed
from .tape cimport Tape, stripped


cdef class ClosedCall:

    cdef Value capture(self, object handle, Value outside):
        """The value inside of a handle that is read for the first time."""
        cdef Value inside
        if self.again and outside.kind == NODE:     # of a closed tape too: its sweep may run this
            raise RuntimeError(f"{self.level.name}: the function reads a tensor now that it did not read when it was "
                               f"first run, so its derivative would be incomplete; let what it reads not change from "
                               f"run to run")
        inside = without_closed(outside)
        if not self.again:
            self.values.append(inside)
            if inside.kind == NODE and self.level.reverse:
                inside = (<Tape>self.level).place(stripped(inside))
        self.handles.append(handle)
        self.table[id(handle)] = inside
        return inside


# -------------------------------------------------------------------------------------------------- random numbers

cdef object random_state():
    return (<object>HOOKS.objects[GET_RANDOM])()


cdef int set_random_state(object state) except -1:
    (<object>HOOKS.objects[PUT_RANDOM])(state)
    return 0


cdef int before_draw(ClosedCall closed) except -1:
    """Before numbers are drawn in a closed call: in first runs, it and those around it note the random state."""
    while closed is not None:
        if not closed.again and closed.state is None:
            closed.state = random_state()
        closed = closed.outer
    return 0
