"""Boxes of arrays: slice cuts a box out, unslice puts a box into zeros, concat joins boxes."""
from cpython.object cimport PyObject

from ..arrays.array import np
from ..arrays.array cimport MAX_DIMS, Array, Value, fill, full, new_view, to_ndarray
from ..arrays.shared cimport apart
from ..compiler.lowering cimport Lowering
from ..compiler.views cimport View, product, view
from ..primitives.opcodes cimport OP_CONCAT, OP_SLICE, OP_UNSLICE
from ..primitives.registry cimport define
from ..primitives.forms cimport in_shape, like, wrap
from ..values.batch cimport leave
from ..values.families cimport Linear
from ..values.levels cimport Batch, BatchLevel, bind1, bind_list, shape_of
from ..values.rules cimport tangent_or_zeros, widened_jvp


cdef class Slice(Linear):
    """params: for each axis (start, length, step)."""

    def __cinit__(self):
        self.odd = True

    cdef Array execute(self, object params, PyObject **args, int n):
        return sliced(<Array>args[0], params)

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        cdef Array a = <Array>args[0]
        cdef int i
        ndim[0] = a.ndim
        for i in range(a.ndim):
            shape[i] = params[i][1]
        return a.typenum

    cdef bint can_wait(self, object params, PyObject **args, int n) except -1:
        return True

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return bind1(OP_UNSLICE, (shape_of(<Value>ins[0]), params), ct)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return bind1(OP_SLICE, ((0, (<BatchLevel>level).size, 1),) + params, (<Batch>args[0]).value)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        cdef View x = <View>ins[0]
        cdef Py_ssize_t offset = x.offset, k
        cdef list strides = []
        for k, (start, count, step) in enumerate(params):
            if count:
                offset += <Py_ssize_t>start * <Py_ssize_t>x.strides[k]
            strides.append(<Py_ssize_t>step * <Py_ssize_t>x.strides[k])
        return view(x.buffer, offset, shape, tuple(strides))

    def reads(self, step, int k):
        return step.moved(step.positions(k))

    def tokens(self, params, list ins, tuple shape):
        return ins[0][box_of(params)]

    def accumulated(self, walk, step, int k, list parts, list moving):
        return [new for part in parts for new in cut_part(walk, step, k, part)]


cdef Array sliced(Array a, tuple spec):
    """A box of an array, as a view."""
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t[MAX_DIMS] strides
    cdef Py_ssize_t start, length, step
    cdef char *data = a.data
    cdef int i
    for i in range(a.ndim):
        start, length, step = <tuple>spec[i]
        if length:
            data += start * a.strides[i]
        shape[i] = length
        strides[i] = a.strides[i] * step
    return apart(new_view(a, a.ndim, shape, strides, data))


cdef tuple box_of(tuple spec):
    """A box as a NumPy index."""
    cdef list found = []
    for start, length, step in spec:
        stop = start + length * step
        found.append(slice(0, 0) if length == 0 else slice(start, None if stop < 0 else stop, step))
    return tuple(found)


cdef list cut_part(walk, step, int k, part):
    """Entries of a slice of an array: boxes stay boxes where possible."""
    cdef object found = None
    if not isinstance(part.rows, np.ndarray):
        found = walk.meeting(part.rows, step[1], walk.shapes[step[2][k]])
    if found is None:
        return walk.generic(step, k, [part])
    inside, of_box = found
    columns = np.ascontiguousarray(part.columns[walk.of_numpy(of_box)])
    if not columns.size:
        return []
    return [part._replace(rows=inside, columns=columns, slot=walk.cut(part.slot, of_box))]


# ----------------------------------------------------------------------------------------------------------- unslice

