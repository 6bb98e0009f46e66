# Functions that transforms make. See transformed.pyx.


cdef class Transformed:
    cdef readonly object fn         # the function itself, a closure
    cdef readonly str module        # the module of the transform
    cdef readonly str maker
    cdef readonly tuple args        # the arguments of the transform
    cdef readonly dict kwargs
    cdef dict __dict__
    cdef dict made                  # its attributes as the transform left them
    cdef dict own(self)
