# Machine code in place of the instructions of a region. See native.pyx.
from .code cimport RegionCode
from .executor cimport dg_instruction, dg_native, dg_native_numbers


cdef class NativeCode:
    """Machine code of a region, immutable once a region has it."""
    cdef object owner               # keeps the machine code in memory
    cdef dg_instruction *code       # instructions of the region, with runs of loops replaced; NULL for single numbers
    cdef Py_ssize_t count
    cdef dg_native *runs
    cdef dg_native_numbers *parts   # functions for a program on single numbers; NULL for rows
    cdef Py_ssize_t n_parts
    cdef void **calls               # loops that the machine code calls, each with its data
    cdef long long ran              # number of runs of the program
    cdef long long stopped          # number of runs that met nan


cdef NativeCode native_of(RegionCode region)
cdef bint run_numbers(RegionCode region, NativeCode native, char **bases)
