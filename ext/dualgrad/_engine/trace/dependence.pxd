# The dependence of a function's result on more than its arguments. See dependence.pyx.
from .executed cimport Executed
from .guards cimport Guards


cdef class Dependence:
    """The guards of a kept result, or the reason why there are none."""
    cdef Guards guards
    cdef readonly str why           # the reason why no guard can follow the function; or None
    cdef list fixed                 # (tensor, the array that it must hold)
    cdef int confirm(self, Executed before, Executed after) except -1


cdef Dependence dependence_of(object start, list others, Executed executed)
cdef Dependence dependence_on(Guards guards, list fixed)
