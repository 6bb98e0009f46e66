# Instructions of a region under construction. See emitter.pyx.
from .allocation cimport Allocation, FreeList
from .horizontal_fusion cimport Joined
from .instructions cimport Instruction
from .lowering cimport Operation
from .margins cimport Margins
from .partition cimport Partition, FusedRegion
from .views cimport Buffer, View

cdef class Ones:
    """Constants that hold ones, one for each dtype, as factors of products that compute sums."""
    cdef list memories              # of the program; new constants are appended
    cdef dict found                 # dtype -> (base, number of ones)
    cdef int base(self, int typenum, Py_ssize_t n) except -1


cdef class Emitter:
    """The instructions of a region, for a tile of `block` rows."""
    cdef FusedRegion region
    cdef bint rows                  # the region has rows
    cdef Py_ssize_t block
    cdef Py_ssize_t capacity        # the most rows that an operation of the region processes at once
    cdef Partition partition        # results of the earlier passes
    cdef Margins margins
    cdef Joined joined
    cdef Allocation allocation
    cdef Ones ones
    cdef list code                  # instructions
    cdef dict local                 # buffer -> offset in the memory of a tile
    cdef FreeList places
    cdef dict begun                 # id of a group of results -> its offset
    cdef dict alive                 # id of a group -> number of its results that are still needed
    cdef dict expanded              # key of a view -> offset of its copy, which is made once for all tiles
    cdef list spent                 # (bytes, offset) to be freed after the operation
    cdef bint products              # the region multiplies matrices
    cdef Py_ssize_t width(self, tuple shape)
    cdef Py_ssize_t local_bytes(self, Buffer r)
    cdef tuple place(self, View v, Py_ssize_t row_stride)
    cdef tuple operand(self, View v, tuple shape)
    cdef bint repeats(self, View v, tuple shape)
    cdef tuple expand(self, View v, tuple strides, tuple shape, Py_ssize_t rows)
    cdef Py_ssize_t room(self, Py_ssize_t nbytes)
    cdef Py_ssize_t scratch(self, Py_ssize_t nbytes)
    cdef int copy(self, tuple source, tuple source_strides, tuple target, tuple target_strides, tuple shape,
                  Py_ssize_t item, bint once) except -1
    cdef Instruction add(self, int kind, list places, Py_ssize_t item)
    cdef int limit(self, Py_ssize_t first, Py_ssize_t low, Py_ssize_t high) except -1
    cdef int copy_axes(self, tuple source, tuple target, tuple rows, list axes, Py_ssize_t item, bint once) except -1
    cdef int zero(self, tuple target, Py_ssize_t width, Py_ssize_t item, Py_ssize_t low=?, Py_ssize_t high=?) except -1
    cdef int multiply(self, int typenum, list places, list dims, list strides) except -1
    cdef int multiply_rows(self, int typenum, Py_ssize_t item, Py_ssize_t width, list places, list dims,
                           list strides) except -1
    cdef tuple result(self, Buffer r)
    cdef Py_ssize_t beside(self, Buffer r, list group)
    cdef int release(self, Buffer r) except -1
    cdef int bound(self, Py_ssize_t first, Operation o) except -1
    cdef tuple gathered(self, View v, int row_axis)
    cdef tuple kept(self, View v)


cdef Emitter new_emitter(Allocation allocation, FusedRegion region, Py_ssize_t halo, Py_ssize_t block, Ones ones)
