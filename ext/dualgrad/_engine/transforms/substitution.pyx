"""Calls in which other values stand for parameters.

This turns derivatives by inputs into derivatives by parameters. The parameters' values become inputs, which replace the
values of the parameters inside the call. A level carries them, so only this thread sees them, and only during the call.
"""
from .handles cimport TensorBase, note_operand, read, value_in
from ..values.levels cimport Level, new_level, pop_level, push_level


def call_with(str name, fn, list parameters, list tensors, tuple args, dict kwargs):
    """Call a function that reads parameters, with the values of tensors in their places."""
    cdef Level level
    if not parameters:
        return fn(*args, **kwargs)
    for t in tensors:
        note_operand(t)
    level = new_level(name)
    level.given = {id(p): (value_in(<TensorBase>p), read(<TensorBase>t)) for p, t in zip(parameters, tensors)}
    push_level(level)
    try:
        return fn(*args, **kwargs)
    finally:
        pop_level(level)
