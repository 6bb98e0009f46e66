# Parts of programs that repeat. See stretches.pyx.
from .program cimport Program


cdef class Stretch:
    """Steps that repeat."""
    cdef Py_ssize_t start       # the first step
    cdef Py_ssize_t period      # steps of an iteration
    cdef Py_ssize_t n           # iterations
    cdef dict kinds             # (position in the body, operand) -> how it follows from that of the iteration before
    cdef dict carried           # position in the body of what the next iteration reads -> number of the carry
    cdef dict shared            # slot -> number
    cdef dict entries           # slots by iteration -> number
    cdef dict made              # position of what is needed of every iteration -> number of the stacked result
    cdef set last               # positions of what is needed of the last iteration
    cdef set each               # (position, iteration) of what is needed of single ones
    cdef bint reverse           # entries are read from the last one to the first one
    cdef dict stacks            # position -> slot of the stacked results


cdef class Search:
    """The stretches of a program."""
    cdef Program program
    cdef list codes             # of each step: equal ones are the same primitive on the same forms
    cdef list maker             # of each slot the step that makes it, or -1
    cdef list stretches
    cdef dict inside            # step -> its stretch
    cdef set taken              # steps that take one of many rows of an array
    cdef int number_steps(self) except -1
    cdef list next_windows(self)
    cdef Py_ssize_t repeated(self, Py_ssize_t t, Py_ssize_t period) except -1
    cdef int find(self) except -1
    cdef object kind(self, Py_ssize_t t, Py_ssize_t period, int r)
    cdef Py_ssize_t row(self, Py_ssize_t t) except -1
    cdef int operand(self, Py_ssize_t t, int r) except -1
    cdef Stretch stretch_at(self, Py_ssize_t start, Py_ssize_t period, Py_ssize_t n)
    cdef tuple entries_from(self, Py_ssize_t t, Py_ssize_t period, int r, Py_ssize_t middle, Py_ssize_t first,
                            Py_ssize_t last)
    cdef object source_of(self, int slot)
    cdef bint alike(self, Py_ssize_t t, Py_ssize_t period, list kinds) except -1
    cdef bint classify(self, Stretch s, list kinds) except -1
    cdef object direction(self, Stretch s, tuple slots)
