# The passes of the compiler. See passes.pyx.
from .code cimport Code
from .program cimport Program


cdef class Compilation:
    """What the passes have made of a program."""
    cdef Program program            # what the last pass on programs has left
    cdef Code code                  # None before the last pass
    cdef list made                  # (name of the pass, object)


cdef Compilation compiled(Program program, str last)
