# Programs as operations, for each order of axes worth trying. See orders.pyx.
from .program cimport Program


cdef class Operations:
    """A program as operations on views of numbered buffers."""
    cdef Program program
    cdef Py_ssize_t rows            # axes of this length come first in memory; 0: none does
    cdef list buffers
    cdef list operations
    cdef list results               # views that leave the program: outputs, then effects


cdef class Lowered:
    """The operations of a program, once for each order of axes that may be the best."""
    cdef list orders


cdef Lowered lowered(Program program)
