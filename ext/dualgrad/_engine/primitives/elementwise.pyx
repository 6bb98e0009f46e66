"""Elementwise primitives on arrays.

Design
------
An inner loop runs over operands that broadcast. Equal contiguous shapes, and a single element beside a contiguous
array, go to the loop directly. For all other shapes an odometer walks the axes, after merging axes where strides allow.
A short row that is added to many rows (a bias) is repeated in a buffer, so that the loop covers many rows at once.

float16 has NumPy loops for most primitives; the others compute in float32. Complex numbers have NumPy's loops; the
functions below compose the few analytic primitives without a loop from NumPy functions.
"""
cimport numpy as cnp
from cpython.object cimport PyObject
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from ..arrays.array import np
from ..arrays.array cimport (MAX_DIMS, NPY_HALF, Array, cast, from_ndarray, is_complex, is_inexact, new_array,
                             same_shape, to_ndarray)
from .opcodes cimport *
from .registry cimport Loop, broadcast_shape, find_loop, no_loop, np_name, op_name, raise_of

cdef enum:
    NOGIL_SIZE = 1 << 14        # below this many elements, releasing the GIL costs more than it gains
    ROW_BLOCK = 2048            # elements in the buffer that repeats a short row


cdef Array execute_elementwise(int op, PyObject **args, int n):
    cdef Array a = <Array>args[0]
    cdef Array b
    cdef Array out
    cdef Loop *loop = find_loop(op, a.typenum)
    cdef char *pointers[4]
    cdef cnp.npy_intp[4] steps
    cdef cnp.npy_intp size
    if loop.fn is NULL:
        if op == OP_POW and a.typenum != cnp.NPY_BOOL and not is_inexact(a.typenum):
            return integer_power(args)
        return composed(op, args, n) if is_complex(a.typenum) and op in COMPOSED else through_wider(op, args, n)
    if n == 1:
        if not a.contiguous:
            return walk_strided(op, loop, args, n)
        out = new_array(loop.out_typenum, a.ndim, a.shape)
        pointers[0] = a.data
        pointers[1] = out.data
        steps[0] = a.itemsize
        steps[1] = out.itemsize
        size = a.size
    elif n == 2:
        b = <Array>args[1]
        if a.typenum != b.typenum:
            raise TypeError(f"{op_name(op)}: the operands have types {np_name(a)} and {np_name(b)}; expected equal "
                            f"types")
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
            return walk_strided(op, loop, args, n)
        pointers[0] = a.data
        pointers[1] = b.data
        pointers[2] = out.data
        steps[2] = out.itemsize
        size = out.size
    else:
        return walk_strided(op, loop, args, n)
    if size < NOGIL_SIZE:
        loop.fn(pointers, &size, steps, loop.data)
    else:
        with nogil:
            loop.fn(pointers, &size, steps, loop.data)
    raise_of(loop)
    return out


cdef Array through_wider(int op, PyObject **args, int n):
    """Compute in float32 or float64 where the operands' float dtype has no loop, then round once."""
    cdef Array a = <Array>args[0]
    cdef Array r
    cdef int i, wider
    if a.typenum == NPY_HALF and find_loop(op, cnp.NPY_FLOAT).fn is not NULL:
        wider = cnp.NPY_FLOAT
    elif (op >= N_OPS and is_inexact(a.typenum) and not is_complex(a.typenum)
          and find_loop(op, cnp.NPY_DOUBLE).fn is not NULL):
        wider = cnp.NPY_DOUBLE
    else:
        raise no_loop(op, a.typenum)
    wide = [cast(<Array>args[i], wider) for i in range(n)]
    cdef PyObject *p[3]
    for i in range(n):
        p[i] = <PyObject *>wide[i]
    r = execute_elementwise(op, p, n)
    if r.typenum != wider:
        return r
    with np.errstate(all="ignore"):         # as loops, ignore floating-point errors
        return cast(r, a.typenum)


def _rsqrt(z):
    return 1 / np.sqrt(z)


def _sigmoid(z):
    e = np.exp(np.where(z.real < 0, z, -z))         # never overflows
    return np.where(z.real < 0, e, 1) / (1 + e)


def _sech2(z):
    e = np.exp(-2 * np.where(z.real < 0, -z, z))
    return 4 * e / ((1 + e) * (1 + e))


def _xlogy(x, y):
    return np.where(x == 0, 0, x * np.log(y))


def _xdivy(x, y):
    return np.where(x == 0, 0, x / y)


cdef dict COMPOSED = {OP_RSQRT: _rsqrt, OP_SIGMOID: _sigmoid, OP_SECH2: _sech2, OP_XLOGY: _xlogy, OP_XDIVY: _xdivy}


cdef Array composed(int op, PyObject **args, int n):
    """Compute an analytic primitive of complex numbers for which NumPy has no loop."""
    cdef int typenum = (<Array>args[0]).typenum, i
    operands = [to_ndarray(<Array>args[i]) for i in range(n)]
    with np.errstate(all="ignore"):
        return from_ndarray(np.asarray(COMPOSED[op](*operands), dtype=cnp.PyArray_DescrFromType(typenum)))


