"""The registry of primitives: the name, family and inner loops of each.

A loop is ours or NumPy's. Both have the same signature, so one table holds the loop for each primitive and dtype.

A primitive that is more than a row has an object (`Primitive`), found by opcode. These are the structural primitives
(folder `structural`), and primitives whose kernel or derivatives are functions. If one lacks a part, the import fails.

The table has room for primitives added at import or at run time (`dualgrad.extend`): a row like the built-in ones, with
a new opcode. Only primitives whose opcodes other files use need theirs at build time.
"""
cimport cython
cimport numpy as cnp
from cpython.exc cimport PyErr_Occurred
from cpython.mem cimport PyMem_Malloc
from cpython.object cimport PyObject
from libc.string cimport memset

from dualgrad._table import REAL_ONLY, ROWS

from ..arrays.array import np
from ..arrays.array cimport (MAX_DIMS, N_TYPES, NPY_HALF, Array, Value, is_complex, is_inexact, shape_tuple,
                             without_numbers)
from .opcodes cimport *

cnp.import_array()
cnp.import_ufunc()

cdef extern from "kernels/kernels.h":
    ctypedef void (*dg_function)()
    dg_loop dg_own_loop(int op, int typenum)
    dg_function dg_own_function(int op, int typenum)
    dg_function dg_own_wide(int op, int typenum)
    bint DG_WIDE_BY_ADDRESS
    int dg_level() noexcept

cdef extern from "kernels/foreign.h":
    ctypedef struct dg_foreign:
        dg_loop fn
        void *data
        int operands
    void dg_foreign_loop(char **args, const cnp.npy_intp *dims, const cnp.npy_intp *steps, void *data) noexcept nogil

cdef extern from "memory/shared.h":
    void dg_set_flag(bint *flag) noexcept
    bint dg_flag(bint *flag) noexcept

cdef extern from "kernels/scalar.h":
    dg_loop dg_scalar_loop(int is_double, int arity)

cdef extern from *:
    """
    /* call a virtual method by index: the method table is the first member of an object of a cdef class */
    #define dg_method(object, i) ((*(void ***)((char *)(object) + sizeof(PyObject)))[i])
    """
    void *dg_method(Primitive p, int i)

cdef extern from "kernels/ufunc.h":
    int dg_find_loop(object u, const char *sig, int n, dg_loop *fn, void **data)

cdef Loop[MAX_OPS][N_TYPES] LOOPS
cdef int[MAX_OPS] FAMILY
cdef bint[MAX_OPS] KEEPS_INTS
cdef bint[MAX_OPS] WANTS_FLOAT      # integers are converted to float32 first
cdef bint[MAX_OPS] ELEMENTWISE      # computed element by element, with or without a derivative
cdef list TABLE = []                # the row of each opcode
cdef list OBJECTS = []              # the object of each opcode, or None
cdef list KERNELS = []              # the kernel of each opcode, or None if it is built in
cdef dict BY_NAME = {}
memset(LOOPS, 0, sizeof(LOOPS))
memset(PRIMITIVES, 0, sizeof(PRIMITIVES))
memset(EFFECTS, NO_EFFECT, sizeof(EFFECTS))

_FAMILIES = {"elementwise": FAMILY_ELEMENTWISE, "linear": FAMILY_LINEAR, "bilinear": FAMILY_BILINEAR,
             "selection": FAMILY_SELECTION, "constant": FAMILY_CONSTANT, "composite": FAMILY_COMPOSITE,
             "rule": FAMILY_RULE}


