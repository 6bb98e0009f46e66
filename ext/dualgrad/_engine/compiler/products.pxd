# Instructions of matrix products and sums. See products.pyx.
from .emitter cimport Emitter
from .lowering cimport Operation


cdef int emit_product(Emitter e, Operation o) except -1
cdef int emit_sum(Emitter e, Operation o) except -1
