# Elementwise primitives on arrays. See elementwise.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Array

cdef Array execute_elementwise(int op, PyObject **args, int n)
cdef bint add_into(Array total, Array term) except -1
