# Nests of pytrees with tensors in them. See nests.pyx.
from ..arrays.array cimport Value
from .pytrees cimport children_of, described, is_pytree, rebuilt
from ..tape.tape cimport Tape

cdef bint holds_tensor(object x) except -1
cdef int tensors_in(object x, list found) except -1
cdef list tensors_of(object x)
cdef object with_tensors(object x, list tensors, Py_ssize_t *at)
cdef object arranged(object x, list gradients, Py_ssize_t *at)
cdef object in_place(object x, list tensors)

cdef object lift(Tape tape, object x, list leaves)
cdef int collect(Tape tape, object out, list slots) except -1
cdef int check_result(str name, object out) except -1
cdef object replaced(Tape tape, object out, dict exported)
cdef int collect_quietly(Tape tape, object out, list slots) except -1
cdef Value tangent_of(str name, object x, object t, str where)
cdef int match_tangents(str name, object x, object t, str where, list found) except -1
cdef int match(str name, object out, object sens, str where, list seeds) except -1
cdef tuple split_aux(str name, object out)


cdef class Hole:
    pass


cdef Hole HOLE
cdef object emptied(object x)
cdef object refilled(object x, object tensors)
