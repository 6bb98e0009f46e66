# What a function's result depends on besides its arguments. See dependence.pyx.
from .executed cimport Executed
from .guards cimport Guards


cdef class Dependence:
    """The guards of a kept result, or why there are none."""
    cdef Guards guards
    cdef readonly str why           # why no guard can follow the function; or None
    cdef list fixed                 # (tensor, the array that it must hold)
    cdef int confirm(self, Executed before, Executed after) except -1


cdef Dependence dependence_of(object start, list others, Executed executed)
cdef Dependence dependence_on(Guards guards, list fixed)
