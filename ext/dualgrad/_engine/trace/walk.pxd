# The walk over executed code and its names. See walk.pyx.
from .bytecode cimport Names
from .executed cimport Executed, Trust
from .guards cimport Guards


cdef class Walk:
    """A walk from a function over all that its executed code can read."""
    cdef Guards guards
    cdef dict tensors               # id -> tensor that is met
    cdef readonly str why           # the first thing that no guard can follow, or None
    cdef Executed executed
    cdef set attributes             # names that executed code reads or sets as attributes, this package's code aside,
    cdef set all_attributes         # and that included
    cdef bint dynamic               # some of it reads attributes by computed names
    cdef bint compares              # some of it compares by identity
    cdef bint tests_class           # some of it asks for classes
    cdef bint replayed              # the call is to be replayed
    cdef bint again                 # a name has turned up on the way
    cdef dict seen                  # id -> what was met
    cdef list work                  # (what was met, and not looked into yet; how a text names it)
    cdef set explained              # addresses of the code objects whose functions were met
    cdef int walk(self, object call, list others) except -1
    cdef Names names(self, object code)
    cdef bint branches(self) except -1
    cdef int read_code(self) except -1
    cdef int read_globals(self) except -1
    cdef int check_explained(self) except -1
    cdef int explain(self, object code) except -1
    cdef int refuse(self, str why) except -1
    cdef int meet(self, object x, object label) except -1
    cdef int follow(self, object x, set chains, object label) except -1
    cdef int into(self, object x, object label) except -1
    cdef int imported(self, dict around, str name, int level, object inside) except -1
    cdef int walk_once(self, object call, list others) except -1
    cdef int settings(self) except -1
    cdef bint by_identity(self) except -1
    cdef int name(self, object name) except -1
    cdef int computes(self) except -1
    cdef int asks_for_classes(self) except -1
    cdef int meet_unless(self, object x, object expected, object label) except -1
