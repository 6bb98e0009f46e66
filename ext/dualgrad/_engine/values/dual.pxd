# Cotangents of algebra elements. See dual.pyx.
from cpython.object cimport PyObject

from ..arrays.array cimport Value
from .levels cimport Algebra, Level


cdef class Duality:
    cdef Algebra algebra        # the algebra that cotangents belong to
    cdef list seeds             # for each coefficient k of a value: (j, c); add c times its cotangent to element j
    cdef list reads             # in reverse: the cotangent of coefficient k is the sum of c times element j
    cdef list pairs             # (i, j, c): the functional of a product is the sum of c a_i b_j


cdef Duality duality_of(Algebra algebra)
cdef Value coefficient(Value v, Level level, int k)
cdef Value joined(Level level, Algebra algebra, list coefficients)
cdef Value rebuilt(object like, list parts)
cdef Value entered(Level level, int k, Value v)
cdef Value left(Level level, int k, Value v)
cdef bint moves_at(Value v, Level level)
cdef Value seeded(Level level, Algebra algebra, list cotangents)
cdef Value cotangent(Level level, Algebra algebra, Value adjoint, int k)
cdef Value vjp_over(Level level, Algebra algebra, int op, object params, PyObject **ins, int n, Value out, int i,
                    Value ct)
cdef Value elementwise_functional_vjp(int op, object params, PyObject **ins, int n, Value out, int i, Value ct,
                                      Level level, Algebra algebra)
cdef Value functional_of_product(Level level, Algebra algebra, int op, Value a, Value b, bint ct_first)
