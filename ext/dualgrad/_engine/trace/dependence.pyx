"""Dependence: what is kept of a function's results, and whether it may still be used.

A plan of a sparse derivative, or the value of an objective at a point, is good as long as the function would give the
same again. The guards of recorded functions tell. Where no guard can follow the function, nothing may be kept.
"""
from .executed cimport Executed
from .guards cimport Guard, Guards, described
from .reachability cimport Reach, reach_of
from ..transforms.handles cimport TensorBase


cdef Dependence dependence_of(object start, list others, Executed executed):
    """What a function depends on, after a call that has executed this code."""
    cdef Reach reach = reach_of(start, others, executed, False)
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
        """A second call has shown whether the function changes itself what it depends on."""
        cdef Guard broken
        if self.why is None and after.same_as(before):
            broken = self.guards.broken()
            if broken is not None:
                self.why = f"it changes {described(broken)}"
        return 0

    def holds(self):
        """Whether all is as it was; False if that cannot be told."""
        if self.why is not None:
            return False
        for tensor, a in self.fixed:
            if (<TensorBase>tensor).value is not a:
                return False
        return self.guards is None or self.guards.hold()

    def broken(self):
        """What has changed, in words; None if all is as it was."""
        cdef Guard g
        if self.why is not None:
            return self.why
        for tensor, a in self.fixed:
            if (<TensorBase>tensor).value is not a:
                return "a captured tensor"
        g = None if self.guards is None else self.guards.broken()
        return None if g is None else described(g)
