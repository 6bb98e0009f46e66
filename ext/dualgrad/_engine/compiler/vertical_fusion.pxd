# Operations that become one instruction. See vertical_fusion.pyx.
from .partition cimport Region

cdef enum:
    NONE = -1
    MUL = 0                         # products, sums and differences, as executor/fused.h numbers them
    ABSORB = 1
    ADD = 2
    SUB = 3
    BUS = 4                         # a difference with its operands exchanged


cdef int code_of_primitive(int op) noexcept
cdef list fused(Region region)
