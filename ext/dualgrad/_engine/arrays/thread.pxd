# What each thread has of its own. See thread.pyx.
from cpython.object cimport PyObject

cdef extern from "memory/thread_local.h":
    ctypedef struct dg_thread:
        PyObject *level
        PyObject *tracer
        PyObject *closed_call
        size_t largest
        Py_ssize_t deferred
        int depth
        bint planning
        bint checking
        bint interrupted

cdef dg_thread *thread_state() noexcept nogil
