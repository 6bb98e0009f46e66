# Plans of programs on single numbers. See scalars.pyx.
from .program cimport Program
from .partition cimport Region


cdef Region region_of_numbers(Program program, list roots, list results)
