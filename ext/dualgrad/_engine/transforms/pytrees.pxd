# Pytrees: nests of containers with tensors in them. See pytrees.pyx.


cdef class Walk:
    cdef object leaf(self, object x, bint named, object state)
    cdef object node(self, object x, int kind, list children)
    cdef object walk(self, object x, bint named, object state)


cdef class Pairing:
    cdef int leaf(self, str name, object like, object given, bint named, object where, list found) except -1
    cdef list children(self, object like, object given)
    cdef object misfit(self, str name, object like, object given, object where)
    cdef int walk(self, str name, object like, object given, bint named, object where, list found) except -1


cdef str place_of(object x, object leaf, bint named)
cdef bint holds_tensor(object x) except -1
cdef int tensors_in(object x, list found) except -1
cdef list tensors_of(object x)
cdef object in_place(object x, list tensors)
cdef object own(object x)
cdef list noted_containers(object x)
cdef int check_containers(str name, list noted) except -1
cdef object arranged(object x, object gradients)


cdef class Hole:
    pass


cdef object emptied(object x)
cdef object refilled(object x, object tensors)
