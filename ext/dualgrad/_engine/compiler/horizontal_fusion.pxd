# Matrix products that share a factor. See horizontal_fusion.pyx.
from .margins cimport Margins


cdef class Joined:
    """The regions, with matrix products that share a factor behind each other."""
    cdef Margins margins
    cdef list regions
    cdef dict mates                 # product -> the products that are done together with it, the first of them for all
    cdef dict groups                # buffer -> the results that are made next to each other, this one among them


cdef Joined with_products_joined(Margins margins)
