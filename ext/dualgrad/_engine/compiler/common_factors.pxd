# Products of multiples of what was multiplied already. See common_factors.pyx.
from .program cimport Program


cdef Program without_multiples(Program program)
