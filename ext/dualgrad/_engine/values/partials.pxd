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
    cdef list typed                 # for each constant, an array for each dtype used so far
    cdef object literal(self, node)
    cdef int compile(self, node) except -1
    cdef Value constant(self, int k, int typenum)
    cdef Value evaluate(self, PyObject **ins, int n, Value out)


cdef class Partials:
    cdef list texts                 # for reals, then for complex numbers
    cdef bint two_forms             # the two texts differ
    cdef list kept                  # keeps alive the objects that `found` points to
    cdef void *found[2][3]          # by form and operand: NULL, a Partial, or None if the partial is zero
    cdef int parse(self, int op, int form, int i) except -1


cdef Partial partial_of(int op, int i, Value operand)
