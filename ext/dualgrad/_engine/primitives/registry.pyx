"""What the engine knows of each primitive beside its rules: name, family, and the inner loops that compute it.

A loop is ours or NumPy's; both have the same signature, so one table holds whichever serves a primitive and a type.

The table has room for primitives that are added while the program runs (`dualgrad.extend`): a row like those of the
built-in ones, with an opcode of its own, and a `Rule` where kernel or derivatives are functions rather than rows say.
"""
cimport numpy as cnp
from cpython.exc cimport PyErr_Occurred
from cpython.mem cimport PyMem_Malloc
from libc.string cimport memset

import numpy as np

from dualgrad._table import REAL_ONLY, ROWS

from ..arrays.array cimport N_TYPES, NPY_HALF, Array, Value, is_complex, is_inexact, shape_tuple
from .opcodes cimport *

cnp.import_array()
cnp.import_ufunc()

cdef extern from "kernels/kernels.h":
    dg_loop dg_own_loop(int op, int typenum)

cdef extern from "kernels/foreign.h":
    ctypedef struct dg_foreign:
        dg_loop fn
        void *data
        int operands
    void dg_foreign_loop(char **args, const cnp.npy_intp *dims, const cnp.npy_intp *steps, void *data) noexcept nogil

cdef extern from "kernels/scalar.h":
    dg_loop dg_scalar_loop(int is_double, int arity)

cdef extern from "kernels/ufunc.h":
    int dg_find_loop(object u, const char *sig, int n, dg_loop *fn, void **data)

cdef Loop[MAX_OPS][N_TYPES] LOOPS
cdef int[MAX_OPS] FAMILY
cdef bint[MAX_OPS] KEEPS_INTS
cdef bint[MAX_OPS] WANTS_FLOAT      # integers become float32 first
cdef bint[MAX_OPS] ELEMENTWISE      # works element by element, with or without a slope
cdef list TABLE = []                # the row of each opcode
cdef list RULES = []                # its rule, or None
cdef list KERNELS = []              # its kernel, if that is not built in
cdef dict BY_NAME = {}
memset(LOOPS, 0, sizeof(LOOPS))

_FAMILIES = {"elementwise": FAMILY_ELEMENTWISE, "linear": FAMILY_LINEAR, "bilinear": FAMILY_BILINEAR,
             "selection": FAMILY_SELECTION, "constant": FAMILY_CONSTANT, "composite": FAMILY_COMPOSITE,
             "rule": FAMILY_RULE}


