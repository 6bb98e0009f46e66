# What Python code names. See bytecode.pyx.


cdef class Names:
    """What a code object names, once read."""
    cdef object code                # held, since Names are kept by its address
    cdef set attributes             # of any object
    cdef dict globals               # name -> set of chains of attributes that follow it; () where it goes elsewhere
    cdef dict free                  # variables of enclosing functions, likewise
    cdef set modules                # that are imported while the code runs: (name, level, names in it)
    cdef set identities             # globals that something is compared with by identity; None for anything else
    cdef tuple nested               # code objects of functions, comprehensions and classes inside
    cdef bint dynamic               # attributes are read or set by computed names
    cdef bint tests_class           # isinstance and its like are called
    cdef str refused                # a name whose effect no guard can follow, or None
    cdef bint branches              # some instructions may not run


cdef Names names_of(object code)
cdef Names names_executed(object code, object offsets)
cdef set DYNAMIC, REFUSED, TESTS_CLASS
cdef object CALLED
