"""Represent arrays that are mostly zeros by their entries: the compiler's side of `dualgrad/sparse/entrywise.py`.

A program qualifies if it has a constant that may be mostly zeros: unit vectors, or results of steps on constants. The
search returns further slots and the new steps.
"""
from ..arrays.array cimport BY_ENTRIES, HOOKS, Array, from_ndarray, uniform
from ..arrays.thread cimport dg_thread, thread_state
from ..primitives.execute cimport Tracer, active_tracer, start_tracing, stop_tracing
from .identities cimport is_real
from .program cimport FROM_CONSTANT, FROM_STEP, Program
from .rewrites cimport BY_ENTRIES_ALONE, note

cdef enum:
    FEW = 16                        # least elements of a constant that is worth the search


cdef Program with_entries(Program program):
    """The program on entries; None if that is not less work."""
    cdef Array a
    cdef bint worth_a_look = False
    for kind, source in zip(program.kinds, program.sources):
        if kind == FROM_CONSTANT:
            a = <Array>source
            worth_a_look = worth_a_look or (a.ndim >= 2 and a.size >= FEW and is_real(a.typenum) and not uniform(a))
    if not worth_a_look:
        return None
    found = found_outside_of_calls(program)
    if found is None:
        return None
    note(BY_ENTRIES_ALONE)
    return with_slots(program, found[0], found[1])


cdef object found_outside_of_calls(Program program):
    """Search for entries. Recordings and eager calls must not see the search, which computes with constants."""
    cdef dg_thread *thread = thread_state()
    cdef bint deferring = thread.deferring
    cdef Tracer tracer = active_tracer()
    thread.deferring = False
    if tracer is not None:
        stop_tracing(tracer)
    try:
        return (<object>HOOKS.objects[BY_ENTRIES])(
            program.kinds, program.sources, program.typenums, program.shapes, program.steps,
            [*program.outputs, *[slot for _, slot in program.effects]])
    finally:
        thread.deferring = deferring
        if tracer is not None:
            start_tracing(tracer)


cdef Program with_slots(Program program, list added, list steps):
    """A program with further slots and other steps."""
    cdef Program p = program.without_steps()
    for typenum, shape, numbers in added:
        p.kinds.append(FROM_STEP if numbers is None else FROM_CONSTANT)
        p.sources.append(None if numbers is None else from_ndarray(numbers))
        p.typenums.append(typenum)
        p.shapes.append(shape)
    p.steps = steps
    p.prepare()
    return p
