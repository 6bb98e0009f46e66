"""Numbers and arrays as inputs of transforms.

Where a transform differentiates, a floating or complex number is a tensor of its type, and so is a NumPy array of such
numbers: a float is float64. The face converts them before anything is recorded, so that a number is an operand of the
program and not a part of it. An integer there is an error. None, texts and other objects stay what they are; they are
left out of results. So do numbers in fields of named tuples, dataclasses and the like: they are settings.
"""
import numpy as np

from ..arrays.array cimport copy_of
from .pytrees cimport LEAF, NAMED, RECORD, REGISTERED, back, children_of, deeper, kind_of, labels_of, rebuilt
from .tensor cimport TensorBase, wrap


def as_input(str name, str what, x):
    """The same nest with tensors for its numbers and arrays; the nest itself if it holds none."""
    return x if isinstance(x, TensorBase) else converted(name, what, x, "", False)


def as_inputs(str name, str what, tuple args):
    """Each argument as an input; `what` is followed by its place."""
    for x in args:
        if not isinstance(x, TensorBase):
            return tuple([as_input(name, f"{what} {i}", x) for i, x in enumerate(args)])
    return args


cdef object converted(str name, str what, object x, str where, bint named):
    """An input with its numbers as tensors. named: it is a field, or below one; numbers there are settings."""
    cdef list children, labels
    cdef Py_ssize_t i
    cdef bint changed = False
    cdef int kind
    if isinstance(x, TensorBase):
        return x
    kind = kind_of(x)
    if kind == LEAF:
        return leaf_input(f"{name}: {what}{where}", x, named)
    children = children_of(x)
    labels = labels_of(x)
    named = named or kind == NAMED or kind == RECORD or kind == REGISTERED
    deeper()
    try:
        for i in range(len(children)):
            child = converted(name, what, children[i], where + labels[i], named)
            changed = changed or child is not children[i]
            children[i] = child
    finally:
        back()
    return rebuilt(x, children) if changed else x


cdef object leaf_input(str where, object x, bint named):
    if named:
        return x
    if isinstance(x, (float, complex, np.inexact)):
        return wrap(copy_of(np.asarray(x)))
    if isinstance(x, np.ndarray) and x.dtype.kind not in "biu":
        return wrap(copy_of(x))
    if isinstance(x, np.ndarray):
        raise TypeError(f"{where} is an array (ndarray) of {x.dtype}; expected a Tensor or floating numbers: make it a "
                        f"float array, with astype(float)")
    if isinstance(x, (int, np.integer, np.bool_)):
        raise TypeError(f"{where} is {x!r}, of type {type(x).__name__}; expected a Tensor or a floating number: make "
                        f"it a float")
    return x
