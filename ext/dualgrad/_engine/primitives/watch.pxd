# A watch for numbers that are not finite. See watch.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Array
from .execute cimport Tracer


cdef class Watch(Tracer):
    cdef bint infinities                # inf is reported as well as nan
    cdef object report                  # called with what is known of the place; raises
    cdef int quiet                      # rules being read: what they compute on the way is no result
    cdef list sweeps                    # names of the sweeps that are going on, outermost first; "" for a part of one
    cdef bint joins                     # the next sweep is a part of the one around it
    cdef object line                    # of the user's code, for the instruction being swept
    cdef int order(self)
    cdef bint bad(self, Array a) except -1
    cdef int complain(self, int op, int order, Array a, list operands) except -1


cdef Watch active_watch()
cdef int go_on() except -1
cdef object user_line()
