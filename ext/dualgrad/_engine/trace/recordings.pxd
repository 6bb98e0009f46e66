# Recordings of calls, and the programs made of them. See recordings.pyx.
from .signature cimport Signature
from .guards cimport Guards
from .replay cimport Recording


cdef class Specialisation:
    """The calls of one function with one signature."""
    # For each argument: (an array of its type and shape without numbers, the tensor if captured, `kind_of_alias`) for a
    # tensor, else (the value,). None if the key holds more: pytrees, parameters, keywords, one tensor twice.
    cdef list leaves
    cdef Recording last             # the latest recording, which the next call may confirm
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
    cdef int calls                  # eager calls since it had its last program
    cdef double waited              # seconds that these calls took
    cdef int recordings             # recordings since it had its last program
    cdef double pair                # seconds of the last two recordings, and of planning
    cdef bint on_credit             # the last two recordings are on credit
    cdef int debts                  # its programs on credit that are not paid yet
    cdef double spent               # seconds that these programs cost
    cdef long long bytes            # kept by the confirmed recording
    cdef int note_leaves(self, Signature g) except -1
    cdef list fitting(self, tuple args)


cdef class Function:
    """The state of one recorded function."""
    cdef object __weakref__
    # Key of the arguments -> Specialisation, the last one used at the end: the ones with recordings, and all others.
    cdef dict specialisations, waiting
    cdef dict holding               # the ones without a program whose key keeps objects alive
    cdef Specialisation latest      # of the last replay: tried first
    cdef dict nearby                # number of arguments (see accounts.pyx) -> a Specialisation that may fit them
    cdef dict forms                 # form of keys -> number of keys met without a program
    cdef int debt                   # programs that are not paid yet,
    cdef double spent               # seconds that these programs cost
    cdef int idle                   # eager calls since the last decision to record
    cdef int skips                  # calls since then that `is_skipped` has counted
    cdef double cost                # seconds that a program costs on average
    cdef double pace                # seconds that an eager call takes on average
    cdef bint pure                  # its results depend only on arguments and tensors
    cdef bint traced                # recordings note single instructions
    cdef bint quiet                 # no warnings
    cdef object why                 # the first reason why some calls run eagerly, given in a warning
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