cdef Array integer_power(PyObject **args):
    """Powers of integers. No other built-in row raises because of the values of its operands."""
    base, exponent = to_ndarray(<Array>args[0]), to_ndarray(<Array>args[1])
    if base.dtype != exponent.dtype:
        raise TypeError(f"pow: the operands have types {base.dtype} and {exponent.dtype}; expected equal types")
    if (exponent < 0).any():
        raise ValueError(f"pow: an integer tensor to the negative power {exponent.min()}; convert it to a float type "
                         "first")
    return from_ndarray(np.asarray(np.power(base, exponent)))


cdef Array walk_strided(int op, Loop *loop, PyObject **args, int n):
    """The general case: any strides and any broadcasting."""
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t[4][MAX_DIMS] strides
    cdef char *pointers[4]
    cdef cnp.npy_intp[4] steps
    cdef cnp.npy_intp inner
    cdef int ndim = broadcast_shape(op, args, n, shape), axes, i
    cdef Array a
    cdef Array out = new_array(loop.out_typenum, ndim, shape)
    if out.size == 0:
        return out
    for i in range(n):
        a = <Array>args[i]
        if a.typenum != (<Array>args[0]).typenum:
            raise TypeError(f"{op_name(op)}: the operands have types {np_name(<Array>args[0])} and {np_name(a)}; "
                            f"expected equal types")
        pointers[i] = a.data
        strides_in(a, ndim, ndim, strides[i])
    pointers[n] = out.data
    strides_in(out, ndim, ndim, strides[n])
    axes = merged_axes(ndim, shape, strides, n + 1)
    inner = 1 if axes == 0 else shape[axes - 1]
    for i in range(n + 1):
        steps[i] = 0 if axes == 0 else strides[i][axes - 1]
    if (axes == 2 and inner * 4 <= ROW_BLOCK and shape[0] >= 8
            and blocked_rows(loop, pointers, strides, shape, n, (<Array>args[0]).itemsize)):
        return out
    if axes == 0:
        loop.fn(pointers, &inner, steps, loop.data)
    else:
        with nogil:
            along_axes(loop, &inner, steps, pointers, n + 1, axes - 1, shape, strides)
    raise_of(loop)
    return out


cdef void strides_in(Array a, int ndim, int first, Py_ssize_t *strides) noexcept nogil:
    """Strides of an array along the first `first` axes of a result; 0 where the array is repeated."""
    cdef int j, k
    for j in range(first):
        k = j - (ndim - a.ndim)
        strides[j] = 0 if k < 0 or a.shape[k] == 1 else a.strides[k]


cdef int merged_axes(int ndim, Py_ssize_t *shape, Py_ssize_t[MAX_DIMS] *strides, int operands) noexcept nogil:
    """Merge each axis into the axis before it where all operands allow; return the number of axes left."""
    cdef int merged = 0, i, j
    cdef Py_ssize_t length
    for j in range(ndim):
        length = shape[j]
        if length == 1:
            continue
        if merged > 0 and lie_behind(length, merged - 1, j, strides, operands):
            shape[merged - 1] *= length
        else:
            shape[merged] = length
            merged += 1
        for i in range(operands):
            strides[i][merged - 1] = strides[i][j]
    return merged


cdef bint lie_behind(Py_ssize_t length, int outer, int inner, Py_ssize_t[MAX_DIMS] *strides,
                     int operands) noexcept nogil:
    """True if in every operand a step along `outer` equals `length` steps along `inner`, so that they merge."""
    cdef int i
    for i in range(operands):
        if strides[i][outer] != strides[i][inner] * length:
            return False
    return True


cdef void along_axes(Loop *loop, const cnp.npy_intp *dims, const cnp.npy_intp *steps, char **pointers, int operands,
                     int axes, const Py_ssize_t *shape, Py_ssize_t[MAX_DIMS] *strides) noexcept nogil:
    """Call a loop at each index of the first axes, for at most four operands."""
    cdef Py_ssize_t[MAX_DIMS] index
    cdef char *args[4]
    cdef int i, j
    for j in range(axes):
        index[j] = 0
    while True:
        for i in range(operands):
            args[i] = pointers[i]           # a loop may advance its pointers
        loop.fn(args, dims, steps, loop.data)
        j = axes - 1
        while j >= 0:
            index[j] += 1
            for i in range(operands):
                pointers[i] += strides[i][j]
            if index[j] < shape[j]:
                break
            for i in range(operands):
                pointers[i] -= strides[i][j] * shape[j]
            index[j] = 0
            j -= 1
        if j < 0:
            return


cdef bint blocked_rows(Loop *loop, char **pointers, Py_ssize_t[MAX_DIMS] *strides, const Py_ssize_t *shape,
                       int n, Py_ssize_t itemsize) except -1:
    """Run a loop on a matrix and a short row that repeats for each of its rows (a bias).

    A buffer holds the row a few times, so that each call of the loop covers several rows. Return False if the operands
    have other strides.
    """
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
            if strides[i][0] == 0 and steps[i] != 0:            # a single number needs no buffer
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
        raise_of(loop)
    finally:
        for i in range(n):
            free(repeated[i])
    return True


cdef bint add_into(Array total, Array term) except -1:
    """Add `term` to `total` in place; False if they are not contiguous, of one dtype and of one shape."""
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
    total.basis = False
    return True
