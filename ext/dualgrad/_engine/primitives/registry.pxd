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
    bint asks           # the loop may set a Python error: check after each run, see kernels/foreign.h

cdef enum Family:
    FAMILY_ELEMENTWISE
    FAMILY_LINEAR
    FAMILY_BILINEAR
    FAMILY_SELECTION
    FAMILY_CONSTANT
    FAMILY_COMPOSITE
    FAMILY_RULE             # the derivative is a function, see transforms/extension.pyx

cdef enum:
    MAX_OPS = 4096          # opcodes from N_OPS on are assigned at run time


cdef enum Effect:           # side effect of a step: it happens exactly once per run, in order
    NO_EFFECT
    LOOKS                   # it checks its operands and may raise; a repetition does no harm
    DRAWS                   # each run gives another result


cdef class Primitive:
    cdef readonly str name
    cdef readonly int op
    cdef bint odd                       # negating an operand negates the result, bit for bit
    cdef bint reads_merged              # lowering may pass it merged axes as they are, see compiler/lowering.pyx
    cdef Effect effect
    cdef int core                       # axes of one sample, if this primitive also computes stacked samples; else -1
    cdef Array execute(self, object params, PyObject **args, int n)
    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2
    cdef bint has_slope(self, object params, PyObject **args, int n) except -1
    cdef Value jvp(self, object params, PyObject **ins, int n, Value out, PyObject **tangents)
    cdef Value jvp_of_integers(self, object params, PyObject **ins, int n, Value out, PyObject **tangents)
    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct)
    cdef Value vjp_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct)
    cdef Value vjp_tangent(self, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                           PyObject **in_dots, Value out_dot, object level)
    cdef Value vjp_tangent_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct,
                                       Value ct_dot, PyObject **in_dots, Value out_dot, object level)
    cdef Value lifted(self, object params, PyObject **args, int n, object level, object algebra)
    cdef Value functional_vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct, object level,
                              object algebra)
    cdef Value batched(self, object params, PyObject **args, int n, object level)
    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering)
    # the methods above are required, the methods below are optional
    cdef bint can_wait(self, object params, PyObject **args, int n) except -1
    cdef Value coupled(self, object params, Value a, Value b)
    cdef Value contracted(self, object params, Value a, Value b, object level)
    cdef bint coupled_together(self, list a, list b, list out) except -1
    cdef list pull(self, object params, PyObject **ins, int n, Value out, Value ct, const char *wanted)

cdef PyObject *PRIMITIVES[MAX_OPS]     # by opcode; NULL: a row computed element by element
cdef unsigned char EFFECTS[MAX_OPS]    # by opcode

cdef int family_of(int op) noexcept
cdef bint keeps_ints(int op) noexcept
cdef bint wants_float(int op) noexcept
cdef bint is_elementwise(int op) noexcept
cdef Primitive primitive_of(int op)
cdef int define(Primitive p, object row) except -1
cdef object row_of(int op)
cdef int op_named(str name) except -1
cdef int add_row(object row, Primitive p, object kernel) except -1
cdef str op_name(int op)
cdef str np_name(Array a)
cdef Loop *find_loop(int op, int typenum) except NULL
cdef bint has_own_loop(int op, int typenum) noexcept
cdef void *own_function(int op, int typenum) noexcept
cdef int raise_of(Loop *loop) except -1
cdef int numpy_loop(object ufunc, int typenum, Loop *loop) except -1
cdef object no_loop(int op, int typenum)
cdef int broadcast_shape(int op, PyObject **args, int n, Py_ssize_t *shape) except -1
