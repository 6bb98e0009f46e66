# Accounts: the decision which calls to record. See accounts.pyx.
from .recordings cimport Function, Specialisation, warn
from .signature cimport Signature


cdef Specialisation specialisation_for(Function function, tuple key, Signature g)
cdef object number_of(tuple args)
cdef bint is_skipped(Function function) noexcept
cdef bint waits(Function function, Specialisation special) except -1
cdef bint may_be_recorded(Function function, Specialisation special) except -1
cdef int book_eager(Function function, Specialisation special, double seconds) except -1
cdef int call_failed(Function function, Specialisation special) except -1
cdef int book_recorded(Function function, Specialisation special) except -1
cdef int book_replayed(Function function, Specialisation special) except -1
cdef int lose_program(Function function, Specialisation special) except -1
cdef str why_waiting(Function function, Specialisation special)
