"""Loops and branches in programs: the program of one step and its repetition, or the programs of two branches.

Design
------
Passes build loops and take them apart, so this description is below the passes. The execution is above them, in
`steppers` and `loops`. A `Body` is the program of one step. Its inputs are the carry, entries of stacked arrays, and
shared arrays. Its outputs are the next carry and entries of stacked results.
"""
cimport numpy as cnp

from ..arrays.array cimport MAX_DIMS, item_size
from .allocation cimport ALIGN, aligned
from .program cimport Program


cdef class Body:

    cdef bint same_as(self, Body other):
        return (self.carried == other.carried and self.entries == other.entries and self.made == other.made
                and self.proceeds == other.proceeds and self.program.same_as(other.program))

    cdef Py_ssize_t nbytes_of(self, int slot) except -1:
        cdef Py_ssize_t n = item_size(self.program.typenums[slot])
        for extent in self.program.shapes[slot]:
            n *= extent
        return n


cdef Repetition repetition(Body body, Py_ssize_t n, bint reverse, tuple stacked, tuple shared):
    """A loop with places for its results: the last carry, stacked results, then the number of steps."""
    cdef Repetition loop = Repetition()
    cdef Program p = body.program
    cdef list results = []
    cdef int i, slot
    loop.body = body
    loop.n = n
    loop.reverse = reverse
    loop.stacked = stacked
    loop.shared = shared
    for i in range(body.carried + body.made):
        slot = p.outputs[i]
        shape = p.shapes[slot] if i < body.carried else (n,) + <tuple>p.shapes[slot]
        if len(shape) > MAX_DIMS:
            raise ValueError(f"an array of {len(shape)} axes; expected at most {MAX_DIMS}")
        results.append((p.typenums[slot], shape, loop.nbytes))
        loop.nbytes += aligned(body.nbytes_of(slot) * (1 if i < body.carried else max(n, 0)))
    results.append((<int>cnp.NPY_INT64, (), loop.nbytes))
    loop.nbytes += ALIGN
    loop.results = tuple(results)
    return loop


cdef class Repetition:

    def __eq__(self, other):
        cdef Repetition o
        if not isinstance(other, Repetition):
            return NotImplemented
        o = <Repetition>other
        return self is o or (self.n == o.n and self.reverse == o.reverse and self.stacked == o.stacked
                             and self.shared == o.shared and self.body.same_as(o.body))

    def __hash__(self):
        return hash((self.n, self.reverse, self.stacked, self.shared, len(self.body.program.steps)))

    def __repr__(self):
        times = "while it says so" if self.n < 0 else f"{self.n} times"
        return f"<a loop of {len(self.body.program.steps)} steps, {times}>"


cdef class Reversal:

    def __init__(self, Repetition forward, Repetition backward, states, schedule, int first):
        self.forward = forward
        self.backward = backward
        self.states = states
        self.schedule = schedule
        self.first = first

    def __eq__(self, other):
        cdef Reversal o
        if not isinstance(other, Reversal):
            return NotImplemented
        o = <Reversal>other
        return self.forward == o.forward and self.backward == o.backward and self.states == o.states \
            and self.schedule is o.schedule and self.first == o.first

    def __hash__(self):
        return hash((self.forward, self.backward, self.states))

    def __repr__(self):
        return f"<the reverse of {self.forward!r}, by {self.backward!r}>"


cdef Choice choice(Body taken, Body other, tuple of_taken, tuple of_other):
    """A choice between two bodies whose results have the same forms, with places for the results."""
    cdef Choice c = Choice()
    cdef Program p = taken.program
    cdef list results = []
    c.taken = taken
    c.other = other
    c.of_taken = of_taken
    c.of_other = of_other
    for slot in p.outputs:
        results.append((p.typenums[slot], p.shapes[slot], c.nbytes))
        c.nbytes += aligned(taken.nbytes_of(slot))
    c.results = tuple(results)
    return c


cdef class Choice:

    def __eq__(self, other):
        cdef Choice o
        if not isinstance(other, Choice):
            return NotImplemented
        o = <Choice>other
        return self is o or (self.of_taken == o.of_taken and self.of_other == o.of_other
                             and self.taken.same_as(o.taken) and self.other.same_as(o.other))

    def __hash__(self):
        return hash((self.of_taken, self.of_other, len(self.taken.program.steps), len(self.other.program.steps)))

    def __repr__(self):
        return f"<one of {len(self.taken.program.steps)} steps or {len(self.other.program.steps)}>"
