# Programs on the nonzero entries of their arrays. See entries.pyx.
from .program cimport Program


cdef Program with_entries(Program program)
