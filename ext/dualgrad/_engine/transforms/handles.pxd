# Handles: what users hold. See handles.pyx.
from ..arrays.array cimport Array, Value
from ..tape.closed_call cimport ClosedCall


cdef extern from *:
    """
    #include "memory/shared.h"
    #define dg_value_in(t) dg_take((PyObject *)(t), &(t)->value)
    #define dg_put_value(t, v) dg_put((PyObject *)(t), &(t)->value, (PyObject *)(v))
    #define dg_hooks_of(t) dg_take((PyObject *)(t), &(t)->hooks)
    #define dg_set_hooks(t, h) dg_put((PyObject *)(t), &(t)->hooks, h)
    """
    # What a tensor holds; None before its __init__ has run. The next look may find another value.
    Value value_in "dg_value_in"(TensorBase t)
    void put "dg_put_value"(TensorBase t, Value v)
    object hooks_of "dg_hooks_of"(TensorBase t)
    void set_hooks "dg_set_hooks"(TensorBase t, object hooks)
    void dg_set_flag(bint *flag) noexcept
    bint dg_flag(bint *flag) noexcept


cdef class TensorBase:
    cdef Value value            # read by `value_in`, written by `put`: threads share handles
    cdef bint parameter         # a Parameter: reading it registers with the open levels that differentiate it
    cdef bint captured          # some recorded function can reach it otherwise than as an argument: see `is_captured`
    cdef long long birth        # the level serial when it was made
    # Called with the gradient by this tensor, return the one to use; None for no hooks: see `hooks_of` and `set_hooks`.
    cdef object hooks
    cdef object alias           # of arrays of dualgrad.numpy and their views a View (ops/index/_views.py), else None


cdef inline bint is_captured(TensorBase t) noexcept:
    return dg_flag(&t.captured)


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
