# Regions cut into blocks. See blocks.pyx.
from .regions cimport Region


cdef int emit_region(list roots, Region region) except -1
