# Results of a recording that are put off. See deferred.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Array


cdef class Promise:
    cdef Array out
    cdef int op
    cdef object params
    cdef list operands


cdef class Promises:
    cdef dict waiting               # slot -> Promise
    cdef Array promise(self, int op, object params, PyObject **args, int n)
    cdef int remember(self, Array out, int op, object params, PyObject **args, int n) except -1
    cdef Array waits(self, int slot)
    cdef int compute(self, Promise p) except -1
    cdef int keep(self, Array a) except -1
    cdef int keep_all(self) except -1
    cdef int fulfil(self, list slots, list arrays) except -1


cdef int compute_now(Array a) except -1
