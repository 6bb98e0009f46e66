# Elementwise primitives on arrays. See elementwise.pyx.
cimport numpy as cnp
from cpython.object cimport PyObject
from ..arrays.array cimport MAX_DIMS, Array
from .registry cimport Loop

cdef Array execute_elementwise(int op, PyObject **args, int n)
cdef bint add_into(Array total, Array term) except -1
cdef void strides_in(Array a, int ndim, int first, Py_ssize_t *strides) noexcept nogil
cdef void along_axes(Loop *loop, const cnp.npy_intp *dims, const cnp.npy_intp *steps, char **pointers, int operands,
                     int axes, const Py_ssize_t *shape, Py_ssize_t[MAX_DIMS] *strides) noexcept nogil
