"""What each thread has of its own: the open levels, what rides along with execution, settings of recordings.

Every engine module is a library of its own, and a variable in a header would exist once in each. So there is one
variable here, and `thread_state` says where it is for the thread that asks.
"""

cdef extern from *:
    """
    #include "memory/thread_local.h"
    static DG_THREAD_LOCAL dg_thread dg_this_thread = DG_THREAD_AT_FIRST;
    """
    dg_thread dg_this_thread


cdef dg_thread *thread_state() noexcept nogil:
    return &dg_this_thread
