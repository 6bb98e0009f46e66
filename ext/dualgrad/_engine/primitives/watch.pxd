# A watch for numbers that are not finite. See watch.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Array
from .execute cimport Tracer


cdef class Watch(Tracer):
    cdef bint infinities                # report inf as well as nan
    cdef object report                  # called with the place of the fault; raises
    cdef int quiet                      # depth of rules being computed: their intermediate values are not checked
    cdef list sweeps                    # names of running sweeps, outermost first; "" for one that continues another
    cdef bint joins                     # the next sweep continues the one around it
    cdef object line                    # line of the user's code for the instruction being swept
    cdef int order(self)
    cdef bint bad(self, Array a) except -1
    cdef int complain(self, int op, int order, Array a, list operands) except -1


cdef Watch active_watch()
cdef int go_on() except -1
cdef object user_line()
