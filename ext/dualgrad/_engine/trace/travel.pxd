# Recordings that go along with their function to another process. See travel.pyx.
from .recordings cimport Function


cdef list departing(Function function, object call)
cdef int arrive(Function function, object call, list parts, tuple recordings) except -1
