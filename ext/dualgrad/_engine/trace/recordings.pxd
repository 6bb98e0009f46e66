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
    cdef tuple key
    cdef object near                # the number of its arguments in `nearby`, or None
    cdef long long seen             # replays when programs were last dropped
    cdef bint holds                 # the key keeps objects alive
    cdef object form                # the key with types in place of numbers, texts and objects
    cdef bint eager                 # its calls run eagerly from now on,
    cdef object why                 # for this reason,
    cdef object line                # found at (file, line), or None
    # Accounts: see accounts.pyx.
    cdef int calls                  # eager ones since it has had its last program,
    cdef double waited              # and the seconds that they took
    cdef int recordings             # since then
    cdef double pair                # seconds of the last two, and of planning
    cdef bint on_credit             # these two,
    cdef int debts                  # and how many programs of its before, which are not paid,
    cdef double spent               # and what these have cost
    cdef long long bytes            # kept by the confirmed recording
    cdef int note_leaves(self, Signature g) except -1
    cdef list fitting(self, tuple args)


cdef class Function:
    """The state of one recorded function."""
    cdef object __weakref__
    # Key of the arguments -> Specialisation, the last one used at the end: those with recordings, and all others.
    cdef dict specialisations, waiting
    cdef dict holding               # those whose key keeps objects alive, if they have no program
    cdef Specialisation latest      # of the last replay: tried first
    cdef dict nearby                # number of arguments (see accounts.pyx) -> a Specialisation that may fit them
    cdef dict forms                 # form of keys -> how many of them were met and have no program
    cdef int debt                   # programs that are not paid yet,
    cdef double spent               # and what they have cost
    cdef int idle                   # calls that had to wait since one was last to be recorded,
    cdef int skips                  # and calls since whose signature nobody has asked for
    cdef double cost                # seconds that a program costs,
    cdef double pace                # and that an eager call takes
    cdef bint pure                  # its results depend only on arguments and tensors
    cdef bint traced                # recordings note single instructions
    cdef bint quiet                 # nobody is warned
    cdef object why                 # why calls of some kind run eagerly: the first reason, of which a warning has told,
    cdef object line                # found at (file, line), or None
    cdef object name
    cdef object alive               # weak reference to its Cell, which then holds this object
    cdef long long apart            # functions of its key that got programs of their own
    cdef long long epoch            # EPOCH when it was made
    cdef long long bytes            # kept by confirmed recordings, besides their plans


cdef int accept(Function function, Specialisation special, Recording made) except -1
cdef object record_call(Function function, Specialisation special, object call, Signature g, object fn)
cdef str change_in_words(Guards guards)
cdef int go_eager(Function function, Specialisation special, str why, object line) except -1
cdef int warn(Function function, str why, object line) except -1
