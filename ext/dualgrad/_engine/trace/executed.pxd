# The Python code that runs during a call. See executed.pyx.
from cpython.object cimport PyObject


cdef enum Trust:
    OURS                            # of this package
    PURE                            # NumPy, and the part of the standard library that keeps no state
    IMPURE                          # the rest of both: clocks, files, random numbers
    USERS                           # anything else


cdef class Executed:
    """The code that runs between `start` and `stop` on this thread."""
    cdef dict codes                 # address of a code object -> (code, dict of globals, ...)
    cdef bint traced                # note instructions too
    cdef dict offsets               # address of users' code -> offsets of instructions that ran; None: not known
    cdef set calls                  # compiled functions that users' code has called: addresses of their definitions
    cdef str impure                 # the first call from users' code that cannot be repeated, or None
    cdef bint imported              # a module was imported
    cdef void *last                 # the code that began last,
    cdef void *last_globals         # the globals of that code
    cdef bint complete              # the hook was still set at the end
    cdef void *former               # the hook that was set before,
    cdef object former_argument     # the argument of that hook
    cdef int start(self) except -1
    cdef int stop(self) except -1
    cdef bint same_as(self, Executed other) except -1


cdef object IMPURE_BUILTINS
cdef Trust trust_of(dict around)
cdef Trust trust_of_name(object name)
