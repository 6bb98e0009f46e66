# Loops and choices in programs. See repetitions.pyx.
from .program cimport Program


cdef class Body:
    """One step of a loop, as a program of its own."""
    cdef readonly Program program
    cdef readonly int carried       # number of first inputs and first outputs, which pass from step to step
    cdef readonly int entries       # number of next inputs: entries of stacked arrays
    cdef readonly int made          # number of next outputs: entries of stacked results
    cdef readonly bint proceeds     # the last output decides on another step
    cdef object plan                # plan of the program; None until it is needed
    cdef bint same_as(self, Body other)
    cdef Py_ssize_t nbytes_of(self, int slot) except -1


cdef class Repetition:
    """Parameters of a loop instruction: number of steps, order, and places of the results."""
    cdef readonly Body body
    cdef readonly Py_ssize_t n      # number of steps; -1 if the body decides
    cdef readonly bint reverse      # from the last entry to the first
    cdef readonly tuple stacked     # for each entry the operand that it comes from; None for the number of the entry
    cdef readonly tuple shared      # for each other input its operand
    cdef readonly tuple results     # (type number, shape, offset) of each result
    cdef readonly Py_ssize_t nbytes


cdef class Reversal:
    """The reverse of a loop."""
    cdef readonly Repetition forward        # it leaves the states that the backward steps read
    cdef readonly Repetition backward
    cdef readonly object states             # limit of stored states: a number (int), bytes (float), or None
    cdef readonly object schedule           # (n, states, more states if there are few) -> steps to run and to store
    cdef readonly int first                 # index of the first cotangent among the operands


cdef Repetition repetition(Body body, Py_ssize_t n, bint reverse, tuple stacked, tuple shared)


cdef class Choice:
    """Parameters of a choice instruction: the programs of both branches, and places of the results."""
    cdef readonly Body taken        # run if the truth value, the first operand, holds
    cdef readonly Body other
    cdef readonly tuple of_taken    # for each input of a branch its operand
    cdef readonly tuple of_other
    cdef readonly tuple results     # (type number, shape, offset) of each result
    cdef readonly Py_ssize_t nbytes


cdef Choice choice(Body taken, Body other, tuple of_taken, tuple of_other)
