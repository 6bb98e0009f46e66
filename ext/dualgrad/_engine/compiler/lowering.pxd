# Programs as operations on views of memory. See lowering.pyx.
from ..arrays.array cimport Array
from ..primitives.registry cimport Loop
from .program cimport Program
from .views cimport Buffer, View


cdef enum:
    MANY = 64                       # least number of stacked matrices that may be the rows of a region


cdef Loop *add_loop(int typenum) except NULL
cdef Loop *matmul_loop(int typenum) except NULL
cdef Loop *power_loop(int typenum) except NULL


cdef enum Manner:
    """The manner in which an operation is done."""
    AS_LOOP                         # an elementwise loop
    AS_SELECT
    AS_CAST
    AS_MATMUL
    AS_CONTRACT                     # a product contracted over two axes
    AS_SUM
    AS_COPIES                       # copies of views into parts of the result
    AS_GATHER
    AS_SCATTER
    AS_GENERIC                      # as in eager execution
    AS_SCALE                        # rows times numbers; scaling.pyx turns loops into it


cdef tuple MANNERS                  # their names, in order


cdef class Operation:
    """One result, computed from views."""
    cdef int op
    cdef object params
    cdef list ins
    cdef Buffer out
    cdef Manner kind


cdef class Lowering:
    cdef Program program
    cdef Py_ssize_t rows            # axes of this length come first in memory; 0: no axis is moved
    cdef list views                 # by slot
    cdef list buffers
    cdef list operations
    cdef dict numbers               # buffer of a uniform constant -> buffer of its single number
    cdef int lower(self) except -1
    cdef Buffer made(self, int typenum, tuple shape)
    cdef View emit(self, Manner kind, int op, object params, list ins, int typenum, tuple shape)
    cdef View copied(self, View v)
    cdef View constant(self, Array a, int typenum, tuple shape)
    cdef list elements(self, list ins)
    cdef tuple order(self, tuple shape)
    cdef View elementwise(self, Manner kind, int op, object params, list ins, int typenum, tuple shape)
    cdef View copies(self, int op, list parts, list ins, int typenum, tuple shape)
    cdef int materialise(self, int slot) except -1
    cdef View materialised(self, View v)
    cdef View turned_merged(self, View x, tuple order, tuple shape)
    cdef View another_shape(self, View x, tuple shape)
    cdef View step(self, int op, object params, list ins, int typenum, tuple shape)


cdef Operation new_operation(Manner kind, int op, object params, list ins, Buffer out)
cdef object dtype_of(int typenum)
cdef Array np_scalar(int typenum)
