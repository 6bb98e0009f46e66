# Programs rewritten by identities. See identities.pyx.
from .program cimport Program


cdef Program simplified(Program program)
