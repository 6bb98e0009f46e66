# Operations fused into one instruction. See vertical_fusion.pyx.
from .partition cimport Partition

cdef enum:
    NONE = -1                       # no code of executor/fused.h


cdef struct Chain:                  # two or three operations fused into one
    int inner                       # the first one; NONE if nothing is fused
    int outer
    int second                      # the second maker, if two are fused; else NONE
    bint left                       # the maker of the left operand is fused
    bint right                      # the maker of the right operand is fused


cdef class Fused:
    """The regions of a partition with fused operations, in the order that keeps the fewest bytes alive."""
    cdef Partition partition
    cdef list regions


cdef int code_of_primitive(int op) noexcept
cdef Chain chain_of(int left, int right, int outer) noexcept
cdef Fused fused(Partition partition)
