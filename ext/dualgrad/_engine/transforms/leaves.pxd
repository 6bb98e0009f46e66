# Leaves of the pytrees that a transform takes and returns. See leaves.pyx.
from ..arrays.array cimport Value
from ..tape.tape cimport Tape

cdef object lift(Tape tape, object x, list leaves)
cdef int collect(Tape tape, object out, list slots) except -1
cdef int check_result(str name, object out) except -1
cdef object replaced(Tape tape, object out, dict exported)
cdef int collect_quietly(Tape tape, object out, list slots) except -1
cdef int match_tangents(str name, object x, object t, object where, list found) except -1
cdef int match(str name, object out, object sens, object where, list seeds) except -1
cdef tuple split_aux(str name, object out)
