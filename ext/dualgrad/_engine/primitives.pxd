# Names, families and loops of primitives. See primitives.pyx.
cimport numpy as cnp
from cpython.object cimport PyObject
from .array cimport Array

cdef extern from "dg_loop.h":
    ctypedef void (*dg_loop)(char **, const cnp.npy_intp *, const cnp.npy_intp *, void *) noexcept nogil

cdef struct Loop:
    dg_loop fn
    void *data
    int out_typenum
    bint known

cdef enum Family:
    FAMILY_ELEMENTWISE
    FAMILY_LINEAR
    FAMILY_BILINEAR
    FAMILY_SELECTION
    FAMILY_CONSTANT
    FAMILY_COMPOSITE

cdef int family_of(int op) noexcept
cdef bint keeps_ints(int op) noexcept
cdef str op_name(int op)
cdef str np_name(Array a)
cdef Loop *find_loop(int op, int typenum) except NULL
cdef bint numpy_loop(object ufunc, int typenum, Loop *loop) except -1
cdef object no_loop(int op, int typenum)
cdef int broadcast_shape(int op, PyObject **args, int n, Py_ssize_t *shape) except -1
