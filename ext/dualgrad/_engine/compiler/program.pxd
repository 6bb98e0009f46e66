# Recorded programs. See program.pyx.
from cpython.object cimport PyObject

from ..arrays.array cimport Array


cdef enum SlotKind:
    FROM_INPUT
    FROM_HANDLE
    FROM_CONSTANT
    FROM_STEP


cdef class Program:
    # the recording
    cdef readonly list kinds            # for each slot: the kind of its source
    cdef readonly list sources          # number of the input, the handle, the constant, or number of the step
    cdef readonly list typenums
    cdef readonly list shapes
    cdef tuple shape                    # shape of the last slot, to share equal tuples
    cdef readonly list steps            # (opcode, params, slots of the operands, slot of the result)
    cdef readonly list inputs           # slots of the inputs; -1 for an unused one
    cdef readonly list effects          # (handle or number of an input, slot): values that the program writes
    cdef readonly list outputs          # slots of the results
    # for runs
    cdef list dead                      # for each step: slots that no later step reads; None before the first run

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
