# Recording of programs. See recorder.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Array
from ..primitives.execute cimport Tracer
from ..compiler.program cimport Program
from .deferred cimport DeferredValues
from ..compiler.tables cimport SlotMap, StepIndex


cdef class Recorder(Tracer):
    cdef Program program
    cdef readonly str failed            # the reason why it cannot be replayed, or None
    cdef readonly object line           # the user's line at which it failed
    cdef long long start                # the serial number of the first handle made inside
    cdef dict handles                   # id of a handle -> (handle, its array, the array the recording knows)
    cdef dict constants                 # id, or contents, of an array -> slot
    cdef StepIndex index                # the steps so far
    cdef list kept                      # slot -> its array, or None if it is not kept
    cdef readonly list fixed            # (handle, array) for handles whose numbers Python has read
    cdef dict effects                   # id of a handle -> (handle, the value that the function has put there)
    cdef dict negated                   # slot of a negation -> its operand
    cdef dict positions                 # id of an argument -> its position
    cdef SlotMap absorbed               # slot of an absorbing product with ones -> its other operand
    cdef list held                      # keeps arrays alive whose ids are keys
    cdef DeferredValues deferred        # None: every primitive is executed at once
    cdef Py_ssize_t room                # bytes of results that may still be kept
    cdef Array result(self, int op, object params, PyObject **args, int n, int slot)
    cdef Array computed(self, Array out, int slot)
    cdef int new_step(self, Array out) except -1
    cdef int keep(self, Array out) except -1
    cdef Array tagged(self, Array a, int slot)
    cdef Array marked(self, Array out, int slot)
    cdef int slot_of(self, Array a) except -1
    cdef bint paused                    # garbage collection was on and is off now
    cdef int pause(self) except -1
    cdef int resume(self) except -1
    cdef Array input(self, Array a)
    cdef int argument(self, object handle, Array a) except -1
    cdef int finish(self) except -1
