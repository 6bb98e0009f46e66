# Sweeps over a tape. See sweeps.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Value
from ..primitives.watch cimport Watch
from ..values.levels cimport Level
from .runs cimport Run
from .tape cimport TapeEntry, Slots, Tape


cdef enum:
    FEW = 8                     # most operands that a visitor holds without an allocation


cdef enum After:
    KEEP_ALL
    DROP_SPENT
    CONSUME


cdef class Visitor:
    cdef Run run
    cdef Tape tape              # of the run
    cdef Slots primals          # of the run
    cdef Watch watch            # checks the derivatives of this sweep; or None
    cdef Slots dots             # tangents of slots
    cdef Slots adjoints         # cotangents of slots
    cdef Slots adjoint_dots     # tangents of the cotangents
    cdef dict records           # data to sweep inner transforms one order higher
    cdef Level level            # of the duals that differentiate partials
    cdef const char *needed     # marks of the slots whose cotangents are wanted
    cdef After after
    cdef PyObject **ins         # operands of the instruction that is visited
    cdef PyObject **in_dots     # tangents of these operands
    cdef PyObject *few[2 * FEW]
    cdef PyObject **many        # room for more, which the sweep frees
    cdef bint reached(self, TapeEntry *entry) except -1
    cdef int visit(self, Py_ssize_t e, TapeEntry *entry) except -1
    cdef Value term(self, TapeEntry *entry, int k)
    cdef int spend(self, Py_ssize_t e, TapeEntry *entry) except -1


cdef int accumulate(Slots slots, Py_ssize_t i, Value term) except -1
cdef char *reach(Tape tape, list slots) except NULL
cdef int sweep(Run run, Slots adjoints, const char *needed, After after) except -1
cdef int tangent_sweep(Run run, Slots dots, dict records) except -1
cdef int dual_sweep(Run run, Slots dots, Slots adjoint_dots, dict records, const char *needed, After after) except -1
