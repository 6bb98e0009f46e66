# Names, families and loops of primitives. See registry.pyx.
cimport numpy as cnp
from cpython.object cimport PyObject
from ..arrays.array cimport Array, Value

cdef extern from "vector/loop.h":
    ctypedef void (*dg_loop)(char **, const cnp.npy_intp *, const cnp.npy_intp *, void *) noexcept nogil

cdef struct Loop:
    dg_loop fn
    void *data
    int out_typenum
    bint known
    bint asks           # it may set a Python error: to be asked for when it has run, see kernels/foreign.h

cdef enum Family:
    FAMILY_ELEMENTWISE
    FAMILY_LINEAR
    FAMILY_BILINEAR
    FAMILY_SELECTION
    FAMILY_CONSTANT
    FAMILY_COMPOSITE
    FAMILY_RULE             # kernel and derivative rules are functions, see Rule

cdef enum:
    MAX_OPS = 4096          # opcodes from N_OPS on are given out while the program runs


cdef class Rule:
    cdef readonly str name
    cdef Array execute(self, object params, PyObject **args, int n)
    cdef Value push(self, object params, PyObject **ins, int n, Value out, PyObject **tangents)
    cdef list pull(self, object params, PyObject **ins, int n, Value out, Value ct, const char *wanted)
    cdef readonly bint implicit         # has residual and correction
    cdef Value residual(self, object params, PyObject **ins, int n, Value out)
    cdef Value correction(self, object params, PyObject **ins, int n, Value out, Value residual)
    cdef Value map(self, object params, PyObject **args, int n, object level)

cdef int family_of(int op) noexcept
cdef bint keeps_ints(int op) noexcept
cdef bint wants_float(int op) noexcept
cdef bint is_elementwise(int op) noexcept
cdef Rule rule_of(int op)
cdef object row_of(int op)
cdef int op_named(str name) except -1
cdef int add_row(object row, Rule rule, object kernel) except -1
cdef str op_name(int op)
cdef str np_name(Array a)
cdef Loop *find_loop(int op, int typenum) except NULL
cdef int raise_of(Loop *loop) except -1
cdef bint numpy_loop(object ufunc, int typenum, Loop *loop) except -1
cdef object no_loop(int op, int typenum)
cdef int broadcast_shape(int op, PyObject **args, int n, Py_ssize_t *shape) except -1
