"""Batches: a primitive on many samples at once.

Design
------
A batch holds its samples along the first axis of a value of lower level. A primitive of samples is one primitive of
those values, with parameters that speak of one axis more: nothing is looped over. Operands that are not batched stay
as they are where broadcasting repeats them for free.

Elementwise rows are batched here: axes of length 1 are put after the first, so that shapes broadcast from the right as
they did. Every other primitive knows its own rule, a line or two where its axes are static.

Batches of later levels stand around those of earlier ones, as duals do; `enter` and `leave` see to that.
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
    """An axis at another place."""
    cdef list order
    if source == target:
        return v
    order = list(range(ndim_of(v)))
    order.insert(target, order.pop(source))
    return bind1(OP_TRANSPOSE, tuple(order), v)


cdef Value enter(BatchLevel level, Value v):
    """The batch of a value whose first axis counts the samples; later levels stay around it."""
    if v is None:
        return None
    if v.kind == DUAL and (<Dual>v).level.serial > level.serial:
        return new_dual((<Dual>v).level, (<Dual>v).algebra, tuple([enter(level, p) for p in (<Dual>v).parts]))
    if v.kind == BATCH and (<Batch>v).level.serial > level.serial:
        return make_batch((<Batch>v).level, enter(level, moved_axis((<Batch>v).value, 1, 0)))
    return make_batch(level, v)


cdef Value leave(BatchLevel level, Value v):
    """A value at a level with the samples along a new first axis; repeated for each where it is shared."""
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
    """The value behind an operand, with axes of length 1 after that of the samples so that all axes but it and the
    last `core` number `ndim`."""
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
    """The rule of a primitive with a batch of this level, the latest, among its operands."""
    cdef PyObject *p = PRIMITIVES[op]
    if p is NULL:
        return make_batch(level, batched_elementwise(op, params, args, n, level))
    return make_batch(level, (<Primitive>p).batched(params, args, n, level))


cdef Value batched_elementwise(int op, object params, PyObject **args, int n, BatchLevel level):
    """What broadcasts from the right does so with the samples in front."""
    cdef int i, ndim = 0
    for i in range(n):
        ndim = max(ndim, ndim_of(<Value>args[i]))
    return bind_list(op, params, [padded(<Value>args[i], level, ndim, 0) for i in range(n)])


cdef Value frugal(int op, object params, Value a, Value b):
    """An elementwise primitive of two operands, on one row where both repeat one; the second may be a number."""
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
    """A bilinear primitive of two batches, summed over the samples."""
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
    """Whether a batch of arrays is the same all along the first axis of its samples."""
    cdef Array x
    if v.kind != BATCH or (<Batch>v).value.kind != ARRAY:
        return False
    x = <Array>(<Batch>v).value
    return x.ndim > 1 and x.strides[1] == 0 and x.shape[1] > 1


# --------------------------------------------------------------------------------------------- what samples share

cdef bint holds_batch(Value v, BatchLevel level):
    """Whether samples of a level are anywhere in a value."""
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
    """The sum of a value over the samples; a shared one counts once for each."""
    return None if v is None else bind1(OP_SUM, ((0,), False), leave(level, v))


cdef Value of_first(Value v, BatchLevel level):
    """A value that is the same for all samples, from the first."""
    cdef tuple shape
    if not holds_batch(v, level):
        return v
    shape = shape_of(v)
    v = bind1(OP_SLICE, ((0, 1, 1),) + tuple([(0, n, 1) for n in shape]), leave(level, v))
    return bind1(OP_RESHAPE, shape, v)


cdef Value at_first(Value v, BatchLevel level):
    """A batch whose sum is a value: the first sample has it, the others are zero."""
    cdef tuple shape
    if v is None or holds_batch(v, level):
        return v
    shape = shape_of(v)
    v = bind1(OP_RESHAPE, (1,) + shape, v)
    return enter(level, bind1(OP_UNSLICE, ((level.size,) + shape, ((0, 1, 1),) + tuple([(0, n, 1) for n in shape])), v))


cdef Value stacked(Value v, BatchLevel level, int ndim, int core):
    """A value with its samples along a first axis, and as many axes as others; a shared one as it is."""
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
    """The cotangent of an operand that all samples share, added up over them.

    Where a primitive of samples is that primitive of their stack, so is its rule, and the sum is part of it: a product
    of matrices is one product over all rows instead of one for each sample and a sum.
    """
    cdef list held = []
    cdef PyObject *stacks[3]
    cdef int ndim = 0, k, core = 0 if PRIMITIVES[op] is NULL else (<Primitive>PRIMITIVES[op]).core
    if not holds_batch(out, level):             # it is shared as well, and its cotangent has been added up
        return of_first(vjp(op, params, ins, n, out, i, ct), level)
    if core < 0:
        return over_samples(vjp(op, params, ins, n, out, i, ct), level)
    for k in range(n):
        ndim = max(ndim, ndim_of(<Value>ins[k]) - core)
    for k in range(n):
        held.append(stacked(<Value>ins[k], level, ndim, core))
        stacks[k] = <PyObject *>held[k]
    return vjp(op, params, stacks, n, stacked(out, level, ndim, core), i, leave(level, ct))
