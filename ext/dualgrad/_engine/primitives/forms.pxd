# Helpers for the kernels of structural primitives. See forms.pyx.
from ..arrays.array cimport Array

cdef int axes_of(tuple shape) except -1
cdef int in_shape(int typenum, tuple target, int *ndim, Py_ssize_t *shape) except -2
cdef int like(Array a, int typenum, int *ndim, Py_ssize_t *shape) noexcept
cdef int reduced(Array a, int typenum, object axes, bint keepdims, int *ndim, Py_ssize_t *shape) except -2
cdef bint is_float(int typenum) noexcept
cdef Array wrap(object result)
cdef object real(int op, Array a)
cdef object sum_type(Array a)
cdef Array narrowed(object total, Array a)
cdef object outside(object index, int axis, tuple shape)
