# Level 0: primitives on arrays. See execute.pyx.
from cpython.object cimport PyObject
from .array cimport Array

cdef Array execute(int op, object params, PyObject **args, int n)
cdef bint add_into(Array total, Array term) except -1
cdef int family_of(int op) noexcept
cdef bint keeps_ints(int op) noexcept
cdef str op_name(int op)

cdef enum Family:
    FAMILY_ELEMENTWISE
    FAMILY_LINEAR
    FAMILY_BILINEAR
    FAMILY_SELECTION
    FAMILY_CONSTANT
    FAMILY_COMPOSITE
