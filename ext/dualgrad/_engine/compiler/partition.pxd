# Operations that run together, block by block. See partition.pyx.
from .lowering cimport Operation
from .orders cimport Lowered, Operations
from .views cimport Buffer, View


cdef enum:
    HALO = 16                       # rows: how far operations of a region may look


cdef class FusedRegion:
    """Operations that are run together, block by block over `rows` rows (one block of one row where that is None)."""
    cdef int number
    cdef object rows
    cdef list operations


cdef struct Making:                 # how a buffer is made
    int region                      # the region that makes it; -1 where it is there from the start
    bint rows                       # it is made row by row
    bint added                      # it is added up over the rows
    bint outside                    # another region reads it, or it is a result
    int last                        # the last region that reads it
    Py_ssize_t reach                # how far its rows depend on rows beside them


cdef class Partition:
    """The operations of a program in regions, each after what it needs."""
    cdef Operations lowered
    cdef list regions
    cdef Making *of                 # each buffer, by number
    cdef dict clipped               # buffer of clipped indices -> the length that they were clipped to
    cdef bint is_inside(self, View v, Py_ssize_t extent) except -1
    cdef bint here(self, View v, FusedRegion region) noexcept
    cdef Py_ssize_t row_size(self, Buffer r) except -1
    cdef Py_ssize_t shift_of(self, View v) except? -1
    cdef Py_ssize_t rows_made(self, Operation o) except -1
    cdef list shifts(self, Operation o, FusedRegion region)


cdef FusedRegion new_region(int number, object rows, list operations)
cdef Partition partitioned(Lowered lowered)
cdef Py_ssize_t row_size_of(Buffer r)
