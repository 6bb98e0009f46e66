# Arguments and results of recorded functions. See signature.pyx.
from .recorder cimport Recorder
from ..transforms.handles cimport TensorBase


cdef class ByIdentity:
    cdef readonly object held


cdef class Signature:
    """The arguments of a call."""
    cdef tuple args
    cdef dict kwargs
    cdef list tensors               # all tensors among them, in order
    cdef list others                # objects that the key compares by identity
    cdef list inputs                # the tensors that are not parameters, each once,
    cdef list arrays                # their arrays when the key was made: threads may give them other values
    cdef int depth                  # depth of the pytree node that is read
    cdef bint deep                  # it was too large for a key
    cdef list containers            # (list, dict or record; its children; keys of a dict)
    cdef dict met                   # id of a node -> its number
    cdef tuple key(self)
    cdef object flatten(self, object x)
    cdef tuple flatten_subclass(self, TensorBase x)
    cdef tuple flatten_nest(self, object x, int kind)
    cdef bint any_container_in(self, object reached) except -1
    cdef bint changed(self) except -1


cdef class Template:
    """The results of a recorded function: the returned pytree, with a Leaf in place of each tensor."""
    cdef object nest
    cdef list outputs               # slots of the leaves
    cdef list made                  # returned lists, dicts and records
    cdef int depth                  # of the pytree node that is read
    cdef bint repeats               # an object is returned at two places, or a view
    cdef list views                 # the leaves that are views
    cdef dict met                   # id of a returned object -> its template, while that is made
    cdef Recorder recorder
    cdef dict positions             # id of an input -> its number
    cdef int note_views(self) except -1
    cdef int note_view(self, object found, TensorBase t, place) except -1
    cdef object leaf_of(self, TensorBase t)
    cdef object template(self, object x)
    cdef object template_of_nest(self, object x, int kind)
    cdef object container(self, object x)
    cdef bint same_as(self, Template other) except -1
    cdef object fill(self, list arrays, list inputs)


cdef Signature signature_of(tuple args, dict kwargs)
cdef Template template_of_results(Signature g, Recorder recorder, object x)
cdef object value_key(object x)
