"""Batches: a primitive on many samples at once.

Design
------
A batch holds its samples along the first axis of a value of lower level. A primitive of samples is one primitive of
those values, with parameters that speak of one axis more: nothing is looped over. Operands that are not batched stay
as they are where broadcasting repeats them for free.

The rule of a family is a few lines, since a primitive's axes are static:

elementwise     axes of length 1 are put after the first, so that shapes broadcast from the right as they did;
linear, reductions, selections      axes one further on;
matmul          one product over all rows where one operand is shared; none for rows of the identity;
gather, scatter     if the indices are batched, the sample's number is an index too;
rules           a kernel that broadcasts over leading axes is called once, any other once for each sample.

Batches of later levels stand around those of earlier ones, as duals do; `enter` and `leave` see to that.
"""
from cpython.object cimport PyObject

import numpy as np

from ..arrays.array cimport ARRAY, BATCH, DUAL, Array, Value, from_ndarray, to_ndarray
from ..primitives.opcodes cimport *
from ..primitives.registry cimport (FAMILY_BILINEAR, FAMILY_LINEAR, FAMILY_RULE, family_of, is_elementwise, op_name,
                                    rule_of)
from .rules cimport vjp
from .levels cimport (Batch, BatchLevel, Dual, Node, bind1, bind2, bind_list, make_batch, ndim_of,
                      shape_of)


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
    cdef Dual d, made
    if v is None:
        return None
    if v.kind == DUAL and (<Dual>v).level.serial > level.serial:
        d = <Dual>v
        made = Dual.__new__(Dual)
        made.level = d.level
        made.algebra = d.algebra
        made.parts = tuple([enter(level, p) for p in d.parts])
        return made
    if v.kind == BATCH and (<Batch>v).level.serial > level.serial:
        return make_batch((<Batch>v).level, enter(level, moved_axis((<Batch>v).value, 1, 0)))
    return make_batch(level, v)


cdef Value leave(BatchLevel level, Value v):
    """A value at a level with the samples along a new first axis; repeated for each where it is shared."""
    cdef Dual d, made
    if v is None:
        return None
    if v.kind == DUAL and (<Dual>v).level.serial > level.serial:
        d = <Dual>v
        made = Dual.__new__(Dual)
        made.level = d.level
        made.algebra = d.algebra
        made.parts = tuple([leave(level, p) for p in d.parts])
        return made
    if v.kind == BATCH:
        if (<Batch>v).level is level:
            return (<Batch>v).value
        if (<Batch>v).level.serial > level.serial:
            return make_batch((<Batch>v).level, moved_axis(leave(level, (<Batch>v).value), 0, 1))
    return bind1(OP_BROADCAST_TO, (level.size,) + shape_of(v), v)


# ------------------------------------------------------------------------------------------------------- rules

cdef bint is_batched(Value v, BatchLevel level) noexcept:
    return v.kind == BATCH and (<Batch>v).level is level


cdef Value raw(Value v, BatchLevel level):
    return (<Batch>v).value if is_batched(v, level) else v


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


cdef tuple shifted(object axes):
    return tuple([axis + 1 for axis in axes])


