# Functions that transforms make. See transformed.pyx.


cdef class Transformed:
    cdef readonly object fn         # the function itself, a closure
    cdef readonly str module        # where the transform is found,
    cdef readonly str maker
    cdef readonly tuple args        # and what it was called with
    cdef readonly dict kwargs
    cdef dict __dict__
    cdef dict made                  # its attributes as the transform left them
    cdef dict own(self)
