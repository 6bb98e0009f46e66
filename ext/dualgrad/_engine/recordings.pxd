# What calls of one kind leave, and when a program is made of them. See recordings.pyx.
from .arguments cimport Given
from .plan cimport Plan
from .program cimport Program
from .surroundings cimport Places, Survey


cdef class Recording:
    """What one call has left: a program, and all under which it is good. Not changed once it is made."""
    cdef Program program
    cdef Plan plan                  # None where the program is interpreted, or not confirmed
    cdef object template            # its results, with leaves for tensors
    cdef object call                # whose surroundings were looked at,
    cdef object start               # beginning here
    cdef Survey around              # the survey, if it can be used again; None where the recording is confirmed
    cdef Places places              # what it can reach
    cdef list cells                 # the Cells it called or can reach,
    cdef list writes                # and how often their attributes had been set
    cdef list switches              # (parameter, whether it is differentiated)
    cdef list fixed                 # (handle, array) for captured tensors whose numbers Python looked at
    cdef int agreed                 # recordings in a row that are the same
    cdef bint restless              # the function changes what it can read; then a third one has to agree
    cdef double seconds             # of the call
    cdef double planning            # of making the plan
    cdef long long checked          # WRITES and SWITCHED when these were last compared (a mere cache)


cdef class Kind:
    """Calls of one function with arguments of one kind."""
    # For each argument (type, shape), or the value of what is no tensor; None where there is more to a kind than that:
    # nests, parameters, keywords, one tensor twice.
    cdef list leaves
    cdef Recording last             # of the call before, to be confirmed by the next
    cdef Recording good             # two recordings agreed on it
    cdef int failures               # recordings that did not confirm the one before
    cdef int replays                # since it was confirmed
    cdef int changes                # how often what it depends on had changed after few replays
    cdef int describe(self, Given g) except -1
    cdef bint fits(self, tuple args)


cdef class Function:
    """What is known of one function."""
    cdef object kinds               # key of the arguments -> Kind
    cdef Kind latest                # of the last call that was replayed: tried first
    cdef bint eager                 # runs eagerly from now on,
    cdef object why                 # for this reason,
    cdef object line                # because of (file, line), or None
    cdef object name
    cdef object alive               # weak reference to the Cell, so that its identity is not taken over
    cdef int misses


cdef bint current(Recording r) except -1
cdef object record(Function function, Kind kind, object call, Given g, object fn)
cdef object replay(Recording r, list inputs)
cdef int go_eager(Function function, str why, object line) except -1
