"""Containers: the objects that hold others, the order of their children, and how one is rebuilt with new children.

A pytree is a nest of them; pytrees.pyx has the walks.

Containers are tuples, lists, dicts and their subclasses, dataclasses and classes made by attrs (their fields in order),
and registered classes. Everything else is a leaf. A walk reads the children of a node and puts others in their places
in a new node. It never changes a node.

A node is rebuilt without its constructor: the constructor's checks need not hold for tangents or templates. Fields, and
attributes beside them, are copied. If an attribute that is not a field held a tensor, every transform would miss the
tensor. So this is an error.

Walks are recursive. `deeper` counts levels, so a nest that holds itself raises before it uses up the stack.
"""
from cpython.object cimport PyObject, PyTypeObject

import copy
import functools
import sys
import weakref
from types import MemberDescriptorType

from ..arrays.thread cimport dg_thread, thread_state
from .calls cimport CellCall
from .handles cimport TensorBase

cdef extern from "Python.h":
    PyObject *_PyType_Lookup(PyTypeObject *t, object name)      # borrowed

cdef enum:
    MOST_LEVELS = 1000
    OUR_LEVELS = 8                  # tuples and lists that a recorded call puts around its nests

cdef dict FUNCTIONS = {}            # registered class -> (flatten, unflatten)
cdef set PLAIN = set()              # subclasses of tuple that are rebuilt as plain tuples
cdef object FIELDS = weakref.WeakKeyDictionary()
cdef object MISSING = object()


# ------------------------------------------------------------------------------------------------------- the registry

def register(cls, flatten, unflatten):
    """See `dualgrad.register_pytree`."""
    if not isinstance(cls, type):
        raise TypeError(f"register_pytree: expected a class, got {described(cls)}")
    if issubclass(cls, (TensorBase, CellCall)) or cls in (tuple, list, dict, object) or cls in LEAVES:
        raise TypeError(f"register_pytree: {cls.__name__} cannot be registered: it is a leaf, or a pytree by itself")
    for what, f in (("flatten", flatten), ("unflatten", unflatten)):
        if not callable(f):
            raise TypeError(f"register_pytree: {what} is {described(f)}; expected a function")
    if cls in FUNCTIONS:
        raise ValueError(f"register_pytree: {cls.__name__} is registered already")
    FUNCTIONS[cls] = (flatten, unflatten)


def as_plain_tuple(type cls not None):
    """Rebuild a subclass of tuple as a plain tuple."""
    PLAIN.add(cls)


cdef set LEAVES = {int, float, complex, bool, str, bytes, type(None)}


cdef tuple flattened(object x):
    """(children, aux) of an object of a registered class, checked."""
    found = FUNCTIONS[type(x)][0](x)
    if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[0], (tuple, list)):
        raise TypeError(f"register_pytree: flatten of {type(x).__name__} returned {described(found)}; expected "
                        f"(children, aux), where children is a tuple or list")
    return list(found[0]), found[1]


# ------------------------------------------------------------------------------------------------------------ kinds

cdef int kind_of(object x) except -1:
    """The kind of a value for a walk."""
    cdef type cls = type(x)
    if cls is tuple:
        return TUPLE
    if cls is list:
        return LIST
    if cls is dict:
        return DICT
    if isinstance(x, TensorBase) or cls in LEAVES:
        return LEAF
    if cls is Branch:
        return BRANCH
    if cls in FUNCTIONS:
        return REGISTERED
    if (in_class(cls, "__dataclass_fields__") or in_class(cls, "__attrs_attrs__")) and not isinstance(x, CellCall):
        return RECORD
    if isinstance(x, tuple):
        return NAMED if in_class(cls, "_fields") else TUPLES
    if isinstance(x, list):
        return LISTS
    return DICTS if isinstance(x, dict) else LEAF


cdef bint in_class(type cls, str name) noexcept:
    """True if a class or a base has an attribute. Runs no code of its metaclass."""
    return _PyType_Lookup(<PyTypeObject *>cls, name) is not NULL


cdef tuple fields_of(object x):
    """The names of the fields of a record that are set."""
    cdef type cls = type(x)
    names = FIELDS.get(cls)
    if names is None:
        if in_class(cls, "__dataclass_fields__"):
            names = tuple([field.name for field in sys.modules["dataclasses"].fields(cls)])
        else:
            names = tuple([field.name for field in cls.__attrs_attrs__])
        FIELDS[cls] = names
    return tuple([name for name in names if getattr(x, name, MISSING) is not MISSING])


