# Primitives on batches. See batch.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Value
from .levels cimport BatchLevel

cdef Value batched(int op, object params, PyObject **args, int n, BatchLevel level)
cdef Value enter(BatchLevel level, Value v)
cdef Value leave(BatchLevel level, Value v)
cdef Value padded(Value v, BatchLevel level, int ndim, int core)
cdef Value moved_axis(Value v, int source, int target)
cdef Value contracted(int op, object params, Value a, Value b, BatchLevel level)
cdef Value batched_elementwise(int op, object params, PyObject **args, int n, BatchLevel level)
cdef bint is_batched(Value v, BatchLevel level) noexcept
cdef Value first_along(Value v, int axis, tuple shape)
cdef Value frugal(int op, object params, Value a, Value b)
cdef bint holds_batch(Value v, BatchLevel level)
cdef Value over_samples(Value v, BatchLevel level)
cdef Value of_first(Value v, BatchLevel level)
cdef Value at_first(Value v, BatchLevel level)
cdef Value shared_vjp(int op, object params, PyObject **ins, int n, Value out, int i, Value ct, BatchLevel level)
