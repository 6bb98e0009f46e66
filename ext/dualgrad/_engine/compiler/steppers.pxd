# Steps of loops. See steppers.pyx.
from .code cimport RegionCode
from .plan cimport Plan
from .repetitions cimport Body


cdef class Stepper:
    """A body with memory to run it in. Between steps only the addresses of its inputs and outputs change."""
    cdef Body body
    cdef Plan plan                  # None: the program is interpreted
    cdef char **bases
    cdef list held
    cdef char *memory
    cdef Py_ssize_t nbytes
    cdef int n_in, n_out, threads
    cdef int *base_of               # of each input: the base of its memory, or NOT_DIRECT where nothing reads it
    cdef int *made_at               # of each output: the base whose memory it is, or NOT_DIRECT where it is copied
    cdef bint copies                # whether there are such outputs
    cdef RegionCode numbers         # the only region, if it is one of single numbers
    cdef char **ins                 # where the inputs of the next step lie,
    cdef char **outs                # and its outputs
    cdef int find_memory(self) except -1
    cdef int step(self) except -1
    cdef int copy_out(self, int i) except -1
    cdef int interpret(self) except -1
