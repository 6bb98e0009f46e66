# Loops rolled up again in programs. See rerolling.pyx.
from .program cimport Program

cdef Program rerolled(Program program)
