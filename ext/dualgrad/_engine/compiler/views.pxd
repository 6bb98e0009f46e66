# Memory seen through strides. See views.pyx.

cdef class Buffer:
    """Memory: of an input, a handle, a constant, or one result."""
    cdef int typenum
    cdef Py_ssize_t item
    cdef tuple shape
    cdef Py_ssize_t size
    cdef object source              # ("input", i), ("handle", tensor), ("constant", array) or None
    cdef int number                 # index among the buffers of a program; passes store facts under it


cdef class View:
    """A buffer, seen through strides."""
    cdef Buffer buffer
    cdef Py_ssize_t offset
    cdef tuple shape
    cdef tuple strides
    cdef View merges                # a view of three axes, two of which this view merges; then it may lack strides


cdef Py_ssize_t product(object shape) except? -1
cdef tuple packed(tuple shape, Py_ssize_t item)
cdef Buffer new_buffer(int typenum, tuple shape, object source)
cdef View view_of(Buffer buffer)
cdef View view(Buffer buffer, Py_ssize_t offset, tuple shape, tuple strides)
cdef bint is_packed(View v)
cdef tuple broadcast_strides(View v, tuple shape)
cdef object step_of(tuple strides, tuple shape, bint partition)
cdef tuple rows_first(tuple shape, Py_ssize_t rows)
cdef tuple permuted(tuple items, tuple order)
cdef tuple inverse(tuple order)
cdef View turned(View v, tuple order)
cdef View repeated(View v, tuple shape)
cdef View reshaped(View v, tuple shape)
