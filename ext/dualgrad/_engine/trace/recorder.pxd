# Recording of programs. See recorder.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Array
from ..primitives.execute cimport Tracer
from ..compiler.program cimport Program
from .deferred cimport DeferredValues
from ..compiler.tables cimport SlotMap, StepIndex


cdef class Recorder(Tracer):
    cdef Program program
    cdef readonly str failed            # why this cannot be replayed, or None
    cdef readonly object line           # where that was found
    cdef long long start                # handles born before are from outside
    cdef dict handles                   # id of a handle -> (handle, its array, the array the recording knows)
    cdef dict constants                 # id, or contents, of an array -> slot
    cdef StepIndex index                # steps there are already
    cdef list kept                      # for each slot its array, or None where that is not kept
    cdef readonly list fixed            # (handle, array) for handles whose numbers were looked at
    cdef dict effects                   # id of a handle -> handle
    cdef dict negated                   # slot of a negation -> its operand
    cdef dict positions                 # id of a tensor that the function is given -> its number
    cdef SlotMap absorbed               # slot of an absorbing product with ones -> its other operand
    cdef list held                      # arrays whose ids are keys
    cdef DeferredValues deferred    # results that are computed late; None where everything is executed at once
    cdef Py_ssize_t room                # bytes of arrays that may be kept for their equals
    cdef Array result(self, int op, object params, PyObject **args, int n, int slot)
    cdef int new_step(self, Array out) except -1
    cdef int keep(self, Array out) except -1
    cdef Array tagged(self, Array a, int slot)
    cdef Array marked(self, Array out, int slot)
    cdef int slot_of(self, Array a) except -1
    cdef bint paused                    # the collection of garbage
    cdef int pause(self) except -1
    cdef int resume(self) except -1
    cdef Array input(self, Array a)
    cdef int argument(self, object handle) except -1
    cdef int finish(self) except -1
