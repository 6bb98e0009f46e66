# Sums of products with a common factor as products of sums. See factoring.pyx.
from .program cimport Program


cdef Program with_sums_first(Program program)
