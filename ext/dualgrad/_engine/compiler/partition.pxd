# Operations that run together, block by block. See partition.pyx.
from .executor cimport dg_instruction, dg_scalar, dg_streams
from .lowering cimport Operation
from .views cimport Root


cdef enum:
    HALO = 16                       # rows: how far operations of a region may look


cdef class Region:
    """Operations that are run together, block by block over `rows` rows (one block of one row where that is None)."""
    cdef int number
    cdef object rows
    cdef list operations
    # as it is run
    cdef dg_instruction *code
    cdef dg_scalar *scalars         # the same on single numbers; NULL where few are
    cdef Py_ssize_t count
    cdef dg_streams ahead           # what it walks along in memory that does not stay in cache
    cdef Py_ssize_t block
    cdef Py_ssize_t halo            # rows that a block needs beside its own, at most
    cdef Py_ssize_t block_bytes
    cdef list lookups               # (index array, axis, shape it is used on) to be looked at before it starts
    cdef list totals                # roots that are added up
    cdef Py_ssize_t total_bytes
    cdef Py_ssize_t n_rows
    cdef bint products
    cdef bint large                 # worth handing the interpreter over
    cdef int workers                # threads it is worth
    cdef list listing               # for each instruction (opcode, type number, fusion) of what it calls, or None


cdef Py_ssize_t rows_made(Operation o)
cdef list regions_of(list operations, list results)
cdef list scheduled(list operations, bint rows)
cdef int set_margins(Region region) except -1
cdef Py_ssize_t row_size(Root r)
