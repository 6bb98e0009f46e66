# Primitives on arrays. See execute.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Array
from ..arrays.thread cimport dg_thread, thread_state


cdef class Tracer:
    cdef int trace
    cdef Array execute(self, int op, object params, PyObject **args, int n)
    cdef bint knows(self, Array a) noexcept
    cdef Array reference(self, object handle, Array a)
    cdef int asked(self, Array a, str what) except -1
    cdef int frozen(self, object handle, Array a) except -1
    cdef int rebound(self, object handle) except -1
    cdef int give_up(self, str why) except -1
    cdef int needed(self, Array a) except -1
    cdef int evaluate_deferred(self) except -1
    cdef bint repeats(self) noexcept


cdef Array execute(int op, object params, PyObject **args, int n)
cdef Array run(int op, object params, PyObject **args, int n)
cdef int start_tracing(Tracer tracer) except -1
cdef int stop_tracing(Tracer tracer) except -1


cdef inline Tracer active_tracer():
    cdef PyObject *tracer = thread_state().tracer
    return None if tracer is NULL else <Tracer>tracer


cdef extern from "memory/shared.h":
    long long dg_read_shared(long long *counter) noexcept

cdef long long SYNCHRONOUS      # 1: eager calls compute every array at once

cpdef object deferring(object call, tuple args, dict kwargs)


cdef inline bint may_defer() noexcept:
    """True if a call that begins may defer large arrays (see `deferring`): it is outermost, and deferring is on."""
    cdef dg_thread *thread = thread_state()
    return not (dg_read_shared(&SYNCHRONOUS) or thread.deferring or thread.tracer is not NULL
                or thread.level is not NULL)


cdef inline bint tracing() noexcept:
    return thread_state().tracer is not NULL


cdef inline int given_to_python(Array a, str what) except -1:
    """Tell the active recording that Python receives data or properties of an array that the recording knows."""
    cdef Tracer tracer = active_tracer()
    if tracer is not None and a.trace != 0 and tracer.knows(a):
        tracer.asked(a, what)
    return 0
