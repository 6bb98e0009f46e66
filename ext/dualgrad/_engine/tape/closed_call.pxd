# Calls that are one instruction to everything outside. See closed_call.pyx.
from cpython.object cimport PyObject

from ..arrays.array cimport Value
from ..values.levels cimport Level


cdef class ClosedCall:
    cdef Level level                # open while it runs: a light tape under a reverse level
    cdef ClosedCall outer               # the closed call it runs in
    cdef bint again                 # not the first run: what it reads is known, what it changes is forgotten
    cdef dict table                 # id of a handle made outside -> its value inside
    cdef list handles               # those handles, in the order they were first read
    cdef list values                # and their values outside
    cdef dict effects               # id of a handle made outside that was given a new value -> the handle
    cdef object state               # of the random numbers before the first draw; None if there was none
    cdef PyObject *tracer           # of the recording in which it began, or NULL
    cdef Py_hash_t noted            # of the primitives that Python called, and what it gave them beside tensors
    cdef Value capture(self, object handle, Value outside)


cdef class Rule:
    cdef object fn


cdef object without_notes(object fn)
cdef list notes(ClosedCall closed)
cdef int put_back(list before) except -1
cdef int note(ClosedCall closed, object x) except -1
cdef int before_draw(ClosedCall closed) except -1
cdef object random_state()
cdef int set_random_state(object state) except -1
