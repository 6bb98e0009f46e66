# Products of rows with numbers. See scaling.pyx.
from .partition cimport Partition, FusedRegion


cdef list scaled_operations(Partition partition, FusedRegion region)
