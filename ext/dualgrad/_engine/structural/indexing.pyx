"""Index arrays: gather copies elements out of an array; scatter_add adds elements into an array of zeros.

A *pattern* has an entry for each leading axis: a slice (start, stop, step), or the number of an index operand.

Programs have operations of their own for both. These require that the indexed axes come first or directly after the
first axis, and that the axes behind them are contiguous. NumPy does all other cases: slices beside the indices, and
dtypes without loops of ours.
"""
cimport numpy as cnp
from cpython.object cimport PyObject

from ..arrays.array import np
from ..arrays.array cimport (MAX_DIMS, NPY_HALF, Array, Value, cast, from_ndarray, full, shape_tuple, to_ndarray,
                             writable)
from ..compiler.executor cimport DG_MAX_INDICES
from ..compiler.lowering cimport AS_GATHER, AS_SCATTER, Lowering
from ..compiler.views cimport View, is_packed, packed, product, step_of
from ..primitives.opcodes cimport OP_GATHER, OP_SCATTER_ADD, OP_TRANSPOSE
from ..primitives.registry cimport define
from ..primitives.forms cimport in_shape, outside, wrap
from ..values.batch cimport is_batched, leave, padded
from ..values.families cimport Linear
from ..values.levels cimport BatchLevel, bind1, bind_list, ndim_of, shape_of


cdef class Gather(Linear):
    """params: a pattern."""

    cdef Array execute(self, object params, PyObject **args, int n):
        cdef Array a = <Array>args[0]
        try:
            return wrap(to_ndarray(a)[index_of(params, args, n)])
        except IndexError as error:
            raise index_error(error, params, shape_tuple(a), args) from None

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        cdef Array a = <Array>args[0]
        for i in range(1, n):
            if (<Array>args[i]).typenum == cnp.NPY_BOOL:        # the number of true elements decides the length
                return -1
        return in_shape(a.typenum, gathered_shape(params, shape_tuple(a), args, n), ndim, shape)

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        if i > 0:
            return None
        return bind_list(OP_SCATTER_ADD, (shape_of(<Value>ins[0]), params),
                         [ct] + [<Value>ins[k] for k in range(1, n)])

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        cdef tuple whole
        cdef list indices, order
        cdef bint indexed
        cdef Value v
        whole, indices, indexed = physical_indices(params, args, n, <BatchLevel>level)
        v = bind_list(OP_GATHER, whole, [leave(<BatchLevel>level, <Value>args[0])] + indices)
        order = gathered_order(params, args, n, indexed, ndim_of(v))
        return v if order == sorted(order) else bind1(OP_TRANSPOSE, tuple(order), v)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        cdef View x = <View>ins[0]
        cdef Lowering low = <Lowering>lowering
        cdef object outer = leading(params, x.shape, x.shape, shape)
        cdef list indices
        if outer is None:
            return None
        indices = low_indices(low, params, ins, x.shape, outer)
        if indices is None:
            return None
        if x.strides[<int>outer + len(indices):] != packed(x.shape[<int>outer + len(indices):], x.buffer.item):
            x = low.copied(x)
        return low.emit(AS_GATHER, OP_GATHER, (outer, x.shape), [x] + indices, typenum, shape)

    def reads(self, step, int k):
        if k > 0:
            return None
        index = step.index(step.params)
        return step.dense(k) if index is None else step.positions(0)[index].ravel()

    def accumulated(self, walk, step, int k, list parts, list moving):
        return walk.generic(step, k, parts)


cdef class ScatterAdd(Linear):
    """params: (shape of the result, pattern)."""

    cdef Array execute(self, object params, PyObject **args, int n):
        cdef Array a = <Array>args[0]
        cdef Py_ssize_t[MAX_DIMS] shape
        cdef int ndim
        cdef int typenum = in_shape(cnp.NPY_FLOAT if a.typenum == NPY_HALF else a.typenum, params[0], &ndim, shape)
        cdef Array out = full(typenum, ndim, shape, 0.0)
        try:
            with np.errstate(all="ignore"):
                np.add.at(writable(out), index_of(params[1], args, n), to_ndarray(a))
        except IndexError as error:
            raise index_error(error, params[1], params[0], args) from None
        return cast(out, a.typenum)

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return in_shape((<Array>args[0]).typenum, params[0], ndim, shape)

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return bind_list(OP_GATHER, params[1], [ct] + [<Value>ins[k] for k in range(1, n)]) if i == 0 else None

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        cdef tuple whole
        cdef list indices, order
        cdef bint indexed
        cdef Value v = leave(<BatchLevel>level, <Value>args[0])
        whole, indices, indexed = physical_indices(params[1], args, n, <BatchLevel>level)
        order = gathered_order(params[1], args, n, indexed, ndim_of(v))
        if order != sorted(order):
            inverse = [0] * len(order)
            for k, axis in enumerate(order):
                inverse[axis] = k
            v = bind1(OP_TRANSPOSE, tuple(inverse), v)
        return bind_list(OP_SCATTER_ADD, (((<BatchLevel>level).size,) + params[0], whole), [v] + indices)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        cdef View x = <View>ins[0]
        cdef Lowering low = <Lowering>lowering
        cdef object outer = leading(params[1], shape, x.shape, shape)
        cdef list indices
        if outer is None or (typenum != cnp.NPY_DOUBLE and typenum != cnp.NPY_FLOAT):
            return None
        indices = low_indices(low, params[1], ins, shape, outer)
        if indices is None:
            return None
        return low.emit(AS_SCATTER, OP_SCATTER_ADD, (outer, shape), low.elements([x]) + indices, typenum, shape)

    def reads(self, step, int k):
        if k > 0:
            return None
        index = step.index(step.params[1])
        return step.dense(k) if index is None else step.reads_nonempty(k, step.places()[index].ravel())

    def accumulated(self, walk, step, int k, list parts, list moving):
        return walk.generic(step, k, parts)


