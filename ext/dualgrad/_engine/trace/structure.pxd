# Structure of values. See structure.pyx.
from ..arrays.array cimport Value
from ..values.levels cimport Level

cdef object structure(object v, list arrays, Level traced=*)
cdef object restored(object found, object arrays, object former=*)
cdef list axes_of(object found, int batches)
cdef object entry_of(object found, int batches)
cdef object stack_of(object found, Py_ssize_t n, int batches)
cdef Value grown(Value v, Value like)
