"""The floating type that numbers without one get: float32, until the face chooses float64.

A module of its own, so that every other one asks the same variable. It is set before programs are recorded: the face
forgets all of them when it changes.
"""
cimport numpy as cnp

from .thread cimport is_outermost

cdef extern from "memory/shared.h":
    long long dg_read_shared(long long *counter) noexcept nogil
    void dg_write_shared(long long *counter, long long n) noexcept

cdef long long FLOATING = cnp.NPY_FLOAT


cdef int default_float() noexcept nogil:
    """The type number of Python's floats, and of what integers become where they have to be floating."""
    return <int>dg_read_shared(&FLOATING)


cdef int default_complex() noexcept nogil:
    """The type number of complex numbers whose parts are of the default type."""
    return cnp.NPY_CDOUBLE if default_float() == cnp.NPY_DOUBLE else cnp.NPY_CFLOAT


def set_default_float(int typenum):
    """Choose float32 or float64, by the number of the type. False, and nothing done, inside of a recording or a
    derivative, where numbers of both types would meet."""
    if typenum != cnp.NPY_FLOAT and typenum != cnp.NPY_DOUBLE:
        raise AssertionError(f"the default type has the number {typenum}; expected that of float32 or float64")
    if not is_outermost():
        return False
    dg_write_shared(&FLOATING, typenum)
    return True
