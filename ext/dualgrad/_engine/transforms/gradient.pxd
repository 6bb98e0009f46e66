# Gradient calls. See gradient.pyx.
from ..tape.tape cimport Tape
from ..values.levels cimport Level

cdef enum Which:
    AT_POSITIONS
    FIRST_INPUT
    ALL_INPUTS

cdef list NOTHING

cdef bint outer_reverse(Level level)
cdef tuple links_of(Tape tape)
cdef int release(Tape tape, list outer) except -1
cdef list paired(list outputs, list along)
cdef tuple gradients(str name, object fn, tuple args, dict kwargs, Which which, tuple positions, list parameters,
                     object sens, bint has_sens, bint has_aux, bint want_value)
