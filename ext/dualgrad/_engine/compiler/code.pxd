# Regions as the executor runs them. See code.pyx.
from .executor cimport dg_instruction, dg_scalar, dg_streams
from .lowering cimport Operation
from .partition cimport FusedRegion


cdef class RegionCode:
    """The instructions of a region, and what a run has to know of it."""
    cdef FusedRegion region
    cdef dg_instruction *code       # NULL where an operation has no compiled loop of ours
    cdef dg_instruction *halves     # the same where products equal their transposes; NULL where none does
    cdef dg_scalar *scalars         # the same on single numbers; NULL where few are
    cdef Py_ssize_t count
    cdef dg_streams ahead           # what it walks along in memory that does not stay in cache
    cdef Py_ssize_t n_rows
    cdef Py_ssize_t block           # rows of a block
    cdef Py_ssize_t block_bytes
    cdef list totals                # what is added up
    cdef Py_ssize_t total_bytes
    cdef list lookups               # (index array, axis, shape it is used on) to be looked at before it starts
    cdef list operands              # of an operation without a compiled loop of ours,
    cdef int result                 # and the base of its result
    cdef bint products
    cdef bint simple                # instructions one after the other, nothing to look up before or to add up after
    cdef bint large                 # worth handing the interpreter over
    cdef int workers                # threads it is worth
    cdef list listing               # for each instruction (opcode, type number, fusion) of what it calls, or None
    cdef object native              # None; then a NativeCode, or False where there will be none
    cdef double heat                # seconds, about, that it has run without
    cdef list kept                  # for each operation where its result goes: "block", "memory" or "total"


cdef class Code:
    """A program as instructions, and the memory that they need."""
    cdef list regions
    cdef list memories              # memory that is found anew at each run
    cdef list results               # views that leave the program: outputs, then effects
    cdef Py_ssize_t arena
    cdef Py_ssize_t block_bytes
    cdef Py_ssize_t total_bytes


cdef int finish_code(RegionCode made, list code) except -1
cdef int finish_scalars(RegionCode made) except -1
