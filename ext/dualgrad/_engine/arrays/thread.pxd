# The state of each thread. See thread.pyx.
from cpython.object cimport PyObject

cdef extern from "memory/thread_local.h":
    ctypedef struct dg_thread:
        PyObject *level
        PyObject *tracer
        PyObject *closed_call
        PyObject *environment
        PyObject *deferring_call
        PyObject *rebinding
        size_t largest
        Py_ssize_t deferred
        Py_ssize_t defers_above
        int depth
        bint planning
        bint checking
        bint interrupted
        bint deferring

cdef dg_thread *thread_state() noexcept nogil


cdef inline bint is_outermost() noexcept nogil:
    """True if a call made now is outermost: this thread has no active recording and no open level."""
    cdef dg_thread *thread = thread_state()
    return thread.tracer is NULL and thread.level is NULL