cdef Value batched(int op, object params, PyObject **args, int n, BatchLevel level):
    """The rule of a primitive with a batch of this level, the latest, among its operands."""
    cdef int family = family_of(op), i, ndim = 0
    cdef Value x = <Value>args[0]
    cdef Value v
    cdef tuple shape
    if op == OP_MATMUL:
        return make_batch(level, matmul(<Value>args[0], <Value>args[1], level))
    if op == OP_GATHER:
        return make_batch(level, gather(params, args, n, level))
    if op == OP_SCATTER_ADD:
        return make_batch(level, scatter_add(params, args, n, level))
    if op == OP_CONCAT:
        return make_batch(level, bind_list(op, params + 1, [leave(level, <Value>args[i]) for i in range(n)]))
    if op >= N_OPS and rule_of(op) is not None and (family == FAMILY_RULE or family == FAMILY_LINEAR
                                                    or family == FAMILY_BILINEAR):
        return make_batch(level, rule_of(op).map(params, args, n, level))
    if n > 1 or is_elementwise(op):
        for i in range(n):
            ndim = max(ndim, ndim_of(<Value>args[i]))
        return make_batch(level, bind_list(op, params, [padded(<Value>args[i], level, ndim, 0) for i in range(n)]))
    v = (<Batch>x).value
    shape = shape_of(v)
    if op == OP_RESHAPE:
        params = shape[:1] + params
    elif op == OP_TRANSPOSE:
        params = (0,) + shifted(params)
    elif op == OP_BROADCAST_TO:
        v = padded(x, level, len(params), 0)
        params = shape[:1] + params
    elif op == OP_SUM_TO:
        ndim = len(shape) - 1 - len(params)
        v = bind1(OP_SUM_TO, shape[:1] + (1,) * ndim + params, v)
        return make_batch(level, v if ndim == 0 else bind1(OP_RESHAPE, shape[:1] + params, v))
    elif op == OP_SUM or op == OP_REDUCE_MAX or op == OP_REDUCE_MIN:
        params = (shifted(params[0]), params[1])
    elif op == OP_ALL or op == OP_ANY or op == OP_COUNT_NONZERO or op == OP_ARGMAX or op == OP_ARGMIN:
        if params[0] is None:
            return whole(op, params, v, shape, level)
        params = (shifted(params[0]) if isinstance(params[0], tuple) else params[0] + 1, params[1])
    elif op == OP_CUMSUM or op == OP_ARGSORT:
        params = (params[0] + 1, params[1])
    elif op == OP_SLICE:
        params = ((0, shape[0], 1),) + params
    elif op == OP_UNSLICE:
        params = (shape[:1] + params[0], ((0, shape[0], 1),) + params[1])
    elif op not in (OP_CAST, OP_IDENTITY, OP_INSPECT, OP_CONJ, OP_VIEW_AS_REAL, OP_VIEW_AS_COMPLEX):
        raise NotImplementedError(f"{op_name(op)}: no rule for vmap")
    return make_batch(level, bind1(op, params, v))


cdef Value whole(int op, object params, Value v, tuple shape, BatchLevel level):
    """A reduction over all axes of a sample, where the primitive counts positions in the flattened one."""
    cdef Value r = bind1(op, (1, False), bind1(OP_RESHAPE, (shape[0], length(shape[1:])), v))
    if params[1]:
        r = bind1(OP_RESHAPE, shape[:1] + (1,) * (len(shape) - 1), r)
    return make_batch(level, r)


cdef Value matmul(Value a, Value b, BatchLevel level):
    """One product over the rows of all samples where the right factor is shared, or the left one and samples are
    columns; a product for each sample otherwise."""
    cdef int ndim = max(ndim_of(a), ndim_of(b)) - 2
    cdef tuple shape
    cdef Value r
    cdef int last
    if not is_batched(b, level) and ndim_of(b) == 2:
        r = raw(a, level)
        shape = shape_of(r)
        last = len(shape) - 1
        r = rows_times(bind1(OP_RESHAPE, (length(shape[:last]), shape[last]), r), b)
        return bind1(OP_RESHAPE, shape[:last] + (shape_of(b)[1],), r)
    if not is_batched(a, level) and ndim_of(a) == 2:
        r = (<Batch>b).value
        shape = shape_of(r)
        last = len(shape) - 1
        if shape[last] == 1:
            r = rows_times(bind1(OP_RESHAPE, (length(shape[:last - 1]), shape[last - 1]), r),
                           bind1(OP_TRANSPOSE, (1, 0), a))
            return bind1(OP_RESHAPE, shape[:last - 1] + (shape_of(a)[0], 1), r)
    return bind2(OP_MATMUL, None, padded(a, level, ndim, 2), padded(b, level, ndim, 2))


