# Operations that become one instruction. See vertical_fusion.pyx.
from .partition cimport Partition

cdef enum:
    NONE = -1                       # beside the products, sums and differences of executor/fused.h


cdef struct Chain:                  # two or three operations done as one
    int inner                       # the first one; NONE where nothing is fused
    int outer
    int second                      # the other one before the outer, or NONE
    bint left                       # whether the maker of the left operand is taken in,
    bint right                      # and that of the right one


cdef class Fused:
    """The regions of a partition, some operations of each done as one, in the order that keeps the fewest bytes."""
    cdef Partition partition
    cdef list regions


cdef int code_of_primitive(int op) noexcept
cdef Chain chain_of(int left, int right, int outer) noexcept
cdef Fused fused(Partition partition)
