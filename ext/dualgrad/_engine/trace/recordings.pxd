# What calls of one kind leave, and when a program is made of them. See recordings.pyx.
from .signature cimport Signature, Template
from .executed cimport Executed
from .guards cimport Guards
from ..compiler.plan cimport Plan
from ..compiler.program cimport Program


cdef class Recording:
    """What one call has left: a program, and all under which it is good. Not changed once it is made."""
    cdef Program program
    cdef Plan plan                  # None where the program is interpreted, or not confirmed
    cdef Template template          # its results
    cdef object call                # what was called
    cdef Executed executed          # the code that ran; None for a pure function
    cdef Guards guards              # of all that it can reach; None for a pure function, or where none were found
    cdef bint guarded               # the guards held from before the call until after it
    cdef dict captured              # id -> tensor: those that the function can reach otherwise than as arguments
    cdef dict shared                # number of an input -> tensor, for inputs that are captured too
    cdef object reached             # ids of what an argument must not be, since code compares by identity; or None
    cdef list fixed                 # (handle, array) for captured tensors whose numbers Python looked at
    cdef int agreed                 # recordings in a row that are the same
    cdef double seconds             # of the call
    cdef double planning            # of making the plan


cdef class Specialisation:
    """Calls of one function with arguments of one kind."""
    # For each argument (type, shape, the tensor where it is captured), or the value of what is no tensor; None where
    # there is more to a kind than that: nests, parameters, keywords, one tensor twice.
    cdef list leaves
    cdef Recording last             # of the call before, to be confirmed by the next
    cdef Recording confirmed        # two recordings agreed on it
    cdef int failures               # recordings that did not confirm the one before
    cdef int replays                # since it was confirmed
    cdef int changes                # how often what it depends on had changed after few replays
    cdef int describe(self, Signature g) except -1
    cdef bint fits(self, tuple args)


cdef class Function:
    """What is known of one function."""
    cdef object __weakref__
    cdef object specialisations     # key of the arguments -> Specialisation
    cdef Specialisation latest                # of the last call that was replayed: tried first
    cdef bint pure                  # nothing but its arguments and tensors can change what it does
    cdef bint traced                # is recorded instruction by instruction
    cdef bint eager                 # runs eagerly from now on,
    cdef object why                 # for this reason,
    cdef object line                # because of (file, line), or None
    cdef object name
    cdef object alive               # weak reference to the Cell that it is, or belongs to; it holds this object then
    cdef int misses
    cdef long long epoch            # between two times when all programs were forgotten
    cdef Py_ssize_t bytes           # that its good recordings keep beside their plans


cdef bint current(Recording r, list inputs) except -1
cdef bint apart(Recording r, Signature g) except -1
cdef object record(Function function, Specialisation kind, object call, Signature g, object fn)
cdef object FAILED                  # a replay has raised: the call has to be eager
cdef object attempt(Recording r, list inputs)
cdef str changed(Guards guards)
cdef bint checking() noexcept
cdef object checked(Function function, Recording r, list inputs, object call, tuple args, dict kwargs)
cdef int go_eager(Function function, str why, object line) except -1