cdef Value rows_times(Value rows, Value matrix):
    """A matrix of rows times another; rows of the identity pick rows of it."""
    cdef tuple shape
    cdef Py_ssize_t first
    if rows.kind != ARRAY or not (<Array>rows).basis:
        return bind2(OP_MATMUL, None, rows, matrix)
    shape = shape_of(matrix)
    if (<Array>rows).shape[0] == shape[0]:
        return matrix
    first = to_ndarray(<Array>rows)[0].argmax()
    return bind1(OP_SLICE, ((first, (<Array>rows).shape[0], 1), (0, shape[1], 1)), matrix)


cdef Py_ssize_t length(tuple shape):
    cdef Py_ssize_t n = 1
    for extent in shape:
        n *= extent
    return n


cdef Value frugal_matmul(Value a, Value b):
    """A product of matrices, of which the first may repeat one row, or one column, without being told: directions that
    are the same at all points do, and their product with a layer is one row of it."""
    cdef Value v = (<Batch>a).value if a.kind == BATCH else a
    cdef Array x
    cdef tuple shape, found
    cdef int ndim = ndim_of(a), lead
    if v.kind == ARRAY and ndim >= 2:
        x = <Array>v
        shape = shape_of(a)
        if x.strides[x.ndim - 2] == 0 and shape[ndim - 2] > 1:
            v = bind2(OP_MATMUL, None, first_along(a, ndim - 2, shape), b)
            found = shape_of(v)
            lead = len(found) - 2
            return bind1(OP_BROADCAST_TO, found[:lead] + (shape[ndim - 2],) + found[lead + 1:], v)
        if x.strides[x.ndim - 1] == 0 and shape[ndim - 1] > 1:
            return bind2(OP_MATMUL, None, first_along(a, ndim - 1, shape), bind1(OP_SUM, ((ndim_of(b) - 2,), True), b))
    return bind2(OP_MATMUL, None, a, b)


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
    """A bilinear primitive of two batches, summed over the samples; matrices as one product over all of them."""
    cdef tuple p, q
    if op == OP_MATMUL and ndim_of(a) == 2 and ndim_of(b) == 2:
        a = leave(level, a)
        b = leave(level, b)
        if a.kind == ARRAY and (<Array>a).strides[2] == 0 and (<Array>a).shape[2] > 1:      # see frugal_matmul
            a = first_along(a, 2, shape_of(a))
            b = bind1(OP_SUM, ((1,), True), b)
        p = shape_of(a)
        q = shape_of(b)
        a = bind1(OP_RESHAPE, (p[1], p[0] * p[2]), bind1(OP_TRANSPOSE, (1, 0, 2), a))
        return bind2(OP_MATMUL, None, a, bind1(OP_RESHAPE, (q[0] * q[1], q[2]), b))
    if (op == OP_ABSORB_MUL or op == OP_MUL) and repeats(a) and repeats(b) and shape_of(a) == shape_of(b):
        p = shape_of(a)
        a = make_batch(level, first_along((<Batch>a).value, 1, (level.size,) + p))
        b = make_batch(level, first_along((<Batch>b).value, 1, (level.size,) + p))
        return bind1(OP_BROADCAST_TO, p, bind1(OP_SUM, ((0,), False), leave(level, bind2(op, params, a, b))))
    return bind1(OP_SUM, ((0,), False), leave(level, bind2(op, params, a, b)))


