# Recordings of calls, and when a program is made of them. See recordings.pyx.
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
    cdef object call                # the function that was called
    cdef Executed executed          # the code that ran; None for a pure function
    cdef Guards guards              # None for a pure function, or if none were found
    cdef bint guarded               # the guards held before and after the call
    cdef dict captured              # id -> tensor: those that the function reaches otherwise than as arguments
    cdef dict shared                # position of an input -> tensor, for inputs that are captured too
    cdef object reached             # ids of containers that must not be arguments: code compares by identity; or None
    cdef list fixed                 # (handle, array) for captured tensors that Python has read
    cdef int agreed                 # number of equal recordings in a row
    cdef double seconds             # that the call took
    cdef double planning            # seconds to make the plan


cdef class Specialisation:
    """The calls of one function with one signature."""
    # For each argument (dtype, shape, the tensor if it is captured), or the value if it is no tensor. None if the key
    # holds more: pytrees, parameters, keywords, one tensor twice.
    cdef list leaves
    cdef Recording last             # the latest one, which the next call may confirm
    cdef Recording confirmed        # two recordings agreed on it
    cdef int failures               # recordings that differed from the one before
    cdef int replays                # since the program was confirmed
    cdef int changes                # how often its guards failed after few replays
    cdef int note_leaves(self, Signature g) except -1
    cdef bint fits(self, tuple args)


cdef class Function:
    """The state of one recorded function."""
    cdef object __weakref__
    cdef object specialisations     # key of the arguments -> Specialisation
    cdef Specialisation latest      # of the last replay: tried first
    cdef bint pure                  # its results depend only on arguments and tensors
    cdef bint traced                # recordings note single instructions
    cdef bint eager                 # runs eagerly from now on,
    cdef object why                 # for this reason,
    cdef object line                # found at (file, line), or None
    cdef object name
    cdef object alive               # weak reference to its Cell, which then holds this object
    cdef int misses
    cdef long long epoch            # EPOCH when it was made
    cdef Py_ssize_t bytes           # kept by confirmed recordings, besides their plans


cdef bint still_valid(Recording r, list inputs) except -1
cdef bint arguments_not_reached(Recording r, Signature g) except -1
cdef object record_call(Function function, Specialisation special, object call, Signature g, object fn)
cdef object FAILED                  # the result of a replay that raised: the call must be eager
cdef object try_replay(Recording r, list inputs)
cdef str change_in_words(Guards guards)
cdef bint replays_are_checked() noexcept
cdef object checked_replay(Function function, Recording r, list inputs, object call, tuple args, dict kwargs)
cdef int go_eager(Function function, str why, object line) except -1
