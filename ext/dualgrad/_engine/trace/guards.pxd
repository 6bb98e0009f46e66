# What a program depends on besides its arguments. See guards.pyx.
from cpython.object cimport PyObject


cdef class Guards


cdef class Guard:
    """A place, and what was found there."""
    cdef object holder              # what the place is part of,
    cdef object label               # and how a text names it: a name, or an attribute of the holder
    cdef object changed             # which of its entries has changed, once it is found to
    cdef object found
    cdef size_t *word               # where a single word tells that nothing has changed,
    cdef size_t value               # and that word
    cdef bint exact                 # an equal number is not as good as the one that was found
    cdef bint alike(self, object now, object before) except -1
    cdef bint same_items(self, tuple now, tuple found) except -1
    cdef bint holds(self) except -1


cdef class Guards:
    """All guards of a recording."""
    cdef list quick                 # guards that one word in memory decides, as a rule
    cdef list slow                  # those of contents, which are compared
    cdef size_t **words
    cdef size_t *values
    cdef Py_ssize_t n, room
    cdef bint exact                 # of the guards that are added
    cdef readonly long long bytes   # that are compared, and held as copies
    cdef int add(self, Guard g, object holder, object label, object found) except -1
    cdef int pointer(self, PyObject **at, object holder, object label) except -1
    cdef int entries(self, dict d, object names, object holder, object label) except -1
    cdef int attributes(self, dict d, set names, object holder) except -1
    cdef int content(self, object x, object label) except -1
    cdef int asked(self, object ask, object label) except -1
    cdef int raising(self) except -1
    cdef int token(self, object of) except -1
    cdef int gather_words(self) except -1
    cdef bint hold(self) except -1
    cdef Guard broken(self)


cdef str described(Guard g)
cdef tuple items_of(object x)
cdef bint is_a(object x, object kind) noexcept
