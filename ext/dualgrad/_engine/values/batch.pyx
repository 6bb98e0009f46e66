"""Batches: a primitive on many samples at once.

Design
------
A batch holds its samples along the first axis of a value of lower level. One primitive on that value, with parameters
for one axis more, computes all samples without a loop. Operands that are not batched stay as they are where
broadcasting repeats them at no cost.

This module batches elementwise rows: it inserts axes of length 1 after the batch axis, so that shapes still broadcast
from the right. Every other primitive has its own rule, a line or two if its axes are static.

Batches of later levels enclose batches of earlier levels, as duals do; `enter` and `leave` take care of this order.
"""
from cpython.object cimport PyObject

from ..arrays.array cimport ARRAY, BATCH, DUAL, Array, Value
from ..primitives.opcodes cimport *
from ..primitives.registry cimport PRIMITIVES, Primitive
from .rules cimport vjp
from .levels cimport (Batch, BatchLevel, Dual, Node, bind1, bind2, bind_list, make_batch, ndim_of,
                      new_dual, shape_of)


# ------------------------------------------------------------------------------------------------ in and out

cdef Value moved_axis(Value v, int source, int target):
    """Move an axis to another position."""
    cdef list order
    if source == target:
        return v
    order = list(range(ndim_of(v)))
    order.insert(target, order.pop(source))
    return bind1(OP_TRANSPOSE, tuple(order), v)


cdef Value enter(BatchLevel level, Value v):
    """The batch of a value whose first axis is the batch axis. Later levels stay outside."""
    if v is None:
        return None
    if v.kind == DUAL and (<Dual>v).level.serial > level.serial:
        return new_dual((<Dual>v).level, (<Dual>v).algebra, tuple([enter(level, p) for p in (<Dual>v).parts]))
    if v.kind == BATCH and (<Batch>v).level.serial > level.serial:
        return make_batch((<Batch>v).level, enter(level, moved_axis((<Batch>v).value, 1, 0)))
    return make_batch(level, v)


cdef Value leave(BatchLevel level, Value v):
    """A value with the batch axis of a level as a new first axis; a shared value is repeated."""
    if v is None:
        return None
    if v.kind == DUAL and (<Dual>v).level.serial > level.serial:
        return new_dual((<Dual>v).level, (<Dual>v).algebra, tuple([leave(level, p) for p in (<Dual>v).parts]))
    if v.kind == BATCH:
        if (<Batch>v).level is level:
            return (<Batch>v).value
        if (<Batch>v).level.serial > level.serial:
            return make_batch((<Batch>v).level, moved_axis(leave(level, (<Batch>v).value), 0, 1))
    return bind1(OP_BROADCAST_TO, (level.size,) + shape_of(v), v)


# ------------------------------------------------------------------------------------------------------- rules

cdef bint is_batched(Value v, BatchLevel level) noexcept:
    return v.kind == BATCH and (<Batch>v).level is level


cdef Value padded(Value v, BatchLevel level, int ndim, int core):
    """The value behind an operand, with axes of length 1 inserted after the batch axis. Without the batch axis and the
    last `core` axes, `ndim` axes remain."""
    cdef tuple shape
    cdef int missing
    if not is_batched(v, level):
        return v
    missing = ndim - (ndim_of(v) - core)
    v = (<Batch>v).value
    if missing <= 0:
        return v
    shape = shape_of(v)
    return bind1(OP_RESHAPE, shape[:1] + (1,) * missing + shape[1:], v)


cdef Value batched(int op, object params, PyObject **args, int n, BatchLevel level):
    """Apply a primitive to operands among which are batches of this level, the latest one."""
    cdef PyObject *p = PRIMITIVES[op]
    if p is NULL:
        return make_batch(level, batched_elementwise(op, params, args, n, level))
    return make_batch(level, (<Primitive>p).batched(params, args, n, level))


cdef Value batched_elementwise(int op, object params, PyObject **args, int n, BatchLevel level):
    """Apply an elementwise primitive. Shapes broadcast from the right, behind the batch axis."""
    cdef int i, ndim = 0
    for i in range(n):
        ndim = max(ndim, ndim_of(<Value>args[i]))
    return bind_list(op, params, [padded(<Value>args[i], level, ndim, 0) for i in range(n)])


cdef Value frugal(int op, object params, Value a, Value b):
    """Apply an elementwise primitive to two operands. If both repeat one row, or `b` is a number, compute one row
    only."""
    if repeats_a_row(a) and ndim_of(b) == 0:
        return bind1(OP_BROADCAST_TO, shape_of(a), bind2(op, params, first_along(a, 0, shape_of(a)), b))
    if repeats_a_row(a) and repeats_a_row(b) and shape_of(a) == shape_of(b):
        return bind1(OP_BROADCAST_TO, shape_of(a), bind2(op, params, first_along(a, 0, shape_of(a)),
                                                         first_along(b, 0, shape_of(b))))
    return bind2(op, params, a, b)


