# Matrix products that share a factor. See joining.pyx.
from .regions cimport Region


cdef int join_products(Region region) except -1
