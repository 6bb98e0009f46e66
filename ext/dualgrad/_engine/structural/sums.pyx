"""Sums: over axes (sum), down to a shape that broadcasts (sum_to), and running sums (cumsum)."""
cimport numpy as cnp
from cpython.object cimport PyObject
from libc.string cimport memset

from ..arrays.array import np
from ..arrays.array cimport MAX_DIMS, N_TYPES, Array, Value, full, shape_tuple, to_ndarray
from ..compiler.lowering cimport AS_GENERIC, AS_SUM, Lowering
from ..compiler.views cimport View, packed, product, turned, view
from ..primitives.opcodes cimport OP_BROADCAST_TO, OP_CUMSUM, OP_RESHAPE, OP_SUM, OP_SUM_TO
from ..primitives.registry cimport Loop, define, numpy_loop
from ..primitives.forms cimport in_shape, is_float, like, narrowed, reduced, sum_type, wrap
from ..sparse.index_sets import TooDenseError
from ..values.families cimport Linear, batched_reduction, kept_shape
from ..values.levels cimport Batch, bind1, shape_of
from .shapes cimport reshaped_array

cdef extern from "memory/shared.h":
    bint dg_flag(bint *flag) noexcept

cnp.import_array()

cdef Loop[N_TYPES] SUM
memset(SUM, 0, sizeof(SUM))


cdef class Sum(Linear):
    """params: (axes, keepdims)."""

    def __cinit__(self):
        self.odd = True

    cdef Array execute(self, object params, PyObject **args, int n):
        return added_up(<Array>args[0], params[0], params[1])

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return reduced(<Array>args[0], (<Array>args[0]).typenum, params[0], params[1], ndim, shape)

    cdef bint can_wait(self, object params, PyObject **args, int n) except -1:
        return len(params[0]) > 0 and is_float((<Array>args[0]).typenum)

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        cdef Value x = <Value>ins[0]
        if not params[1]:
            ct = bind1(OP_RESHAPE, kept_shape(x, params[0]), ct)
        return bind1(OP_BROADCAST_TO, shape_of(x), ct)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return batched_reduction(self, params, <Value>args[0], level)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return summed(<Lowering>lowering, list(params[0]), <View>ins[0], typenum, shape)

    def reads(self, step, int k):
        return step.gathered_along_axes(k)

    def tokens(self, params, list ins, tuple shape):
        return np.sum(ins[0], axis=params[0], dtype=np.uint64).reshape(shape)

    def accumulated(self, walk, step, int k, list parts, list moving):
        axes, keepdims = step[1]
        return walk.summed(step, k, parts, axes, axes if keepdims else ())


cdef Array added_up(Array a, tuple axes, bint keepdims):
    """Sum over axes. For trailing axes (or all) of contiguous data, call NumPy's pairwise loop directly."""
    cdef Array out
    cdef Loop *loop = &SUM[a.typenum]
    cdef char *pointers[3]
    cdef cnp.npy_intp[3] steps
    cdef cnp.npy_intp inner
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t outer = 1, i
    cdef int k, first = a.ndim - <int>len(axes)
    if a.contiguous and a.size and is_float(a.typenum):
        if len(axes) == 0:
            return a
        if axes[0] == first:                    # the last len(axes) axes, since axes are sorted
            for k in range(first):
                shape[k] = a.shape[k]
                outer *= a.shape[k]
            for k in range(first, a.ndim):
                shape[k] = 1
            out = full(a.typenum, a.ndim if keepdims else first, shape, 0.0)
            inner = a.size // outer
            if not dg_flag(&loop.known):
                numpy_loop(np.add, a.typenum, loop)
            if loop.fn is not NULL:
                steps[0] = 0
                steps[1] = a.itemsize
                steps[2] = 0
                for i in range(outer):
                    pointers[0] = out.data + i * a.itemsize
                    pointers[1] = a.data + i * inner * a.itemsize
                    pointers[2] = pointers[0]
                    loop.fn(pointers, &inner, steps, loop.data)
                return out
    with np.errstate(all="ignore"):
        return narrowed(np.add.reduce(to_ndarray(a), axis=axes, keepdims=keepdims, dtype=sum_type(a)), a)


