# Instructions of regions. See codegen.pyx.
from .instructions cimport Instruction
from .lowering cimport Operation
from .allocation cimport Places
from .partition cimport Region
from .views cimport Root, View

cdef enum:
    ARENA = 0                       # bases that every run has: memory between regions,
    BLOCK = 1                       # memory of a block,
    TOTALS = 2                      # and what is added up over the rows
    N_BASES = 3

cdef enum:
    LEAST = 512                     # elements that a loop over an array is worth its call for


cdef class Emitter:
    """The instructions of a region."""
    cdef Region region
    cdef list roots                 # of the plan: constants are added
    cdef list code                  # instructions
    cdef dict local                 # id of a root -> offset in block memory
    cdef Places places
    cdef dict begun                 # id of a group of results -> where it begins,
    cdef dict alive                 # and how many of it are needed still
    cdef dict ones                  # type -> root of ones
    cdef dict expanded              # views repeated once for all blocks
    cdef list spent                 # (bytes, offset) to be given back after the operation
    cdef Py_ssize_t width(self, tuple shape)
    cdef Py_ssize_t capacity(self)
    cdef Py_ssize_t local_bytes(self, Root r)
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
    cdef tuple result(self, Root r)
    cdef int release(self, Root r) except -1
    cdef Root ones_of(self, int typenum, Py_ssize_t n)
    cdef int emit(self, Operation o) except -1
    cdef int bound(self, Py_ssize_t first, Operation o) except -1
    cdef int emit_copies(self, Operation o) except -1
    cdef int emit_picks(self, Operation o) except -1
    cdef int emit_zeros(self, Operation o, tuple target) except -1
    cdef int emit_sum(self, Operation o) except -1
    cdef int emit_product(self, Operation o) except -1
    cdef int emit_contraction(self, Operation o, View a, View b) except -1
    cdef tuple gathered(self, View v, int row_axis)
    cdef tuple kept(self, View v)


cdef int add_root(list roots, Root r) except -1
