# The default float dtype. See defaults.pyx.
cdef int default_float() noexcept nogil
cdef int default_complex() noexcept nogil
