"""Execution of primitives on arrays, the lowest level, without derivatives.

Operands have equal dtypes here: the public functions insert casts.

While a thread has an active recording (recorder.pyx), its tracer executes the primitives and records them.
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
cdef object LIMITS = WeakKeyDictionary()    # call -> largest first array, in bytes, after which deferring did not pay


cdef class Tracer:
    """The interface of recorders of execution; see recorder.pyx."""

    cdef Array execute(self, int op, object params, PyObject **args, int n):
        raise NotImplementedError

    cdef bint knows(self, Array a) noexcept:
        """True if an array belongs to this recording."""
        return a.trace == self.trace

    cdef Array reference(self, object handle, Array a):
        """The array that stands for a handle made outside of the recording."""
        raise NotImplementedError

    cdef int asked(self, Array a, str what) except -1:
        """Python receives data or properties of an array that the recording knows."""
        return 0

    cdef int frozen(self, object handle, Array a) except -1:
        """Python received the numbers of a handle that was made outside of the recording."""
        return 0

    cdef int rebound(self, object handle) except -1:
        """A handle received a new value."""
        return 0

    cdef int give_up(self, str why) except -1:
        """End the recording, because of an operation that a program cannot repeat."""
        return 0

    cdef int needed(self, Array a) except -1:
        """Compute a deferred array: something reads its data."""
        raise NotImplementedError

    cdef int evaluate_deferred(self) except -1:
        """Compute all deferred arrays, before another tracer takes over."""
        return 0

    cdef bint repeats(self) noexcept:
        """True if the recording is meant to be replayed."""
        return True


cdef int start_tracing(Tracer tracer) except -1:
    Py_INCREF(tracer)
    thread_state().tracer = <PyObject *>tracer
    return 0


cdef int stop_tracing(Tracer tracer) except -1:
    """Stop recording. If another tracer is active, do nothing."""
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
    """Deferring did not pay for the running call. From now on it defers only when its first large array is larger than
    `nbytes`."""
    cdef PyObject *call = thread_state().deferring_call
    if call is not NULL:
        LIMITS[<object>call] = max(nbytes, <object>LIMITS.get(<object>call, 0))


cpdef object deferring(object call, tuple args, dict kwargs):
    """Run an outermost call that may defer large arrays. At its end, compute the deferred arrays that are still in
    use."""
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
    """Choose for all threads if eager calls compute every array at once (True) or may defer large arrays (see
    context.py). Return the former setting."""
    cdef bint former = dg_read_shared(&SYNCHRONOUS)
    dg_write_shared(&SYNCHRONOUS, on)
    return former


cdef Array traced(Tracer tracer, int op, object params, PyObject **args, int n):
    """Run and record a primitive. If it raises, give up the recording: a function that catches the error would take
    another branch for other numbers, and a program cannot."""
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
    """True if this thread is recording, to plan everything it executes as a whole."""
    return tracing()


def is_alone():
    """True if this thread executes as a new thread would: without an open level, a recording or a closed call around
    it, and without replay settings of its own."""
    cdef dg_thread *thread = thread_state()
    return (thread.level is NULL and thread.tracer is NULL and thread.closed_call is NULL
            and thread.environment is NULL and not thread.deferring and thread.planning and not thread.checking)


def unrepeatable(str why):
    """End the active recording, if any, before an operation that a program cannot repeat."""
    if tracing():
        active_tracer().give_up(why)