cdef bint repeats_a_row(Value v) noexcept:
    return v.kind == ARRAY and (<Array>v).ndim > 0 and (<Array>v).strides[0] == 0 and (<Array>v).shape[0] > 1


cdef Value first_along(Value v, int axis, tuple shape):
    cdef list spec = [(0, length, 1) for length in shape]
    spec[axis] = (0, 1, 1)
    return bind1(OP_SLICE, tuple(spec), v)


cdef Value contracted(int op, object params, Value a, Value b, BatchLevel level):
    """Apply a bilinear primitive to two batches and sum over the samples."""
    cdef tuple p
    if PRIMITIVES[op] is not NULL:
        return (<Primitive>PRIMITIVES[op]).contracted(params, a, b, level)
    if (op == OP_ABSORB_MUL or op == OP_MUL) and repeats(a) and repeats(b) and shape_of(a) == shape_of(b):
        p = shape_of(a)
        a = make_batch(level, first_along((<Batch>a).value, 1, (level.size,) + p))
        b = make_batch(level, first_along((<Batch>b).value, 1, (level.size,) + p))
        return bind1(OP_BROADCAST_TO, p, bind1(OP_SUM, ((0,), False), leave(level, bind2(op, params, a, b))))
    return bind1(OP_SUM, ((0,), False), leave(level, bind2(op, params, a, b)))


cdef bint repeats(Value v) noexcept:
    """True if a batch of arrays repeats one element along the first axis of its samples (stride 0)."""
    cdef Array x
    if v.kind != BATCH or (<Batch>v).value.kind != ARRAY:
        return False
    x = <Array>(<Batch>v).value
    return x.ndim > 1 and x.strides[1] == 0 and x.shape[1] > 1


# -------------------------------------------------------------------------------------------------- shared values

cdef bint holds_batch(Value v, BatchLevel level):
    """True if a value contains a batch of a level."""
    if v is None or v.kind == ARRAY:
        return False
    if v.kind == DUAL:
        for p in (<Dual>v).parts:
            if holds_batch(<Value>p, level):
                return True
        return False
    if v.kind == BATCH:
        return (<Batch>v).level is level or holds_batch((<Batch>v).value, level)
    return holds_batch((<Node>v).primal, level)


cdef Value over_samples(Value v, BatchLevel level):
    """The sum of a value over the samples; a shared value counts once per sample."""
    return None if v is None else bind1(OP_SUM, ((0,), False), leave(level, v))


cdef Value of_first(Value v, BatchLevel level):
    """A value that is equal for all samples, taken from the first sample."""
    cdef tuple shape
    if not holds_batch(v, level):
        return v
    shape = shape_of(v)
    v = bind1(OP_SLICE, ((0, 1, 1),) + tuple([(0, n, 1) for n in shape]), leave(level, v))
    return bind1(OP_RESHAPE, shape, v)


cdef Value at_first(Value v, BatchLevel level):
    """A batch whose sum over the samples is a given value: the first sample holds it, all others are zero."""
    cdef tuple shape
    if v is None or holds_batch(v, level):
        return v
    shape = shape_of(v)
    v = bind1(OP_RESHAPE, (1,) + shape, v)
    return enter(level, bind1(OP_UNSLICE, ((level.size,) + shape, ((0, 1, 1),) + tuple([(0, n, 1) for n in shape])), v))


cdef Value stacked(Value v, BatchLevel level, int ndim, int core):
    """A value with the batch axis first and padded with axes of length 1; a shared value stays as it is."""
    cdef int missing
    cdef tuple shape
    if not holds_batch(v, level):
        return v
    missing = ndim - (ndim_of(v) - core)
    v = leave(level, v)
    if missing <= 0:
        return v
    shape = shape_of(v)
    return bind1(OP_RESHAPE, shape[:1] + (1,) * missing + shape[1:], v)


cdef Value shared_vjp(int op, object params, PyObject **ins, int n, Value out, int i, Value ct, BatchLevel level):
    """The cotangent of an operand that all samples share, summed over the samples.

    For many primitives, applying the primitive to a stack equals applying it to each sample. Then the rule for the
    stack also sums over the samples: matmul needs one product over all rows, instead of one per sample and a sum.
    """
    cdef list held = []
    cdef PyObject *stacks[3]
    cdef int ndim = 0, k, core = 0 if PRIMITIVES[op] is NULL else (<Primitive>PRIMITIVES[op]).core
    if not holds_batch(out, level):             # it is shared too, so its cotangent is already summed
        return of_first(vjp(op, params, ins, n, out, i, ct), level)
    if core < 0:
        return over_samples(vjp(op, params, ins, n, out, i, ct), level)
    for k in range(n):
        ndim = max(ndim, ndim_of(<Value>ins[k]) - core)
    for k in range(n):
        held.append(stacked(<Value>ins[k], level, ndim, core))
        stacks[k] = <PyObject *>held[k]
    return vjp(op, params, stacks, n, stacked(out, level, ndim, core), i, leave(level, ct))
