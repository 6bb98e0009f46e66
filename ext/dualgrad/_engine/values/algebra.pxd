# Duals over any finite algebra. See algebra.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Value
from .levels cimport Algebra, Level

cdef Value algebra_rule(int op, object params, PyObject **args, int n, Level level, Algebra algebra)
cdef Value make(Level level, Algebra algebra, list parts)
cdef Value truncated(Value v, Level level, Algebra quotient)
cdef Value derived(Value v, Level level, Algebra quotient)
cdef list coefficients(object v, Level level, Algebra algebra)
cdef Value elementwise_over(int op, object params, PyObject **args, int n, Level level, Algebra algebra)
cdef Value by_line(int op, object params, list primals, list ins, Level level, Algebra algebra)
cdef int product_of_elements(int op, object params, list a, list b, list out, Level level, Algebra algebra) except -1
