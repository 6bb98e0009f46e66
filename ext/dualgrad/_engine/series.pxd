# Elementwise functions of algebra elements, degree by degree. See series.pyx.
from .array cimport Value
from .values cimport Algebra

cdef list elementwise_series(int op, object params, list operands, Algebra algebra)
cdef Value times(Value v, double number)
