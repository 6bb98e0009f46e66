# Programs as operations on views of memory. See lowering.pyx.
from .array cimport Array
from .primitives cimport Loop
from .program cimport Program


cdef Loop *add_loop(int typenum) except NULL
cdef Loop *matmul_loop(int typenum) except NULL
cdef Loop *power_loop(int typenum) except NULL


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
    cdef Root within                # the result in whose memory it is made,
    cdef Py_ssize_t start           # from this row on


cdef class View:
    """A root, seen through strides."""
    cdef Root root
    cdef Py_ssize_t offset
    cdef tuple shape
    cdef tuple strides


cdef class Operation:
    """One result from views."""
    cdef int op
    cdef object params
    cdef list ins
    cdef Root out
    cdef str kind                   # loop, select, cast, matmul, sum, copies, gather, scatter, or generic


cdef class Lowering:
    cdef Program program
    cdef list views                 # of each slot
    cdef list roots
    cdef list operations
    cdef dict numbers               # id of the root of a constant -> root of the number that it repeats
    cdef int lower(self) except -1
    cdef Root made(self, int typenum, tuple shape)
    cdef View emit(self, str kind, int op, object params, list ins, int typenum, tuple shape)
    cdef View copied(self, View v)
    cdef View constant(self, Array a, int typenum, tuple shape)
    cdef list elements(self, list ins)
    cdef View step(self, int op, object params, list ins, int typenum, tuple shape)
    cdef View joined(self, int axis, list ins, int typenum, tuple shape)
    cdef View picked(self, int op, object params, list ins, int typenum, tuple shape)
    cdef View index_of(self, View index, Py_ssize_t extent, bint outer)
    cdef View summed(self, int op, object params, View x, int typenum, tuple shape)
    cdef bint multiplies(self, list ins)


cdef Py_ssize_t product(object shape)
cdef tuple packed(tuple shape, Py_ssize_t item)
cdef Root new_root(int typenum, tuple shape, object source)
cdef View view_of(Root root)
cdef View view(Root root, Py_ssize_t offset, tuple shape, tuple strides)
cdef bint is_packed(View v)
cdef tuple broadcast_strides(View v, tuple shape)
cdef object dtype_of(int typenum)
cdef Array np_scalar(int typenum)
cdef object step_of(tuple strides, tuple shape, bint partition)
