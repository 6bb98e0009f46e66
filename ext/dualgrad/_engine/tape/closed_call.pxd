# Calls that are one instruction to everything outside. See closed_call.pyx.
from cpython.object cimport PyObject

from ..arrays.array cimport Value
from ..values.levels cimport Level

ctypedef unsigned long long digest_t


cdef class Trail:
    """The histories of a run after each thing that is executed, to find where another run differs."""
    cdef digest_t *p
    cdef Py_ssize_t n
    cdef Py_ssize_t capacity
    cdef int note(self, Py_ssize_t at, digest_t history) except -1


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
    cdef dict marks                 # id of a handle made outside -> its mark inside
    cdef digest_t history           # a digest of what Python has executed, see closed_call.pyx
    cdef digest_t made              # handles made since the last change of the history
    cdef Trail trail                # the first run's: written by that, compared by later runs; None for neither
    cdef Py_ssize_t at              # how far
    cdef Py_ssize_t differs_at      # where a later run differs; -1 for nowhere
    cdef object differs             # and the user's line that it executed there
    cdef digest_t steps             # of a loop: a digest of the histories of its steps,
    cdef digest_t usual             # and the history of the first one
    cdef Py_ssize_t weight          # bytes of its trace
    cdef Py_ssize_t[2] weighed      # of so many values and instructions
    cdef Value capture(self, object handle, Value outside, digest_t mark)


cdef enum:                          # kinds of tensors that have numbers as marks
    GIVEN = 1
    CAPTURED


cdef struct Moment:                 # of a history
    digest_t history
    digest_t made
    Py_ssize_t at


cdef inline digest_t mixed(digest_t a, digest_t b) noexcept nogil:
    """A digest of two numbers, in this order. Never zero."""
    a = (a ^ (b + <digest_t>0x9E3779B97F4A7C15)) * <digest_t>0xBF58476D1CE4E5B9
    a = (a ^ (a >> 27)) * <digest_t>0x94D049BB133111EB
    a ^= a >> 31
    return a if a else 1


cdef int follow(ClosedCall closed) except -1


cdef inline int add_to_history(ClosedCall closed, digest_t x) except -1:
    closed.history = mixed(closed.history, x)
    closed.made = 0
    return 0 if closed.trail is None else follow(closed)


cdef class Rule:
    cdef object fn


cdef object without_notes(object fn)
cdef Moment moment(ClosedCall closed)
cdef int put_back(ClosedCall closed, Moment before) except -1
cdef digest_t numbered(int kind, Py_ssize_t i) noexcept
cdef digest_t digest_of(object x) except? 0
cdef int before_draw(ClosedCall closed) except -1
cdef object random_state()
cdef int set_random_state(object state) except -1
