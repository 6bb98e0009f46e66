# Primitives on arrays. See execute.pyx.
from cpython.object cimport PyObject
from .array cimport Array

cdef Array execute(int op, object params, PyObject **args, int n)
