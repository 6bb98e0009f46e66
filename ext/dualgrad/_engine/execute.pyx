"""Primitives on arrays: what is left when no derivative is asked for.

Design
------
Elementwise primitives run an inner loop (ours or NumPy's, one signature) over operands that broadcast. The common
shapes of operands (equal and contiguous; one of them a single element) go to the loop directly; the others are
walked by an odometer over axes that were merged where strides allow.

Structural primitives are one C function each. Reshapes, transposes, slices and broadcasts are views. Rare or large
work (index arrays, sums over scattered axes, sorting) is NumPy's.

Types are equal when a primitive is reached: the public functions have inserted casts. float16 has NumPy loops for
most primitives and goes through float32 for the rest.
"""
cimport numpy as cnp
from cpython.object cimport PyObject
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from dualgrad._table import ROWS

from .array cimport (MAX_DIMS, N_TYPES, NPY_HALF, Array, contiguous, from_ndarray, full, new_array, new_view,
                     same_shape, shape_tuple, to_ndarray, writable)
from .opcodes cimport *

cnp.import_array()
cnp.import_ufunc()

cdef extern from "dg_kernels.h":
    ctypedef void (*dg_loop)(char **, const cnp.npy_intp *, const cnp.npy_intp *, void *) noexcept nogil
    dg_loop dg_own_loop(int op, int typenum)

cdef extern from "dg_ufunc.h":
    int dg_find_loop(object u, const char *sig, int n, dg_loop *fn, void **data)

cdef extern from "numpy/arrayobject.h":
    int PyArray_CopyInto(cnp.ndarray dest, cnp.ndarray src) except -1

cdef enum:
    NOGIL_SIZE = 1 << 14        # below this many elements, handing the GIL over costs more than it gives
    ROW_BLOCK = 2048            # elements of a short row written out, to be added to many rows at once

cdef struct Loop:
    dg_loop fn
    void *data
    int out_typenum
    bint known

ctypedef Array (*execute_t)(object params, PyObject **args, int n)

cdef Loop[N_OPS][N_TYPES] LOOPS
cdef execute_t[N_OPS] STRUCTURAL
cdef int[N_OPS] FAMILY
cdef bint[N_OPS] KEEPS_INTS
cdef list NAMES = [row.name for row in ROWS]
memset(LOOPS, 0, sizeof(LOOPS))
memset(STRUCTURAL, 0, sizeof(STRUCTURAL))

_FAMILIES = {"elementwise": FAMILY_ELEMENTWISE, "linear": FAMILY_LINEAR, "bilinear": FAMILY_BILINEAR,
             "selection": FAMILY_SELECTION, "constant": FAMILY_CONSTANT, "composite": FAMILY_COMPOSITE}
if len(ROWS) != N_OPS:
    raise ImportError("dualgrad was built from another table of primitives than the one installed; build it again")
for _code, _row in enumerate(ROWS):
    FAMILY[_code] = _FAMILIES[_row.family]
    KEEPS_INTS[_code] = _row.keeps_ints


cdef int family_of(int op) noexcept:
    return FAMILY[op]


cdef bint keeps_ints(int op) noexcept:
    return KEEPS_INTS[op]


cdef str op_name(int op):
    return NAMES[op]


# ---------------------------------------------------------------------------------------------- elementwise

cdef Loop *find_loop(int op, int typenum) except NULL:
    """The inner loop of a primitive for a type; looked up once."""
    cdef Loop *loop = &LOOPS[op][typenum]
    cdef int arity
    if loop.known:
        return loop
    row = ROWS[op]
    arity = row.arity
    loop.out_typenum = cnp.NPY_BOOL if row.result == "bool" else typenum
    loop.fn = dg_own_loop(op, typenum)
    if loop.fn is NULL and row.ufunc is not None and not (row.c is not None and typenum == NPY_HALF):
        signature = bytes([typenum] * arity + [loop.out_typenum])
        if dg_find_loop(getattr(np, row.ufunc), signature, arity + 1, &loop.fn, &loop.data) != 0:
            loop.fn = NULL
    loop.known = True
    return loop


cdef object no_loop(int op, int typenum):
    return TypeError(f"{NAMES[op]}: operands of type {np.dtype(cnp.PyArray_DescrFromType(typenum)).name} have no such "
                     f"operation; convert them to a float type first (x.astype(...))")


