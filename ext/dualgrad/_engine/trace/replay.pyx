"""Replays: the check that a recording is still valid, and the run of its program in place of the call.

Design
------
`still_valid` decides if a recording may be replayed. The tensors that Python has read must hold the same arrays,
captured tensors must be where they were, and all guards must hold (guards.pyx). If not, `replay_or_record` (cache.pyx)
drops the recording and records the call again.

The caller that compares types and shapes of the inputs passes on the arrays that it compared: another thread may give a
tensor other numbers meanwhile.

A run of the program may find a captured tensor of another type or shape. Then the replay is NotImplemented, and the
recording is dropped too.
"""
from ..arrays.array cimport Array, Value
from ..arrays.shared cimport apart
from ..arrays.thread cimport thread_state
from ..compiler.program cimport interrupted
from ..primitives.registry cimport DRAWS, EFFECTS
from ..transforms.handles cimport TensorBase, is_captured, put, value_in
from .keys cimport same_function
from .signature cimport Signature

cdef object FAILED = object()
COMPARE = None                      # called by `checked_replay` to compare a replay with the eager call


def check_replays(bint on):
    """Choose if this thread compares each replay with the eager call. Returns the former setting."""
    cdef bint former = thread_state().checking
    thread_state().checking = on
    return former


def compare_replays_by(compare):
    """Set the function that compares a replay with the eager call: see `checked_replay`."""
    global COMPARE
    COMPARE = compare


cdef bint stands_for(Recording r, object call, list parts) except -1:
    """True if the recording of one function may serve another with the same key: the recorded call can distinguish none
    of their parts (keys.pyx). `parts` None: only if it is the same function."""
    cdef Py_ssize_t i
    if same_function(r.call, call):
        return True
    if parts is None or r.guards is None:       # without guards nothing is looked at
        return parts is not None
    if len(parts) != len(r.parts):
        return False
    for i in range(len(parts)):
        if parts[i] is not r.parts[i] and (id(parts[i]) in r.elsewhere or id(r.parts[i]) in r.elsewhere):
            return False
    return True


cdef bint still_valid(Recording r, list inputs) except -1:
    """True if the captured tensors and the guards of a recording are unchanged."""
    cdef Py_ssize_t i
    cdef TensorBase t
    if r.fixed:
        for handle, a in r.fixed:
            if value_in(<TensorBase>handle) is not a:
                return False
    if r.captured is not None:
        for i in range(len(inputs)):
            t = <TensorBase>inputs[i]
            if is_captured(t) and id(t) in r.captured and r.shared.get(i) is not t:
                return False
        for i, handle in r.shared.items():
            if inputs[i] is not handle:
                return False
    return r.guards is None or r.guards.hold()


cdef bint arguments_not_reached(Recording r, Signature g) except -1:
    """True if the function reaches no container argument in another way too. It matters only if its code compares by
    identity."""
    return r.reached is None or not g.any_container_in(r.reached)


cdef object replay_program(Recording r, list inputs, list arrays):
    """The results of a confirmed program; NotImplemented if a tensor that it reads has changed its form."""
    cdef Program program = r.program
    cdef Py_ssize_t i, n = len(program.outputs)
    arrays = r.plan.run(arrays) if thread_state().planning and r.plan is not None else program.run(arrays)
    if arrays is None:
        return NotImplemented
    for i in range(len(arrays)):
        if not (<Array>arrays[i]).owner:
            arrays[i] = apart(<Array>arrays[i])
    for i in range(len(program.effects)):
        handle = program.effects[i][0]
        put(<TensorBase>(inputs[<int>handle] if isinstance(handle, int) else handle), <Value>arrays[n + i])
    return r.template.fill(arrays, inputs)


cdef object try_replay(Recording r, list inputs, list arrays):
    """`replay_program`; FAILED if it raises an error that the function may catch or explain better. Errors of signal
    handlers are passed on. So are errors of a program that draws random numbers, which cannot begin again."""
    interrupted()                               # forget earlier interrupts
    try:
        return replay_program(r, inputs, arrays)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        if interrupted() or any([EFFECTS[<int>step[0]] == DRAWS for step in r.program.steps]):
            raise
        return FAILED


cdef bint replays_are_checked() noexcept:
    return thread_state().checking


cdef object checked_replay(object name, Recording r, list inputs, list arrays, object call, tuple args, dict kwargs):
    """Compare a replay with the eager call. COMPARE gets the name of the function, then the eager call and the replay
    as functions without arguments. The further arguments are the tensors that the program changes, its plan, and the
    values that are not results."""
    handles = [inputs[h] if isinstance(h, int) else h for h, _ in r.program.effects]
    return COMPARE(name, lambda: call(*args, **kwargs), lambda: try_replay(r, inputs, arrays), handles,
                   r.plan if thread_state().planning else None, (FAILED, NotImplemented))
