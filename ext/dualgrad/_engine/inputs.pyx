"""Numbers and arrays as inputs of transforms.

Where a transform differentiates, a floating or complex number is a tensor of its type, and so is a NumPy array of such
numbers: a float is float64. The face converts them before anything is recorded, so that a number is an operand of the
program and not a part of it. An integer there is an error. None, texts and other objects stay what they are; they are
left out of results.
"""
import numpy as np

from .array cimport copy_of
from .nests cimport rebuilt
from .tensor cimport TensorBase, wrap


def as_input(str name, str what, x):
    """The same nest with tensors for its numbers and arrays; the nest itself if it holds none."""
    return x if isinstance(x, TensorBase) else converted(name, what, x, "")


def as_inputs(str name, str what, tuple args):
    """Each argument as an input; `what` is followed by its place."""
    for x in args:
        if not isinstance(x, TensorBase):
            return tuple([as_input(name, f"{what} {i}", x) for i, x in enumerate(args)])
    return args


cdef object converted(str name, str what, object x, str where):
    cdef list items
    cdef Py_ssize_t i
    cdef bint changed = False
    if isinstance(x, TensorBase):
        return x
    if isinstance(x, (tuple, list)):
        items = [item if isinstance(item, TensorBase) else converted(name, what, item, f"{where}[{i}]")
                 for i, item in enumerate(x)]
        for i in range(len(items)):
            changed = changed or items[i] is not x[i]
        return rebuilt(x, items) if changed else x
    if isinstance(x, dict):
        items = [item if isinstance(item, TensorBase) else converted(name, what, item, f"{where}[{key!r}]")
                 for key, item in x.items()]
        for a, b in zip(items, x.values()):
            changed = changed or a is not b
        return dict(zip(x, items)) if changed else x
    if isinstance(x, (float, complex, np.inexact)):
        return wrap(copy_of(np.asarray(x)))
    if isinstance(x, np.ndarray) and x.dtype.kind not in "biu":
        return wrap(copy_of(x))
    if isinstance(x, np.ndarray):
        raise TypeError(f"{name}: {what}{where} is an array (ndarray) of {x.dtype}; expected a Tensor or "
                        f"floating numbers: make it a float array, with astype(float)")
    if isinstance(x, (int, np.integer, np.bool_)):
        raise TypeError(f"{name}: {what}{where} is {x!r}, of type {type(x).__name__}; expected a Tensor or a floating "
                        f"number: make it a float")
    return x
