# The names that Python code uses. See bytecode.pyx.


cdef class Names:
    """The names that a code object uses."""
    cdef object code                # kept alive: its address is the key of these names
    cdef set attributes             # names of attributes, of any object
    cdef dict globals               # name -> set of chains of attributes after it; () for any other use
    cdef dict free                  # the same for variables of enclosing functions
    cdef set modules                # imports in the code: (name, level, names in it)
    cdef set identities             # globals that are operands of `is`; None: an operand that is not a global
    cdef tuple nested               # code objects of functions, comprehensions and classes inside
    cdef bint dynamic               # the code reads or sets attributes by computed names
    cdef bint tests_class           # the code calls isinstance or the like
    cdef str refused                # a name that no guard can follow, or None
    cdef bint branches              # some instructions may be skipped


cdef Names names_of(object code)
cdef Names names_executed(object code, object offsets)
cdef set DYNAMIC, REFUSED, TESTS_CLASS
cdef object CALLED
