# Memory that users share with tensors. See shared.pyx.
from .array cimport Array

cdef bint is_shared(Array a) noexcept
cdef Array apart(Array a)
