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

What Python gives to primitives beside tensors (numbers, NumPy arrays, settings) is no operand. A hash of it, and of the
primitives, tells whether a later run computes the same function: a variable or an attribute may have changed since.
"""
from cpython.object cimport PyObject

from ..arrays.thread cimport thread_state
from ..arrays.array cimport GET_RANDOM, HOOKS, NODE, PUT_RANDOM, Value
from .nodes cimport without_closed
from .tape cimport Tape, stripped

from zlib import crc32

import numpy as np


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


cdef object plain(object x):
    """Something hashable for numbers, texts and arrays, and tuples and slices of them; None for anything else."""
    if isinstance(x, str):
        return x
    if isinstance(x, (int, float, complex)):
        return repr(x)                          # numbers that differ may have one hash: -1 and -2
    if isinstance(x, tuple):
        return tuple([plain(part) for part in x])
    if isinstance(x, slice):
        return plain(x.start), plain(x.stop), plain(x.step)
    if isinstance(x, np.ndarray):
        return x.shape, x.dtype.str, crc32(np.ascontiguousarray(x).data.cast("B")) if x.size else 0
    return None


cdef int note(ClosedCall closed, object x) except -1:
    """Python gives something that is no tensor to a primitive, or the number of a primitive."""
    closed.noted = hash((closed.noted, plain(x)))
    return 0


cdef list notes(ClosedCall closed):
    """What has been noted so far, to put it back after a rule: whether and how rules run depends on the order of a
    derivative, so they are no part of the function that is differentiated."""
    cdef list found = []
    while closed is not None:
        found.append((closed, closed.noted))
        closed = None if closed.again else closed.outer
    return found


cdef int put_back(list before) except -1:
    for closed, noted in before:
        (<ClosedCall>closed).noted = noted
    return 0


cdef class Rule:
    """A function of Python that a primitive calls."""

    def __call__(self, *args, **settings):
        cdef PyObject *closed = thread_state().closed_call
        cdef list before
        if closed is NULL:
            return self.fn(*args, **settings)
        before = notes(<ClosedCall>closed)
        found = self.fn(*args, **settings)
        put_back(before)
        return found


cdef object without_notes(object fn):
    """A kernel or rule as a primitive calls it, or a tuple of them."""
    cdef Rule rule
    if isinstance(fn, (tuple, list)):
        return tuple([without_notes(part) for part in fn])
    if not callable(fn):
        return fn
    rule = Rule()
    rule.fn = fn
    return rule


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
