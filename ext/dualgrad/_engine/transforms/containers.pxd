# Objects that hold others in a known order. See containers.pyx.

cdef enum Kind:
    LEAF, TUPLE, LIST, DICT, NAMED, TUPLES, LISTS, DICTS, RECORD, REGISTERED, BRANCH


cdef class Branch:
    """The template of an object of a registered class. The functions of the class see tensors only."""
    cdef type cls
    cdef object aux
    cdef list children


cdef int kind_of(object x) except -1
cdef bint holds(object x) except -1
cdef list children_of(object x)
cdef list labels_of(object x)
cdef object rebuilt(object like, list children)
cdef object with_some(object like, list at, list children)
cdef list aligned_children(object like, object given, bint more)
cdef bint same(list children, list others) noexcept
cdef object branch(object x, list children)
cdef int deeper() except -1
cdef void back() noexcept
cdef object described(object x)
