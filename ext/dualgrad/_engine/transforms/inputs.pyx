"""Numbers and arrays as inputs of transforms.

Where a transform differentiates, a floating or complex number is a tensor of its type, and so is a NumPy array of such
numbers: a float is float64. The face converts them before anything is recorded, so that a number is an operand of the
program and not a part of it. An integer there is an error. None, texts and other objects stay what they are; they are
left out of results. So do numbers in fields of named tuples, dataclasses and the like: they are settings.
"""
import numpy as np

from ..arrays.array cimport copy_of
from .containers cimport children_of, rebuilt, same
from .pytrees cimport Walk, place_of
from .handles cimport TensorBase, wrap


def as_input(str name, str what, x):
    """The same nest with tensors for its numbers and arrays; the nest itself if it holds none."""
    return x if isinstance(x, TensorBase) else CONVERTING.walk(x, False, (name, what, x))


def as_inputs(str name, str what, tuple args):
    """Each argument as an input; `what` is followed by its place."""
    for x in args:
        if not isinstance(x, TensorBase):
            return tuple([as_input(name, f"{what} {i}", x) for i, x in enumerate(args)])
    return args


cdef class Converting(Walk):
    """Puts tensors in the place of numbers; (name, what, the whole input) is for messages. What holds none stays."""

    cdef object leaf(self, object x, bint named, object state):
        return x if named or isinstance(x, TensorBase) else leaf_input(x, <tuple>state)

    cdef object node(self, object x, int kind, list children):
        return x if same(children, children_of(x)) else rebuilt(x, children)


cdef Converting CONVERTING = Converting()


cdef object leaf_input(object x, tuple state):
    """A leaf as a tensor, if it is one."""
    if isinstance(x, (float, complex, np.inexact)):
        return wrap(copy_of(np.asarray(x)))
    if isinstance(x, np.ndarray) and x.dtype.kind not in "biu":
        return wrap(copy_of(x))
    if isinstance(x, np.ndarray):
        raise TypeError(f"{what_of(x, state)} is an array (ndarray) of {x.dtype}; expected a Tensor or floating "
                        f"numbers: make it a float array, with astype(float)")
    if isinstance(x, (int, np.integer, np.bool_)):
        raise TypeError(f"{what_of(x, state)} is {x!r}, of type {type(x).__name__}; expected a Tensor or a floating "
                        f"number: make it a float")
    return x


cdef str what_of(object x, tuple state):
    """A leaf of an input in a message."""
    name, what, whole = state
    return f"{name}: {what}{place_of(whole, x, False)}"
