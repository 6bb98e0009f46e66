# What goes into a recorded function, and what comes out. See signature.pyx.
from .recorder cimport Recorder
from ..transforms.handles cimport TensorBase


cdef class ByIdentity:
    cdef readonly object held


cdef class Given:
    """The arguments of a call."""
    cdef tuple args
    cdef dict kwargs
    cdef list tensors               # all tensors among them, in order
    cdef list others                # what is compared by identity
    cdef list inputs                # the tensors that are no parameters, each once
    cdef int depth                  # of the nest that is read,
    cdef bint deep                  # which is too much for a key
    cdef list containers            # (list, dict or record; what it held; its keys, of a dict)
    cdef dict met                   # id of a node -> its number
    cdef tuple key(self)
    cdef object flatten(self, object x)
    cdef tuple flatten_subclass(self, TensorBase x)
    cdef tuple flatten_nest(self, object x, int kind)
    cdef list arrays(self)
    cdef bint among(self, object reached) except -1
    cdef bint changed(self) except -1


cdef class Template:
    """The results of a recorded function: the nest that was returned, with leaves in place of tensors."""
    cdef object nest
    cdef list outputs               # slots of the leaves
    cdef list made                  # lists, dicts and records that are returned
    cdef int depth                  # of the nest that is read
    cdef bint repeats               # something is returned at two places
    cdef dict met                   # id of what is returned -> its template, while it is made
    cdef Recorder recorder
    cdef dict positions             # id of an input -> its number
    cdef object leaf_of(self, TensorBase t)
    cdef object template(self, object x)
    cdef object template_of_nest(self, object x, int kind)
    cdef object container(self, object x)
    cdef bint same_as(self, Template other) except -1
    cdef object filled(self, list arrays, list inputs)


cdef Given given(tuple args, dict kwargs)
cdef Template template_of(Given g, Recorder recorder, object x)
cdef object value_key(object x)
