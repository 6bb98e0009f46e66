# Families of primitives that are objects. See families.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Value
from ..primitives.registry cimport Primitive
from .levels cimport Algebra, Level


cdef class Elementwise(Primitive):
    pass


cdef class Linear(Primitive):
    pass


cdef class Bilinear(Primitive):
    pass


cdef class Selection(Linear):
    pass


cdef class Constant(Primitive):
    pass


cdef tuple kept_shape(Value v, tuple axes)
cdef Value batched_reduction(Primitive p, tuple params, Value x, object level)
cdef Value by_coefficients(Primitive p, object params, PyObject **args, int n, Level level, Algebra algebra)
cdef Value functional_of_vjp(Primitive p, object params, PyObject **ins, int n, Value out, int i, Value ct,
                             object level, object algebra)
