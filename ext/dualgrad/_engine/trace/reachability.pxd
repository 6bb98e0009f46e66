# All that a call can reach besides its arguments. See reachability.pyx.
from .executed cimport Executed, Trust
from .walk cimport Walk


cdef class Reach(Walk):
    """The walk, and what it does with each object."""
    cdef int builtin(self, object x, object label) except -1
    cdef bint runs(self, object x) except -1
    cdef int method(self, object x) except -1
    cdef bint constant(self, object value, set chains) except -1
    cdef bint only_called(self, object x) except -1
    cdef int class_of_module(self, object x, object label) except -1
    cdef int runnable(self, object f, Trust trust) except -1
    cdef int state_of(self, object f) except -1
    cdef int leaf(self, object x, object parts, object label) except -1
    cdef int function(self, object f) except -1
    cdef int module(self, object x, object label) except -1
    cdef int kind(self, object t, object label) except -1
    cdef int instance(self, object x, object kind, object label) except -1
    cdef int contents(self, object x, object label) except -1
    cdef int own(self, object x, object kind) except -1
    cdef int attributes_of(self, object x, object kind, set names) except -1
    cdef int cell(self, object x, object kind) except -1


cdef Reach reach_of(object call, list others, Executed executed, bint replayed)
