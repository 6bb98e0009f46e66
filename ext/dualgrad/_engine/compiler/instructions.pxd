# Instructions under construction. See instructions.pyx.
cimport numpy as cnp

from .executor cimport dg_instruction
from ..primitives.registry cimport dg_loop


cdef enum:
    UNBOUND = -1                    # last row of an instruction that is not yet set


cdef class Instruction:
    cdef dg_instruction code
    cdef object primitive           # the loop it calls: (opcode, type number, fusion or target of a conversion)
    cdef bint own                   # a product loop of ours computes it
    cdef Py_ssize_t half            # for a product that equals its transpose: the number of equal columns, or 0,
    cdef Py_ssize_t half_from       # and the index of the first of them
    cdef int operand(self, int k, tuple place) except -1
    cdef int steps(self, list steps) except -1
    cdef int calls(self, int op, int typenum, object detail) except -1
    cdef bint multiplies(self, int typenum, list dims, list strides) except -1
    cdef bint adds_dots(self, int typenum) except -1
    cdef int totals(self, int typenum) except -1
    cdef int picks(self, int typenum, bint wide, Py_ssize_t width, tuple extents, tuple strides) except -1


cdef bint are_dots(int typenum, Py_ssize_t n) noexcept
cdef bint has_cast(int source, int target) noexcept
cdef dg_loop cast_loop(int source, int target) noexcept
cdef bint has_index(int source) noexcept
cdef dg_loop fused_loop(int inner, int outer, int second, int wide) noexcept
cdef dg_loop product_loop(int typenum, Py_ssize_t m, Py_ssize_t k, Py_ssize_t n, Py_ssize_t step)
cdef dg_loop small_loop(int typenum, Py_ssize_t m, Py_ssize_t k, Py_ssize_t n) noexcept
cdef Instruction new_instruction(int kind, list places, Py_ssize_t item)
