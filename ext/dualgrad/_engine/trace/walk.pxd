# The walk over executed code and its names. See walk.pyx.
from .bytecode cimport Names
from .executed cimport Executed, Trust
from .guards cimport Guards


cdef class Walk:
    """A walk from a function over all that its executed code can read."""
    cdef Guards guards
    cdef dict tensors               # id -> tensor that the walk has met
    cdef readonly str why           # the reason why no guard can follow the function, or None
    cdef Executed executed
    cdef set attributes             # attributes that executed code reads or sets, without this package's code,
    cdef set all_attributes         # the same with this package's code
    cdef bint dynamic               # executed code reads attributes by computed names
    cdef bint dynamic_modules       # executed code other than `copy` does so, thus of modules too
    cdef bint compares              # executed code compares by identity
    cdef bint tests_class           # executed code tests classes
    cdef bint replayed              # the call is to be replayed
    cdef dict parts                 # id -> object, of the function that is called: see keys.pyx
    cdef bint inside                # the walk looks into one of the parts
    cdef dict elsewhere             # id -> function, tuple or cell that is reached outside of the parts
    cdef bint again                 # the walk has found a new name and must begin again
    cdef dict seen                  # id -> object that the walk has met
    cdef list work                  # (object to look into, its name in messages)
    cdef set explained              # addresses of code objects whose functions the walk has met
    cdef int walk(self, object call, list others) except -1
    cdef Names names(self, object code)
    cdef bint has_branches(self) except -1
    cdef int read_code(self) except -1
    cdef int read_globals(self) except -1
    cdef int check_explained(self) except -1
    cdef int explain(self, object code) except -1
    cdef int refuse(self, str why) except -1
    cdef int meet(self, object x, object label) except -1
    cdef int follow(self, object x, set chains, object label) except -1
    cdef int look_into(self, object x, object label) except -1
    cdef int follow_import(self, dict around, str name, int level, object inside) except -1
    cdef int walk_once(self, object call, list others) except -1
    cdef int guard_settings(self) except -1
    cdef bint compares_scalars(self) except -1
    cdef int add_attribute(self, object name) except -1
    cdef int names_are_computed(self) except -1
    cdef int classes_are_tested(self) except -1
    cdef int meet_unless(self, object x, object expected, object label) except -1
