# Steps of loops. See steppers.pyx.
from .code cimport RegionCode
from .plan cimport Plan
from .repetitions cimport Body


cdef class Stepper:
    """A body with memory to run in. Between steps, only the addresses of its inputs and outputs change."""
    cdef Body body
    cdef Plan plan                  # None: the program is interpreted
    cdef char **bases
    cdef list held
    cdef char *memory
    cdef Py_ssize_t nbytes
    cdef int n_in, n_out, threads
    cdef int *base_of               # for each input: the base of its memory; NOT_DIRECT if nothing reads it
    cdef int *made_at               # for each output: the base of its memory; NOT_DIRECT if it is copied
    cdef bint copies                # some outputs are copied
    cdef RegionCode numbers         # the only region, if it works on single numbers
    cdef char **ins                 # addresses of the inputs of the next step
    cdef char **outs                # addresses of its outputs
    cdef int find_memory(self) except -1
    cdef int step(self) except -1
    cdef int copy_out(self, int i) except -1
    cdef int interpret(self) except -1
