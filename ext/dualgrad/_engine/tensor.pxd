# Tensors: the handles users hold. See tensor.pyx.
from .array cimport Value


cdef class TensorBase:
    cdef Value value
    cdef bint parameter         # a Parameter: reading it registers with the open levels that differentiate it
    cdef long long birth        # the level serial when it was made


cdef object wrap(Value v)
cdef Value read(TensorBase t)
cdef Value value_of(object x)