cdef class Primitive:
    """A primitive that is more than a row: its kernel, rules and lowering in one object.

    The families in values/families.pyx supply the parts that follow from others. Types of higher layers (levels,
    algebras, lowered programs) appear as plain objects here; each primitive casts them.
    """

    def __cinit__(self):
        self.core = -1

    cdef Array execute(self, object params, PyObject **args, int n):
        """The result on arrays."""
        raise NotImplementedError

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        """Type number and shape of the result, found without reading data; -1 if only execution reveals them."""
        raise NotImplementedError

    cdef bint has_slope(self, object params, PyObject **args, int n) except -1:
        """True if a derivative can pass through the primitive."""
        raise NotImplementedError

    cdef Value jvp(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        """The tangent of the result; NULL and None stand for zero."""
        raise NotImplementedError

    cdef Value jvp_of_integers(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        """`jvp` for an integer result, where tangents have dtypes of their own."""
        raise NotImplementedError

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        """The cotangent of operand i; None where it is zero."""
        raise NotImplementedError

    cdef Value vjp_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        """`vjp` where operand i is an integer."""
        raise NotImplementedError

    cdef Value vjp_tangent(self, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                           PyObject **in_dots, Value out_dot, object level):
        """The tangent of `vjp`, given the tangents of everything that `vjp` reads; None if it is zero."""
        raise NotImplementedError

    cdef Value vjp_tangent_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct,
                                       Value ct_dot, PyObject **in_dots, Value out_dot, object level):
        """`vjp_tangent` where operand i is an integer."""
        raise NotImplementedError

    cdef Value lifted(self, object params, PyObject **args, int n, object level, object algebra):
        """The result on elements of an algebra."""
        raise NotImplementedError

    cdef Value functional_vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct, object level,
                              object algebra):
        """The functional for the cotangent of an operand without parts in the algebra, see values/dual.pyx."""
        raise NotImplementedError

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        """The result where some operands are batches of a level; its first axis is the batch axis."""
        raise NotImplementedError

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        """The view of the result in a lowered program; None if the step runs as it does eagerly."""
        raise NotImplementedError

    def reads(self, step, int k):
        """The elements of operand k that each element of the result reads, see dualgrad/sparse/reads.py."""
        raise NotImplementedError

    def accumulated(self, walk, step, int k, list parts, list moving):
        """Entries of the Jacobian of the result, given the entries of operand k, see
        dualgrad/sparse/accumulation.py."""
        raise NotImplementedError

    def tokens(self, params, list ins, tuple shape):
        """Tokens of the result, for a primitive that moves or adds elements, see dualgrad/programs/_tokens.py.

        None: the whole result depends on all operands. The tokens check how the primitive is lowered.
        """
        return None

    cdef bint can_wait(self, object params, PyObject **args, int n) except -1:
        """True if a recording may defer the execution and continue with only the form of the result."""
        return False

    cdef Value coupled(self, object params, Value a, Value b):
        """A bilinear primitive on two coefficients."""
        raise NotImplementedError

    cdef Value contracted(self, object params, Value a, Value b, object level):
        """A bilinear primitive on two batches, summed over the samples."""
        raise NotImplementedError

    cdef bint coupled_together(self, list a, list b, list out) except -1:
        """Compute all products of coefficients at once; where that is not faster, do nothing and return False."""
        return False

    cdef list pull(self, object params, PyObject **ins, int n, Value out, Value ct, const char *wanted):
        """Cotangents of the wanted operands (all if `wanted` is NULL), where one function computes them together."""
        raise NotImplementedError


# The required parts, in the order of declaration, which is also their order in the virtual method table.
_PARTS = ("execute", "form", "has_slope", "jvp", "jvp_of_integers", "vjp", "vjp_of_integers", "vjp_tangent",
          "vjp_tangent_of_integers", "lifted", "functional_vjp", "batched", "lowered")
_VISIBLE = ("reads", "accumulated")
cdef Primitive ABSTRACT = Primitive.__new__(Primitive)


def missing_parts(Primitive p):
    """The required parts that neither the primitive nor its family implements."""
    cdef int i
    cdef list missing = [_PARTS[i] for i in range(len(_PARTS)) if dg_method(p, i) == dg_method(ABSTRACT, i)]
    return missing + [name for name in _VISIBLE if getattr(type(p), name) is getattr(Primitive, name)]


cdef int define(Primitive p, object row) except -1:
    """Attach an object to its row: either a name in the table or a new row. Return the opcode."""
    missing = missing_parts(p)
    if missing:
        raise ImportError(f"the primitive {row if isinstance(row, str) else row.name} lacks {', '.join(missing)}")
    if not isinstance(row, str):
        return add_row(row, p, None)
    attach(p, op_named(row))
    return p.op


