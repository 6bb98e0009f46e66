"""Structural primitives on arrays: shapes, sums, products, indices, one C function each.

Reshapes, transposes, slices and broadcasts are views. Rare or large work (index arrays, sums over scattered axes,
sorting) is NumPy's.
"""
cimport numpy as cnp
from cpython.object cimport PyObject
from libc.string cimport memset

import numpy as np

from dualgrad._table import REAL_ONLY, ROWS

from ..arrays.array cimport (MAX_DIMS, N_TYPES, NPY_HALF, Array, cast, contiguous, fill, from_ndarray, full, is_complex,
                             item_size, new_array, new_view, shape_tuple, to_ndarray, writable)
from .opcodes cimport *
from .registry cimport Loop, broadcast_shape, no_loop, np_name, numpy_loop

cnp.import_array()

ctypedef Array (*execute_t)(object params, PyObject **args, int n)

cdef execute_t[N_OPS] STRUCTURAL
cdef Loop[N_TYPES] MATMUL
cdef Loop[N_TYPES] SUM
cdef bint[N_OPS] NEEDS_REAL
memset(STRUCTURAL, 0, sizeof(STRUCTURAL))
memset(MATMUL, 0, sizeof(MATMUL))
memset(SUM, 0, sizeof(SUM))
for _code, _row in enumerate(ROWS):
    NEEDS_REAL[_code] = _row.name in REAL_ONLY


cdef Array execute_cast(object params, PyObject **args, int n):
    return cast(<Array>args[0], params)


cdef Array execute_identity(object params, PyObject **args, int n):
    return <Array>args[0]


cdef int axes_of(tuple shape) except -1:
    """How many axes an array of this shape has, which is no more than there is room for."""
    if len(shape) > MAX_DIMS:
        raise ValueError(f"an array of {len(shape)} axes; expected at most {MAX_DIMS}")
    return len(shape)


cdef Array execute_reshape(object params, PyObject **args, int n):
    cdef Array a = <Array>args[0]
    cdef Array out
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t[MAX_DIMS] strides
    cdef tuple target = params
    cdef int ndim = axes_of(target), i
    cdef Py_ssize_t step = a.itemsize
    for i in range(ndim - 1, -1, -1):
        shape[i] = target[i]
        strides[i] = step
        step *= shape[i]
    if not a.contiguous and not same_but_for_ones(a, ndim, shape, strides):
        a = contiguous(a)
        step = a.itemsize
        for i in range(ndim - 1, -1, -1):
            strides[i] = step
            step *= shape[i]
    out = new_view(a, ndim, shape, strides, a.data)
    out.basis = a.basis and ndim > 0 and shape[0] == a.shape[0]
    return out


cdef bint same_but_for_ones(Array a, int ndim, const Py_ssize_t *shape, Py_ssize_t *strides):
    """Whether a shape differs from an array's in axes of length 1 only, and its strides then."""
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
    return True         # what is left of the array has length 1, since the sizes are equal


cdef Array execute_transpose(object params, PyObject **args, int n):
    cdef Array a = <Array>args[0]
    cdef Array out
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t[MAX_DIMS] strides
    cdef tuple permutation = params
    cdef int i, j
    for i in range(a.ndim):
        j = permutation[i]
        shape[i] = a.shape[j]
        strides[i] = a.strides[j]
    out = new_view(a, a.ndim, shape, strides, a.data)
    out.basis = a.basis and out.contiguous and permutation[0] == 0
    return out


cdef Array execute_broadcast_to(object params, PyObject **args, int n):
    cdef Array a = <Array>args[0]
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t[MAX_DIMS] strides
    cdef tuple target = params
    cdef int ndim = axes_of(target), i, k
    for i in range(ndim):
        shape[i] = target[i]
        k = i - (ndim - a.ndim)
        strides[i] = 0 if k < 0 or a.shape[k] == 1 else a.strides[k]
    return new_view(a, ndim, shape, strides, a.data)


cdef Array execute_slice(object params, PyObject **args, int n):
    """params: for each axis (start, length, step)."""
    cdef Array a = <Array>args[0]
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t[MAX_DIMS] strides
    cdef Py_ssize_t start, length, step
    cdef char *data = a.data
    cdef int i
    cdef tuple spec = params
    for i in range(a.ndim):
        start, length, step = <tuple>spec[i]
        if length:
            data += start * a.strides[i]
        shape[i] = length
        strides[i] = a.strides[i] * step
    return new_view(a, a.ndim, shape, strides, data)


