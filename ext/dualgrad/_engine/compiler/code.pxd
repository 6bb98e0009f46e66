# Regions in the form that the executor runs. See code.pyx.
from .executor cimport dg_instruction, dg_scalar, dg_streams
from .lowering cimport Operation
from .partition cimport FusedRegion


cdef class RegionCode:
    """The instructions of a region, and the facts about it that a run needs."""
    cdef FusedRegion region
    cdef dg_instruction *code       # NULL for an operation without a compiled loop of ours
    cdef dg_instruction *halves     # `code` for symmetric products, computing half of each; NULL if there are none
    cdef dg_scalar *scalars         # `code` on single numbers; NULL if few instructions are
    cdef Py_ssize_t count
    cdef dg_streams ahead           # memory outside of the cache that it walks along, to be prefetched
    cdef Py_ssize_t n_rows
    cdef Py_ssize_t block           # rows of a tile
    cdef Py_ssize_t block_bytes
    cdef list totals                # the results that it adds up
    cdef Py_ssize_t total_bytes
    cdef list lookups               # (index array, axis, shape that it indexes), to be checked before the region runs
    cdef list operands              # operands, if it has no compiled loop of ours,
    cdef int result                 # and the base of the result
    cdef bint products
    cdef bint simple                # instructions in sequence; no lookups before, no totals after
    cdef bint large                 # large enough to release the GIL
    cdef int workers                # the most threads that pay
    cdef list listing               # for each instruction (opcode, type number, fusion) of its call, or None
    cdef object native              # None; later a NativeCode, or False if it gets none
    cdef double heat                # approximate seconds that it has run without native code
    cdef list kept                  # for each operation the kind of memory of its result: "block", "memory" or "total"


cdef class Code:
    """A program as instructions, and the memory that they use."""
    cdef list regions
    cdef list memories              # memory whose address each run sets
    cdef list results               # views of the results: outputs, then effects
    cdef Py_ssize_t arena
    cdef Py_ssize_t block_bytes
    cdef Py_ssize_t total_bytes


cdef int finish_code(RegionCode made, list code) except -1
cdef int finish_scalars(RegionCode made) except -1
