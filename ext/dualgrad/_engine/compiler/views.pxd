# Memory seen through strides. See views.pyx.

cdef class Root:
    """Memory: of an input, a handle, a constant, or one result."""
    cdef int typenum
    cdef Py_ssize_t item
    cdef tuple shape
    cdef Py_ssize_t size
    cdef object source              # ("input", i), ("handle", tensor), ("constant", array) or None
    cdef int base                   # where a run finds it
    cdef Py_ssize_t offset
    cdef Py_ssize_t total           # its place among the totals of its region, where it is added up
    cdef bint dynamic               # it is whatever array a kernel returns
    cdef object which               # number of the input, handle, or constant
    cdef int region                 # the region that makes it; -1 where it is there from the start
    cdef bint rows                  # it is made row by row
    cdef bint added                 # it is added up over the rows
    cdef bint outside               # somebody outside its region reads it
    cdef int last                   # the last region that reads it
    cdef Py_ssize_t reach           # how far its rows depend on rows beside them
    cdef Py_ssize_t before          # how many rows more of it a block needs, before its own
    cdef Py_ssize_t after           # and after them
    cdef list group                 # results that are made next to each other, this one among them
    cdef Root within                # the result in whose memory it is made,
    cdef Py_ssize_t start           # from this row on


cdef class View:
    """A root, seen through strides."""
    cdef Root root
    cdef Py_ssize_t offset
    cdef tuple shape
    cdef tuple strides
    cdef View merges                # the view of three axes of which this one merges two; it need not have strides then


cdef Py_ssize_t product(object shape) except? -1
cdef tuple packed(tuple shape, Py_ssize_t item)
cdef Root new_root(int typenum, tuple shape, object source)
cdef View view_of(Root root)
cdef View view(Root root, Py_ssize_t offset, tuple shape, tuple strides)
cdef bint is_packed(View v)
cdef tuple broadcast_strides(View v, tuple shape)
cdef object step_of(tuple strides, tuple shape, bint partition)
cdef tuple rows_first(tuple shape, Py_ssize_t rows)
cdef tuple permuted(tuple items, tuple order)
cdef tuple inverse(tuple order)
cdef View turned(View v, tuple order)
cdef View repeated(View v, tuple shape)
cdef View reshaped(View v, tuple shape)