cdef int attach(Primitive p, int op) except -1:
    p.name = TABLE[op].name
    p.op = op
    OBJECTS[op] = p
    PRIMITIVES[op] = <PyObject *>p
    EFFECTS[op] = p.effect
    return 0


def undefined():
    """Names of rows that are not elementwise and have no object."""
    return [row.name for op, row in enumerate(TABLE)
            if not row.partials and row.family != "composite" and PRIMITIVES[op] is NULL]


cdef int add_row(object row, Primitive p, object kernel) except -1:
    """Add a row to the table, attach its object, and return its opcode. A kernel that is not built in is a ufunc, or a
    pair (address of a C function, is double)."""
    cdef int op = len(TABLE)
    if op == MAX_OPS:
        raise RuntimeError(f"extend: there is room for {MAX_OPS - N_OPS} primitives of your own, and all are taken; "
                           f"define {row.name} once, outside of loops and functions")
    FAMILY[op] = _FAMILIES[row.family]
    KEEPS_INTS[op] = row.keeps_ints
    WANTS_FLOAT[op] = row.family == "elementwise" and not row.keeps_ints and not row.takes_ints
    ELEMENTWISE[op] = len(row.partials) > 0 or row.family == "elementwise"
    TABLE.append(row)
    OBJECTS.append(None)
    KERNELS.append(kernel)
    BY_NAME[row.name] = op
    if p is not None:
        attach(p, op)
    return op


for _row in ROWS:
    add_row(_row, None, None)
if len(ROWS) != N_OPS:
    raise ImportError("dualgrad was built from another table of primitives than the one installed; build it again")


def table():
    """The rows of all primitives, including those added at run time."""
    return tuple(TABLE)


def primitive(int op):
    """The object of a primitive; None if it is only a row."""
    return OBJECTS[op]


def result_form(int op, object params, list forms):
    """Type number and shape of a result, given those of the operands; None if only execution reveals them."""
    cdef Py_ssize_t[MAX_DIMS] dims
    cdef bytearray room = bytearray(len(forms) * sizeof(PyObject *))
    cdef PyObject **args = <PyObject **><char *>room
    cdef list held = []
    cdef Array a
    cdef int ndim = 0, i, n = len(forms), typenum
    for typenum, shape in forms:
        for i in range(len(shape)):
            dims[i] = shape[i]
        a = without_numbers(typenum, len(shape), dims)
        args[len(held)] = <PyObject *>a
        held.append(a)
    if PRIMITIVES[op] is NULL:
        typenum = find_loop(op, forms[0][0]).out_typenum
        ndim = broadcast_shape(op, args, n, dims)
    else:
        typenum = (<Primitive>PRIMITIVES[op]).form(params, args, n, &ndim, dims)
    return None if typenum < 0 else (typenum, tuple([dims[i] for i in range(ndim)]))


cdef void *own_function(int op, int typenum) noexcept:
    """The C function on one number, compiled from the body of a loop; NULL if there is none."""
    return <void *>dg_own_function(op, typenum)


def has_function(int op, int typenum):
    """True if `own_function` finds a function."""
    return own_function(op, typenum) is not NULL


def wide_function(int op, int typenum):
    """Address of the function on one vector, compiled from the body of a loop; 0 if there is none."""
    return <size_t>dg_own_wide(op, typenum)


def wide_by_address():
    """True if a `wide_function` takes the address of its operand instead of the vector."""
    return DG_WIDE_BY_ADDRESS


def wide_bytes():
    """Bytes of the vector that a `wide_function` takes."""
    return 16 << dg_level()


def opcodes():
    """Opcodes by name, including those added at run time."""
    return BY_NAME


cdef int family_of(int op) noexcept:
    return FAMILY[op]


cdef bint wants_float(int op) noexcept:
    return WANTS_FLOAT[op]


cdef bint is_elementwise(int op) noexcept:
    return ELEMENTWISE[op]


