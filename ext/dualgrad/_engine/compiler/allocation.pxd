# Offsets of results in memory. See allocation.pyx.
from ..arrays.array cimport Array
from .horizontal_fusion cimport Joined
from .partition cimport Partition, FusedRegion
from .rewrites cimport Rewrite
from .views cimport Buffer, View

cdef enum:
    ALIGN = 64

cdef enum:
    ARENA = 0                       # bases that every run has: memory between regions,
    BLOCK = 1                       # memory of a tile,
    TOTALS = 2                      # and totals over the rows
    N_BASES = 3
    IN_BLOCK = -1                   # no base: the result stays in the memory of a tile


cdef class FreeList:
    """Offsets in one piece of memory, by lifetimes: freed offsets are reused."""
    cdef dict free                  # bytes -> offsets
    cdef Py_ssize_t end
    cdef Rewrite rewrite            # counts each reuse
    cdef Py_ssize_t take(self, Py_ssize_t nbytes)
    cdef Py_ssize_t keep(self, Py_ssize_t nbytes)
    cdef int give(self, Py_ssize_t nbytes, Py_ssize_t offset) except -1


cdef struct Place:                  # of a buffer
    int base                        # the base that holds it, or IN_BLOCK
    Py_ssize_t offset
    Py_ssize_t total                # if it is added up: its offset among the totals of its region


cdef class Memory:
    """Memory whose address each run sets: an input, a handle, a constant, a result, or a kernel's result."""
    cdef int base
    cdef int typenum
    cdef tuple shape
    cdef str kind                   # "input", "handle", "constant", "result", "generic"
    cdef object which               # number of the input, handle, or constant
    cdef object identity            # key of this memory for the readers of a plan
    cdef Array form                 # an array of its dtype and shape without data; set when a plan is made


cdef class Located:
    """A view with its base and offset."""
    cdef View view
    cdef int base
    cdef Py_ssize_t offset          # from the base, including the offset of the view


cdef class Total:
    """A result that is added up over the rows, and its destination."""
    cdef Buffer buffer
    cdef Py_ssize_t total
    cdef int base
    cdef Py_ssize_t offset


cdef class Allocation:
    """The offset of each buffer between regions."""
    cdef Joined joined
    cdef Partition partition
    cdef Place *of                  # by number of the buffer
    cdef list memories
    cdef Py_ssize_t arena
    cdef list totals                # for each region: the results that it adds up
    cdef list total_bytes           # for each region: the bytes of these totals
    cdef Located located(self, View v)
    cdef int found(self, Buffer r, str kind, object which=?) except -1
    cdef int total(self, FusedRegion region) except -1
    cdef int place(self, FusedRegion region, FreeList places, set leaving) except -1


cdef Py_ssize_t aligned(Py_ssize_t nbytes)
cdef FreeList new_places(Rewrite rewrite)
cdef Memory new_memory(list memories, Buffer r, str kind, object which)
cdef Located new_located(View v, int base, Py_ssize_t offset)
cdef Allocation allocated(Joined joined)
