# What a result depends on besides its arguments. See dependence.pyx.
from .executed cimport Executed
from .guards cimport Guards


cdef class Dependence:
    """The guards of something that is kept, or why there are none."""
    cdef Guards guards
    cdef readonly str why           # no guard can follow it, for this reason; or None
    cdef list fixed                 # (tensor, the array it has to hold)
    cdef int confirm(self, Executed before, Executed after) except -1


cdef Dependence dependence_of(object start, list others, Executed executed)
cdef Dependence dependence_on(Guards guards, list fixed)
