# All that a call can reach besides its arguments. See reachability.pyx.
from .executed cimport Executed, Trust
from .guards cimport Guards


cdef class Reach:
    """A walk from a function over all that its executed code can read."""
    cdef Guards guards
    cdef dict tensors               # id -> tensor that is met
    cdef readonly str why           # the first thing that no guard can follow, or None
    cdef Executed executed
    cdef set attributes             # names that executed code reads or sets as attributes, this package's code aside,
    cdef set all_attributes         # and that included
    cdef bint dynamic               # some of it reads attributes by computed names
    cdef bint tests_class
    cdef dict seen                  # id -> what was met
    cdef list work                  # (what was met, and not looked into yet; how a text names it)
    cdef set explained              # addresses of the code objects whose functions were met
    cdef dict free                  # (address of a code object, name of a variable) -> chains
    cdef int walk(self, object call, list others) except -1
    cdef int read_code(self) except -1
    cdef int read_globals(self) except -1
    cdef int check_explained(self) except -1
    cdef int explain(self, object code) except -1
    cdef int refuse(self, str why) except -1
    cdef int meet(self, object x, object label) except -1
    cdef int follow(self, object x, set chains, object label) except -1
    cdef int into(self, object x, object label) except -1
    cdef int builtin(self, object x, object label) except -1
    cdef bint runs(self, object x) except -1
    cdef int imported(self, str name) except -1
    cdef int function(self, object f) except -1
    cdef int closure(self, object f, object code, Trust trust) except -1
    cdef int module(self, object x, object label) except -1
    cdef int kind(self, object t, object label) except -1
    cdef int instance(self, object x, type kind, object label) except -1
    cdef int contents(self, object x, type kind, object label) except -1
    cdef int own(self, object x, type kind) except -1
    cdef int attributes_of(self, object x, type kind, set names) except -1
    cdef int cell(self, object x, type kind) except -1


cdef Reach reach_of(object call, list others, Executed executed)
