"""A function's program without its values: what sparsity patterns are read off.

Unlike a recording that is to be replayed, a capture goes on where Python asks for numbers that depend on the
arguments (``if x[0] > 0``): it then shows the branches taken at this point, and says so.
"""
from .array cimport ARRAY, Array
from .execute cimport Tracer, active_tracer, start_tracing, stop_tracing
from .recorder cimport Recorder
from .tensor cimport TensorBase, wrap


cdef class Probe(Recorder):
    cdef bint looked

    cdef int asked(self, Array a, str what) except -1:
        self.looked = True
        return 0

    cdef int frozen(self, object handle, Array a) except -1:
        return 0


def capture(fn, tuple args):
    """Call `fn` with the numbers of tensors and write down what it executes.

    Returns (program, results, the slot of each result or None where it is constant, whether Python looked at numbers,
    why the program is incomplete or None). `fn` returns a list of tensors.
    """
    cdef Tracer former = active_tracer()
    cdef Probe probe
    cdef TensorBase t
    cdef Array a
    cdef list slots = []
    if former is not None:
        stop_tracing(former)
    try:
        probe = Probe()
        inputs = []
        for x in args:
            if (<TensorBase>x).value.kind != ARRAY:
                raise TypeError("a sparsity pattern is found outside of transforms; prepare the plan before")
            inputs.append(wrap(probe.input(<Array>(<TensorBase>x).value)))
        start_tracing(probe)
        try:
            results = fn(*inputs)
        finally:
            stop_tracing(probe)
    finally:
        if former is not None:
            start_tracing(former)
    for x in results:
        t = <TensorBase>x
        if t.value.kind != ARRAY:
            raise TypeError("a sparsity pattern is found outside of transforms; prepare the plan before")
        a = <Array>t.value
        slots.append(a.slot if a.trace == probe.trace else None)
    return probe.program, results, slots, probe.looked, probe.failed


def array_behind(TensorBase handle not None):
    """The array a handle holds: it is another object after the handle was given new numbers."""
    return handle.value
