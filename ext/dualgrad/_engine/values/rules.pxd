# Derivative rules of primitives, on values of any kind. See rules.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Value
from .levels cimport Algebra, Level

cdef enum:
    X_REGISTERS = 4             # x, y, z, out
    MAX_STEPS = 32


cdef class Partial:
    cdef bint is_number
    cdef double number
    cdef int n_steps
    cdef int result
    cdef int[MAX_STEPS] op
    cdef int[MAX_STEPS][3] operand
    cdef int[MAX_STEPS] arity
    cdef list constants             # numbers
    cdef list typed                 # for each constant, the array of each type made so far
    cdef object literal(self, node)
    cdef int compile(self, node) except -1
    cdef Value constant(self, int k, int typenum)
    cdef Value evaluate(self, PyObject **ins, int n, Value out)


cdef Value jvp(int op, object params, PyObject **ins, int n, Value out, PyObject **tangents)
cdef Value watched_jvp(int op, object params, PyObject **ins, int n, Value out, PyObject **tangents, int order)
cdef Value vjp(int op, object params, PyObject **ins, int n, Value out, int i, Value ct)
cdef Value vjp_tangent(int op, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                       PyObject **in_dots, Value out_dot, Level level)
cdef bint has_slope(int op, object params, PyObject **args, int n)
cdef Value dual_rule(int op, object params, PyObject **args, int n)
cdef Value add(Value a, Value b)
cdef Value zeros_like(Value v)
cdef Value ones_like(Value v)
cdef Value share(object params, Value x, Value out, int typenum)
cdef Value typed(Value v, int typenum)
cdef int common_type(int a, int b) except -1
cdef Value widen(Value term, Value like)
cdef Value to_shape_of(Value term, Value like)
cdef Value swapped(Value v)
cdef Value rows(Value v)
cdef Partial partial_of(int op, int i, Value operand)
