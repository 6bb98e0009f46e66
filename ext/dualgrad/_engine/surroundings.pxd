# What a function can reach besides its arguments. See surroundings.pyx.
from cpython.object cimport PyObject


cdef enum Change:
    NOTHING                         # is changed, or only added to
    VALUES                          # of variables, or entries of containers
    ATTRIBUTES                      # of objects


cdef class Places


cdef class Look:
    """A place, and what was found there."""
    cdef int place
    cdef object holder
    cdef object key
    cdef object found
    cdef PyObject **at              # where a slot keeps it, if that is known
    cdef bint holds(self) except -1
    cdef bint note(self, Places p) except -1
    cdef bint numbers(self) except -1
    cdef bint grown(self) except -1


cdef struct Place:
    PyObject **at                   # something is kept here
    PyObject *found


cdef class Places:
    """All looks of a survey, for those who look again and again."""
    cdef list looks
    cdef list others                # those that are more than a comparison of pointers
    cdef Place *places
    cdef Py_ssize_t n
    cdef int note(self, PyObject **at, PyObject *found) noexcept
    cdef bint hold(self) except -1


cdef class Survey:
    """All that a call can reach by the names in its code."""
    cdef list looks
    cdef list cells                 # Cells among it
    cdef list switches              # (parameter, whether it is to be differentiated)
    cdef list shadows               # (dict of an object, its copy)
    cdef list attributes            # names of attributes that the call has set
    cdef list work                  # met, and not looked into yet
    cdef list holders               # (object, its own attributes, those of its classes)
    cdef list tried                 # how many of the names have been tried on each
    cdef list names                 # of all code that was met
    cdef set known_names
    cdef dict seen                  # id -> what was met
    cdef bint endless               # it can reach more than is worth looking at
    cdef int look(self, int place, object holder, object key, object found) except -1
    cdef int meet(self, object x) except -1
    cdef int into(self, object x) except -1
    cdef int settings(self, object x, type kind) except -1
    cdef int function(self, object f) except -1
    cdef int cell(self, object x) except -1
    cdef int hold(self, object x) except -1
    cdef int attribute(self, tuple holder, object name) except -1
    cdef int code(self, object code, dict around) except -1
    cdef Change settle(self) except? NOTHING


cdef Survey survey(object call, list others)
cdef Places places_of(list looks)
cdef long long switched() noexcept