cdef Array execute_elementwise(int op, PyObject **args, int n):
    cdef Array a = <Array>args[0]
    cdef Array b
    cdef Array out
    cdef Loop *loop = find_loop(op, a.typenum)
    cdef char *pointers[4]
    cdef cnp.npy_intp[4] steps
    cdef cnp.npy_intp size
    if loop.fn is NULL:
        return through_float32(op, args, n)
    if n == 1:
        if not a.contiguous:
            return walk(op, loop, args, n)
        out = new_array(loop.out_typenum, a.ndim, a.shape)
        pointers[0] = a.data
        pointers[1] = out.data
        steps[0] = a.itemsize
        steps[1] = out.itemsize
        size = a.size
    elif n == 2:
        b = <Array>args[1]
        if a.typenum != b.typenum:
            raise TypeError(f"{NAMES[op]}: the operands have types {np_name(a)} and {np_name(b)}; expected equal types")
        if a.contiguous and b.contiguous and same_shape(a, b):
            out = new_array(loop.out_typenum, a.ndim, a.shape)
            steps[0] = a.itemsize
            steps[1] = a.itemsize
        elif b.size == 1 and b.ndim <= a.ndim and a.contiguous:
            out = new_array(loop.out_typenum, a.ndim, a.shape)
            steps[0] = a.itemsize
            steps[1] = 0
        elif a.size == 1 and a.ndim <= b.ndim and b.contiguous:
            out = new_array(loop.out_typenum, b.ndim, b.shape)
            steps[0] = 0
            steps[1] = b.itemsize
        else:
            return walk(op, loop, args, n)
        pointers[0] = a.data
        pointers[1] = b.data
        pointers[2] = out.data
        steps[2] = out.itemsize
        size = out.size
    else:
        return walk(op, loop, args, n)
    if size < NOGIL_SIZE:
        loop.fn(pointers, &size, steps, loop.data)
    else:
        with nogil:
            loop.fn(pointers, &size, steps, loop.data)
    return out


cdef str np_name(Array a):
    return np.dtype(cnp.PyArray_DescrFromType(a.typenum)).name


cdef Array through_float32(int op, PyObject **args, int n):
    """float16 where only wider loops exist: computed in float32, rounded once."""
    cdef Array a = <Array>args[0]
    cdef Array r
    cdef int i
    if a.typenum != NPY_HALF:
        raise no_loop(op, a.typenum)
    wide = [cast_to(<Array>args[i], cnp.NPY_FLOAT) for i in range(n)]
    cdef PyObject *p[3]
    for i in range(n):
        p[i] = <PyObject *>wide[i]
    r = execute_elementwise(op, p, n)
    return cast_to(r, NPY_HALF) if r.typenum == cnp.NPY_FLOAT else r


cdef int broadcast_shape(int op, PyObject **args, int n, Py_ssize_t *shape) except -1:
    """The common shape of the operands, by NumPy's rules; its number of axes is returned."""
    cdef int ndim = 0, i, j, k
    cdef Array a
    for i in range(n):
        a = <Array>args[i]
        if a.ndim > ndim:
            ndim = a.ndim
    for j in range(ndim):
        shape[j] = 1
    for i in range(n):
        a = <Array>args[i]
        for j in range(a.ndim):
            k = j + ndim - a.ndim
            if a.shape[j] == shape[k] or a.shape[j] == 1:
                continue
            if shape[k] != 1:
                shapes = " and ".join([str(shape_tuple(<Array>args[m])) for m in range(n)])
                raise ValueError(f"{NAMES[op]}: operands of shapes {shapes} do not broadcast; axes must be equal or 1, "
                                 f"counted from the last")
            shape[k] = a.shape[j]
    return ndim


