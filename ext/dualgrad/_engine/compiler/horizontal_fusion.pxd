# Matrix products that share a factor. See horizontal_fusion.pyx.
from .partition cimport Region


cdef int join_products(Region region) except -1
