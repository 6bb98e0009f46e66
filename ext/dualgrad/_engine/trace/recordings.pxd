# Recordings of calls, and when a program is made of them. See recordings.pyx.
from .signature cimport Signature
from .guards cimport Guards
from .replay cimport Recording


cdef class Specialisation:
    """The calls of one function with one signature."""
    # For each argument (an array without numbers of its type and shape, the tensor if it is captured), or the value if
    # it is no tensor. None if the key holds more: pytrees, parameters, keywords, one tensor twice.
    cdef list leaves
    cdef Recording last             # the latest one, which the next call may confirm
    cdef Recording confirmed        # two recordings agreed on it
    cdef int failures               # recordings that differed from the one before
    cdef long long replays          # since the program was confirmed
    cdef int changes                # how often its guards failed after few replays
    cdef int note_leaves(self, Signature g) except -1
    cdef list fitting(self, tuple args)


cdef class Function:
    """The state of one recorded function."""
    cdef object __weakref__
    cdef dict specialisations       # key of the arguments -> Specialisation, the last one used at the end
    cdef Specialisation latest      # of the last replay: tried first
    cdef bint pure                  # its results depend only on arguments and tensors
    cdef bint traced                # recordings note single instructions
    cdef bint quiet                 # nobody is warned
    cdef bint eager                 # runs eagerly from now on,
    cdef object why                 # for this reason,
    cdef object line                # found at (file, line), or None
    cdef object name
    cdef object alive               # weak reference to its Cell, which then holds this object
    cdef int misses
    cdef long long apart            # functions of its key that got programs of their own
    cdef long long epoch            # EPOCH when it was made
    cdef long long bytes            # kept by confirmed recordings, besides their plans


cdef int accept(Function function, Specialisation special, Recording made) except -1
cdef object record_call(Function function, Specialisation special, object call, Signature g, object fn)
cdef str change_in_words(Guards guards)
cdef int go_eager(Function function, str why, object line) except -1
