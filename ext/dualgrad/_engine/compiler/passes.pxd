# The passes of the compiler. See passes.pyx.
from .code cimport Code
from .program cimport Program


cdef class Compilation:
    """The results of all passes on a program."""
    cdef Program program            # result of the last pass on programs
    cdef Code code                  # None before the last pass
    cdef list made                  # (name of the pass, object)


cdef Compilation compiled(Program program, str last)
