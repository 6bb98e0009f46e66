# Rows beside a tile, and results that are made inside of others. See margins.pyx.
from .lowering cimport Operation
from .vertical_fusion cimport Fused
from .views cimport Buffer


cdef enum:
    NOWHERE = -1


cdef struct Margin:                 # of a result of a region with rows
    Py_ssize_t before               # rows of it that a tile needs before its own rows
    Py_ssize_t after                # rows of it that a tile needs after its own rows
    int within                      # number of the buffer in whose memory the result is made, or NOWHERE
    Py_ssize_t start                # the first row there


cdef class Margins:
    cdef Fused fused
    cdef Margin *of                 # by number of the buffer
    cdef list halos                 # for each region: the largest margin of a result
    cdef Buffer owner(self, Buffer r)
    cdef Buffer around(self, Buffer r)


cdef Margins margins_of(Fused fused)
