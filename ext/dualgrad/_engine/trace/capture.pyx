"""The program of a function, from which sparsity patterns are read.

A capture is not replayed. So it goes on where Python reads numbers that depend on the arguments (``if x[0] > 0``). It
shows the branches taken at this point, and says so.
"""
from ..arrays.array cimport ARRAY, Array, Value, with_numbers
from .dependence cimport Dependence, dependence_of
from ..primitives.execute cimport Tracer, active_tracer, start_tracing, stop_tracing
from .executed cimport Executed
from .recorder cimport Recorder
from ..transforms.handles cimport TensorBase, value_in, wrap


cdef class Probe(Recorder):
    cdef bint asking
    cdef bint looked                # Python has read numbers that depend on the arguments

    cdef int asked(self, Array a, str what) except -1:
        self.asking = True
        Recorder.asked(self, a, what)
        self.asking = False
        return 0

    cdef int give_up(self, str why) except -1:
        """Go on, since a capture is not replayed."""
        self.looked = self.looked or self.asking
        return 0


def capture(fn, tuple args, others=()):
    """Call `fn`, which returns a list of tensors, with tensors of the numbers in `args`, and record its program.

    Returns (program, results, slots, looked, fixed, dependence). `slots` has the slot of each result, None for a
    constant. `looked` is True if Python has read numbers that depend on the arguments. `fixed` has (handle, array) for
    captured tensors that Python has read. `dependence` guards all else that the program depends on. `others` are
    further objects that `fn` can reach. `fn` is called twice, and it is an error if the two programs differ.
    """
    cdef Tracer former = active_tracer()
    cdef Probe first, second
    cdef Executed executed = Executed(), again = Executed()
    cdef Dependence dependence
    for x in args:
        plain_array(<TensorBase>x)
    if former is not None:
        former.evaluate_deferred()
        stop_tracing(former)
    try:
        first = Probe()
        results = record_once(first, fn, args, executed)
        dependence = dependence_of(fn, list(others), executed)
        second = Probe()
        slots = slots_of_results(first, results)
        first.kept = []                 # free the results kept for equal steps, for the second call
        first.negated = {}
        slots_again = slots_of_results(second, record_once(second, fn, args, again))
        dependence.confirm(executed, again)
    finally:
        if former is not None:
            start_tracing(former)
    if slots != slots_again or not first.program.same_as(second.program):
        raise ValueError("sparsity: two calls of the function with the same arguments compute different things; draw "
                         "random numbers with dualgrad.ops, or outside of the function")
    return first.program, results, slots, first.looked, first.fixed, dependence


cdef Array plain_array(TensorBase t):
    """The array of a tensor outside of all transforms."""
    cdef Value v = value_in(t)
    if v.kind != ARRAY:
        raise TypeError("sparsity: a pattern is found outside of transforms; prepare the plan before them")
    return with_numbers(<Array>v)


cdef list record_once(Probe probe, object fn, tuple args, Executed executed):
    inputs = [wrap(probe.input(plain_array(<TensorBase>x))) for x in args]
    probe.pause()                       # finalizers of garbage are not code of the function
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


cdef list slots_of_results(Probe probe, list results):
    cdef Array a
    cdef list slots = []
    for x in results:
        a = plain_array(<TensorBase>x)
        slots.append(a.slot if a.trace == probe.trace else None)
    return slots


def array_behind(TensorBase handle not None):
    """The array of a handle: another object after each assignment to the handle."""
    return value_in(handle)
