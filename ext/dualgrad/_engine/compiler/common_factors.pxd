# Matrix products replaced by multiples of earlier products. See common_factors.pyx.
from .program cimport Program


cdef Program with_common_factors(Program program)
