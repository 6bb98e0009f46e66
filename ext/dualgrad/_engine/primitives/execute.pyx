"""Primitives on arrays: what is left when no derivative is asked for.

Types are equal when a primitive is reached: the public functions have inserted casts.

A recording (recorder.pyx) rides along: while one is active on this thread, its tracer is asked to execute, and notes
what it does.
"""
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF

from types import FunctionType
from weakref import WeakKeyDictionary

from ..arrays.array cimport HOOKS, Array
from ..arrays.thread cimport dg_thread, thread_state
from .elementwise cimport execute_elementwise
from .registry cimport PRIMITIVES, Primitive, op_name

cdef extern from "memory/shared.h":
    void dg_write_shared(long long *counter, long long n) noexcept

SYNCHRONOUS = 1
cdef object LIMITS = WeakKeyDictionary()    # call -> bytes of a first large array from which it saved nothing


cdef class Tracer:
    """A recorder of what is executed; see recorder.pyx."""

    cdef Array execute(self, int op, object params, PyObject **args, int n):
        raise NotImplementedError

    cdef bint knows(self, Array a) noexcept:
        """Whether an array is part of what is written down."""
        return a.trace == self.trace

    cdef Array reference(self, object handle, Array a):
        """The array of a handle that was made outside of the recording."""
        raise NotImplementedError

    cdef int asked(self, Array a, str what) except -1:
        """Python is given something of an array that the recording knows."""
        return 0

    cdef int frozen(self, object handle, Array a) except -1:
        """Python was given the numbers of a handle that was made outside of the recording."""
        return 0

    cdef int rebound(self, object handle) except -1:
        """A handle was given a new value."""
        return 0

    cdef int give_up(self, str why) except -1:
        """Something happened that a program cannot repeat."""
        return 0

    cdef int needed(self, Array a) except -1:
        """The numbers of a deferred array are read."""
        raise NotImplementedError

    cdef int evaluate_deferred(self) except -1:
        """Another tracer takes over: compute what is deferred."""
        return 0

    cdef bint repeats(self) noexcept:
        """Whether what is written down is going to be repeated."""
        return True


cdef int start_tracing(Tracer tracer) except -1:
    Py_INCREF(tracer)
    thread_state().tracer = <PyObject *>tracer
    return 0


cdef int stop_tracing(Tracer tracer) except -1:
    """No longer record; nothing happens if that tracer is not active."""
    if thread_state().tracer is <PyObject *>tracer:
        thread_state().tracer = NULL
        Py_DECREF(tracer)
    return 0


cdef Array execute(int op, object params, PyObject **args, int n):
    """Run a primitive on arrays."""
    cdef dg_thread *thread = thread_state()
    cdef Array out
    if thread.tracer is not NULL:
        return traced(<Tracer>thread.tracer, op, params, args, n)
    out = run(op, params, args, n)
    if (thread.deferring and out.owner and out.size * out.itemsize >= thread.deferred
            and out.size * out.itemsize > thread.defers_above):
        return HOOKS.defer(out)
    return out


def saves_nothing(Py_ssize_t nbytes):
    """Computing each array at once takes less time than what the call that runs has deferred, after a first large array
    of so many bytes: it defers nothing after such an array from now on."""
    cdef PyObject *call = thread_state().deferring_call
    if call is not NULL:
        LIMITS[<object>call] = max(nbytes, <object>LIMITS.get(<object>call, 0))


cpdef object deferring(object call, tuple args, dict kwargs):
    """The results of an outermost call. What of its deferred values is still held when it ends is computed then."""
    cdef dg_thread *thread = thread_state()
    cdef Tracer tracer
    if isinstance(call, FunctionType):
        thread.deferring_call = <PyObject *>call
        thread.defers_above = LIMITS.get(call, 0) if LIMITS else 0
    thread.deferring = True
    try:
        return call(*args, **kwargs)
    finally:
        thread.deferring = False
        tracer = active_tracer()
        if tracer is not None:
            stop_tracing(tracer)
            tracer.evaluate_deferred()
        thread.deferring_call = NULL
        thread.defers_above = 0


def synchronize(bint on):
    """Whether eager calls compute every array at once, or may defer large ones (see context.py). Returns the former
    setting, which is that of all threads."""
    cdef bint former = dg_read_shared(&SYNCHRONOUS)
    dg_write_shared(&SYNCHRONOUS, on)
    return former


cdef Array traced(Tracer tracer, int op, object params, PyObject **args, int n):
    """Run a primitive that is written down. An error may depend on numbers: a function that catches it goes another way
    with others, and no program does."""
    try:
        return tracer.execute(op, params, args, n)
    except BaseException as error:
        tracer.give_up(f"{op_name(op)} raised {type(error).__name__}")
        raise


cdef Array run(int op, object params, PyObject **args, int n):
    cdef PyObject *p = PRIMITIVES[op]
    if p is not NULL:
        return (<Primitive>p).execute(params, args, n)
    return execute_elementwise(op, args, n)


def is_written_down():
    """Whether what this thread executes is written down now, to be planned as a whole."""
    return tracing()


def is_alone():
    """Whether nothing surrounds what this thread executes: no derivative, recording or closed call, and no setting of
    its own for replays. So it executes as a new thread would."""
    cdef dg_thread *thread = thread_state()
    return (thread.level is NULL and thread.tracer is NULL and thread.closed_call is NULL
            and thread.environment is NULL and not thread.deferring and thread.planning and not thread.checking)


def unrepeatable(str why):
    """End an active recording, before something that a program cannot repeat."""
    if tracing():
        active_tracer().give_up(why)
