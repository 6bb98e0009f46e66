# Partial derivatives of elementwise rows. See partials.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Value

cdef enum:
    X_REGISTERS = 4             # x, y, z, out
    MAX_STEPS = 32


cdef class Partial:
    cdef bint is_number
    cdef double number
    cdef int n_steps
    cdef int result
    cdef int[MAX_STEPS] op
    cdef int[MAX_STEPS][3] operand
    cdef int[MAX_STEPS] arity
    cdef list constants             # numbers
    cdef list typed                 # for each constant, the array of each type made so far
    cdef object literal(self, node)
    cdef int compile(self, node) except -1
    cdef Value constant(self, int k, int typenum)
    cdef Value evaluate(self, PyObject **ins, int n, Value out)


cdef Partial partial_of(int op, int i, Value operand)
