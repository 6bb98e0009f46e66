# Derivative rules of primitives, on values of any kind. See rules.pyx.
from cpython.object cimport PyObject
from .array cimport Value
from .values cimport Algebra, Level

ctypedef Value (*algebra_rule_t)(int op, object params, PyObject **args, int n, Level level, Algebra algebra)

cdef Value jvp(int op, object params, PyObject **ins, int n, Value out, PyObject **tangents)
cdef Value vjp(int op, object params, PyObject **ins, int n, Value out, int i, Value ct)
cdef Value vjp_tangent(int op, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                       PyObject **in_dots, Value out_dot, Level level)
cdef bint has_slope(int op, object params, PyObject **args, int n)
cdef Value add(Value a, Value b)
cdef Value zeros_like(Value v)
cdef Value ones_like(Value v)
cdef Value share(object params, Value x, Value out)
cdef Value widen(Value term, Value like)
cdef bint partial_uses_out(int op, int i)
cdef Value partial_value(int op, object params, PyObject **ins, int n, Value out, int i)
cdef void set_algebra_rule(algebra_rule_t rule) noexcept
