"""Threads: the number that regions may use, and the number left to the BLAS library meanwhile.

Design
------
After each product, the threads of the BLAS library spin for a while to wait for work. They take processors away from
the threads of a region. (Measured: a training step on wide layers was twice as slow.) So the library uses one thread
while a program with threads of its own runs.
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
cdef int BLAS_THREADS = 0           # its number of threads before; 0: unknown
cdef int BLAS_ALONE = 0             # number of running programs that need it on one thread
cdef long long THREADS = 1
cdef bint BLAS_SOUGHT = False
cdef object COUNTED = object()          # held without the GIL while programs are counted


def set_num_threads(int n):
    """Set the number of threads that regions may use; return the former number."""
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
    """Find the functions of NumPy's OpenBLAS that get and set its threads. Other libraries stay unchanged."""
    global BLAS_SOUGHT, BLAS_GET, BLAS_SET
    cdef bint sought
    with cython.critical_section(COUNTED):
        sought = BLAS_SOUGHT
        BLAS_SOUGHT = True
    if sought:
        return 0
    import ctypes
    try:
        library = ctypes.CDLL(np.linalg._umath_linalg.__file__)     # finds symbols of linked libraries too
    except (AttributeError, OSError):
        return 0
    for name in ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads"):
        try:
            get, put = [getattr(library, name.format(verb)) for verb in ("get", "set")]
        except AttributeError:
            continue
        of_get = ctypes.cast(get, ctypes.c_void_p).value
        of_put = ctypes.cast(put, ctypes.c_void_p).value
        with cython.critical_section(COUNTED):      # a program that already runs resets nothing
            BLAS_GET = <blas_get><size_t>of_get
            BLAS_SET = <blas_set><size_t>of_put
        return 0
    return 0


def forget_runs():
    """Reset the counts in a forked process, where the programs of other threads do not continue."""
    global BLAS_THREADS, BLAS_ALONE
    if BLAS_ALONE > 0 and BLAS_THREADS > 0:
        BLAS_SET(BLAS_THREADS)
    BLAS_ALONE = BLAS_THREADS = 0
