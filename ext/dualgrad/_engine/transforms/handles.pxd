# Handles: what users hold. See handles.pyx.
from ..arrays.array cimport Array, Value
from ..tape.closed_call cimport ClosedCall


cdef class TensorBase:
    cdef Value value
    cdef bint parameter         # a Parameter: reading it registers with the open levels that differentiate it
    cdef bint captured          # some recorded function can reach it otherwise than as an argument
    cdef long long birth        # the level serial when it was made
    cdef object hooks           # called with the gradient by this tensor, and return the one to use; None for no hooks
    cdef object alias           # of arrays of dualgrad.numpy and their views a View (ops/index/_views.py), else None


cdef dict DTYPES                # type number -> dualgrad.dtype object
cdef object wrap(Value v)
cdef bint is_plain(object x) noexcept
cdef bint is_plain_class(object kind) noexcept
cdef Value read(TensorBase t)
cdef Array array_operand(object array)
cdef int entering(object x) except -1
cdef Value value_of(object x)
cdef ClosedCall current_closed_call()
cdef ClosedCall swap_closed_call(ClosedCall closed)
cdef int rebound(TensorBase t, Value v) except -1
cdef bint hooks_exist() noexcept
cdef int give_hooks(TensorBase t, object hooks) except -1
cdef Value after_hooks(TensorBase t, Value gradient)
cdef int no_hooks(str name, TensorBase t) except -1
