# Parts of programs that repeat. See stretches.pyx.
from .program cimport Program


cdef class Stretch:
    """Steps that repeat."""
    cdef Py_ssize_t start       # the first step
    cdef Py_ssize_t period      # steps of an iteration
    cdef Py_ssize_t n           # iterations
    cdef dict kinds             # (position in the body, operand) -> its relation to the operand one iteration before
    cdef dict carried           # position in the body of a result that the next iteration reads -> number of the carry
    cdef dict shared            # slot -> number among the shared inputs
    cdef dict entries           # slots by iteration, or the position of a step that takes a row -> number of the entry
    cdef dict made              # position of a result needed from every iteration -> number of the stacked result
    cdef set last               # positions of results needed from the last iteration
    cdef set each               # (position, iteration) of results needed from one iteration
    cdef bint reverse           # entries are read from the last one to the first one
    cdef dict stacks            # position -> slot of the stacked results


cdef class Search:
    """The stretches of a program."""
    cdef Program program
    cdef list codes             # for each step; equal codes mean the same primitive with the same forms
    cdef list maker             # for each slot the step that makes it, or -1
    cdef list stretches
    cdef dict inside            # step -> its stretch
    cdef set taken              # steps that take one row of an array, if many rows of it are taken
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