cdef Array walk(int op, Loop *loop, PyObject **args, int n):
    """The general case: any strides, any broadcasting."""
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t[4][MAX_DIMS] strides
    cdef Py_ssize_t[MAX_DIMS] index
    cdef char *pointers[4]
    cdef char *args_now[4]
    cdef cnp.npy_intp[4] steps
    cdef cnp.npy_intp inner
    cdef int ndim = broadcast_shape(op, args, n, shape), merged, i, j, k
    cdef Array a
    cdef Array out = new_array(loop.out_typenum, ndim, shape)
    cdef bint joins
    if out.size == 0:
        return out
    for i in range(n):
        a = <Array>args[i]
        if a.typenum != (<Array>args[0]).typenum:
            raise TypeError(f"{NAMES[op]}: the operands have types {np_name(<Array>args[0])} and {np_name(a)}; "
                            f"expected equal types")
        pointers[i] = a.data
        for j in range(ndim):
            k = j - (ndim - a.ndim)
            strides[i][j] = 0 if k < 0 or a.shape[k] == 1 else a.strides[k]
    pointers[n] = out.data
    for j in range(ndim):
        strides[n][j] = out.strides[j]
    # merge axes that lie behind each other in every operand
    merged = 0
    for j in range(ndim):
        if shape[j] == 1:
            continue
        joins = merged > 0
        if joins:
            for i in range(n + 1):
                if strides[i][merged - 1] != strides[i][j] * shape[j]:
                    joins = False
                    break
        if joins:
            shape[merged - 1] *= shape[j]
            for i in range(n + 1):
                strides[i][merged - 1] = strides[i][j]
        else:
            shape[merged] = shape[j]
            for i in range(n + 1):
                strides[i][merged] = strides[i][j]
            merged += 1
    if merged == 0:
        inner = 1
        for i in range(n + 1):
            steps[i] = 0
        loop.fn(pointers, &inner, steps, loop.data)
        return out
    inner = shape[merged - 1]
    for i in range(n + 1):
        steps[i] = strides[i][merged - 1]
    for j in range(merged):
        index[j] = 0
    if (merged == 2 and inner * 4 <= ROW_BLOCK and shape[0] >= 8
            and blocked_rows(loop, pointers, strides, shape, n, (<Array>args[0]).itemsize)):
        return out
    with nogil:
        while True:
            for i in range(n + 1):
                args_now[i] = pointers[i]       # a loop may advance the pointers it is given
            loop.fn(args_now, &inner, steps, loop.data)
            j = merged - 2
            while j >= 0:
                index[j] += 1
                for i in range(n + 1):
                    pointers[i] += strides[i][j]
                if index[j] < shape[j]:
                    break
                for i in range(n + 1):
                    pointers[i] -= strides[i][j] * shape[j]
                index[j] = 0
                j -= 1
            if j < 0:
                break
    return out


cdef bint blocked_rows(Loop *loop, char **pointers, Py_ssize_t[MAX_DIMS] *strides, const Py_ssize_t *shape,
                       int n, Py_ssize_t itemsize) except -1:
    """A matrix with a short row repeated over its rows (a bias): the row is written out a few times, so that the loop
    runs over blocks of rows. False if the operands do not lie like that."""
    cdef Py_ssize_t rows = shape[0], inner = shape[1], block = ROW_BLOCK // inner, done = 0, k
    cdef char *repeated[8]
    cdef char *args[4]
    cdef cnp.npy_intp steps[4]
    cdef cnp.npy_intp size
    cdef int i
    cdef bint any_row = False
    for i in range(n + 1):
        if strides[i][0] == 0 and strides[i][1] == itemsize and i < n:
            any_row = True
        elif strides[i][0] != strides[i][1] * inner:
            return False
    if not any_row or block < 2:
        return False
    for i in range(n + 1):
        repeated[i] = NULL
    try:
        for i in range(n):
            steps[i] = strides[i][1]
            if strides[i][0] == 0:
                repeated[i] = <char *>malloc(block * inner * steps[i])
                if repeated[i] is NULL:
                    return False
                for k in range(block):
                    memcpy(repeated[i] + k * inner * steps[i], pointers[i], inner * steps[i])
        steps[n] = strides[n][1]
        with nogil:
            while done < rows:
                size = min(block, rows - done) * inner
                for i in range(n + 1):
                    args[i] = pointers[i] + done * strides[i][0] if repeated[i] is NULL else repeated[i]
                loop.fn(args, &size, steps, loop.data)
                done += block
    finally:
        for i in range(n):
            free(repeated[i])
    return True


cdef bint add_into(Array total, Array term) except -1:
    """total += term where both are contiguous and alike; False if they are not."""
    cdef Loop *loop
    cdef char *pointers[3]
    cdef cnp.npy_intp[3] steps
    cdef cnp.npy_intp size
    if not (total.contiguous and term.contiguous and total.typenum == term.typenum and same_shape(total, term)):
        return False
    loop = find_loop(OP_ADD, total.typenum)
    if loop.fn is NULL:
        return False
    pointers[0] = total.data
    pointers[1] = term.data
    pointers[2] = total.data
    steps[0] = steps[1] = steps[2] = total.itemsize
    size = total.size
    loop.fn(pointers, &size, steps, loop.data)
    return True


# ----------------------------------------------------------------------------------------------- structural

cdef Array cast_to(Array a, int typenum):
    cdef Array out
    if a.typenum == typenum:
        return a
    out = new_array(typenum, a.ndim, a.shape)
    if a.size == 1 and a.typenum == cnp.NPY_DOUBLE and typenum == cnp.NPY_FLOAT:
        (<float *>out.data)[0] = <float>(<double *>a.data)[0]
    elif a.size == 1 and a.typenum == cnp.NPY_FLOAT and typenum == cnp.NPY_DOUBLE:
        (<double *>out.data)[0] = (<float *>a.data)[0]
    else:
        fill(out, to_ndarray(a))
    return out


