# Regions cut into tiles. See tiles.pyx.
from .allocation cimport Allocation
from .code cimport Code


cdef Code generated(Allocation allocation)
