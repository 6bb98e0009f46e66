"""Numbers and arrays as inputs of transforms.

Where a transform differentiates, a floating or complex number becomes a tensor of its type (a float: float64). So does
a NumPy array of such numbers. The Python layer converts them before anything is recorded, so a number is an operand of
the program and not a part of it. An integer there is an error. None, texts and other objects stay unchanged and are
left out of results. So are numbers in fields of named tuples, dataclasses and the like: they are settings.
"""
from ..arrays.array import np

from numpy cimport PyArray_Check

from ..arrays.array cimport copy_of
from .containers cimport children_of, rebuilt, same
from .pytrees cimport Walk, holds_tensor, in_place, own, place_of, tensors_of
from .handles cimport TensorBase, as_array, has_view_in, refuse_writes, value_in, wrap


def as_input(str name, str what, x):
    """The same nest with tensors for its numbers and arrays, and with its own lists and dicts: users may change theirs
    before a transform reads them again. Without tensors, the nest itself."""
    if isinstance(x, TensorBase):
        return x
    x = CONVERTING.walk(x, False, (name, what, x))
    return own(x) if holds_tensor(x) else x


def as_inputs(str name, str what, tuple args):
    """Each argument as an input. In messages, its index follows `what`."""
    cdef tuple given = args
    for x in args:
        if not isinstance(x, TensorBase):
            args = tuple([as_input(name, f"{what} {i}", x) for i, x in enumerate(args)])
            break
    return apart(name, args, given)


cpdef tuple apart(str name, tuple args, tuple given):
    """Arguments, in which tensors that share elements with another argument refuse writes.

    Each differentiated input stands by itself in the function, so a write into it would not reach other inputs. `given`
    are the arguments before their arrays became tensors.
    """
    cdef bint may_share = False
    if len(args) < 2:
        return args
    for x in args:
        if not isinstance(x, TensorBase) or (<TensorBase>x).alias is not None:
            may_share = True
    return without_shared_writes(name, args, given) if may_share else args


cdef tuple without_shared_writes(str name, tuple args, tuple given):
    cdef list tensors = tensors_of(args)
    cdef dict met = {id(t): t for t in tensors}
    cdef TensorBase t
    cdef set together = set()
    cdef list replaced = list(args)
    for i, x in enumerate(given):
        for k in range(i):
            if PyArray_Check(x) and PyArray_Check(given[k]) and np.may_share_memory(x, given[k]):
                together.update((id(args[i]), id(args[k])))
    for x in tensors:
        t = <TensorBase>x
        if t.alias is None:
            continue
        others = {k: v for k, v in met.items() if v is not t}
        if has_view_in(t, met) or t.alias.source is not None and (id(t.alias.source) in met
                                                                  or has_view_in(t.alias.source, others)):
            together.add(id(t))
    if not together:
        return args
    for i, x in enumerate(args):
        if PyArray_Check(x) and id(x) in together:
            replaced[i] = x.view()
            replaced[i].flags.writeable = False
    why = f"{name}: it shares elements with another input, and both are inputs of their own: copy it (x.copy())"
    return in_place(tuple(replaced), [refuse_writes(wrap(value_in(<TensorBase>x)), why) if id(x) in together else x
                                      for x in tensors])


cdef class Converting(Walk):
    """Puts tensors in the place of numbers. Nodes without numbers stay. The state (name, what, the whole input) is for
    messages."""

    cdef object leaf(self, object x, bint named, object state):
        return x if named or isinstance(x, TensorBase) else leaf_input(x, <tuple>state)

    cdef object node(self, object x, int kind, list children):
        return x if same(children, children_of(x)) else rebuilt(x, children)


cdef Converting CONVERTING = Converting()


cdef object leaf_input(object x, tuple state):
    """A leaf as a tensor, if it is a number or an array."""
    if isinstance(x, (float, complex)) or isinstance(x, np.inexact):
        return wrap(copy_of(np.asarray(x)))
    if isinstance(x, np.ndarray) and x.dtype.kind not in "biu":
        return as_array(wrap(copy_of(x)))
    if isinstance(x, np.ndarray):
        raise TypeError(f"{what_of(x, state)} is an array (ndarray) of {x.dtype}; expected a Tensor or floating "
                        f"numbers: make it a float array, with astype(float)")
    if isinstance(x, int) or isinstance(x, np.integer) or isinstance(x, np.bool_):
        raise TypeError(f"{what_of(x, state)} is {x!r}, of type {type(x).__name__}; expected a Tensor or a floating "
                        f"number: make it a float")
    return x


cdef str what_of(object x, tuple state):
    """A description of a leaf of an input, for messages."""
    name, what, whole = state
    return f"{name}: {what}{place_of(whole, x, False)}"
