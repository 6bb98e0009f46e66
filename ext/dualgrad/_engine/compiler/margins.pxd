# Rows beside a block, and results that are made inside of others. See margins.pyx.
from .lowering cimport Operation
from .vertical_fusion cimport Fused
from .views cimport Buffer


cdef enum:
    NOWHERE = -1


cdef struct Margin:                 # of a result of a region of rows
    Py_ssize_t before               # how many rows more of it a block needs, before its own
    Py_ssize_t after                # and after them
    int within                      # the number of the buffer in whose memory it is made, or NOWHERE
    Py_ssize_t start                # from this row on


cdef class Margins:
    cdef Fused fused
    cdef Margin *of                 # each buffer, by number
    cdef list halos                 # of each region: rows that a block needs beside its own, at most
    cdef Buffer owner(self, Buffer r)
    cdef Buffer around(self, Buffer r)


cdef Margins margins_of(Fused fused)
