# Handles: the objects that users hold. See handles.pyx.
from cpython.object cimport PyObject

from ..arrays.array cimport Array, Value
from ..arrays.thread cimport thread_state
from ..tape.closed_call cimport ClosedCall, Moment, digest_t


cdef extern from *:
    """
    #include "memory/shared.h"
    #define dg_value_in(t) dg_take((PyObject *)(t), &(t)->value)
    #define dg_put_value(t, v) dg_put((PyObject *)(t), &(t)->value, (PyObject *)(v))
    #define dg_hooks_of(t) dg_take((PyObject *)(t), &(t)->hooks)
    #define dg_set_hooks(t, h) dg_put((PyObject *)(t), &(t)->hooks, h)
    """
    Value dg_value_in(TensorBase t)
    void dg_put_value(TensorBase t, Value v)
    object hooks_of "dg_hooks_of"(TensorBase t)
    void set_hooks "dg_set_hooks"(TensorBase t, object hooks)
    void dg_set_flag(bint *flag) noexcept
    bint dg_flag(bint *flag) noexcept


cdef class Alias:
    """The relation of a handle to handles that share its elements: see handles.pyx."""
    cdef TensorBase source      # of a view: the tensor whose elements it shows; otherwise None
    cdef readonly object how    # of a view: how the elements are taken (ops/index/_views.py)
    cdef public object layout   # a bool NumPy array in the memory order of NumPy's result; None for C order
    cdef readonly bint array    # NumPy's rules hold: functions, slices and `+=` work as for NumPy arrays
    cdef readonly object refused    # the reason why writes are refused; None if they are allowed
    cdef PyObject *handle       # of a view: the tensor that owns this
    cdef Alias listing          # of a view: the alias of the source, which lists it
    cdef Py_ssize_t place       # of a view: its index in that list
    cdef PyObject **views       # the aliases of all views of this tensor, without references
    cdef Py_ssize_t n, room


cdef enum:                          # entries of a history beside primitives; above all opcodes
    STOPPED = 1000001
    WEAK                            # the step number of a loop is an operand
    TRANSFORMED                     # a transform takes and returns tensors
    HAS_RULE                        # a function with a rule of its own


cdef class TensorBase:
    cdef Value value            # read by `value_in`, written by `put`: threads share handles
    cdef bint parameter         # a Parameter: reading it registers with the open levels that differentiate it
    cdef bint captured          # a recorded function can reach it, not as an argument: see `is_captured`
    cdef long long birth        # the level serial when it was made
    # A function of the gradient by this tensor that returns the gradient to use, or None: see `hooks_of`.
    cdef object hooks
    cdef digest_t mark          # identifies a tensor made in a closed call, see closed_call.pyx
    cdef Alias alias            # of arrays, of views and of tensors that have views; else None


cdef inline bint is_captured(TensorBase t) noexcept:
    return dg_flag(&t.captured)


cdef dict DTYPES                # type number -> dualgrad.dtype object
cdef object wrap(Value v)
cdef bint is_plain(object x) noexcept
cdef bint is_plain_class(object kind) noexcept
cdef Value read(TensorBase t)
cdef Array array_operand(object array)
cdef ClosedCall noting_call()
cdef digest_t mark_of(TensorBase t, ClosedCall closed) except? 0
cdef int note_operand(object x) except -1
cdef object marked(Value v, Moment before)
cdef object renewed(Value v, TensorBase t)
cdef int put_mark(TensorBase t, ClosedCall closed, digest_t mark) except -1


cdef inline ClosedCall noting():
    """The closed call whose history notes the current operations, or None."""
    return None if thread_state().closed_call is NULL else noting_call()


cdef int give_mark(TensorBase t) except -1
cdef int entering(object x) except -1
cdef int entering_op(int op) except -1
cdef Moment now()
cdef int back_to(Moment before) except -1
cdef Value value_of(object x)
cdef ClosedCall current_closed_call()
cdef ClosedCall swap_closed_call(ClosedCall closed)
cdef int rebound(TensorBase t, Value v) except -1
cdef bint hooks_exist() noexcept
cdef int give_hooks(TensorBase t, object hooks) except -1
cdef Value after_hooks(TensorBase t, Value gradient)
cdef int no_hooks(str name, TensorBase t) except -1


cdef Alias ARRAY_ALIAS              # of arrays without views


cdef Value renewed_view(TensorBase t)
cdef int outdate_views(TensorBase t) except -1
cpdef bint lies_in_rows(layout) except -1
cdef object layout_in(TensorBase t)
cdef object layouts_alone(list views)
cpdef object new_layout(tuple shape, tuple strides, kind)
cpdef object as_array(TensorBase t)
cpdef object as_view(TensorBase t, TensorBase source, how, layout, refused)
cpdef object refuse_writes(TensorBase t, object reason)
cpdef set_layout(TensorBase t, layout)
cdef object heir(TensorBase t, Value v)
cdef bint has_view_in(TensorBase t, dict handles) except -1
cdef bint are_apart(list tensors) except -1
cdef object kind_of_alias(TensorBase t)


cdef inline bint is_simply(TensorBase t, object kind) noexcept:
    """True if a tensor is an array (kind True) or not (kind False), and certainly shares no elements."""
    if t.alias is None or t.alias is ARRAY_ALIAS:
        return (kind is True) if t.alias is ARRAY_ALIAS else kind is False
    return (t.alias.source is None and t.alias.n == 0 and t.alias.layout is None and t.alias.refused is None
            and kind is (True if t.alias.array else False))


cdef int relate(list before, list after) except -1


cdef inline Value value_in(TensorBase t):
    """The value of a tensor; None before its __init__ has run. The next call may return another value."""
    cdef Value v = dg_value_in(t)
    return renewed_view(t) if v is None and t.alias is not None else v


cdef inline int put(TensorBase t, Value v) except -1:
    """Give a tensor another value, which its views show from now on."""
    dg_put_value(t, v)
    return 0 if t.alias is None else outdate_views(t)
