# The order of operations within a region. See schedule.pyx.
from .partition cimport Partition
from .views cimport Buffer


cdef bint is_kept(Partition p, Buffer r) noexcept
cdef list scheduled(Partition p, list operations, bint rows)
