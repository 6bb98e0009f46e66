# What a tape holds. See report.pyx.
from .tape cimport Tape

cdef dict report(Tape tape)
