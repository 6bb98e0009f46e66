# Instructions of operations. See codegen.pyx.
from .allocation cimport Allocation
from .emitter cimport Emitter, Ones
from .partition cimport FusedRegion

cdef enum:
    LEAST = 512                     # least elements per call of a loop over an array, for the call to pay


cdef Emitter emitted(Allocation allocation, FusedRegion region, Py_ssize_t halo, Py_ssize_t block, Ones ones)
