# Threads of regions and of the library for products. See workers.pyx.

cdef int num_threads() noexcept
cdef int blas_alone() except -1
cdef int blas_back() except -1
cdef int seek_blas() except -1
