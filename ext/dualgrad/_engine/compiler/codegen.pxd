# Instructions of operations. See codegen.pyx.
from .allocation cimport Allocation
from .emitter cimport Emitter, Ones
from .partition cimport FusedRegion

cdef enum:
    LEAST = 512                     # elements that a loop over an array is worth its call for


cdef Emitter emitted(Allocation allocation, FusedRegion region, Py_ssize_t halo, Py_ssize_t block, Ones ones)
