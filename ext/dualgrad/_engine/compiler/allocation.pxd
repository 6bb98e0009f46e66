# Where results lie in memory. See allocation.pyx.
from ..arrays.array cimport Array
from .horizontal_fusion cimport Joined
from .partition cimport Partition, FusedRegion
from .rewrites cimport Rewrite
from .views cimport Buffer, View

cdef enum:
    ALIGN = 64

cdef enum:
    ARENA = 0                       # bases that every run has: memory between regions,
    BLOCK = 1                       # memory of a block,
    TOTALS = 2                      # and what is added up over the rows
    N_BASES = 3
    IN_BLOCK = -1                   # no base: it stays in the memory of a block


cdef class FreeList:
    """Offsets in one piece of memory, by lifetimes: what is given back is used again."""
    cdef dict free                  # bytes -> offsets
    cdef Py_ssize_t end
    cdef Rewrite rewrite            # what is counted when something is used again
    cdef Py_ssize_t take(self, Py_ssize_t nbytes)
    cdef Py_ssize_t keep(self, Py_ssize_t nbytes)
    cdef int give(self, Py_ssize_t nbytes, Py_ssize_t offset) except -1


cdef struct Place:                  # of a buffer
    int base                        # where a run finds it, or IN_BLOCK
    Py_ssize_t offset
    Py_ssize_t total                # its place among the totals of its region, where it is added up


cdef class Memory:
    """Memory that a run finds anew: an input, a handle, a constant, a result, or what a kernel returns."""
    cdef int base
    cdef int typenum
    cdef tuple shape
    cdef str kind                   # "input", "handle", "constant", "result", "generic"
    cdef object which               # number of the input, handle, or constant
    cdef object identity            # what it is known by to those who look at a plan
    cdef Array form                 # an array without numbers of its type and shape, once there is a plan


cdef class Located:
    """A view of memory that a run finds."""
    cdef View view
    cdef int base
    cdef Py_ssize_t offset          # from there, that of the view included


cdef class Total:
    """A result that is added up over the rows, and where it goes."""
    cdef Buffer buffer
    cdef Py_ssize_t total
    cdef int base
    cdef Py_ssize_t offset


cdef class Allocation:
    """Where each buffer lies between regions."""
    cdef Joined joined
    cdef Partition partition
    cdef Place *of                  # each buffer, by number
    cdef list memories
    cdef Py_ssize_t arena
    cdef list totals                # of each region: what it adds up,
    cdef list total_bytes           # and how many bytes that takes
    cdef Located located(self, View v)
    cdef int found(self, Buffer r, str kind, object which=?) except -1
    cdef int total(self, FusedRegion region) except -1
    cdef int place(self, FusedRegion region, FreeList places, set leaving) except -1


cdef Py_ssize_t aligned(Py_ssize_t nbytes)
cdef FreeList new_places(Rewrite rewrite)
cdef Memory new_memory(list memories, Buffer r, str kind, object which)
cdef Located new_located(View v, int base, Py_ssize_t offset)
cdef Allocation allocated(Joined joined)
