# Guards of the objects that a program depends on besides its arguments. See guards.pyx.
from cpython.object cimport PyObject


cdef class Guards


cdef class Guard:
    """A place in memory, and the object that was found there."""
    cdef object holder              # the object that the place is part of
    cdef object label               # the place in words; None: an attribute of the holder
    cdef object changed             # the entry that has changed, set by `holds`
    cdef object found
    cdef size_t *word               # a word in memory that is different after each change; NULL: none
    cdef size_t *value              # the place of its last known value, in `values`
    cdef bint exact                 # only the same object is accepted, not an equal scalar
    cdef int looked(self, size_t now) except -1
    cdef bint holds_now(self) except -1
    cdef int note(self, object changed) except -1
    cdef bint alike(self, object now, object before) except -1
    cdef bint same_items(self, tuple now, tuple found) except -1
    cdef bint holds(self) except -1


cdef class Guards:
    """All guards of a recording."""
    cdef list quick                 # guards with a word, which is compared first
    cdef list slow                  # guards without one: contents are compared
    cdef size_t **words
    cdef size_t *values
    cdef Py_ssize_t n, room
    cdef bint exact                 # `exact` of guards that are added
    cdef readonly long long bytes   # of contents that are compared and held as copies
    cdef int add(self, Guard g, object holder, object label, object found) except -1
    cdef int pointer(self, PyObject **at, object holder, object label) except -1
    cdef int entries(self, dict d, object names, object holder, object label) except -1
    cdef int attributes(self, dict d, set names, object holder) except -1
    cdef int content(self, object x, object label) except -1
    cdef int result_of(self, object fn, object label) except -1
    cdef int raising(self) except -1
    cdef int token(self, object of) except -1
    cdef int gather_words(self) except -1
    cdef bint hold(self) except -1
    cdef Guard broken(self)


cdef str guard_in_words(Guard g)
cdef tuple items_of(object x)
cdef object plain_array(object array)
cdef object ABSENT
cdef object pointed_at(PyObject **at, object holder)
cdef bint is_a(object x, object kind) noexcept
