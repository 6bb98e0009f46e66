# Step numbers of loops. See weak.pyx.
from ..arrays.array cimport Value


cdef class WeakNumber:
    cdef readonly object number     # an int or a float: its value at this step
    cdef Value value                # the same value in a program, of type int64 or float64
    cdef double most                # of an int: its largest absolute value at any step
    cdef object read(self)


cdef WeakNumber weak_number(object number, Value value, double most)