cdef View summed(Lowering lowering, list axes, View x, int typenum, tuple shape):
    """The view of a sum over axes, with its elements in any shape."""
    cdef tuple order = lowering.order(x.shape)
    cdef int i, n = len(x.shape)
    cdef View s
    axes = [axis for axis in axes if x.shape[axis] != 1]
    if not axes:
        return lowering.another_shape(x, shape)
    if order is not None:
        turned_axes = sorted([order.index(axis) for axis in axes])
        if in_a_row(turned_axes):
            left = [i for i in order if i not in axes]
            s = summed(lowering, turned_axes, turned(x, order), typenum, tuple([x.shape[i] for i in left]))
            s = turned(s, tuple([left.index(i) for i in sorted(left)]))
            return lowering.another_shape(s, shape)
    kept = tuple([x.shape[i] for i in range(n) if i not in axes])
    if in_a_row(axes) and is_float(typenum) and product(x.shape) > 0:
        s = lowering.emit(AS_SUM, OP_SUM, tuple(axes), [x], typenum, kept)
    else:
        s = lowering.emit(AS_GENERIC, OP_SUM, (tuple(axes), False), [x], typenum, kept)
    return view(s.buffer, s.offset, shape, packed(shape, s.buffer.item))


cdef bint in_a_row(list axes):
    return axes == list(range(<Py_ssize_t>axes[0], <Py_ssize_t>axes[0] + len(axes)))


# ------------------------------------------------------------------------------------------------------------ sum_to

cdef class SumTo(Linear):
    """params: a shape that broadcasts to the operand's shape."""

    def __cinit__(self):
        self.odd = True

    cdef Array execute(self, object params, PyObject **args, int n):
        cdef Array a = <Array>args[0]
        cdef tuple target = params
        return reshaped_array(added_up(a, axes_added(shape_tuple(a), target), False), target)

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        axes_added(shape_tuple(<Array>args[0]), params)
        return in_shape((<Array>args[0]).typenum, params, ndim, shape)

    cdef bint can_wait(self, object params, PyObject **args, int n) except -1:
        return is_float((<Array>args[0]).typenum)

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return bind1(OP_BROADCAST_TO, shape_of(<Value>ins[0]), ct)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        cdef Value v = (<Batch>args[0]).value
        cdef tuple shape = shape_of(v)
        cdef int missing = len(shape) - 1 - len(params)
        v = bind1(OP_SUM_TO, shape[:1] + (1,) * missing + params, v)
        return v if missing == 0 else bind1(OP_RESHAPE, shape[:1] + params, v)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        cdef View x = <View>ins[0]
        return summed(<Lowering>lowering, list(axes_added(x.shape, params)), x, typenum, shape)

    def reads(self, step, int k):
        return step.reads_nonempty(k, np.broadcast_to(step.places(), step.shapes[0]).ravel())

    def tokens(self, params, list ins, tuple shape):
        return np.sum(ins[0], axis=axes_added(ins[0].shape, shape), dtype=np.uint64).reshape(shape)

    def accumulated(self, walk, step, int k, list parts, list moving):
        before = walk.shapes[step[2][k]]
        axes = axes_added(before, step[1])
        return walk.summed(step, k, parts, axes, tuple([axis for axis in axes if axis >= len(before) - len(step[1])]))


cdef tuple axes_added(tuple shape, tuple target):
    """The axes to sum over, to get from a shape to a target that broadcasts to it."""
    cdef int lead = len(shape) - len(target), i
    if lead < 0 or any([n != 1 and n != m for n, m in zip(target, shape[lead:])]):
        raise ValueError(f"sum_to: {target} does not broadcast to the shape {shape} of an array")
    return tuple(range(lead)) + tuple([lead + i for i in range(len(target))
                                       if target[i] == 1 and <Py_ssize_t>shape[lead + i] != 1])


# ------------------------------------------------------------------------------------------------------------ cumsum

cdef class CumSum(Linear):
    """params: (axis, reverse)."""

    cdef Array execute(self, object params, PyObject **args, int n):
        a = to_ndarray(<Array>args[0])
        axis, reverse = params
        kind = sum_type(<Array>args[0])
        if reverse:
            a = np.flip(a, axis)
        with np.errstate(all="ignore"):
            sums = narrowed(np.cumsum(a, axis, dtype=kind), <Array>args[0])
        return wrap(np.flip(to_ndarray(sums), axis)) if reverse else sums

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return like(<Array>args[0], (<Array>args[0]).typenum, ndim, shape)

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return bind1(OP_CUMSUM, (params[0], not params[1]), ct)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return bind1(OP_CUMSUM, (params[0] + 1, params[1]), (<Batch>args[0]).value)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return None

    def reads(self, step, int k):
        axis, reverse = step.params
        length = step.shape[axis]
        if step.size * (length + 1) // 2 > step.most:
            raise TooDenseError
        earlier, later = np.tril_indices(length)[::-1]
        lines = np.moveaxis(step.places(), axis, -1).reshape(-1, length)
        if reverse:
            lines = lines[:, ::-1]
        return step.reads_nonempty(k, lines[:, later].ravel(), np.ascontiguousarray(lines[:, earlier]).ravel())

    def accumulated(self, walk, step, int k, list parts, list moving):
        return walk.refused()


define(Sum(), "sum")
define(SumTo(), "sum_to")
define(CumSum(), "cumsum")
