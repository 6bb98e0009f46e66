# Arrays of a recording that are computed late or never. See deferred.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Array


cdef class DeferredValue:
    cdef Array out
    cdef int op
    cdef object params
    cdef list operands


cdef class DeferredValues:
    cdef dict waiting               # slot -> DeferredValue
    cdef dict done                  # slot -> an array that was computed before the end; None: they are not noted
    cdef Py_ssize_t nbytes          # bytes of all arrays that have been deferred
    cdef long long held             # bytes of `done`, and of results that were never deferred
    cdef Array defer(self, int op, object params, PyObject **args, int n)
    cdef int remember(self, Array out, int op, object params, PyObject **args, int n) except -1
    cdef Array deferred_in(self, int slot)
    cdef int compute(self, DeferredValue p) except -1
    cdef int evaluate(self, Array a) except -1
    cdef list slots_held(self)
    cdef int evaluate_all(self) except -1
    cdef int fill_in(self, list slots, list arrays, object plan) except -1
    cdef int compare(self, list slots, list arrays, object plan) except -1


cdef int compute_now(Array a) except -1
