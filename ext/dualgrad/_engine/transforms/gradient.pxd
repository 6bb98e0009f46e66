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
cdef int remember_outer(Tape tape, list outer) except -1
cdef int release(Tape tape) except -1
cdef list paired(list outputs, list along)
cdef int find_parameters(Tape tape, list parameters, list parameter_at, list slots) except -1
cdef list of_inputs(list originals, list gradients)
cdef list of_parameters(list parameters, list parameter_at, list gradients, Py_ssize_t i)
cdef int call_hooks(list originals, list parameters, list parameter_at, list gradients, Py_ssize_t i) except -1
cdef int fill_zeros(Tape tape, list slots, list gradients) except -1
cdef bint pull_back(Tape tape, list slots, list leaf_slots, list links, list seed_slots, list seeds, list value_slots,
                    list gradients, dict exported, bint once) except -1
cdef tuple gradients(str name, object fn, tuple args, dict kwargs, Which which, tuple positions, list parameters,
                     object sens, bint has_sens, bint has_aux, bint want_value)
