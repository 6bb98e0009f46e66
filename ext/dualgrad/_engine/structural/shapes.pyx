"""The same elements in another shape: reshape, transpose, broadcast_to. All are views."""
from cpython.object cimport PyObject

from ..arrays.array import np
from ..arrays.array cimport MAX_DIMS, Array, Value, contiguous, new_view, shape_tuple
from ..arrays.shared cimport apart
from ..compiler.lowering cimport Lowering
from ..compiler.views cimport View, broadcast_strides, turned, view
from ..primitives.opcodes cimport OP_BROADCAST_TO, OP_RESHAPE, OP_SUM_TO, OP_TRANSPOSE
from ..primitives.registry cimport define
from ..primitives.forms cimport axes_of, in_shape
from ..values.batch cimport padded
from ..values.families cimport Linear
from ..values.levels cimport Batch, BatchLevel, bind1, shape_of


cdef object misfit(str name, Array a, params):
    """The error for parameters that do not fit. Without this check a faulty caller could read foreign memory."""
    return ValueError(f"{name}: {params} does not fit an array of shape {shape_tuple(a)}")


# ----------------------------------------------------------------------------------------------------------- reshape

cdef class Reshape(Linear):
    """params: the new shape."""

    def __cinit__(self):
        self.odd = self.reads_merged = True

    cdef Array execute(self, object params, PyObject **args, int n):
        return reshaped_array(<Array>args[0], params)

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        cdef int typenum = in_shape((<Array>args[0]).typenum, params, ndim, shape), i
        cdef Py_ssize_t size = 1
        for i in range(ndim[0]):
            size *= shape[i]
        if size != (<Array>args[0]).size:
            raise misfit("reshape", <Array>args[0], params)
        return typenum

    cdef bint can_wait(self, object params, PyObject **args, int n) except -1:
        return True

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return bind1(OP_RESHAPE, shape_of(<Value>ins[0]), ct)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        cdef Value v = (<Batch>args[0]).value
        return bind1(OP_RESHAPE, shape_of(v)[:1] + params, v)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return (<Lowering>lowering).another_shape(<View>ins[0], shape)

    def reads(self, step, int k):
        return step.same

    def tokens(self, params, list ins, tuple shape):
        return ins[0].reshape(shape)

    def accumulated(self, walk, step, int k, list parts, list moving):
        return [reshaped_part(walk, walk.shapes[step[2][k]], walk.shapes[step[3]], part) for part in parts]


cdef object reshaped_part(walk, tuple before, tuple shape, part):
    """Entries of a reshaped array: a box of the whole array stays a box; others become a list."""
    if isinstance(part.rows, np.ndarray):
        return part
    if part.rows == walk.whole(before):
        return part._replace(rows=walk.whole(shape), columns=part.columns.reshape(shape),
                             slot=walk.reshaped(part.slot, shape))
    return part._replace(rows=walk.numbered(part.rows, before), columns=part.columns.ravel(),
                         slot=walk.reshaped(part.slot, (part.columns.size,)))


cdef Array reshaped_array(Array a, tuple target):
    """An array in another shape; a copy where strides cannot express it."""
    cdef Array out
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t[MAX_DIMS] strides
    cdef int ndim = axes_of(target), i
    cdef Py_ssize_t step = a.itemsize
    for i in range(ndim - 1, -1, -1):
        shape[i] = target[i]
        strides[i] = step
        step *= shape[i]
    if step != a.size * a.itemsize:
        raise misfit("reshape", a, target)
    if not a.contiguous and not same_but_for_ones(a, ndim, shape, strides):
        a = contiguous(a)
        step = a.itemsize
        for i in range(ndim - 1, -1, -1):
            strides[i] = step
            step *= shape[i]
    out = apart(new_view(a, ndim, shape, strides, a.data))
    out.basis = a.basis and ndim > 0 and shape[0] == a.shape[0]
    return out


cdef bint same_but_for_ones(Array a, int ndim, const Py_ssize_t *shape, Py_ssize_t *strides):
    """True if the shapes differ only in axes of length 1; then set the strides of the new shape."""
    cdef int i, j = 0
    for i in range(ndim):
        if shape[i] == 1:
            continue
        while j < a.ndim and a.shape[j] == 1:
            j += 1
        if j == a.ndim or a.shape[j] != shape[i]:
            return False
        strides[i] = a.strides[j]
        j += 1
    return True         # the remaining axes of the array have length 1, since the sizes are equal


# --------------------------------------------------------------------------------------------------------- transpose

