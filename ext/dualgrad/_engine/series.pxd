# Elementwise functions of algebra elements, degree by degree. See series.pyx.
from .array cimport Value
from .values cimport Algebra, Level

cdef list elementwise_series(int op, object params, list operands, Algebra algebra, Level level, Value unit)
cdef Value times(Value v, double number)