cdef Array zeros_of(int typenum, tuple shape):
    cdef Py_ssize_t[MAX_DIMS] dims
    cdef int ndim = axes_of(shape), i
    for i in range(ndim):
        dims[i] = shape[i]
    return full(typenum, ndim, dims, 0.0)


cdef Array execute_unslice(object params, PyObject **args, int n):
    """params: (shape of the result, the slice it is placed at)."""
    cdef Array a = <Array>args[0]
    cdef Array out = zeros_of(a.typenum, params[0])
    cdef PyObject *p = <PyObject *>out
    fill(execute_slice(params[1], &p, 1), to_ndarray(a))
    return out


cdef Array execute_sum(object params, PyObject **args, int n):
    """params: (axes, keepdims). Trailing or all axes of contiguous data run NumPy's pairwise loop directly."""
    cdef Array a = <Array>args[0]
    cdef Array out
    cdef tuple axes = params[0]
    cdef bint keepdims = params[1]
    cdef Loop *loop = &SUM[a.typenum]
    cdef char *pointers[3]
    cdef cnp.npy_intp[3] steps
    cdef cnp.npy_intp inner
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t outer = 1, i
    cdef int k, first = a.ndim - <int>len(axes), ndim
    if a.contiguous and a.size and (a.typenum == cnp.NPY_DOUBLE or a.typenum == cnp.NPY_FLOAT):
        if len(axes) == 0:
            return a
        if axes[0] == first:                    # the last len(axes) axes, since axes are sorted
            for k in range(first):
                shape[k] = a.shape[k]
                outer *= a.shape[k]
            ndim = first
            if keepdims:
                for k in range(first, a.ndim):
                    shape[k] = 1
                ndim = a.ndim
            out = full(a.typenum, ndim, shape, 0.0)
            inner = a.size // outer
            if not loop.known:
                numpy_loop(np.add, a.typenum, loop)
                loop.known = True
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


cdef object sum_type(Array a):
    """The type in which elements are added up: float32 for float16, whose running sums soon stop growing."""
    return np.dtype(np.float32) if a.typenum == NPY_HALF else to_ndarray(a).dtype


cdef Array narrowed(object total, Array a):
    """A sum as an array of the type of its terms, rounded once."""
    return wrap(total if a.typenum != NPY_HALF else np.asarray(total, dtype=np.float16))


cdef Array wrap(object result):
    """A NumPy result as an array; numbers become arrays without axes."""
    return from_ndarray(np.asarray(result))


cdef Array execute_sum_to(object params, PyObject **args, int n):
    """params: a shape that broadcasts to the operand's."""
    cdef Array a = <Array>args[0]
    cdef tuple target = params
    cdef int lead = a.ndim - <int>len(target), i
    cdef list axes = list(range(lead))
    cdef object reduced
    cdef Array out
    for i in range(len(target)):
        if target[i] == 1 and a.shape[lead + i] != 1:
            axes.append(lead + i)
    reduced = (tuple(axes), False)
    cdef PyObject *p = <PyObject *>a
    out = execute_sum(reduced, &p, 1)
    p = <PyObject *>out
    return execute_reshape(target, &p, 1)