cdef list children_of(object x):
    """The children of a node, in order."""
    cdef int kind = kind_of(x)
    if kind == TUPLE or kind == NAMED or kind == TUPLES or kind == LIST or kind == LISTS:
        return list(x)
    if kind == DICT or kind == DICTS:
        return list(x.values())
    if kind == RECORD:
        return [getattr(x, name) for name in fields_of(x)]
    if kind == REGISTERED:
        return flattened(x)[0]
    if kind == BRANCH:
        return list((<Branch>x).children)
    return []


cdef list labels_of(object x):
    """The names of a node's children in messages."""
    cdef int kind = kind_of(x)
    if kind == DICT or kind == DICTS:
        return [f"[{key!r}]" for key in x]
    if kind == NAMED:
        return [f".{name}" for name in type(x)._fields]
    if kind == RECORD:
        return [f".{name}" for name in fields_of(x)]
    return [f"[{i}]" for i in range(len(children_of(x)))]


# --------------------------------------------------------------------------------------------------- put together again

cdef object rebuilt(object like, list children):
    """A node of the kind of another, with these children. A sequence may have fewer."""
    cdef int kind = kind_of(like)
    if kind == TUPLE:
        return tuple(children)
    if kind == LIST:
        return list(children)
    if kind == DICT:
        return dict(zip(like, children))
    if kind == REGISTERED:
        return FUNCTIONS[type(like)][1](flattened(like)[1], children)
    if kind == BRANCH:
        return FUNCTIONS[(<Branch>like).cls][1]((<Branch>like).aux, children)
    if kind == RECORD:
        return record_like(like, children)
    if kind == LISTS or kind == DICTS:
        return container_like(like, children)
    return tuple_like(like, children)


cdef object with_some(object like, list at, list children):
    """A tuple, list or dict like another, with children at some places only."""
    cdef int kind = kind_of(like)
    if kind != DICT and kind != DICTS:
        return rebuilt(like, children)
    keys = list(like)
    kept = {keys[i]: child for i, child in zip(at, children)}
    if kind == DICT:
        return kept
    new = container_like(like, [kept.get(key) for key in keys])
    for key in keys:
        if key not in kept:
            del new[key]
    return new


cdef object branch(object x, list children):
    """The template of an object of a registered class, with templates for its children."""
    cdef Branch b = Branch.__new__(Branch)
    b.cls = type(x)
    b.aux = flattened(x)[1]
    b.children = children
    return b


cdef bint same(list children, list others) noexcept:
    """True if two lists hold the same objects."""
    cdef Py_ssize_t i
    if len(children) != len(others):
        return False
    for i in range(len(children)):
        if children[i] is not others[i]:
            return False
    return True


cdef object tuple_like(object like, list children):
    """A tuple of the same class, made without its constructor."""
    cdef type cls = type(like)
    if cls in PLAIN:
        return tuple(children)
    if same(children, list(like)):
        return like
    try:
        new = tuple.__new__(cls, children)
    except TypeError:               # time.struct_time and its like are made by C
        return tuple(children)
    attributes = getattr(like, "__dict__", None)
    if attributes:
        check_attributes(cls, attributes)
        new.__dict__.update(attributes)
    return new


cdef object container_like(object like, list children):
    """A list or dict of the same class, made without its constructor."""
    cdef type cls = type(like)
    attributes = getattr(like, "__dict__", None)
    if attributes is like:          # a dict whose items are its attributes
        new = cls.__new__(cls)
        new.__dict__ = new
        new.update(like)
    else:
        if attributes:
            check_attributes(cls, attributes)
        new = copy.copy(like)
    if type(new) is not cls or new is like or list(new) != list(like) and isinstance(like, dict):
        raise TypeError(f"a {cls.__name__} cannot be copied, so no other can take its place in a nest; register the "
                        f"class with dualgrad.register_pytree")
    if isinstance(like, list):
        list.__setitem__(new, slice(None), children)
    else:
        for key, child in zip(like, children):
            dict.__setitem__(new, key, child)
    return new


