# Structural primitives on arrays. See structural.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Array

cdef bint is_structural(int op) noexcept
cdef object outside(object index, int axis, tuple shape)
cdef Array execute_structural(int op, object params, PyObject **args, int n)
