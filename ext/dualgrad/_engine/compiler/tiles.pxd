# Regions cut into blocks. See tiles.pyx.
from .partition cimport Region


cdef int emit_region(list roots, Region region) except -1
