# Programs as operations, for each order of axes worth trying. See orders.pyx.
from .program cimport Program


cdef class Operations:
    """A program as operations on views of numbered buffers."""
    cdef Program program
    cdef Py_ssize_t rows            # axes of this length come first in memory; 0: no axis is moved
    cdef list buffers
    cdef list operations
    cdef list results               # views of the results: outputs, then effects


cdef class Lowered:
    """The operations of a program, once for each candidate order of axes."""
    cdef list orders


cdef Lowered lowered(Program program)
