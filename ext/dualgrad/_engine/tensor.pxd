# Tensors: the handles users hold. See tensor.pyx.
from .array cimport Value
from .region cimport Region


cdef class TensorBase:
    cdef Value value
    cdef bint parameter         # a Parameter: reading it registers with the open levels that differentiate it
    cdef long long birth        # the level serial when it was made


cdef class CellCall:
    cdef public long long writes        # how often an attribute was set, for recordings that depend on them
    cdef public bint recorded           # its calls are recorded in every mode


cdef object wrap(Value v)
cdef Value read(TensorBase t)
cdef bint graph_mode() noexcept
cdef Value value_of(object x)
cdef Region current_region()
cdef Region swap_region(Region region)
cdef int rebound(TensorBase t, Value v) except -1
