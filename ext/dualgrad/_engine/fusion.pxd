# Operations that become one instruction. See fusion.pyx.
from .regions cimport Region


cdef list fused(Region region)