cdef Array execute_matmul(object params, PyObject **args, int n):
    """Operands with two axes or more; leading axes broadcast."""
    cdef Array a = <Array>args[0]
    cdef Array b = <Array>args[1]
    cdef Array out
    cdef Loop *loop = &MATMUL[a.typenum]
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef char *pointers[3]
    cdef char *args_now[3]
    cdef cnp.npy_intp[4] dims
    cdef cnp.npy_intp[9] steps
    cdef Py_ssize_t[MAX_DIMS] index
    cdef Py_ssize_t[3][MAX_DIMS] strides
    cdef int ndim = max(a.ndim, b.ndim), j, k, batch_axes = ndim - 2
    cdef Py_ssize_t sa, sb
    if a.typenum != b.typenum:
        raise TypeError(f"matmul: the operands have types {np_name(a)} and {np_name(b)}; expected equal types, convert "
                        f"one with astype")
    if a.shape[a.ndim - 1] != b.shape[b.ndim - 2]:
        raise ValueError(f"matmul: shapes {shape_tuple(a)} and {shape_tuple(b)} do not multiply; the last axis of the "
                         f"first ({a.shape[a.ndim - 1]}) must equal the last but one of the second "
                         f"({b.shape[b.ndim - 2]})")
    if not loop.known:
        numpy_loop(np.matmul, a.typenum, loop)
        loop.known = True
    if loop.fn is NULL:
        raise no_loop(OP_MATMUL, a.typenum)
    # BLAS wants one of the two strides to be the item size; others are copied
    if a.strides[a.ndim - 1] != a.itemsize and a.strides[a.ndim - 2] != a.itemsize:
        a = contiguous(a)
    if b.strides[b.ndim - 1] != b.itemsize and b.strides[b.ndim - 2] != b.itemsize:
        b = contiguous(b)
    for j in range(batch_axes):
        sa = 1 if j < ndim - a.ndim else a.shape[j - (ndim - a.ndim)]
        sb = 1 if j < ndim - b.ndim else b.shape[j - (ndim - b.ndim)]
        if sa != sb and sa != 1 and sb != 1:
            raise ValueError(f"matmul: shapes {shape_tuple(a)} and {shape_tuple(b)} do not broadcast in their leading "
                             f"axes")
        shape[j] = sb if sa == 1 else sa
        strides[0][j] = 0 if sa == 1 else a.strides[j - (ndim - a.ndim)]
        strides[1][j] = 0 if sb == 1 else b.strides[j - (ndim - b.ndim)]
    shape[ndim - 2] = a.shape[a.ndim - 2]
    shape[ndim - 1] = b.shape[b.ndim - 1]
    out = new_array(a.typenum, ndim, shape)
    if out.size == 0:
        return out
    if a.shape[a.ndim - 1] == 0:
        memset(out.data, 0, out.size * out.itemsize)
        return out
    for j in range(batch_axes):
        strides[2][j] = out.strides[j]
        index[j] = 0
    dims[0] = 1
    dims[1] = a.shape[a.ndim - 2]
    dims[2] = a.shape[a.ndim - 1]
    dims[3] = b.shape[b.ndim - 1]
    steps[0] = steps[1] = steps[2] = 0
    steps[3] = a.strides[a.ndim - 2]
    steps[4] = a.strides[a.ndim - 1]
    steps[5] = b.strides[b.ndim - 2]
    steps[6] = b.strides[b.ndim - 1]
    steps[7] = out.strides[ndim - 2]
    steps[8] = out.strides[ndim - 1]
    pointers[0] = a.data
    pointers[1] = b.data
    pointers[2] = out.data
    with nogil:
        if batch_axes:          # the innermost leading axis is the loop's own
            dims[0] = shape[batch_axes - 1]
            for k in range(3):
                steps[k] = strides[k][batch_axes - 1]
        while True:
            for k in range(3):
                args_now[k] = pointers[k]       # NumPy's loop advances the pointers it is given
            loop.fn(args_now, dims, steps, loop.data)
            j = batch_axes - 2
            while j >= 0:
                index[j] += 1
                for k in range(3):
                    pointers[k] += strides[k][j]
                if index[j] < shape[j]:
                    break
                for k in range(3):
                    pointers[k] -= strides[k][j] * shape[j]
                index[j] = 0
                j -= 1
            if j < 0:
                break
    return out


cdef Array execute_power(object params, PyObject **args, int n):
    """params: the exponent, a number."""
    a = to_ndarray(<Array>args[0])
    exponent = params
    with np.errstate(all="ignore"):
        if isinstance(exponent, int) and exponent < 0 and a.dtype.kind in "iu":
            raise ValueError(f"pow: an integer tensor to the negative power {exponent}; convert it to a float type "
                             "first")
        # NumPy's own loop, in the operand's type: a Python number does not widen it
        return wrap(np.power(a, exponent, dtype=a.dtype))


cdef Array execute_where(object params, PyObject **args, int n):
    cdef Array x = <Array>args[1]
    cdef Array y = <Array>args[2]
    cdef Py_ssize_t[MAX_DIMS] shape
    if x.typenum != y.typenum:
        raise TypeError(f"where: the choices have types {np_name(x)} and {np_name(y)}; expected equal types")
    broadcast_shape(OP_WHERE, args, n, shape)
    return wrap(np.where(to_ndarray(<Array>args[0]), to_ndarray(x), to_ndarray(y)))


cdef Array execute_concat(object params, PyObject **args, int n):
    cdef int i
    return wrap(np.concatenate([to_ndarray(<Array>args[i]) for i in range(n)], axis=params))


