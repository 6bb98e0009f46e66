# The objects that a call can reach besides its arguments. See reachability.pyx.
from .executed cimport Executed, Trust
from .walk cimport Walk


cdef class Reach(Walk):
    """The walk with its rules for each kind of object."""
    cdef int compiled_function(self, object x, object label) except -1
    cdef bint has_run(self, object x) except -1
    cdef int compiled_attribute(self, object x) except -1
    cdef bint constant_or_called(self, object value, set chains) except -1
    cdef bint only_called(self, object x) except -1
    cdef int class_of_module(self, object x, object label) except -1
    cdef int executed_function(self, object f, Trust trust) except -1
    cdef int package_state(self, object f) except -1
    cdef int made_of_parts(self, object x, object parts, object label) except -1
    cdef int function(self, object f) except -1
    cdef int module(self, object x, object label) except -1
    cdef int class_object(self, object t, object label) except -1
    cdef int instance(self, object x, object kind, object label) except -1
    cdef int contents(self, object x, object label) except -1
    cdef int package_object(self, object x, object kind) except -1
    cdef int own_attributes(self, object x, object kind, set names) except -1
    cdef int cell(self, object x, object kind) except -1


cdef Reach reachable_from(object call, list others, Executed executed, bint replayed, dict parts=*)
