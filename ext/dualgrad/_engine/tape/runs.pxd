# Runs: a tape with values for its slots. See runs.pyx.
from ..arrays.array cimport Value
from ..values.levels cimport Algebra, BatchLevel, Level
from .tape cimport TapeEntry, Slots, Tape


cdef class Run:
    cdef Tape tape
    cdef Slots primals
    cdef Slots adjoints
    cdef list seeds
    cdef dict inner             # instruction -> the run of its inner transform
    cdef bint lifted            # its duals have nodes as coefficients
    cdef Level level            # of the forward transform whose elements the primals are; or None
    cdef Algebra algebra
    cdef BatchLevel samples     # of a vmap; cotangents of shared values are summed over its samples


cdef class SubTape:
    cdef readonly str name
    cdef Run run
    cdef list pull(self, Run run, list cts)
    cdef list push(self, Run run, list tangents, list record)
    cdef Run enrich(self, Run run, list record, Level level)
    cdef Run lift(self, Run run, list operands)
    cdef Run again(self, Run run, list operands)
    cdef list results(self, Run run)


cdef class CustomRule:
    cdef readonly str name
    cdef readonly bint reverse_only     # the rule may be nonlinear: its transpose is not a forward derivative
    cdef list pull(self, list ins, list outs, list cts)


cdef inline object params_of(TapeEntry *entry):
    return None if entry.params is NULL else <object>entry.params


cdef list operands_of(Tape tape, TapeEntry *entry, Slots primals)
cdef list results_in(TapeEntry *entry, Slots slots)
cdef Run inner_run_of(Run run, Py_ssize_t e, SubTape sub)
cdef CustomRule reverse_only_rule(Tape tape)
cdef int raise_reverse_only(str name, str rule) except -1
cdef int raise_differentiated_twice(str name) except -1
cdef Slots lift_tape(Run run, dict leaf_values, dict inner)
cdef Slots reevaluate(Run run, dict leaf_values, dict inner)
cdef bint differ(Run run, TapeEntry *entry, list cts)
cdef list for_samples(Run run, TapeEntry *entry, list cts)
cdef list shared_terms(Run run, TapeEntry *entry, bint batched, list terms)
cdef bint moves_in(Run run, TapeEntry *entry)
cdef list elements_of(Run run, TapeEntry *entry, list cts)
cdef list functionals_of(Run run, TapeEntry *entry, list terms)
