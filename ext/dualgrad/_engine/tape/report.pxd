# Reports about a tape. See report.pyx.
from .tape cimport Tape

cdef dict report(Tape tape)
cdef Py_ssize_t weight(Tape tape, Py_ssize_t value, Py_ssize_t entry) except -1
