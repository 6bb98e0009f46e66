# Matrix products that share a factor. See horizontal_fusion.pyx.
from .margins cimport Margins


cdef class Joined:
    """The regions, with fused matrix products next to each other."""
    cdef Margins margins
    cdef list regions
    cdef dict mates                 # product -> the products of its group; the first one is done for all
    cdef dict groups                # buffer -> the results of its group, next to each other in memory


cdef Joined with_products_joined(Margins margins)
