# Operations that run together, tile by tile. See partition.pyx.
from .lowering cimport Operation
from .orders cimport Lowered, Operations
from .views cimport Buffer, View


cdef enum:
    HALO = 16                       # rows: the farthest that operations of a region may read from their own row


cdef class FusedRegion:
    """Operations that run together, tile by tile over `rows` rows; without rows (None) in a single tile."""
    cdef int number
    cdef object rows
    cdef list operations


cdef struct Making:                 # how a buffer is made
    int region                      # the region that makes it; -1 if it exists from the start
    bint rows                       # made row by row
    bint added                      # added up over the rows
    bint outside                    # another region reads it, or it is a result
    int last                        # the last region that reads it
    Py_ssize_t reach                # largest distance between a row of it and the rows that it depends on


cdef class Partition:
    """The operations of a program in regions, each region after the ones it depends on."""
    cdef Operations lowered
    cdef list regions
    cdef Making *of                 # by number of the buffer
    cdef dict clipped               # buffer of clipped indices -> the axis length to which they were clipped
    cdef bint is_inside(self, View v, Py_ssize_t extent) except -1
    cdef bint here(self, View v, FusedRegion region) noexcept
    cdef Py_ssize_t row_size(self, Buffer r) except -1
    cdef Py_ssize_t shift_of(self, View v) except? -1
    cdef Py_ssize_t rows_made(self, Operation o) except -1
    cdef list shifts(self, Operation o, FusedRegion region)


cdef FusedRegion new_region(int number, object rows, list operations)
cdef Partition partitioned(Lowered lowered)
cdef Py_ssize_t row_size_of(Buffer r)
