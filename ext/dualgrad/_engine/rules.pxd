# Derivative rules of primitives, on values of any kind. See rules.pyx.
from cpython.object cimport PyObject
from .array cimport Value
from .values cimport Level

cdef Value jvp(int op, object params, PyObject **ins, int n, Value out, PyObject **tangents)
cdef Value vjp(int op, object params, PyObject **ins, int n, Value out, int i, Value ct)
cdef Value vjp_tangent(int op, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                       PyObject **in_dots, Value out_dot, Level level)
cdef bint has_slope(int op, object params, PyObject **args, int n)
cdef Value add(Value a, Value b)
cdef Value zeros_like(Value v)
cdef Value ones_like(Value v)