cdef bint repeats(Value v) noexcept:
    """Whether a batch of arrays is the same all along the first axis of its samples, see frugal_matmul."""
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
    cdef int ndim = 0, core = 2 if op == OP_MATMUL else 0, k
    if not holds_batch(out, level):             # it is shared as well, and its cotangent has been added up
        return of_first(vjp(op, params, ins, n, out, i, ct), level)
    if op != OP_MATMUL and op != OP_WHERE and not is_elementwise(op):
        return over_samples(vjp(op, params, ins, n, out, i, ct), level)
    for k in range(n):
        ndim = max(ndim, ndim_of(<Value>ins[k]) - core)
    for k in range(n):
        held.append(stacked(<Value>ins[k], level, ndim, core))
        stacks[k] = <PyObject *>held[k]
    return vjp(op, params, stacks, n, stacked(out, level, ndim, core), i, leave(level, ct))


# ------------------------------------------------------------------------------------------------ index arrays

cdef tuple layout(tuple pattern, list indices):
    """Where the axes of index arrays stand in a gathered sample: their number, and the first of their places.

    Indices side by side stay in their place; slices between them send them to the front (NumPy's rule).
    """
    cdef list places = [k for k in range(len(pattern)) if isinstance(pattern[k], int)]
    cdef int ndim = 0, place = places[0], last = places[len(places) - 1]
    cdef bint together = last - place == len(places) - 1
    for index in indices:
        ndim = max(ndim, ndim_of(<Value>index))
    return ndim, place if together else 0, together


cdef tuple physical_indices(tuple pattern, PyObject **args, int n, BatchLevel level):
    """(pattern, indices, first axis is indexed) for values with the samples along the first axis."""
    cdef int i, ndim = 0
    cdef bint any_index = False
    cdef list indices = []
    for i in range(1, n):
        any_index = any_index or is_batched(<Value>args[i], level)
        ndim = max(ndim, ndim_of(<Value>args[i]))
    if not any_index:
        return ((None, None, None),) + pattern, [<Value>args[i] for i in range(1, n)], False
    for i in range(1, n):
        indices.append(padded(<Value>args[i], level, ndim, 0))
    samples = np.arange(level.size, dtype=np.int64).reshape((level.size,) + (1,) * ndim)
    indices.append(from_ndarray(samples))
    return (n - 1,) + pattern, indices, True


cdef list gathered_order(tuple pattern, PyObject **args, int n, bint indexed, int total):
    """The axes of what NumPy gathers, in the order of a batch of samples: those of the samples first."""
    cdef int ndim, place
    cdef bint together
    ndim, place, together = layout(pattern, [<Value>args[i] for i in range(1, n)])
    if indexed:             # (samples, indices, rest); or side by side in front, which is the same
        return [0] + list(range(1 + ndim, 1 + ndim + place)) + list(range(1, 1 + ndim)) \
            + list(range(1 + ndim + place, total))
    if together:            # a slice over the samples in front of everything
        return list(range(total))
    return [ndim] + list(range(ndim)) + list(range(ndim + 1, total))


cdef Value gather(tuple pattern, PyObject **args, int n, BatchLevel level):
    cdef tuple full_pattern
    cdef list indices, order
    cdef bint indexed
    cdef Value v
    full_pattern, indices, indexed = physical_indices(pattern, args, n, level)
    v = bind_list(OP_GATHER, full_pattern, [leave(level, <Value>args[0])] + indices)
    order = gathered_order(pattern, args, n, indexed, ndim_of(v))
    return v if order == sorted(order) else bind1(OP_TRANSPOSE, tuple(order), v)


cdef Value scatter_add(tuple params, PyObject **args, int n, BatchLevel level):
    cdef tuple full_pattern
    cdef list indices, order
    cdef bint indexed
    cdef Value v = leave(level, <Value>args[0])
    full_pattern, indices, indexed = physical_indices(params[1], args, n, level)
    order = gathered_order(params[1], args, n, indexed, ndim_of(v))
    if order != sorted(order):
        inverse = [0] * len(order)
        for k, axis in enumerate(order):
            inverse[axis] = k
        v = bind1(OP_TRANSPOSE, tuple(inverse), v)
    return bind_list(OP_SCATTER_ADD, ((level.size,) + params[0], full_pattern), [v] + indices)