define(Gather(), "gather")
define(ScatterAdd(), "scatter_add")


# ------------------------------------------------------------------------------------------------------------ arrays

cdef tuple index_of(tuple pattern, PyObject **args, int n):
    """The index for NumPy that a pattern stands for."""
    return tuple([to_ndarray(<Array>args[<int>part + 1]) if isinstance(part, int) else slice(*part)
                  for part in pattern])


cdef object index_error(object error, tuple pattern, tuple shape, PyObject **args):
    """The error for invalid indices: our message for an index out of bounds, else NumPy's message with the shape."""
    for axis, part in enumerate(pattern):
        if isinstance(part, int):
            numbers = to_ndarray(<Array>args[<int>part + 1])
            for wrong in numbers[(numbers < -shape[axis]) | (numbers >= shape[axis])].flat:
                return outside(wrong, axis, shape)
    return IndexError(f"{error}; the tensor has shape {shape}")


cdef tuple gathered_shape(tuple pattern, tuple shape, PyObject **args, int n):
    """The shape of the gathered elements."""
    cdef list kept = [len(range(*slice(*part).indices(shape[axis]))) for axis, part in enumerate(pattern)
                      if not isinstance(part, int)]
    cdef tuple taken
    cdef int place = 0
    cdef list places = [axis for axis, part in enumerate(pattern) if isinstance(part, int)]
    kept.extend(shape[len(pattern):])
    if not places:
        return tuple(kept)
    taken = np.broadcast_shapes(*[shape_tuple(<Array>args[<int>pattern[axis] + 1]) for axis in places])
    if <int>places[len(places) - 1] - <int>places[0] == len(places) - 1:
        place = places[0]
    return tuple(kept[:place]) + taken + tuple(kept[place:])


# ----------------------------------------------------------------------------------------------------------- batches

cdef tuple layout(tuple pattern, list indices):
    """Position of the index axes in a gathered sample: their number, their first axis, and True if the indices are
    adjacent.

    Adjacent indices stay at their axis; slices between them send their axes to the front (NumPy's rule).
    """
    cdef list places = [k for k in range(len(pattern)) if isinstance(pattern[k], int)]
    cdef int ndim = 0, place = places[0], last = places[len(places) - 1]
    cdef bint together = last - place == len(places) - 1
    for index in indices:
        ndim = max(ndim, ndim_of(<Value>index))
    return ndim, place if together else 0, together


cdef tuple physical_indices(tuple pattern, PyObject **args, int n, BatchLevel level):
    """(pattern, indices, first axis is indexed) for values with the batch axis first. If the indices are batched, the
    number of the sample becomes an index too."""
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
    """The permutation that brings the batch axis of gathered elements to the front."""
    cdef int ndim, place
    cdef bint together
    ndim, place, together = layout(pattern, [<Value>args[i] for i in range(1, n)])
    if indexed:             # (samples, indices, rest); indices that go to the front give the same order
        return [0] + list(range(1 + ndim, 1 + ndim + place)) + list(range(1, 1 + ndim)) \
            + list(range(1 + ndim + place, total))
    if together:            # a slice over the samples precedes all other axes
        return list(range(total))
    return [ndim] + list(range(ndim)) + list(range(ndim + 1, total))


# ---------------------------------------------------------------------------------------------------------- programs

cdef object leading(tuple pattern, tuple whole, tuple operand, tuple shape):
    """The number of axes in front of the indexed axes, 0 or 1; None where the executor has no loop."""
    cdef int outer = int(len(pattern) > 0 and not isinstance(pattern[0], int) and pattern[0] == (0, whole[0], 1))
    cdef int n = len(pattern) - outer
    if (not 1 <= n <= DG_MAX_INDICES or pattern[outer:] != tuple(range(n)) or product(operand) == 0
            or product(shape) == 0):
        return None
    return outer


cdef list low_indices(Lowering low, tuple pattern, list ins, tuple whole, int outer):
    """The index arrays in a form that the executor reads; None if it cannot read them."""
    cdef list indices = []
    cdef View first = <View>ins[1], index
    cdef int i
    for i in range(len(pattern) - outer):
        index = low_index(low, <View>ins[1 + i], whole[outer + i], outer)
        if index is None or index.buffer.typenum != first.buffer.typenum or (outer and index.shape != first.shape):
            return None
        indices.append(index)
    return indices


cdef View low_index(Lowering low, View index, Py_ssize_t extent, bint outer):
    """An index array, copied to be contiguous if each row reads it again. None for a dtype that the executor does not
    read, and for a constant with an index out of bounds."""
    cdef int typenum = index.buffer.typenum
    if typenum != cnp.NPY_INT and typenum != cnp.NPY_LONG and typenum != cnp.NPY_LONGLONG:
        return None
    if index.buffer.source is not None and (<tuple>index.buffer.source)[0] == "constant":
        numbers = to_ndarray(<Array>(<tuple>index.buffer.source)[1])
        if numbers.min() < -extent or numbers.max() >= extent:
            return None
    if step_of(index.strides, index.shape, False) is None or outer and not is_packed(index):
        index = low.copied(index)
    return index
