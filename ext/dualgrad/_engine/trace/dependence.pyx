"""Dependence: the check that a kept result of a function may still be used.

The plan of a sparse derivative, or the value of an objective at a point, may be used while the function would give it
again. Guards decide this, as for recorded functions. If no guard can follow the function, nothing may be kept.
"""
from ..arrays.array cimport Array
from ..arrays.shared cimport is_shared
from .executed cimport Executed
from .guards cimport Guard, Guards, guard_in_words
from .reachability cimport Reach, reachable_from
from ..transforms.handles cimport TensorBase, value_in


cdef Dependence dependence_of(object start, list others, Executed executed):
    """The dependence of a function. `executed` is the code that a call of it ran."""
    cdef Reach reach = reachable_from(start, others, executed, False)
    cdef Dependence d = dependence_on(reach.guards, [])
    d.why = reach.why
    return d


cdef Dependence dependence_on(Guards guards, list fixed):
    cdef Dependence d = Dependence()
    d.guards = guards
    d.fixed = fixed
    return d


cdef class Dependence:

    cdef int confirm(self, Executed before, Executed after) except -1:
        """After a second call, note if the function changes an object that it depends on."""
        cdef Guard broken
        if self.why is None and after.same_as(before):
            broken = self.guards.broken()
            if broken is not None:
                self.why = f"it changes {guard_in_words(broken)}"
        return 0

    def holds(self):
        """True if nothing has changed; False if that is not known."""
        if self.why is not None:
            return False
        for tensor, a in self.fixed:
            if value_in(<TensorBase>tensor) is not a or is_shared(<Array>a):
                return False
        return self.guards is None or self.guards.hold()

    def broken(self):
        """The first change, in words; None if nothing has changed."""
        cdef Guard g
        if self.why is not None:
            return self.why
        for tensor, a in self.fixed:
            if value_in(<TensorBase>tensor) is not a:
                return "a captured tensor"
            if is_shared(<Array>a):
                return "a captured tensor, whose memory a NumPy array shares"
        g = None if self.guards is None else self.guards.broken()
        return None if g is None else guard_in_words(g)
