"""A function's program without its values: what sparsity patterns are read off.

Unlike a recording that is to be replayed, a capture goes on where Python asks for numbers that depend on the
arguments (``if x[0] > 0``): it then shows the branches taken at this point, and says so.
"""
from ..arrays.array cimport ARRAY, Array
from .dependence cimport Dependence, dependence_of
from ..primitives.execute cimport Tracer, active_tracer, start_tracing, stop_tracing
from .executed cimport Executed
from .recorder cimport Recorder
from ..transforms.handles cimport TensorBase, wrap


cdef class Probe(Recorder):
    cdef bint asking
    cdef bint looked                # Python was given numbers that depend on the arguments

    cdef int asked(self, Array a, str what) except -1:
        self.asking = True
        Recorder.asked(self, a, what)
        self.asking = False
        return 0

    cdef int give_up(self, str why) except -1:
        """What a program could not repeat (a source of random numbers is made) need not be repeated."""
        self.looked = self.looked or self.asking
        return 0


def capture(fn, tuple args, others=()):
    """Call `fn` with the numbers of tensors and write down what it executes; `fn` returns a list of tensors.

    Returns (program, results, the slot of each result or None where it is constant, whether Python looked at numbers
    that depend on the arguments, (handle, array) for captured tensors whose numbers it looked at, what else the program
    depends on). `others`: what it can reach besides. It is done twice: other constants at the second time are numbers
    that will differ at each call.
    """
    cdef Tracer former = active_tracer()
    cdef Probe first, second
    cdef Executed executed = Executed(), again = Executed()
    cdef Dependence dependence
    for x in args:
        if (<TensorBase>x).value.kind != ARRAY:
            raise TypeError("sparsity: a pattern is found outside of transforms; prepare the plan before them")
    if former is not None:
        former.settle()
        stop_tracing(former)
    try:
        first = Probe()
        results = traced(first, fn, args, executed)
        dependence = dependence_of(fn, list(others), executed)
        second = Probe()
        slots = slots_of(first, results)
        first.kept = []                 # results kept for equal steps: the second execution takes their memory
        first.negated = {}
        slots_again = slots_of(second, traced(second, fn, args, again))
        dependence.confirm(executed, again)
    finally:
        if former is not None:
            start_tracing(former)
    if slots != slots_again or not first.program.same_as(second.program):
        raise ValueError("sparsity: two calls of the function with the same arguments compute different things; draw "
                         "random numbers with dualgrad.ops, or outside of the function")
    return first.program, results, slots, first.looked, first.fixed, dependence


cdef list traced(Probe probe, object fn, tuple args, Executed executed):
    inputs = [wrap(probe.input(<Array>(<TensorBase>x).value)) for x in args]
    probe.pause()                       # finalizers of others' garbage are no code of the function
    start_tracing(probe)
    try:
        executed.start()
        try:
            results = list(fn(*inputs))
        finally:
            executed.stop()
        probe.finish()
        return results
    finally:
        stop_tracing(probe)
        probe.resume()


cdef list slots_of(Probe probe, list results):
    cdef TensorBase t
    cdef Array a
    cdef list slots = []
    for x in results:
        t = <TensorBase>x
        if t.value.kind != ARRAY:
            raise TypeError("sparsity: a pattern is found outside of transforms; prepare the plan before them")
        a = <Array>t.value
        slots.append(a.slot if a.trace == probe.trace else None)
    return slots


def array_behind(TensorBase handle not None):
    """The array a handle holds: it is another object after the handle was given new numbers."""
    return handle.value