cdef Array execute_cumsum(object params, PyObject **args, int n):
    """params: (axis, reverse)."""
    a = to_ndarray(<Array>args[0])
    axis, reverse = params
    kind = sum_type(<Array>args[0])
    if reverse:
        a = np.flip(a, axis)
    with np.errstate(all="ignore"):
        sums = narrowed(np.cumsum(a, axis, dtype=kind), <Array>args[0])
    return wrap(np.flip(to_ndarray(sums), axis)) if reverse else sums


cdef tuple index_of(tuple pattern, PyObject **args, int n):
    """An index for NumPy from a pattern: each entry a slice, or the number of an index operand."""
    return tuple([to_ndarray(<Array>args[<int>part + 1]) if isinstance(part, int) else slice(*part)
                  for part in pattern])


cdef object outside(object index, int axis, tuple shape):
    """The error of an index that is not of an axis."""
    return IndexError(f"index {index} is out of bounds for axis {axis} with size {shape[axis]}; the tensor has shape "
                      f"{shape}")


cdef object index_error(object error, tuple pattern, tuple shape, PyObject **args):
    """What NumPy found wrong with the indices of a pattern into a shape."""
    for axis, part in enumerate(pattern):
        if isinstance(part, int):
            numbers = to_ndarray(<Array>args[<int>part + 1])
            for wrong in numbers[(numbers < -shape[axis]) | (numbers >= shape[axis])].flat:
                return outside(wrong, axis, shape)
    return IndexError(f"{error}; the tensor has shape {shape}")


cdef Array execute_gather(object params, PyObject **args, int n):
    """params: a pattern with an entry for each leading axis: (start, stop, step), or the number of an operand."""
    cdef Array a = <Array>args[0]
    try:
        return wrap(to_ndarray(a)[index_of(params, args, n)])
    except IndexError as error:
        raise index_error(error, params, shape_tuple(a), args) from None


cdef Array execute_scatter_add(object params, PyObject **args, int n):
    """params: (shape of the result, pattern)."""
    cdef Array a = <Array>args[0]
    cdef Array out = zeros_of(cnp.NPY_FLOAT if a.typenum == NPY_HALF else a.typenum, params[0])
    try:
        with np.errstate(all="ignore"):
            np.add.at(writable(out), index_of(params[1], args, n), to_ndarray(a))
    except IndexError as error:
        raise index_error(error, params[1], params[0], args) from None
    return cast(out, a.typenum)


cdef bint nothing_to_choose(Array a, tuple axes):
    """Whether an axis that is reduced has no elements, while there are results to give."""
    for axis in axes:
        if a.shape[<int>axis] == 0:
            return True
    return False


cdef Array execute_reduce_max(object params, PyObject **args, int n):
    cdef Array a = <Array>args[0]
    if not a.size and nothing_to_choose(a, params[0]):
        raise ValueError(f"max: the operand of shape {shape_tuple(a)} is empty, so it has no largest element")
    return wrap(np.maximum.reduce(to_ndarray(a), axis=params[0], keepdims=params[1]))


cdef Array execute_reduce_min(object params, PyObject **args, int n):
    cdef Array a = <Array>args[0]
    if not a.size and nothing_to_choose(a, params[0]):
        raise ValueError(f"min: the operand of shape {shape_tuple(a)} is empty, so it has no smallest element")
    return wrap(np.minimum.reduce(to_ndarray(a), axis=params[0], keepdims=params[1]))


cdef Array execute_argmax(object params, PyObject **args, int n):
    return wrap(np.argmax(to_ndarray(<Array>args[0]), axis=params[0], keepdims=params[1]))


cdef Array execute_argmin(object params, PyObject **args, int n):
    return wrap(np.argmin(to_ndarray(<Array>args[0]), axis=params[0], keepdims=params[1]))


cdef Array execute_argsort(object params, PyObject **args, int n):
    """params: (axis, descending). Stable, so that ties keep their order."""
    a = to_ndarray(<Array>args[0])
    axis, descending = params
    if descending:
        return wrap(a.shape[axis] - 1 - np.flip(np.argsort(np.flip(a, axis), axis, kind="stable"), axis))
    return wrap(np.argsort(a, axis, kind="stable"))


cdef Array execute_all(object params, PyObject **args, int n):
    return wrap(np.logical_and.reduce(to_ndarray(<Array>args[0]), axis=params[0], keepdims=params[1]))


cdef Array execute_any(object params, PyObject **args, int n):
    return wrap(np.logical_or.reduce(to_ndarray(<Array>args[0]), axis=params[0], keepdims=params[1]))


cdef Array execute_count_nonzero(object params, PyObject **args, int n):
    return wrap(np.count_nonzero(to_ndarray(<Array>args[0]), axis=params[0], keepdims=params[1]))


