# Programs on few numbers as steps on single ones. See scalarisation.pyx.
from ..primitives.opcodes cimport OP_SUM
from .program cimport Program

cdef enum:
    ZERO = 0                        # the number zero, of any dtype
    NO_STEP = -1

cdef struct Step:
    int kind                        # of the instruction
    int op
    int code                        # code of a product, sum or difference; else NONE
    int inner, outer, second        # codes of fused operations; inner is NONE if there are none
    int typenum                     # dtype of the operands; for a choice, dtype of the chosen operands
    int n_in
    int ins[4]                      # numbers
    int out
    bint gone                       # fused into its reader


cdef struct Number:
    int typenum
    int maker                       # the step that makes it; NO_STEP if it exists from the start
    int uses                        # number of times that it is read
    int last                        # the last step that reads it
    bint leaves                     # it is part of a result of the program
    int base                        # NO_STEP: no place yet
    int offset


cdef inline bint adds_up(int op) noexcept:
    """True if a step adds a term of a sum."""
    return op == OP_SUM


cdef class Numbers:
    """The numbers of a program, and the steps that make them."""
    cdef Program program
    cdef Step *steps
    cdef Number *numbers
    cdef int n_steps, n_numbers
    cdef int room_for_steps, room_for_numbers
    cdef list of_slot               # for each slot its number, or an array of numbers; None if nothing reads it
    cdef dict constants             # (type number, bytes) -> the number of a constant
    cdef dict same                  # results of steps on arrays: (kind, opcode, operands) -> number
    cdef int copies                 # numbers in results that also have another place
    cdef int arrays                 # number of instructions that the steps would be on whole arrays

    cdef int new_number(self, int typenum) except -1
    cdef int constant(self, int typenum, object value) except -1
    cdef int zero(self, int typenum) except -1
    cdef object ids(self, int slot)
    cdef int name(self, int slot, list found) except -1
    cdef Py_ssize_t size(self, int slot) except -1
    cdef list leaving(self)
    cdef int new_step(self, int kind, int op, int typenum, int made, int n_in, const int *ins) except -1
    cdef int step_on_array(self, int kind, int op, int typenum, int made, int n_in, const int *ins) except -1
    cdef int begin(self) except -1
    cdef bint read(self) except -1
    cdef bint read_step(self, tuple step) except -1
    cdef bint each(self, int kind, int op, int typenum, tuple ins, int out, list more) except -1
    cdef int cost(self)
    cdef int leave(self, list numbers) except -1
    cdef int added(self, list line, int typenum) except -1
    cdef bint add_up(self, object ids, tuple axes, int out) except -1


cdef bint is_number(tuple shape)
cdef Numbers numbers_of_program(Program program)
