"""The default float dtype: float32, until the face chooses float64.

This module exists so that all modules read one variable. The face changes it only while no program is being recorded,
and then drops all recorded programs.
"""
cimport numpy as cnp

from .thread cimport is_outermost

cdef extern from "memory/shared.h":
    long long dg_read_shared(long long *counter) noexcept nogil
    void dg_write_shared(long long *counter, long long n) noexcept

cdef long long FLOATING = cnp.NPY_FLOAT


cdef int default_float() noexcept nogil:
    """Type number of the dtype of Python floats and of integers converted to floats."""
    return <int>dg_read_shared(&FLOATING)


cdef int default_complex() noexcept nogil:
    """Type number of the complex dtype with parts of the default float dtype."""
    return cnp.NPY_CDOUBLE if default_float() == cnp.NPY_DOUBLE else cnp.NPY_CFLOAT


def set_default_float(int typenum):
    """Choose float32 or float64 by type number. Inside a recording or a derivative, where the two dtypes would meet,
    change nothing and return False."""
    if typenum != cnp.NPY_FLOAT and typenum != cnp.NPY_DOUBLE:
        raise AssertionError(f"the default type has the number {typenum}; expected that of float32 or float64")
    if not is_outermost():
        return False
    dg_write_shared(&FLOATING, typenum)
    return True
