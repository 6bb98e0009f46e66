# What loops in programs are. See repetitions.pyx.
from .program cimport Program


cdef class Body:
    """One step of a loop, as a program of its own."""
    cdef readonly Program program
    cdef readonly int carried       # its first inputs and outputs: what goes from step to step
    cdef readonly int entries       # the next inputs: entries of stacked arrays
    cdef readonly int made          # the next outputs: entries of stacked results
    cdef readonly bint proceeds     # the last output: whether there is another step
    cdef object plan                # the plan of its steps; None until it is needed
    cdef bint same_as(self, Body other)
    cdef Py_ssize_t nbytes_of(self, int slot) except -1


cdef class Repetition:
    """What the two instructions of loops are told: how often, in which order, where results lie."""
    cdef readonly Body body
    cdef readonly Py_ssize_t n      # steps; -1 while the body says that there is another
    cdef readonly bint reverse      # from the last entry to the first
    cdef readonly tuple stacked     # for each entry of a step the operand that it is taken from, None for its number
    cdef readonly tuple shared      # for each other input the operand that it is
    cdef readonly tuple results     # (type number, shape, offset) of each result
    cdef readonly Py_ssize_t nbytes


cdef class Reversal:
    """The reverse of a loop."""
    cdef readonly Repetition forward        # which leaves the states that a step backwards reads
    cdef readonly Repetition backward
    cdef readonly object states             # how many may be kept: an int, bytes as a float, or None
    cdef readonly object schedule           # (n, states, more of them if that is few) -> steps to run and to keep
    cdef readonly int first                 # the operand that is the first cotangent of the carry


cdef Repetition repetition(Body body, Py_ssize_t n, bint reverse, tuple stacked, tuple shared)


cdef class Choice:
    """What the instruction of a choice is told: the programs of both branches, and where results lie."""
    cdef readonly Body taken        # where the truth value holds: the first operand
    cdef readonly Body other
    cdef readonly tuple of_taken    # for each input of a branch the operand that it is
    cdef readonly tuple of_other
    cdef readonly tuple results     # (type number, shape, offset) of each result
    cdef readonly Py_ssize_t nbytes


cdef Choice choice(Body taken, Body other, tuple of_taken, tuple of_other)