cdef class Transpose(Linear):
    """params: for each axis of the result, the axis of the operand."""

    def __cinit__(self):
        self.odd = self.reads_merged = True

    cdef Array execute(self, object params, PyObject **args, int n):
        cdef Array a = <Array>args[0]
        cdef Array out
        cdef Py_ssize_t[MAX_DIMS] shape
        cdef Py_ssize_t[MAX_DIMS] strides
        cdef tuple permutation = params
        cdef int i, j
        refuse_no_permutation(a, permutation)
        for i in range(a.ndim):
            j = permutation[i]
            shape[i] = a.shape[j]
            strides[i] = a.strides[j]
        out = apart(new_view(a, a.ndim, shape, strides, a.data))
        out.basis = a.basis and out.contiguous and permutation[0] == 0
        return out

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        cdef Array a = <Array>args[0]
        cdef int i
        refuse_no_permutation(a, params)
        ndim[0] = a.ndim
        for i in range(a.ndim):
            shape[i] = a.shape[<int>params[i]]
        return a.typenum

    cdef bint can_wait(self, object params, PyObject **args, int n) except -1:
        return True

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        cdef int k
        inverse = [0] * len(params)
        for k in range(len(params)):
            inverse[params[k]] = k
        return bind1(OP_TRANSPOSE, tuple(inverse), ct)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return bind1(OP_TRANSPOSE, (0,) + tuple([axis + 1 for axis in params]), (<Batch>args[0]).value)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        cdef View x = <View>ins[0]
        return turned(x, params) if x.merges is None else (<Lowering>lowering).turned_merged(x, params, shape)

    def reads(self, step, int k):
        return step.moved(step.positions(k))

    def tokens(self, params, list ins, tuple shape):
        return np.transpose(ins[0], params)

    def accumulated(self, walk, step, int k, list parts, list moving):
        return [new for part in parts for new in turned_part(walk, step, k, part)]


cdef int refuse_no_permutation(Array a, tuple permutation) except -1:
    cdef unsigned long long met = 0
    cdef int j
    for axis in permutation:
        j = axis
        if not 0 <= j < a.ndim or met >> j & 1:
            raise misfit("transpose", a, permutation)
        met |= 1ull << j
    if len(permutation) != a.ndim:
        raise misfit("transpose", a, permutation)
    return 0


cdef list turned_part(walk, step, int k, part):
    """Entries of an array whose axes are permuted: boxes stay boxes."""
    order, slot = step[1], part.slot
    if isinstance(part.rows, np.ndarray):
        return walk.generic(step, k, [part])
    if slot is not None and walk.shapes[slot]:
        slot = walk.emit(OP_TRANSPOSE, order, slot)
    columns = np.ascontiguousarray(part.columns.transpose(order))
    return [part._replace(rows=tuple([part.rows[axis] for axis in order]), columns=columns, slot=slot)]


# ------------------------------------------------------------------------------------------------------ broadcast_to

cdef class BroadcastTo(Linear):
    """params: a shape to which the operand's shape broadcasts."""

    def __cinit__(self):
        self.odd = True

    cdef Array execute(self, object params, PyObject **args, int n):
        cdef Array a = <Array>args[0]
        cdef Py_ssize_t[MAX_DIMS] shape
        cdef Py_ssize_t[MAX_DIMS] strides
        cdef tuple target = params
        cdef int i, k, ndim = 0
        spread_form(a, target, &ndim, shape)
        for i in range(ndim):
            k = i - (ndim - a.ndim)
            strides[i] = 0 if k < 0 or a.shape[k] == 1 else a.strides[k]
        return apart(new_view(a, ndim, shape, strides, a.data))

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return spread_form(<Array>args[0], params, ndim, shape)

    cdef bint can_wait(self, object params, PyObject **args, int n) except -1:
        return True

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return bind1(OP_SUM_TO, shape_of(<Value>ins[0]), ct)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        cdef Py_ssize_t samples = (<BatchLevel>level).size
        return bind1(OP_BROADCAST_TO, (samples,) + params, padded(<Value>args[0], <BatchLevel>level, len(params), 0))

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        cdef View x = <View>ins[0]
        return view(x.buffer, x.offset, shape, broadcast_strides(x, shape))

    def reads(self, step, int k):
        return step.moved(step.positions(k))

    def tokens(self, params, list ins, tuple shape):
        return ins[0] + np.zeros(shape, np.uint64)

    def accumulated(self, walk, step, int k, list parts, list moving):
        return walk.spread_out(parts, walk.shapes[step[2][k]], walk.shapes[step[3]])


cdef int spread_form(Array a, tuple target, int *ndim, Py_ssize_t *shape) except -2:
    """The form of a broadcast array."""
    cdef int typenum = in_shape(a.typenum, target, ndim, shape), lead = ndim[0] - a.ndim, k
    if lead < 0:
        raise misfit("broadcast_to", a, target)
    for k in range(a.ndim):
        if a.shape[k] != 1 and a.shape[k] != shape[lead + k]:
            raise misfit("broadcast_to", a, target)
    return typenum


define(Reshape(), "reshape")
define(Transpose(), "transpose")
define(BroadcastTo(), "broadcast_to")
