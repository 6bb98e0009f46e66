# Machine code in place of the instructions of a region. See native.pyx.
from .code cimport RegionCode
from .executor cimport dg_instruction, dg_native, dg_native_numbers


cdef class NativeCode:
    """Machine code of a region; nothing of it changes once a region has it."""
    cdef object owner               # what keeps the machine code in memory
    cdef dg_instruction *code       # the instructions of the region, runs of loops replaced; NULL for single numbers
    cdef Py_ssize_t count
    cdef dg_native *runs
    cdef dg_native_numbers *parts   # of a program on single numbers; NULL for rows
    cdef Py_ssize_t n_parts
    cdef void **calls               # the loops that they call, each with its data
    cdef long long ran              # how often the program was run,
    cdef long long stopped          # and how often it met nan


cdef NativeCode native_of(RegionCode region)
cdef bint run_numbers(RegionCode region, NativeCode native, char **bases)
