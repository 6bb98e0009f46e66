# Level 0 of the engine: values, and arrays. See array.pyx for the design.
from cpython.object cimport PyObject

cdef enum:
    # Kinds of value as bits, so that "is any operand a node" is one `or`.
    ARRAY = 0
    DUAL = 1
    BATCH = 2
    NODE = 4
    INLINE_DIMS = 4
    INLINE_BYTES = 16
    MAX_DIMS = 64
    N_TYPES = 24            # NumPy's type numbers end below this (half is 23)


cdef extern from "numpy/ndarraytypes.h":
    enum:
        NPY_HALF


cdef class Value:
    cdef int kind


cdef class Array(Value):
    cdef int typenum
    cdef int ndim
    cdef int itemsize
    cdef bint contiguous
    cdef Py_ssize_t size
    cdef Py_ssize_t *shape
    cdef Py_ssize_t *strides
    cdef char *data
    cdef void *block            # memory of our own, or NULL
    cdef size_t block_size
    cdef Py_ssize_t *heap_dims  # shape and strides when there are more than INLINE_DIMS
    cdef object base            # whoever else owns the memory
    cdef Py_ssize_t[8] inline_dims
    cdef double[2] inline_data


cdef Array new_array(int typenum, int ndim, const Py_ssize_t *shape)
cdef Array new_like(Array a, int typenum)
cdef Array new_view(Array a, int ndim, const Py_ssize_t *shape, const Py_ssize_t *strides, char *data)
cdef Array full(int typenum, int ndim, const Py_ssize_t *shape, double value)
cdef Array scalar(int typenum, double value)
cdef Array contiguous(Array a)
cdef object to_ndarray(Array a)
cdef object writable(Array a)
cdef Array from_ndarray(object array)
cdef Array copy_of(object array)
cdef tuple shape_tuple(Array a)
cdef bint same_shape(Array a, Array b) noexcept
cdef int item_size(int typenum) noexcept nogil
cdef bint is_inexact(int typenum) noexcept nogil
cdef bint is_complex(int typenum) noexcept nogil
