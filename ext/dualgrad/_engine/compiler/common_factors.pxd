# Products of multiples of what was multiplied already. See common_factors.pyx.
from .program cimport Program


cdef Program with_common_factors(Program program)
