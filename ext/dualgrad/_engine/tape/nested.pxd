# Transforms inside transforms. See nested.pyx.
from ..arrays.array cimport Value
from .runs cimport Run, SubTape
from .tape cimport Slots
from ..values.levels cimport Algebra, BatchLevel, Level

cdef Slots dual_slots(Slots primals, Slots dots, Level level)


cdef class SubGradient(SubTape):
    cdef list leaf_slots            # linked leaves
    cdef list seed_slots            # all seeded slots; run.seeds has their seeds
    cdef list seed_operands         # indices of the seeds that are operands
    cdef list value_slots           # slots of the values that left the call
    cdef list gradient_slots        # leaves whose gradients left the call
    cdef int sweep_lifted(self, Run lifted, Run run, list operands) except -1


cdef class SubMap(SubTape):
    cdef BatchLevel level
    cdef list input_slots
    cdef list leaf_slots
    cdef list value_slots


cdef class SubForward(SubTape):
    cdef Level level
    cdef Algebra algebra
    cdef list operands_at           # (slot, k) of the coefficients of the inputs
    cdef list leaf_slots
    cdef list wanted                # leaves that stand for values of outer tapes
    cdef list results_at            # (slot, k) of the coefficients of the outputs
    cdef Value term(self, Run run, Py_ssize_t slot, int k, Value adjoint)
    cdef Value held(self, Value v)
    cdef Value met(self, Value v)
    cdef Value tangent(self, Run run, Value v)
    cdef dict leaves_of(self, list coefficients)
