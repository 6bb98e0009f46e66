"""Numbers and arrays as inputs of transforms.

Where a transform differentiates, a floating or complex number becomes a tensor of its type (a float: float64). So does
a NumPy array of such numbers. The Python layer converts them before anything is recorded, so a number is an operand of
the program and not a part of it. An integer there is an error. None, texts and other objects stay unchanged and are
left out of results. So are numbers in fields of named tuples, dataclasses and the like: they are settings.
"""
cimport numpy as cnp
from numpy cimport PyArray_Check

from ..arrays.array import np

from ..arrays.array cimport copy_of
from .containers cimport children_of, rebuilt, same
from .pytrees cimport Walk, holds_tensor, in_place, own, place_of, tensors_of
from .handles cimport TensorBase, as_array, refuse_writes, value_in, wrap


def as_input(str name, str what, x, list met=None):
    """The same nest with tensors for its numbers and arrays, and with its own lists and dicts: users may change theirs
    before a transform reads them again. Without tensors, the nest itself. `met` is for `apart`."""
    if isinstance(x, TensorBase):
        return x
    x = CONVERTING.walk(x, False, (name, what, x, met))
    return own(x) if holds_tensor(x) else x


def as_inputs(str name, str what, tuple args):
    """Each argument as an input. In messages, its index follows `what`."""
    cdef tuple given = args
    cdef list met = []
    for x in args:
        if not isinstance(x, TensorBase):
            args = tuple([as_input(name, f"{what} {i}", x, met) for i, x in enumerate(args)])
            break
    return apart(name, args, given, {}, met)[0]


cpdef tuple apart(str name, tuple args, tuple given, dict kwargs, list met=None):
    """(args, kwargs), in which nothing can be written that the caller, or another argument, should see.

    Each tensor stands by itself in the function, so a write into one that shares elements with another would not reach
    the other: such tensors refuse writes. NumPy arrays that stay arrays become read-only views. `given` are the
    arguments before `as_input` converted some of them, which added to `met`.
    """
    cdef bint plain = True
    cdef set together
    met = [] if met is None else met
    for x, source in zip(args, given):
        if x is source:
            MEETING.walk(x, False, met)
    for x in kwargs.values():
        MEETING.walk(x, False, met)
    if not met:
        return args, kwargs
    together = sharing(met) if len(met) > 1 else None
    if together:
        why = f"{name}: it shares elements with another input, and both are inputs of their own: copy it (x.copy())"
        args, kwargs = in_place((args, kwargs), [
            refuse_writes(wrap(value_in(<TensorBase>x)), why) if id(x) in together else x
            for x in tensors_of((args, kwargs))])
    for _, x in met:
        plain = plain and isinstance(x, TensorBase)
    if plain:
        return args, kwargs
    return tuple([read_only(x) for x in args]), {key: read_only(x) for key, x in kwargs.items()}


cdef int meet(list met, object x, object source) except -1:
    """Note a leaf that may share elements with others, and the object that it was made of."""
    if PyArray_Check(source) or isinstance(x, TensorBase) and (<TensorBase>x).alias is not None:
        met.append((source, x))
    return 0


cdef class Meeting(Walk):
    """Notes the leaves that may share elements with others."""

    cdef object leaf(self, object x, bint named, object state):
        meet(<list>state, x, x)

    cdef object node(self, object x, int kind, list children):
        return None


cdef Meeting MEETING = Meeting()


cdef set sharing(list met):
    """The ids of leaves that share elements with another one: views of one array, or places in memory that overlap."""
    cdef set found = set()
    cdef dict roots = {}
    cdef list places = []
    cdef TensorBase t
    for source, x in met:
        if PyArray_Check(source):
            if cnp.PyArray_SIZE(source):
                places.append((*place_in_memory(<cnp.ndarray>source), id(x)))
        elif (<TensorBase>x).alias is not None:
            t = <TensorBase>x
            roots.setdefault(id(t if t.alias.source is None else t.alias.source), []).append(id(t))
    for group in roots.values():
        if len(group) > 1:
            found.update(group)
    places.sort()
    last = 0                            # the end of the array that reaches farthest
    for start, end, leaf in places:
        if start < last:
            found.update((leaf, farthest))
        if end > last:
            last, farthest = end, leaf
    return found


cdef tuple place_in_memory(cnp.ndarray x):
    """The addresses of the first element of an array and behind its last one."""
    cdef size_t start = <size_t>cnp.PyArray_DATA(x), end = start + cnp.PyArray_ITEMSIZE(x)
    cdef int k
    for k in range(cnp.PyArray_NDIM(x)):
        if cnp.PyArray_STRIDE(x, k) > 0:
            end += cnp.PyArray_STRIDE(x, k) * (cnp.PyArray_DIM(x, k) - 1)
        else:
            start += cnp.PyArray_STRIDE(x, k) * (cnp.PyArray_DIM(x, k) - 1)
    return start, end


cdef object read_only(object x):
    """A NumPy array as a read-only view; also in tuples. Other containers belong to the caller, and stay."""
    if PyArray_Check(x) and x.flags.writeable:
        x = x.view()
        x.flags.writeable = False
    elif type(x) is tuple and x:
        entries = tuple([read_only(entry) for entry in <tuple>x])
        return x if same(list(entries), list(<tuple>x)) else entries
    return x


cdef class Converting(Walk):
    """Puts tensors in the place of numbers. Nodes without numbers stay. The state (name, what, the whole input) is for
    messages; `met` follows."""

    cdef object leaf(self, object x, bint named, object state):
        cdef object made = x if named or isinstance(x, TensorBase) else leaf_input(x, <tuple>state)
        if (<tuple>state)[3] is not None:
            meet(<list>(<tuple>state)[3], made, x)
        return made

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
    name, what, whole, _ = state
    return f"{name}: {what}{place_of(whole, x, False)}"
