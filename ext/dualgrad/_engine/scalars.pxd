# Plans of programs on single numbers. See scalars.pyx.
from .program cimport Program
from .regions cimport Region


cdef Region region_of_numbers(Program program, list roots, list results)