cdef Primitive primitive_of(int op):
    """The object of a primitive; None if it is only a row."""
    return None if PRIMITIVES[op] is NULL else <Primitive>PRIMITIVES[op]


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
    """The inner loop of a primitive for a dtype, looked up once and then cached."""
    cdef Loop *loop = &LOOPS[op][typenum]
    cdef Loop found
    if dg_flag(&loop.known):
        return loop
    memset(&found, 0, sizeof(found))
    look_up(op, typenum, &found)
    keep_loop(&found, loop)
    return loop


cdef bint has_own_loop(int op, int typenum) noexcept:
    """True if the inner loop of a primitive for a dtype is ours, not NumPy's."""
    return op < N_OPS and dg_own_loop(op, typenum) is not NULL


cdef int keep_loop(const Loop *found, Loop *loop) except -1:
    """Put a loop into a table. If two threads look one up at once, the first one stores it and the second keeps it."""
    with cython.critical_section(TABLE):
        if not loop.known:
            loop.fn = found.fn
            loop.data = found.data
            loop.out_typenum = found.out_typenum
            loop.asks = found.asks
            dg_set_flag(&loop.known)
    return 0


cdef int look_up(int op, int typenum, Loop *loop) except -1:
    """Look up the inner loop of a primitive for a dtype."""
    row = row_of(op)
    cdef int arity = row.arity
    loop.out_typenum = cnp.NPY_BOOL if row.result == "bool" else typenum
    if op >= N_OPS:
        return find_given_loop(KERNELS[op], arity, typenum, loop)
    loop.fn = dg_own_loop(op, typenum)
    if (loop.fn is NULL and row.ufunc is not None and not (row.c is not None and typenum == NPY_HALF)
            and not (is_complex(typenum) and row.name in REAL_ONLY)
            # NumPy's loop for powers of integers can raise, which a loop without the GIL must not do.
            and not (op == OP_POW and not is_inexact(typenum))):
        signature = bytes([typenum] * arity + [loop.out_typenum])
        if dg_find_loop(getattr(np, row.ufunc), signature, arity + 1, &loop.fn, &loop.data) != 0:
            loop.fn = NULL
        elif op == OP_POW and not is_inexact(typenum):      # integers have no negative powers
            make_foreign(loop, arity)
    return 0


cdef int find_given_loop(object kernel, int arity, int typenum, Loop *loop) except -1:
    """Look up the loop of a kernel that came with the row; `fn` stays NULL if the kernel lacks the dtype."""
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
    return 0


cdef int make_foreign(Loop *loop, int arity) except -1:
    """Wrap a foreign loop in one of ours. Its data is never freed, because the table keeps the loop for ever."""
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
    """Raise the error that a loop has set, if any."""
    return -1 if loop.asks and PyErr_Occurred() else 0


cdef object no_loop(int op, int typenum):
    if is_complex(typenum):
        return TypeError(f"{op_name(op)}: complex numbers have no such operation; apply it to ops.real(x), ops.imag(x) "
                         f"or ops.abs(x)")
    return TypeError(f"{op_name(op)}: operands of type {np.dtype(cnp.PyArray_DescrFromType(typenum)).name} have no "
                     f"such operation; convert them to a float type first (x.astype(...))")


cdef int numpy_loop(object ufunc, int typenum, Loop *loop) except -1:
    """Look up a ufunc's loop whose operands and result all have one dtype; `fn` is NULL if there is none."""
    cdef int operands = ufunc.nin + ufunc.nout
    cdef Loop found
    memset(&found, 0, sizeof(found))
    signature = bytes([typenum] * operands)
    if dg_find_loop(ufunc, signature, operands, &found.fn, &found.data) != 0:
        found.fn = NULL
    found.out_typenum = loop.out_typenum
    return keep_loop(&found, loop)


cdef int broadcast_shape(int op, PyObject **args, int n, Py_ssize_t *shape) except -1:
    """Write the broadcast shape of the operands, by NumPy's rules, to `shape`; return its number of axes."""
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
