# Kinds of objects that the walk distinguishes. See kinds.pyx.

cdef set ATOMS
cdef set METHODS
cdef set LOCKS
cdef set BASES
cdef type GENERIC
cdef type VOID
cdef type PARTIAL
cdef type PROPERTY
cdef type STATIC
cdef type CLASS_METHOD
cdef type CACHED_PROPERTY
cdef type DEFAULTS
cdef type NAMESPACE
cdef type CACHED
cdef type UFUNC
cdef type DISPATCHER
cdef type ABSTRACT
cdef object LOOKED_UP
cdef object OF_PARAMETERS
cdef object REGISTRIES
cdef dict CONSTANTS
cdef object READS_BY_NAME
cdef tuple SETTINGS
cdef dict STATES
cdef type ATTRGETTER
cdef type METHODCALLER
cdef object IMPORT
cdef dict LEAVES
cdef tuple FIELDS

cdef object names_given_to(object x)
cdef bint number_or_text(object x)
cdef bint passive(object kind)
cdef bint plain_data(object x)
cdef bint special(object name, object value)
cdef bint accessor(object value)
