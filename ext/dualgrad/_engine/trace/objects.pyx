"""Objects: Python objects past what their classes make of attributes.

Design
------
The walk (reachability.pyx) looks at objects of its users, and none of their code may run meanwhile. So it asks for
classes, attributes and slots where the interpreter keeps them, and knows classes by their addresses, since a hash may
be a user's code too.
"""
from cpython.long cimport PyLong_FromVoidPtr
from cpython.object cimport PyObject, PyTypeObject

import sys
import types

from .executed cimport OURS, USERS, Trust, trust_of_name


class _Python:
    """A class of Python, to tell such classes from compiled ones."""


cdef object address(object x):
    return PyLong_FromVoidPtr(<void *>x)


cdef set addresses(tuple kinds):
    """The addresses of classes that live for ever: their hashes may be their users' code."""
    return {address(kind) for kind in kinds}


cdef bint derives(object kind, object base):
    return PyType_IsSubtype(<PyTypeObject *>kind, <PyTypeObject *>base)


cdef object module_of(object kind):
    return MODULE_OF(kind)


cdef object qualname_of(object kind):
    return QUALNAME_OF(kind)


cdef void *DEALLOC_OF_PYTHON = dg_dealloc_of(<PyObject *>_Python)

cdef object MODULE_OF = type.__dict__["__module__"].__get__
cdef object QUALNAME_OF = type.__dict__["__qualname__"].__get__
cdef dict SLOTS = {}                # address of a class -> (the class, its slots: (name, descriptor))


cdef bint of_python(object t):
    """Whether a class was made by a class statement, so that its instances keep what they hold in dicts and slots."""
    return dg_dealloc_of(<PyObject *>t) is DEALLOC_OF_PYTHON


cdef Trust trust_of_class(object t) except? OURS:
    """How far a class is trusted. A class of Python that only bears the name of a module is its user's."""
    cdef object name = module_of(t)
    cdef Trust found = trust_of_name(name)
    if found == USERS or not of_python(t):
        return found
    module = sys.modules.get(name)
    if module is None or not PyModule_Check(module):
        return USERS
    return found if stands_in(attributes_of_module(module), t) else USERS


cdef bint stands_in(dict around, object t) except -1:
    """Whether a class stands where its name says, as far as can be seen: not inside of functions."""
    cdef list path = qualname_of(t).split(".")
    value = around.get(path[0])
    for name in path[1:]:
        if name == "<locals>" or not isinstance(value, type):
            return value is not None
        value = attributes_of_class(value).get(name)
    return value is t


cdef list slots_of(object kind):
    """The slots of a class and its bases: (name, descriptor)."""
    held = SLOTS.get(address(kind))
    if held is None:
        found = [(name, member) for base in mro_of(kind) for name, member in attributes_of_class(base).items()
                 if type(member) is types.MemberDescriptorType
                 and (of_python(base) or trust_of_class(base) == OURS)]
        if len(SLOTS) > 4096:
            SLOTS.clear()
        held = SLOTS[address(kind)] = (kind, found)
    return <list>held[1]


cdef tuple mro_of(object kind):
    return <tuple><object>dg_mro_at(<PyObject *>kind)[0]


cdef dict attributes_of_module(object x):
    return <dict><object>PyModule_GetDict(x)


cdef dict attributes_of_class(object kind):
    return <dict>dg_attributes_of_type(<PyObject *>kind)
