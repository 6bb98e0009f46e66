"""Threads: how many regions may use, and how many the library for products has meanwhile.

Design
------
The threads of the library for products wait for work by spinning, for a while after each product, and take the
processors from those of a region (measured: a training step on wide layers twice as slow). So it has one while a
program runs that has threads of its own.
"""
cimport cython

from ..arrays.array import np
from .executor cimport DG_MAX_THREADS

cdef extern from "memory/shared.h":
    long long dg_read_shared(long long *counter) noexcept
    void dg_write_shared(long long *counter, long long n) noexcept

ctypedef int (*blas_get)() noexcept
ctypedef void (*blas_set)(int n) noexcept

cdef blas_get BLAS_GET = NULL
cdef blas_set BLAS_SET = NULL
cdef int BLAS_THREADS = 0           # what it had before; 0: it was not asked
cdef int BLAS_ALONE = 0             # programs under way that need it on one thread
cdef long long THREADS = 1
cdef bint BLAS_SOUGHT = False
cdef object COUNTED = object()          # held without GIL while programs are counted


def set_num_threads(int n):
    """The number of threads that regions may use; returns the former one."""
    if not 1 <= n <= DG_MAX_THREADS:
        raise ValueError(f"set_num_threads: got {n}; expected 1 to {DG_MAX_THREADS}")
    cdef int former = num_threads()
    dg_write_shared(&THREADS, n)
    return former


def get_num_threads():
    """The number of threads that regions may use."""
    return num_threads()


cdef int num_threads() noexcept:
    return <int>dg_read_shared(&THREADS)


cdef int blas_alone() except -1:
    global BLAS_THREADS, BLAS_ALONE
    with cython.critical_section(COUNTED):
        if BLAS_ALONE == 0 and BLAS_GET is not NULL:
            BLAS_THREADS = BLAS_GET()
            BLAS_SET(1)
        BLAS_ALONE += 1
    return 0


cdef int blas_back() except -1:
    global BLAS_THREADS, BLAS_ALONE
    with cython.critical_section(COUNTED):
        BLAS_ALONE -= 1
        if BLAS_ALONE == 0 and BLAS_THREADS > 0:
            BLAS_SET(BLAS_THREADS)
            BLAS_THREADS = 0
    return 0


cdef int seek_blas() except -1:
    """Find how to tell NumPy's OpenBLAS the number of its threads. Other libraries are left as they are."""
    global BLAS_SOUGHT, BLAS_GET, BLAS_SET
    cdef bint sought
    with cython.critical_section(COUNTED):
        sought = BLAS_SOUGHT
        BLAS_SOUGHT = True
    if sought:
        return 0
    import ctypes
    try:
        library = ctypes.CDLL(np.linalg._umath_linalg.__file__)     # a look-up goes on to what it was linked with
    except (AttributeError, OSError):
        return 0
    for name in ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads"):
        try:
            get, put = [getattr(library, name.format(verb)) for verb in ("get", "set")]
        except AttributeError:
            continue
        of_get = ctypes.cast(get, ctypes.c_void_p).value
        of_put = ctypes.cast(put, ctypes.c_void_p).value
        with cython.critical_section(COUNTED):      # a program that runs already has not asked, and sets nothing back
            BLAS_GET = <blas_get><size_t>of_get
            BLAS_SET = <blas_set><size_t>of_put
        return 0
    return 0


def forget_runs():
    """Programs that other threads were running do not go on in a forked process."""
    global BLAS_THREADS, BLAS_ALONE
    if BLAS_ALONE > 0 and BLAS_THREADS > 0:
        BLAS_SET(BLAS_THREADS)
    BLAS_ALONE = BLAS_THREADS = 0
