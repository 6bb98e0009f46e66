# Sweeps over a tape. See sweeps.pyx.
from ..arrays.array cimport Value
from .tape cimport Slots, Tape
from ..values.levels cimport Algebra, BatchLevel, Level


cdef enum After:
    KEEP_ALL
    DROP_SPENT
    CONSUME


cdef class Run:
    cdef Tape tape
    cdef Slots primals
    cdef Slots adjoints
    cdef list seeds
    cdef dict inner             # runs of inner transforms that belong to this one
    cdef bint lifted            # its duals have nodes as coefficients
    cdef Level level            # of a forward transform, whose elements its primals are; else None
    cdef Algebra algebra
    cdef BatchLevel samples     # of a vmap: what all samples share has cotangents that are added up over them


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
    cdef list pull(self, list ins, list outs, list cts)


cdef int accumulate(Slots slots, Py_ssize_t i, Value term) except -1
cdef char *reach(Tape tape, list slots) except NULL
cdef int sweep(Run run, Slots adjoints, const char *needed, After after) except -1
cdef int tangent_sweep(Run run, Slots dots, dict records) except -1
cdef int dual_sweep(Run run, Slots dots, Slots adjoint_dots, dict records, const char *needed, After after) except -1
cdef Run inner_run_of(Run run, Py_ssize_t e, SubTape sub)
cdef Slots lift_tape(Run run, dict leaf_values, dict inner)
cdef Slots replay(Run run, dict leaf_values, dict inner)
cdef dict report(Tape tape)
