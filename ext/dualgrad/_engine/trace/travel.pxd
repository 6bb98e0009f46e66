# Recordings that go along with their function to another process. See travel.pyx.
from .recordings cimport Function


cdef list departing(Function function)
cdef int arrive(Function function, object call, tuple recordings) except -1
