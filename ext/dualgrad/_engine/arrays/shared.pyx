"""Memory that a user's NumPy array shares with a tensor. The user may write to it at any time.

An operator reads such memory when it runs. Anything kept for later is a copy: operands of a derivative, of a recording
or of a deferred value, and results that would be views.
"""
from .array import np
from .array cimport copy_of, to_ndarray


class SharedArray(np.ndarray):
    """The array of a tensor that shares the memory of a user's array."""


cdef object SHARED = SharedArray


cdef bint is_shared(Array a) noexcept:
    """True if the memory of an array belongs to a user's NumPy array."""
    return not a.owner and type(a.base) is SHARED


cdef Array apart(Array a):
    """The array itself, or a copy if its memory belongs to a user's NumPy array."""
    return copy_of(to_ndarray(a)) if is_shared(a) else a
