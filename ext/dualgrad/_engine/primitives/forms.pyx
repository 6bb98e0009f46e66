"""Helpers for the kernels of structural primitives; the primitives are in the folder `structural`."""
cimport numpy as cnp

from ..arrays.array import np
from ..arrays.array cimport MAX_DIMS, NPY_HALF, Array, from_ndarray, is_complex, to_ndarray
from .registry cimport no_loop

cnp.import_array()


cdef int axes_of(tuple shape) except -1:
    """The number of axes of a shape; raise ValueError if arrays cannot have that many."""
    if len(shape) > MAX_DIMS:
        raise ValueError(f"an array of {len(shape)} axes; expected at most {MAX_DIMS}")
    return len(shape)


cdef int in_shape(int typenum, tuple target, int *ndim, Py_ssize_t *shape) except -2:
    """The form of a result whose shape is a parameter."""
    cdef int i
    ndim[0] = axes_of(target)
    try:
        for i in range(ndim[0]):
            shape[i] = target[i]
    except OverflowError:
        raise ValueError(f"an array of shape {target} is larger than any memory") from None
    return typenum


cdef int like(Array a, int typenum, int *ndim, Py_ssize_t *shape) noexcept:
    """The form of a result with the shape of an operand."""
    cdef int i
    ndim[0] = a.ndim
    for i in range(a.ndim):
        shape[i] = a.shape[i]
    return typenum


cdef int reduced(Array a, int typenum, object axes, bint keepdims, int *ndim, Py_ssize_t *shape) except -2:
    """The form of a reduction over one axis, several axes (a tuple), or all axes (None)."""
    cdef int i, k = 0
    for i in range(a.ndim):
        gone = axes is None or (i in axes if isinstance(axes, tuple) else i == axes)
        if not gone or keepdims:
            shape[k] = 1 if gone else a.shape[i]
            k += 1
    ndim[0] = k
    return typenum


cdef bint is_float(int typenum) noexcept:
    return typenum == cnp.NPY_DOUBLE or typenum == cnp.NPY_FLOAT


cdef Array wrap(object result):
    """A NumPy array or number as an `Array`."""
    return from_ndarray(np.asarray(result))


cdef object real(int op, Array a):
    """A NumPy view of an array; raise TypeError if it is complex, because complex numbers have no order."""
    if is_complex(a.typenum):
        raise no_loop(op, a.typenum)
    return to_ndarray(a)


cdef object sum_type(Array a):
    """The dtype of running sums: float32 for float16 elements, since float16 sums soon stop growing; else their
    dtype."""
    return np.dtype(np.float32) if a.typenum == NPY_HALF else to_ndarray(a).dtype


cdef Array narrowed(object total, Array a):
    """A sum as an array with the dtype of `a`, rounded once."""
    return wrap(total if a.typenum != NPY_HALF else np.asarray(total, dtype=np.float16))


cdef object outside(object index, int axis, tuple shape):
    """The error for an index out of bounds of an axis."""
    return IndexError(f"index {index} is out of bounds for axis {axis} with size {shape[axis]}; the tensor has shape "
                      f"{shape}")
