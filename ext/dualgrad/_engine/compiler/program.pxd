# Recorded programs. See program.pyx.
from cpython.object cimport PyObject

from ..arrays.array cimport Array


cdef enum SlotKind:
    FROM_INPUT
    FROM_HANDLE
    FROM_CONSTANT
    FROM_STEP


cdef class Program:
    # what was recorded
    cdef readonly list kinds            # for each slot: where its array comes from
    cdef readonly list sources          # the number of the input, the handle, the constant, or the step
    cdef readonly list typenums
    cdef readonly list shapes
    cdef tuple shape                    # of the last slot: many slots share it
    cdef readonly list steps            # (opcode, params, slots of the operands, slot of the result)
    cdef readonly list inputs           # slots of the inputs; -1 where not used
    cdef readonly list effects          # (handle or number of an input, slot): what the program leaves behind
    cdef readonly list outputs          # slots that leave the program
    # as it is run
    cdef list dead                      # for each step the slots no later one reads; None before the first run

    cdef int new_slot(self, SlotKind kind, object source, Array a) except -1
    cdef bint same_as(self, Program other)
    cdef int prepare(self) except -1
    cdef Program with_steps(self, list steps)
    cdef Program without_steps(self)
    cdef list deaths(self)
    cdef bint fill(self, PyObject **slots, list inputs) except -1
    cdef list run(self, list inputs)


cdef bint same_numbers(Array a, Array b)


cdef int check_signals() except -1
cdef bint interrupted() noexcept
