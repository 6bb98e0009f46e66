# Elementwise functions of algebra elements, degree by degree. See taylor.pyx.
from ..arrays.array cimport Value
from .levels cimport Algebra, Level

cdef list elementwise_series(int op, object params, list operands, Algebra algebra, Level level, Value unit)
cdef Value times(Value v, double number)
