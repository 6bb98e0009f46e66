"""Threads: how many regions may use, and how many the library for products has meanwhile.

Design
------
The threads of the library for products wait for work by spinning, for a while after each product, and take the
processors from those of a region (measured: a training step on wide layers twice as slow). So it has one while a
program runs that has threads of its own.
"""
cimport cython

import numpy as np

from .executor cimport DG_MAX_THREADS

ctypedef int (*blas_get)() noexcept
ctypedef void (*blas_set)(int n) noexcept

cdef blas_get BLAS_GET = NULL
cdef blas_set BLAS_SET = NULL
cdef int BLAS_THREADS               # what it had before
cdef int BLAS_ALONE = 0             # programs under way that need it on one thread
cdef int THREADS = 1
cdef bint BLAS_SOUGHT = False
cdef object COUNTED = object()          # held without GIL while programs are counted


def set_num_threads(int n):
    """The number of threads that regions may use; returns the former one."""
    global THREADS
    if not 1 <= n <= DG_MAX_THREADS:
        raise ValueError(f"set_num_threads: got {n}; expected 1 to {DG_MAX_THREADS}")
    former = THREADS
    THREADS = n
    return former


def get_num_threads():
    """The number of threads that regions may use."""
    return THREADS


cdef int num_threads() noexcept:
    return THREADS


cdef int blas_alone() except -1:
    global BLAS_THREADS, BLAS_ALONE
    with cython.critical_section(COUNTED):
        if BLAS_ALONE == 0 and BLAS_GET is not NULL:
            BLAS_THREADS = BLAS_GET()
            BLAS_SET(1)
        BLAS_ALONE += 1
    return 0


cdef int blas_back() except -1:
    global BLAS_ALONE
    with cython.critical_section(COUNTED):
        BLAS_ALONE -= 1
        if BLAS_ALONE == 0 and BLAS_SET is not NULL:
            BLAS_SET(BLAS_THREADS)
    return 0


cdef int seek_blas() except -1:
    """Find how to tell NumPy's OpenBLAS the number of its threads. Other libraries are left as they are."""
    global BLAS_SOUGHT, BLAS_GET, BLAS_SET
    if BLAS_SOUGHT:
        return 0
    BLAS_SOUGHT = True
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
        BLAS_GET = <blas_get><size_t>ctypes.cast(get, ctypes.c_void_p).value
        BLAS_SET = <blas_set><size_t>ctypes.cast(put, ctypes.c_void_p).value
        return 0
    return 0


def forget_runs():
    """Programs that other threads were running do not go on in a forked process."""
    global BLAS_ALONE
    if BLAS_ALONE > 0 and BLAS_SET is not NULL:
        BLAS_SET(BLAS_THREADS)
    BLAS_ALONE = 0