cdef object record_like(object like, list children):
    """A dataclass or an object of an attrs class, with other values in its fields."""
    cdef type cls = type(like)
    cdef tuple names = fields_of(like)
    cdef dict others = {}
    if same(children, [getattr(like, name) for name in names]):
        return like
    if isinstance(like, (tuple, list, dict)):
        base = cls.__mro__[len(cls.__mro__) - 2].__name__
        raise TypeError(f"a {cls.__name__} has fields and is a {base} as well, so no other can take its place in a "
                        f"nest; register the class with dualgrad.register_pytree")
    for name, slot in slots_of(cls):
        if name not in names:
            try:
                others[name] = slot.__get__(like, cls)
            except AttributeError:
                pass
    for name, value in (getattr(like, "__dict__", None) or {}).items():
        # cached properties are computed again
        if name not in names and not isinstance(getattr(cls, name, None), functools.cached_property):
            others[name] = value
    check_attributes(cls, others)
    new = cls.__new__(cls)
    for name, value in others.items():
        object.__setattr__(new, name, value)
    for name, value in zip(names, children):
        object.__setattr__(new, name, value)
    return new


cdef list slots_of(type cls):
    """The names of the slots of a class and its bases, and their descriptors."""
    return [(name, entry) for base in cls.__mro__ for name, entry in base.__dict__.items()
            if isinstance(entry, MemberDescriptorType)]


cdef int check_attributes(type cls, dict attributes) except -1:
    """Raise if an attribute beside the children holds a tensor, which transforms would miss."""
    for name, value in attributes.items():
        if holds(value):
            raise TypeError(f"the attribute {name!r} of a {cls.__name__} holds a Tensor and is none of its fields or "
                            f"items, so derivatives would miss it; make it a field (field(init=False) for one that "
                            f"is computed), or register the class with dualgrad.register_pytree")
    return 0


cdef bint holds(object x) except -1:
    """True if there is a tensor in a value."""
    if isinstance(x, TensorBase):
        return True
    if kind_of(x) == LEAF:
        return False
    deeper()
    try:
        for child in children_of(x):
            if holds(child):
                return True
    finally:
        back()
    return False


# ------------------------------------------------------------------------------------------------- two nests at a time

cdef list aligned_children(object like, object given, bint more):
    """The children of `given` in the order of the children of `like`; None if the nesting differs. more: a dict may
    have further keys."""
    cdef int kind = kind_of(like), other = kind_of(given)
    cdef list found
    if kind == DICT or kind == DICTS:
        if other != DICT and other != DICTS or not given.keys() >= like.keys() or not more and len(given) != len(like):
            return None
        return [given[key] for key in like]
    if kind == RECORD:
        if type(given) is not type(like) or fields_of(like) != fields_of(given):
            return None
    elif kind == REGISTERED:
        if type(given) is not type(like):
            return None
    elif kind == BRANCH:
        if ((<Branch>given).cls if other == BRANCH else type(given)) is not (<Branch>like).cls:
            return None
    elif not isinstance(given, (tuple, list)) or other == RECORD or other == REGISTERED:
        return None
    found = children_of(given)
    return found if len(found) == len(children_of(like)) else None


# ------------------------------------------------------------------------------------------------------------- depth

cdef int deeper() except -1:
    """Go down one level of a walk. Every call is followed by `back`, unless it raises."""
    cdef dg_thread *thread = thread_state()
    if thread.depth >= MOST_LEVELS + OUR_LEVELS:
        raise ValueError(f"a nest given to a transform, or returned to one, has more than {MOST_LEVELS} levels, or "
                         f"holds itself; expected a nest of finite depth, put its tensors in a flat list")
    thread.depth += 1
    return 0


cdef void back() noexcept:
    thread_state().depth -= 1


cdef object described(object x):
    """A description of a value, for messages."""
    if x is None:
        return "None"
    if isinstance(x, TensorBase):
        return f"one tensor of shape {x.shape}"
    if isinstance(x, (tuple, list)):
        return f"a {type(x).__name__} of {len(x)}"
    if isinstance(x, dict):
        return f"a dict with the keys {list(x)}" if len(x) <= 8 else f"a dict of {len(x)}"
    name = (<Branch>x).cls.__name__ if type(x) is Branch else type(x).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
