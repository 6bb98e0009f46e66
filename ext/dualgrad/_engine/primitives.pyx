"""What the engine knows of each primitive beside its rules: name, family, and the inner loops that compute it.

A loop is ours or NumPy's; both have the same signature, so one table holds whichever serves a primitive and a type.
"""
cimport numpy as cnp
from libc.string cimport memset

import numpy as np

from dualgrad._table import ROWS

from .array cimport N_TYPES, NPY_HALF, Array, shape_tuple
from .opcodes cimport *

cnp.import_array()
cnp.import_ufunc()

cdef extern from "dg_kernels.h":
    dg_loop dg_own_loop(int op, int typenum)

cdef extern from "dg_ufunc.h":
    int dg_find_loop(object u, const char *sig, int n, dg_loop *fn, void **data)

cdef Loop[N_OPS][N_TYPES] LOOPS
cdef int[N_OPS] FAMILY
cdef bint[N_OPS] KEEPS_INTS
cdef list NAMES = [row.name for row in ROWS]
memset(LOOPS, 0, sizeof(LOOPS))

_FAMILIES = {"elementwise": FAMILY_ELEMENTWISE, "linear": FAMILY_LINEAR, "bilinear": FAMILY_BILINEAR,
             "selection": FAMILY_SELECTION, "constant": FAMILY_CONSTANT, "composite": FAMILY_COMPOSITE}
if len(ROWS) != N_OPS:
    raise ImportError("dualgrad was built from another table of primitives than the one installed; build it again")
for _code, _row in enumerate(ROWS):
    FAMILY[_code] = _FAMILIES[_row.family]
    KEEPS_INTS[_code] = _row.keeps_ints


cdef int family_of(int op) noexcept:
    return FAMILY[op]


cdef bint keeps_ints(int op) noexcept:
    return KEEPS_INTS[op]


cdef str op_name(int op):
    return NAMES[op]


cdef str np_name(Array a):
    return np.dtype(cnp.PyArray_DescrFromType(a.typenum)).name


cdef Loop *find_loop(int op, int typenum) except NULL:
    """The inner loop of a primitive for a type; looked up once."""
    cdef Loop *loop = &LOOPS[op][typenum]
    cdef int arity
    if loop.known:
        return loop
    row = ROWS[op]
    arity = row.arity
    loop.out_typenum = cnp.NPY_BOOL if row.result == "bool" else typenum
    loop.fn = dg_own_loop(op, typenum)
    if loop.fn is NULL and row.ufunc is not None and not (row.c is not None and typenum == NPY_HALF):
        signature = bytes([typenum] * arity + [loop.out_typenum])
        if dg_find_loop(getattr(np, row.ufunc), signature, arity + 1, &loop.fn, &loop.data) != 0:
            loop.fn = NULL
    loop.known = True
    return loop


cdef object no_loop(int op, int typenum):
    return TypeError(f"{NAMES[op]}: operands of type {np.dtype(cnp.PyArray_DescrFromType(typenum)).name} have no such "
                     f"operation; convert them to a float type first (x.astype(...))")


cdef bint numpy_loop(object ufunc, int typenum, Loop *loop) except -1:
    """A ufunc's loop for operands and result of one type; False if it has none."""
    cdef int operands = ufunc.nin + ufunc.nout
    signature = bytes([typenum] * operands)
    if dg_find_loop(ufunc, signature, operands, &loop.fn, &loop.data) != 0:
        loop.fn = NULL
        return False
    return True


cdef int broadcast_shape(int op, PyObject **args, int n, Py_ssize_t *shape) except -1:
    """The common shape of the operands, by NumPy's rules; its number of axes is returned."""
    cdef int ndim = 0, i, j, k
    cdef Array a
    for i in range(n):
        a = <Array>args[i]
        if a.ndim > ndim:
            ndim = a.ndim
    for j in range(ndim):
        shape[j] = 1
    for i in range(n):
        a = <Array>args[i]
        for j in range(a.ndim):
            k = j + ndim - a.ndim
            if a.shape[j] == shape[k] or a.shape[j] == 1:
                continue
            if shape[k] != 1:
                shapes = " and ".join([str(shape_tuple(<Array>args[m])) for m in range(n)])
                raise ValueError(f"{NAMES[op]}: operands of shapes {shapes} do not broadcast; axes must be equal or 1, "
                                 f"counted from the last")
            shape[k] = a.shape[j]
    return ndim
