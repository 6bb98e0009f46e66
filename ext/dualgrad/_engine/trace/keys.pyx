"""Keys of functions: functions of one key share programs.

Design
------
A function is often made anew, with the same code: a lambda at each call, a closure in a loop. Functions of one key
share programs. The key has the code and globals of a function by identity, its variables, defaults and name by value.
Functions among these values have keys in their turn. Every other object is in the key by identity, so all functions of
the key hold the very same object.

So two functions of one key differ only in the identity of their *parts*: the functions, tuples and variables that the
key compares by value. A call can distinguish a part from its counterpart if it also reaches the part otherwise (in a
table of functions, say). Then the functions share nothing (`stands_for`, replay.pyx).
"""
import types

from cpython.object cimport PyObject

from .guards cimport ABSENT, pointed_at
from .objects cimport dg_cell_at
from .signature cimport ByIdentity, value_key
from ..transforms.calls cimport CellCall
from ..transforms.transformed cimport Transformed

cdef enum:
    DEPTH = 32                      # nested functions in a key
    MOST_PARTS = 64

cdef type FUNCTION = types.FunctionType
cdef type METHOD = types.MethodType


cdef tuple function_key(object fn):
    """(key of a function, the Cell that holds its programs or None, its name, its parts)."""
    cdef list parts = []
    key, alive, name = key_of_function(fn, parts, 0)
    return key, alive, name, parts


cdef tuple key_of_function(object fn, list parts, int depth):
    """`function_key` with the parts so far. A repeated part (a function can hold itself) is keyed by its place among
    them. Deep values are keyed by identity, so that keys stay small."""
    if isinstance(fn, CellCall):
        return ("cell", id(fn)), fn, type(fn).__name__
    if depth > DEPTH or len(parts) > MOST_PARTS:
        return ("object", ByIdentity(fn)), None, type(fn).__name__
    if isinstance(fn, Transformed):
        if (<Transformed>fn).own():             # the attributes that it was given since it was made
            return ("object", ByIdentity(fn)), None, type(fn).__name__
        again = place_among(parts, fn)
        return key_of_function((<Transformed>fn).fn, parts, depth) if again is None else (again, None, "")
    if type(fn) is FUNCTION:
        again = place_among(parts, fn)
        if again is not None:
            return again, None, fn.__qualname__
        held = [key_of_cell(cell, parts, depth) for cell in fn.__closure__ or ()]
        held += [key_of_value(value, parts, depth) for value in fn.__defaults__ or ()]
        held += [(name, key_of_value(value, parts, depth)) for name, value in (fn.__kwdefaults__ or {}).items()]
        attributes = ByIdentity(fn) if fn.__dict__ else None
        return ("function", ByIdentity(fn.__code__), ByIdentity(fn.__globals__), attributes, fn.__name__,
                fn.__qualname__, key_of_value(fn.__doc__, parts, depth), key_of_value(fn.__module__, parts, depth),
                tuple(held)), None, fn.__qualname__
    if type(fn) is METHOD:
        inner = key_of_function(fn.__func__, parts, depth + 1)
        return ("method", inner[0], key_of_value(fn.__self__, parts, depth)), None, inner[2]
    return ("object", ByIdentity(fn)), None, type(fn).__name__


cdef object key_of_cell(object cell, list parts, int depth):
    """The key of a variable: its place if several functions share it, else its value's key; None if empty."""
    again = place_among(parts, cell)
    if again is not None:
        return again
    held = pointed_at(dg_cell_at(<PyObject *>cell), cell)
    return None if held is ABSENT else key_of_value(held, parts, depth)


cdef object key_of_value(object x, list parts, int depth):
    """The key of a variable or default: by value if it is immutable, else by identity."""
    key = value_key(x)
    if key is not None:
        return key
    if type(x) is FUNCTION or isinstance(x, Transformed):
        return key_of_function(x, parts, depth + 1)[0]
    if type(x) is tuple and depth <= DEPTH and len(parts) <= MOST_PARTS:
        again = place_among(parts, x)
        return tuple([key_of_value(item, parts, depth + 1) for item in x]) if again is None else again
    return ByIdentity(x)


cdef tuple place_among(list parts, object x):
    """The place of an object among the parts; if it is new, append it and return None."""
    for i, other in enumerate(parts):
        if other is x:
            return "again", i
    parts.append(x)
    return None


cdef bint same_function(object f, object g) except -1:
    """True if two objects are one function, or one method of one object."""
    return f is g or (type(f) is METHOD and type(g) is METHOD and f.__func__ is g.__func__ and f.__self__ is g.__self__)


cdef dict containers_of(list parts):
    """id -> object, for the parts and for the objects inside functions that hold them."""
    cdef dict found = {}
    for part in parts:
        held = [part]
        if type(part) is FUNCTION:
            held += [part.__defaults__, part.__kwdefaults__]
        elif isinstance(part, Transformed):
            held += [(<Transformed>part).args, (<Transformed>part).kwargs]
        for x in held:
            if x is not None:
                found[id(x)] = x
    return found