cdef class Unslice(Linear):
    """params: (shape of the result, the slice it assigns to)."""

    def __cinit__(self):
        self.odd = True

    cdef Array execute(self, object params, PyObject **args, int n):
        cdef Array a = <Array>args[0]
        cdef Py_ssize_t[MAX_DIMS] shape
        cdef int ndim
        cdef int typenum = in_shape(a.typenum, params[0], &ndim, shape)
        cdef Array out = full(typenum, ndim, shape, 0.0)
        fill(sliced(out, params[1]), to_ndarray(a))
        return out

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return in_shape((<Array>args[0]).typenum, params[0], ndim, shape)

    cdef bint can_wait(self, object params, PyObject **args, int n) except -1:
        return True

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return bind1(OP_SLICE, params[1], ct)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        cdef Py_ssize_t size = (<BatchLevel>level).size
        return bind1(OP_UNSLICE, ((size,) + params[0], ((0, size, 1),) + params[1]), (<Batch>args[0]).value)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        cdef list starts, steps
        if product(shape) == 0:
            return None
        starts = [part[0] if part[1] else 0 for part in params[1]]
        steps = [part[2] for part in params[1]]
        return (<Lowering>lowering).copies(OP_UNSLICE, [None, (starts, steps, ins[0])], ins, typenum, shape)

    def reads(self, step, int k):
        reads = np.full(step.shape, -1, np.int64)
        reads[box_of(step.params[1])] = step.positions(k)
        return reads.ravel()

    def tokens(self, params, list ins, tuple shape):
        out = np.zeros(shape, np.uint64)
        out[box_of(params[1])] = ins[0]
        return out

    def accumulated(self, walk, step, int k, list parts, list moving):
        return [new for part in parts for new in placed_part(walk, step, k, part)]


cdef list placed_part(walk, step, int k, part):
    """Entries of an array that is put into an array of zeros."""
    if isinstance(part.rows, np.ndarray):
        return walk.generic(step, k, [part])
    box = tuple([(first + by * start, length, by * stride)
                 for (start, length, stride), (first, _, by) in zip(part.rows, step[1][1])])
    return [part._replace(rows=box)]


# ------------------------------------------------------------------------------------------------------------ concat

cdef class Concat(Linear):
    """Linear in all operands; params: the axis."""

    cdef Array execute(self, object params, PyObject **args, int n):
        cdef int i
        return wrap(np.concatenate([to_ndarray(<Array>args[i]) for i in range(n)], axis=params))

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        cdef Array a = <Array>args[0], b
        cdef int axis = params, i, j
        like(a, a.typenum, ndim, shape)
        if axis < 0 or axis >= a.ndim:
            return -1
        for i in range(1, n):
            b = <Array>args[i]
            if b.ndim != a.ndim or b.typenum != a.typenum:
                return -1
            for j in range(a.ndim):
                if j != axis and b.shape[j] != a.shape[j]:
                    return -1
            shape[axis] += b.shape[axis]
        return a.typenum

    cdef bint can_wait(self, object params, PyObject **args, int n) except -1:
        return True

    cdef Value jvp(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        cdef int i
        for i in range(n):
            if tangents[i] is not NULL:
                return bind_list(OP_CONCAT, params, [tangent_or_zeros(tangents[k], <Value>ins[k]) for k in range(n)])
        return None

    cdef Value jvp_of_integers(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        return widened_jvp(OP_CONCAT, params, ins, n, out, tangents, 0, True)

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        cdef Py_ssize_t start = 0
        cdef int axis = params, k
        cdef tuple shape = shape_of(<Value>ins[i])
        cdef list spec = [(0, length, 1) for length in shape]
        for k in range(i):
            start += <Py_ssize_t>shape_of(<Value>ins[k])[axis]
        spec[axis] = (start, shape[axis], 1)
        return bind1(OP_SLICE, tuple(spec), ct)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return bind_list(OP_CONCAT, params + 1, [leave(<BatchLevel>level, <Value>args[i]) for i in range(n)])

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        cdef list parts = []
        cdef Py_ssize_t start = 0
        cdef int i, axis = params, n = len(shape)
        cdef View x
        for x in ins:
            parts.append(([start if i == axis else 0 for i in range(n)], [1] * n, x))
            start += <Py_ssize_t>x.shape[axis]
        return (<Lowering>lowering).copies(OP_CONCAT, parts, ins, typenum, shape)

    def reads(self, step, int k):
        parts = [np.full(shape, -1, np.int64) for shape in step.shapes]
        parts[k] = step.positions(k)
        return np.concatenate(parts, axis=step.params).ravel()

    def tokens(self, params, list ins, tuple shape):
        return np.concatenate(ins, axis=params)

    def accumulated(self, walk, step, int k, list parts, list moving):
        return [new for part in parts for new in joined_part(walk, step, k, part)]


cdef list joined_part(walk, step, int k, part):
    """Entries of one of the joined arrays."""
    cdef int axis = step[1]
    rows = part.rows
    if isinstance(rows, np.ndarray):
        return walk.generic(step, k, [part])
    first = sum([walk.shapes[slot][axis] for slot in step[2][:k]])
    start, length, stride = rows[axis]
    return [part._replace(rows=(*rows[:axis], (start + first, length, stride), *rows[axis + 1:]))]


define(Slice(), "slice")
define(Unslice(), "unslice")
define(Concat(), "concat")
