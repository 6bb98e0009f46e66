# Primitives on batches. See batching.pyx.
from .array cimport Value
from .values cimport BatchLevel

cdef Value enter(BatchLevel level, Value v)
cdef Value leave(BatchLevel level, Value v)
cdef Value padded(Value v, BatchLevel level, int ndim, int core)
cdef Value moved_axis(Value v, int source, int target)
cdef Value contracted(int op, object params, Value a, Value b, BatchLevel level)
cdef Value frugal_matmul(Value a, Value b)
cdef Value frugal(int op, object params, Value a, Value b)