cdef Array execute_conj(object params, PyObject **args, int n):
    return wrap(np.conjugate(to_ndarray(<Array>args[0])))


cdef Array execute_view_as_real(object params, PyObject **args, int n):
    """The same memory, with a last axis of two."""
    cdef Array a = <Array>args[0]
    return complex_view(a, cnp.NPY_DOUBLE if a.typenum == cnp.NPY_CDOUBLE else cnp.NPY_FLOAT, a.ndim + 1)


cdef Array execute_view_as_complex(object params, PyObject **args, int n):
    """The same memory where pairs lie side by side."""
    cdef Array a = <Array>args[0]
    if a.strides[a.ndim - 1] != a.itemsize:
        a = contiguous(a)
    return complex_view(a, cnp.NPY_CDOUBLE if a.typenum == cnp.NPY_DOUBLE else cnp.NPY_CFLOAT, a.ndim - 1)


cdef Array complex_view(Array a, int typenum, int ndim):
    """An array's memory read as another of the two types, with one axis more or less."""
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t[MAX_DIMS] strides
    cdef Array out
    cdef int i
    if ndim > MAX_DIMS:
        raise ValueError(f"an array of {ndim} axes; expected at most {MAX_DIMS}")
    for i in range(min(ndim, <int>a.ndim)):
        shape[i] = a.shape[i]
        strides[i] = a.strides[i]
    if ndim > a.ndim:
        shape[a.ndim] = 2
        strides[a.ndim] = item_size(typenum)
    out = new_view(a, ndim, shape, strides, a.data)
    out.typenum = typenum
    out.itemsize = item_size(typenum)
    out.contiguous = a.contiguous
    return out


STRUCTURAL[OP_CONJ] = execute_conj
STRUCTURAL[OP_VIEW_AS_REAL] = execute_view_as_real
STRUCTURAL[OP_VIEW_AS_COMPLEX] = execute_view_as_complex
cdef Array execute_draw(object params, PyObject **args, int n):
    """params: a function that returns an array, anew at each call."""
    return wrap(params())


cdef Array execute_inspect(object params, PyObject **args, int n):
    """params: a function that looks at the array, and may raise."""
    cdef Array a = <Array>args[0]
    params(to_ndarray(a))
    return new_view(a, a.ndim, a.shape, a.strides, a.data)


STRUCTURAL[OP_DRAW] = execute_draw
STRUCTURAL[OP_INSPECT] = execute_inspect
STRUCTURAL[OP_RESHAPE] = execute_reshape
STRUCTURAL[OP_TRANSPOSE] = execute_transpose
STRUCTURAL[OP_BROADCAST_TO] = execute_broadcast_to
STRUCTURAL[OP_SUM_TO] = execute_sum_to
STRUCTURAL[OP_SUM] = execute_sum
STRUCTURAL[OP_CAST] = execute_cast
STRUCTURAL[OP_IDENTITY] = execute_identity
STRUCTURAL[OP_CUMSUM] = execute_cumsum
STRUCTURAL[OP_CONCAT] = execute_concat
STRUCTURAL[OP_SLICE] = execute_slice
STRUCTURAL[OP_UNSLICE] = execute_unslice
STRUCTURAL[OP_GATHER] = execute_gather
STRUCTURAL[OP_SCATTER_ADD] = execute_scatter_add
STRUCTURAL[OP_WHERE] = execute_where
STRUCTURAL[OP_MATMUL] = execute_matmul
STRUCTURAL[OP_POWER] = execute_power
STRUCTURAL[OP_REDUCE_MAX] = execute_reduce_max
STRUCTURAL[OP_REDUCE_MIN] = execute_reduce_min
STRUCTURAL[OP_ARGMAX] = execute_argmax
STRUCTURAL[OP_ARGMIN] = execute_argmin
STRUCTURAL[OP_ARGSORT] = execute_argsort
STRUCTURAL[OP_ALL] = execute_all
STRUCTURAL[OP_ANY] = execute_any
STRUCTURAL[OP_COUNT_NONZERO] = execute_count_nonzero


cdef bint is_structural(int op) noexcept:
    return op < N_OPS and STRUCTURAL[op] is not NULL


cdef Array execute_structural(int op, object params, PyObject **args, int n):
    if NEEDS_REAL[op] and is_complex((<Array>args[0]).typenum):
        raise no_loop(op, (<Array>args[0]).typenum)
    return STRUCTURAL[op](params, args, n)