cdef class Rule:
    """Kernel and derivatives of a primitive as functions; the bodies are in extension.pyx."""

    cdef Array execute(self, object params, PyObject **args, int n):
        raise NotImplementedError

    cdef Value push(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        """The tangent of the result."""
        raise NotImplementedError

    cdef list pull(self, object params, PyObject **ins, int n, Value out, Value ct, const char *wanted):
        """The cotangents of the wanted operands (all, where `wanted` is NULL); None where zero."""
        raise NotImplementedError

    cdef Value residual(self, object params, PyObject **ins, int n, Value out):
        """What is zero where `out` is the result for these operands."""
        raise NotImplementedError

    cdef Value correction(self, object params, PyObject **ins, int n, Value out, Value residual):
        """The change of the result that removes a small residual; linear in it."""
        raise NotImplementedError

    cdef Value map(self, object params, PyObject **args, int n, object level):
        """The result for operands that are batched at a level."""
        raise NotImplementedError


cdef int add_row(object row, Rule rule, object kernel) except -1:
    """Give a row an opcode; the kernel, if it is not built in: a ufunc, or (address, is double) of a C function."""
    cdef int op = len(TABLE)
    if op == MAX_OPS:
        raise RuntimeError(f"extend: there is room for {MAX_OPS - N_OPS} primitives of your own, and all are taken; "
                           f"define {row.name} once, outside of loops and functions")
    FAMILY[op] = _FAMILIES[row.family]
    KEEPS_INTS[op] = row.keeps_ints
    WANTS_FLOAT[op] = row.family == "elementwise" and not row.keeps_ints and not row.takes_ints
    ELEMENTWISE[op] = len(row.partials) > 0 or row.family == "elementwise"
    TABLE.append(row)
    RULES.append(rule)
    KERNELS.append(kernel)
    BY_NAME[row.name] = op
    return op


for _row in ROWS:
    add_row(_row, None, None)
if len(ROWS) != N_OPS:
    raise ImportError("dualgrad was built from another table of primitives than the one installed; build it again")


def table():
    """The rows of all primitives, those added while the program runs among them."""
    return tuple(TABLE)


cdef int family_of(int op) noexcept:
    return FAMILY[op]


cdef bint wants_float(int op) noexcept:
    return WANTS_FLOAT[op]


cdef bint is_elementwise(int op) noexcept:
    return ELEMENTWISE[op]


cdef Rule rule_of(int op):
    return <Rule>RULES[op]


cdef object row_of(int op):
    return TABLE[op]


cdef int op_named(str name) except -1:
    op = BY_NAME.get(name)
    if op is None:
        raise ValueError(f"{name!r} is no primitive")
    return op


cdef bint keeps_ints(int op) noexcept:
    return KEEPS_INTS[op]


cdef str op_name(int op):
    return TABLE[op].name


cdef str np_name(Array a):
    return np.dtype(cnp.PyArray_DescrFromType(a.typenum)).name


cdef Loop *find_loop(int op, int typenum) except NULL:
    """The inner loop of a primitive for a type; looked up once."""
    cdef Loop *loop = &LOOPS[op][typenum]
    cdef int arity
    if loop.known:
        return loop
    row = row_of(op)
    arity = row.arity
    loop.out_typenum = cnp.NPY_BOOL if row.result == "bool" else typenum
    if op >= N_OPS:
        find_given_loop(KERNELS[op], arity, typenum, loop)
        return loop
    loop.fn = dg_own_loop(op, typenum)
    if (loop.fn is NULL and row.ufunc is not None and not (row.c is not None and typenum == NPY_HALF)
            and not (is_complex(typenum) and row.name in REAL_ONLY)
            # NumPy's loop for powers of integers raises, and a loop that runs without the GIL may not.
            and not (op == OP_POW and not is_inexact(typenum))):
        signature = bytes([typenum] * arity + [loop.out_typenum])
        if dg_find_loop(getattr(np, row.ufunc), signature, arity + 1, &loop.fn, &loop.data) != 0:
            loop.fn = NULL
        elif op == OP_POW and not is_inexact(typenum):      # integers have no negative powers
            make_foreign(loop, arity)
    loop.known = True
    return loop


cdef int find_given_loop(object kernel, int arity, int typenum, Loop *loop) except -1:
    """The loop of a kernel that came with the row; none where it does not know the type."""
    loop.fn = NULL
    if isinstance(kernel, tuple):
        address, is_double = kernel
        if typenum == <int>(cnp.NPY_DOUBLE if is_double else cnp.NPY_FLOAT):
            loop.fn = dg_scalar_loop(is_double, arity)
            loop.data = <void *><size_t>address
    elif isinstance(kernel, np.ufunc):
        if dg_find_loop(kernel, bytes([typenum] * arity + [loop.out_typenum]), arity + 1, &loop.fn, &loop.data) == 0:
            make_foreign(loop, arity)
        else:
            loop.fn = NULL
    loop.known = True
    return 0


cdef int make_foreign(Loop *loop, int arity) except -1:
    """Call a loop of somebody else's through one of ours; the table holds what it needs for ever, as the loop."""
    cdef dg_foreign *theirs = <dg_foreign *>PyMem_Malloc(sizeof(dg_foreign))
    if theirs is NULL:
        raise MemoryError()
    theirs.fn = loop.fn
    theirs.data = loop.data
    theirs.operands = arity + 1
    loop.fn = dg_foreign_loop
    loop.data = theirs
    loop.asks = True
    return 0


cdef int raise_of(Loop *loop) except -1:
    """Raise the error that a loop has set."""
    return -1 if loop.asks and PyErr_Occurred() else 0


cdef object no_loop(int op, int typenum):
    if is_complex(typenum):
        return TypeError(f"{op_name(op)}: complex numbers have no such operation; apply it to ops.real(x), ops.imag(x) "
                         f"or ops.abs(x)")
    return TypeError(f"{op_name(op)}: operands of type {np.dtype(cnp.PyArray_DescrFromType(typenum)).name} have no "
                     f"such operation; convert them to a float type first (x.astype(...))")


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
                raise ValueError(f"{op_name(op)}: operands of shapes {shapes} do not broadcast; axes must be equal or "
                                 f"1, counted from the last")
            shape[k] = a.shape[j]
    return ndim
