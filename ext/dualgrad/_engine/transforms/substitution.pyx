"""Calls in which other values stand for parameters.

Derivatives by inputs become derivatives by parameters this way: the parameters' values are made inputs, and inside the
call stand for what the parameters hold. A level carries them, so that it is only this thread, and only while the call
lasts, that sees them.
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
