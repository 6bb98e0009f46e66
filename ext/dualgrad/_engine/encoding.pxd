# Instructions as the executor reads them. See encoding.pyx.
from .primitives cimport dg_loop
from .regions cimport Region

cdef extern from "dg_fused.h":
    dg_loop dg_fused_loop(int inner, int outer, int second, int wide)

cdef dict NUMBERS                   # operations on single numbers that need no call


cdef int finish_code(Region region, list code) except -1
cdef int finish_scalars(Region region) except -1
