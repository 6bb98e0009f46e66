# Where results lie in memory. See allocation.pyx.
from .partition cimport Region
from .views cimport Root

cdef enum:
    ALIGN = 64


cdef class Places:
    """Offsets in one piece of memory, by lifetimes: what is given back is used again."""
    cdef dict free                  # bytes -> offsets
    cdef Py_ssize_t end
    cdef Py_ssize_t take(self, Py_ssize_t nbytes)
    cdef Py_ssize_t keep(self, Py_ssize_t nbytes)
    cdef int give(self, Py_ssize_t nbytes, Py_ssize_t offset) except -1


cdef Py_ssize_t aligned(Py_ssize_t nbytes)
cdef int place_within(Region region) except -1
cdef Root owner(Root r)
