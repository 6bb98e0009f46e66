# Keys of functions. See keys.pyx.

cdef tuple function_key(object fn)
cdef bint same_function(object f, object g) except -1
cdef dict containers_of(list parts)
