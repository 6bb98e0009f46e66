"""The state of each thread: open levels, the active tracer, settings of recordings.

Every engine module is a library of its own, so a variable in a header would exist once per module. Therefore only this
module defines the variable, and `thread_state` returns its address for the calling thread.
"""

cdef extern from *:
    """
    #include "memory/thread_local.h"
    static DG_THREAD_LOCAL dg_thread dg_this_thread = DG_THREAD_AT_FIRST;
    """
    dg_thread dg_this_thread


cdef dg_thread *thread_state() noexcept nogil:
    return &dg_this_thread
