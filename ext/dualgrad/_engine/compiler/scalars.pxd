# Plans of programs on single numbers. See scalars.pyx.
from .code cimport Code
from .program cimport Program


cdef Code code_of_numbers(Program program)
