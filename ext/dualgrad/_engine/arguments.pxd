# What goes into a recorded function, and what comes out. See arguments.pyx.
from .recorder cimport Recorder


cdef class ByIdentity:
    cdef readonly object held


cdef class Given:
    """The arguments of a call."""
    cdef tuple args
    cdef dict kwargs
    cdef list tensors               # all tensors among them, in order
    cdef list others                # what is compared by identity
    cdef list inputs                # the tensors that are no parameters, each once
    cdef list fresh                 # what the function is given in their place while it is recorded
    cdef list marked                # the arrays that those hold at first
    cdef list copies                # (list or dict, its copy with fresh tensors, what that held)
    cdef tuple key(self)
    cdef object flatten(self, object x)
    cdef list arrays(self)
    cdef object replaced(self, object x, dict fresh)
    cdef tuple substitutes(self, Recorder recorder)
    cdef bint put_back(self) except -1
    cdef object original(self, object x)
    cdef object template(self, Recorder recorder, object x, list outputs)


cdef Given given(tuple args, dict kwargs)
cdef object filled(object x, list arrays, list tensors)
cdef bint same_template(object x, object y)
cdef object value_key(object x)
