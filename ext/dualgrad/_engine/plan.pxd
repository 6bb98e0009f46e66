# Plans of programs. See plan.pyx.
from .program cimport Program


cdef class Plan:
    cdef readonly list tasks            # regions, in order
    cdef readonly list roots            # memory that is found anew at each run
    cdef readonly list results          # views that leave the program: outputs, then effects
    cdef Py_ssize_t arena
    cdef Py_ssize_t block_bytes
    cdef Py_ssize_t total_bytes
    cdef int add_root(self, object r) except -1
    cdef list run(self, list inputs)
    cdef int run_generic(self, object o, char **bases, list held) except -1


cdef Plan make_plan(Program program)