cdef int fill(Array out, object source) except -1:
    """Copy (and convert) the elements of a NumPy array into an array that was just made."""
    cdef object view = writable(out)
    if view.dtype.kind in "iub" and source.dtype.kind in "fc":
        with np.errstate(all="ignore"):         # nan has no integer; NumPy's choice stands
            PyArray_CopyInto(view, source)
    else:
        PyArray_CopyInto(view, source)
    return 0


cdef Array execute_cast(object params, PyObject **args, int n):
    return cast_to(<Array>args[0], params)


cdef Array execute_identity(object params, PyObject **args, int n):
    return <Array>args[0]


cdef Array execute_reshape(object params, PyObject **args, int n):
    cdef Array a = contiguous(<Array>args[0])
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t[MAX_DIMS] strides
    cdef tuple target = params
    cdef int ndim = len(target), i
    cdef Py_ssize_t step = a.itemsize
    for i in range(ndim - 1, -1, -1):
        shape[i] = target[i]
        strides[i] = step
        step *= shape[i]
    return new_view(a, ndim, shape, strides, a.data)


cdef Array execute_transpose(object params, PyObject **args, int n):
    cdef Array a = <Array>args[0]
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t[MAX_DIMS] strides
    cdef tuple permutation = params
    cdef int i, j
    for i in range(a.ndim):
        j = permutation[i]
        shape[i] = a.shape[j]
        strides[i] = a.strides[j]
    return new_view(a, a.ndim, shape, strides, a.data)


cdef Array execute_broadcast_to(object params, PyObject **args, int n):
    cdef Array a = <Array>args[0]
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t[MAX_DIMS] strides
    cdef tuple target = params
    cdef int ndim = len(target), i, k
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
    cdef int i
    for i in range(len(shape)):
        dims[i] = shape[i]
    return full(typenum, len(shape), dims, 0.0)


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
    cdef void *data = NULL
    cdef dg_loop fn = NULL
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
            signature = bytes([a.typenum] * 3)
            if dg_find_loop(np.add, signature, 3, &fn, &data) == 0:
                steps[0] = 0
                steps[1] = a.itemsize
                steps[2] = 0
                for i in range(outer):
                    pointers[0] = out.data + i * a.itemsize
                    pointers[1] = a.data + i * inner * a.itemsize
                    pointers[2] = pointers[0]
                    fn(pointers, &inner, steps, data)
                return out
    return wrap(np.add.reduce(to_ndarray(a), axis=axes, keepdims=keepdims,
                              dtype=np.dtype(cnp.PyArray_DescrFromType(a.typenum))))


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
    cdef Loop *loop = &LOOPS[OP_MATMUL][a.typenum]
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
        signature = bytes([a.typenum] * 3)
        if dg_find_loop(np.matmul, signature, 3, &loop.fn, &loop.data) != 0:
            loop.fn = NULL
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
    if reverse:
        return wrap(np.flip(np.cumsum(np.flip(a, axis), axis, dtype=a.dtype), axis))
    return wrap(np.cumsum(a, axis, dtype=a.dtype))


cdef tuple index_of(tuple pattern, PyObject **args, int n):
    """An index for NumPy from a pattern: each entry a slice, or the number of an index operand."""
    return tuple([to_ndarray(<Array>args[<int>part + 1]) if isinstance(part, int) else slice(*part)
                  for part in pattern])


cdef Array execute_gather(object params, PyObject **args, int n):
    """params: a pattern with an entry for each leading axis: (start, stop, step), or the number of an operand."""
    return wrap(to_ndarray(<Array>args[0])[index_of(params, args, n)])


cdef Array execute_scatter_add(object params, PyObject **args, int n):
    """params: (shape of the result, pattern)."""
    cdef Array a = <Array>args[0]
    cdef Array out = zeros_of(a.typenum, params[0])
    np.add.at(writable(out), index_of(params[1], args, n), to_ndarray(a))
    return out


cdef Array execute_reduce_max(object params, PyObject **args, int n):
    cdef Array a = <Array>args[0]
    if not a.size:
        raise ValueError(f"max: the operand of shape {shape_tuple(a)} is empty, so it has no largest element")
    return wrap(np.maximum.reduce(to_ndarray(a), axis=params[0], keepdims=params[1]))


cdef Array execute_reduce_min(object params, PyObject **args, int n):
    cdef Array a = <Array>args[0]
    if not a.size:
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


cdef Array execute(int op, object params, PyObject **args, int n):
    """Run a primitive on arrays."""
    if STRUCTURAL[op] is not NULL:
        return STRUCTURAL[op](params, args, n)
    return execute_elementwise(op, args, n)
