# Regions cut into blocks. See tiles.pyx.
from .allocation cimport Allocation
from .code cimport Code


cdef Code generated(Allocation allocation)
