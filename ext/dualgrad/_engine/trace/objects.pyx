"""Objects: Python objects, read without running code of their classes.

Design
------
The walk (reachability.pyx) reads users' objects, and no users' code may run meanwhile. So it reads classes, attributes
and slots where the interpreter stores them, and compares classes by address, since `__hash__` may be users' code.
"""
from cpython.long cimport PyLong_FromVoidPtr
from cpython.object cimport PyObject, PyTypeObject

import sys
import types

from ..transforms.handles cimport is_plain_class
from .executed cimport OURS, USERS, Trust, trust_of_name


class _Python:
    """A Python class, whose deallocator `of_python` compares with the deallocators of other classes."""


cdef object address(object x):
    return PyLong_FromVoidPtr(<void *>x)


cdef set addresses(tuple kinds):
    """The addresses of classes that are never deallocated."""
    return {address(kind) for kind in kinds}


cdef bint derives(object kind, object base):
    return PyType_IsSubtype(<PyTypeObject *>kind, <PyTypeObject *>base)


cdef object module_of(object kind):
    return MODULE_OF(kind)


cdef str name_of_module(object kind):
    """The module of a class, for messages. A class may name any object as its module."""
    name = MODULE_OF(kind)
    return <str>name if type(name) is str else "?"


cdef object qualname_of(object kind):
    return QUALNAME_OF(kind)


cdef void *DEALLOC_OF_PYTHON = dg_dealloc_of(<PyObject *>_Python)

cdef object MODULE_OF = type.__dict__["__module__"].__get__
cdef object QUALNAME_OF = type.__dict__["__qualname__"].__get__
cdef dict SLOTS = {}                # address of a class -> (the class, its slots: (name, descriptor))


cdef bint of_python(object t):
    """True if a class was made by a class statement, so that its instances keep their state in dicts and slots."""
    return dg_dealloc_of(<PyObject *>t) is DEALLOC_OF_PYTHON or is_plain_class(t)


cdef Trust trust_of_class(object t) except? OURS:
    """The trust in a class. A class that only carries a module's name in `__module__` belongs to the user."""
    cdef object name = module_of(t)
    cdef Trust found = trust_of_name(name)
    if found == USERS or not of_python(t):
        return found
    module = sys.modules.get(name)
    if module is None or not PyModule_Check(module):
        return USERS
    return found if found_by_name(attributes_of_module(module), t) else USERS


cdef bint found_by_name(dict around, object t) except -1:
    """True if a class is found under its qualified name. A class inside of a function cannot be looked up."""
    cdef list path = qualname_of(t).split(".")
    value = around.get(path[0])
    for name in path[1:]:
        if name == "<locals>" or not isinstance(value, type):
            return value is not None
        value = attributes_of_class(value).get(name)
    return value is t


cdef list slots_of_class(object kind):
    """The `__slots__` of a class and its bases: (name, descriptor)."""
    held = SLOTS.get(address(kind))
    if held is None:
        found = [(name, member) for base in mro_of(kind) for name, member in list(attributes_of_class(base).items())
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
