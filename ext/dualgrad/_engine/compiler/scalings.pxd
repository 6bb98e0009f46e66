# Products of small factors before those with large arrays. See scalings.pyx.
from .program cimport Program


cdef Program with_small_products_first(Program program)
