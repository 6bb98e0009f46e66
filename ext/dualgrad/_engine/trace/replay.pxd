# A recording, and its replay. See replay.pyx.
from .signature cimport Signature, Template
from .executed cimport Executed
from .guards cimport Guards
from ..compiler.plan cimport Plan
from ..compiler.program cimport Program


cdef class Recording:
    """The program of one call, and the conditions under which it is valid. Immutable once made."""
    cdef Program program
    cdef Plan plan                  # None: the program is interpreted, or not confirmed
    cdef Template template          # of the results
    cdef object call                # the function that was called, which the guards belong to
    cdef list parts                 # the objects that its key compares by value; None for a pure function
    cdef dict elsewhere             # id -> function, tuple or cell that the call reaches outside of these
    cdef Executed executed          # the code that ran; None for a pure function
    cdef Guards guards              # None for a pure function, or if none were found
    cdef bint guarded               # the guards held before and after the call
    cdef dict captured              # id -> tensor that the function reaches, not only as an argument
    cdef dict shared                # position of an input -> tensor, for inputs that are captured too
    cdef object reached             # ids of containers that must not be arguments: code compares by identity; or None
    cdef list fixed                 # (handle, array) for captured tensors that Python has read
    cdef int agreed                 # number of equal recordings in a row
    cdef double seconds             # seconds that the call took
    cdef double planning            # seconds to make the plan


cdef bint stands_for(Recording r, object call, list parts) except -1
cdef bint still_valid(Recording r, list inputs) except -1
cdef bint arguments_not_reached(Recording r, Signature g) except -1
cdef object FAILED                  # the result of a replay that raised: the call must be eager
cdef object try_replay(Recording r, list inputs, list arrays)
cdef bint replays_are_checked() noexcept
cdef object checked_replay(object name, Recording r, list inputs, list arrays, object call, tuple args, dict kwargs)
