# Derivative rules of primitives, on values of any kind. See rules.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Value
from ..primitives.watch cimport Watch
from .levels cimport Algebra, Level


cdef Value jvp(int op, object params, PyObject **ins, int n, Value out, PyObject **tangents)
cdef Value watched_jvp(int op, object params, PyObject **ins, int n, Value out, PyObject **tangents, int order)
cdef Value vjp(int op, object params, PyObject **ins, int n, Value out, int i, Value ct)
cdef Value vjp_of_one_type(int op, object params, PyObject **ins, int n, Value out, int i, Value ct)
cdef Value vjp_tangent(int op, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                       PyObject **in_dots, Value out_dot, Level level)
cdef Value widened_jvp(int op, object params, PyObject **ins, int n, Value out, PyObject **tangents, int first,
                       bint exact)
cdef Value widened_vjp(int op, object params, PyObject **ins, int n, Value out, int i, Value ct)
cdef Value widened_vjp_tangent(int op, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                               PyObject **in_dots, Value out_dot, Level level)
cdef bint has_slope(int op, object params, PyObject **args, int n) except -1
cdef bint elementwise_has_slope(int op, PyObject **args) except -1
cdef Value elementwise_jvp(int op, PyObject **ins, int n, Value out, PyObject **tangents)
cdef Value elementwise_vjp(int op, PyObject **ins, int n, Value out, int i, Value ct)
cdef Value elementwise_vjp_tangent(int op, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                                   PyObject **in_dots, Value out_dot, Level level)
cdef Value dual_rule(int op, object params, PyObject **args, int n)
cdef Value add(Value a, Value b)
cdef Value zeros_like(Value v)
cdef Value ones_like(Value v)
cdef Value tangent_or_zeros(PyObject *tangent, Value like)
cdef Value typed(Value v, int typenum)
cdef int common_type(int a, int b) except -1
cdef int slope_type(int op, int typenum) noexcept
cdef Value widen(Value term, Value like)
cdef Value to_shape_of(Value term, Value like)
cdef Value to_shape_of_moved(Value ct, Value dot, Value ct_dot, Value partial, Value like)
cdef int look_at(Watch watch, int op, int order, Value v, PyObject **args, int n) except -1
