# Primitives on arrays. See execute.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Array


cdef class Tracer:
    cdef int trace
    cdef Array execute(self, int op, object params, PyObject **args, int n)
    cdef Array reference(self, object handle, Array a)
    cdef int asked(self, Array a, str what) except -1
    cdef int frozen(self, object handle, Array a) except -1
    cdef int rebound(self, object handle) except -1
    cdef int give_up(self, str why) except -1
    cdef int needed(self, Array a) except -1
    cdef int evaluate_deferred(self) except -1


cdef Array execute(int op, object params, PyObject **args, int n)
cdef Array run(int op, object params, PyObject **args, int n)
cdef Tracer active_tracer()
cdef bint tracing() noexcept
cdef int start_tracing(Tracer tracer) except -1
cdef int stop_tracing(Tracer tracer) except -1
