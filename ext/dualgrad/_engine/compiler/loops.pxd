# Loops of programs. See loops.pyx.
from cpython.object cimport PyObject

from ..arrays.array cimport Array
from .steppers cimport Body


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


cdef Array run_loop(Repetition loop, PyObject **args)
cdef Array run_reversed(Reversal r, PyObject **args)
cdef Repetition repetition(Body body, Py_ssize_t n, bint reverse, tuple stacked, tuple shared)
