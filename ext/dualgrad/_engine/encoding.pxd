# Instructions as the executor reads them. See encoding.pyx.
from .regions cimport Region


cdef int finish_code(Region region, list code) except -1
cdef int finish_scalars(Region region) except -1
