# Programs rewritten by identities. See identities.pyx.
from .program cimport Program


cdef bint is_real(int typenum) noexcept
cdef Program simplified(Program program)
