# Calls that are one instruction to everything outside. See closed_call.pyx.
from cpython.object cimport PyObject

from ..arrays.array cimport Value
from ..values.levels cimport Level
from .nodes cimport Environment

ctypedef unsigned long long digest_t


cdef class Trail:
    """The history of a run after each operation, to find where another run differs."""
    cdef digest_t *p
    cdef Py_ssize_t n
    cdef Py_ssize_t capacity
    cdef int note(self, Py_ssize_t at, digest_t history) except -1


cdef class ClosedCall:
    cdef Level level                # open while the call runs; a light tape under a reverse level
    cdef ClosedCall outer               # the closed call that it runs in
    cdef Environment environment    # of the rule that it runs in, or None
    cdef bint again                 # a later run: it reads known handles only, and drops its changes
    cdef dict table                 # id of a handle made outside -> its value inside
    cdef list handles               # these handles, in the order of their first read
    cdef list values                # and their values outside
    cdef dict effects               # id of an outside handle that got a new value -> the handle
    cdef object state               # the random state before the first draw; None without a draw
    cdef PyObject *tracer           # the recording in which it began, or NULL
    cdef dict marks                 # id of a handle made outside -> its mark inside
    cdef digest_t history           # a digest of the operations that Python executed, see closed_call.pyx
    cdef digest_t made              # handles made since the last change of the history
    cdef Trail trail                # written by the first run, compared by later runs; or None
    cdef Py_ssize_t at              # the next place in the trail
    cdef Py_ssize_t differs_at      # the first place where a later run differs; -1 for none
    cdef object differs             # the user's line that was executed there
    cdef digest_t steps             # of a loop: a digest of its first step and of each step that differs
    cdef digest_t usual             # of a loop: the history of its first step
    cdef Py_ssize_t weight          # bytes of its trace
    cdef Py_ssize_t[2] weighed      # the values and instructions already counted in `weight`
    cdef Value capture(self, object handle, Value outside, digest_t mark)


cdef enum:                          # tensors that are marked by their number
    GIVEN = 1
    CAPTURED


cdef struct Moment:                 # a point in a history
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
