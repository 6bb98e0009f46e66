"""Memory that a NumPy array of the user shares with a tensor, and may be written to at any time.

An operator reads such memory when it runs. What is kept for later is a copy: the operands of a derivative, a recording
or deferred values, and results that would be views.
"""
from .array import np
from .array cimport copy_of, to_ndarray


class SharedArray(np.ndarray):
    """The array of a tensor that shares the memory of a user's array."""


cdef object SHARED = SharedArray


cdef bint is_shared(Array a) noexcept:
    """Whether a user's NumPy array has the memory of an array."""
    return not a.owner and type(a.base) is SHARED


cdef Array apart(Array a):
    """An array with memory of its own: a copy, if a user's array has the memory."""
    return copy_of(to_ndarray(a)) if is_shared(a) else a
