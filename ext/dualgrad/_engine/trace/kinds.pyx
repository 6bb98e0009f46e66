"""Kinds of objects: immutable kinds, kinds that consist of parts, and kinds with state that no guard sees.

Design
------
A function that reaches an object of any other kind runs eagerly. Kinds are compared by their addresses (objects.pyx).
"""
cimport numpy as cnp

import abc
import builtins
import functools
import gc
import operator
import re
import sys
import types
import typing
from collections import OrderedDict, defaultdict, deque, namedtuple

from ..arrays.array import np
from .guards cimport is_a
from .guards import SameObject
from .objects cimport address, addresses, attributes_of_class, module_of, mro_of

cnp.import_array()

# Immutable kinds that hold no mutable objects.
cdef set ATOMS = addresses((
    int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented), range, types.CodeType,
    re.Pattern, re.Match, type(namedtuple("_", "x").x), typing.TypeVar, typing.ParamSpec,
    type(abc.ABC.__dict__["_abc_impl"]), type(sys.float_info), type(sys.int_info), type(sys.version_info),
    type(sys.flags), type(sys.hash_info)))
cdef set NUMBERS_AND_TEXTS = addresses((int, float, complex, str, bytes))
# Kinds of compiled attributes and methods: immutable too, but their names may be names of attributes that are read.
cdef set METHODS = addresses((
    types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType))
# Kinds of locks; a lock does not change numbers.
cdef set LOCKS = set()
# Compiled classes whose state guards can see, also in Python classes that derive from them.
cdef set BASES = addresses((
    object, int, float, complex, str, bytes, tuple, frozenset, list, dict, set, deque, defaultdict, OrderedDict, type,
    property, staticmethod, classmethod, functools.partial, np.ndarray, np.generic, types.SimpleNamespace,
    types.ModuleType, functools.cached_property, typing.Generic))
cdef type GENERIC = np.generic
cdef type VOID = np.void
cdef type PARTIAL = functools.partial
cdef type PROPERTY = property
cdef type STATIC = staticmethod
cdef type CLASS_METHOD = classmethod
cdef type CACHED_PROPERTY = functools.cached_property
cdef type DEFAULTS = defaultdict
cdef type NAMESPACE = types.SimpleNamespace
cdef type CACHED = functools._lru_cache_wrapper
cdef type UFUNC = np.ufunc
cdef type DISPATCHER = type(np.sum)         # the class of most functions of NumPy
cdef type ABSTRACT = abc.ABCMeta
# Attributes of instances that compiled code reads.
cdef object LOOKED_UP = frozenset({"construct", "bprop", "fn", "__wrapped__", "__array_interface__",
                                   "__array_struct__", "__array_priority__", "__array_ufunc__"})
cdef object OF_PARAMETERS = frozenset({"_requires_grad", "_name"})
cdef object REGISTRIES = frozenset({"_cells", "_params", "_param_tuples"})
# The constants in modules of the standard library that have state.
cdef dict CONSTANTS = {"sys": frozenset({"float_info", "int_info", "maxsize", "version_info", "version", "platform",
                                         "byteorder", "hexversion", "maxunicode", "implementation"}),
                       "os": frozenset({"sep", "linesep", "name"})}
# Modules whose functions read attributes of their arguments by computed names.
cdef object READS_BY_NAME = frozenset({"copy", "copyreg", "dataclasses", "operator", "reprlib", "string", "typing"})
# State that functions of this package return: module -> (its name in messages, a function that reads it).
cdef dict STATES = {
    "dualgrad.communication": ("the groups", lambda around: dict(around["_groups"])),
    "dualgrad.log": ("the level of the log", lambda around: around["get_level"]()),
    "dualgrad.parallel": ("the settings of parallel training", lambda around: dict(around["_settings"])),
    "dualgrad.porting": ("the conventions", lambda around: (around["convention"], around["warned"])),
    "dualgrad.threads": ("the number of threads", lambda around: around["get_num_threads"]()),
}


def settings_of_ufuncs():
    return np.geterr(), np.getbufsize(), SameObject(np.geterrcall())


# Settings of NumPy: (names by which code reads or sets them, the function that returns them, words for a message).
cdef tuple SETTINGS = ((frozenset({"geterr", "errstate", "geterrcall", "getbufsize", "_get_extobj_dict"}),
                        settings_of_ufuncs, "NumPy's treatment of errors, or its buffers"),
                       (frozenset({"get_printoptions", "printoptions"}), np.get_printoptions, "NumPy's way to print"))


cdef int find_locks() except -1:
    import _thread
    LOCKS.update(addresses((_thread.LockType, _thread.RLock)))
    return 0


find_locks()


cdef object names_given_to(object x):
    """The names given to an `attrgetter` or `methodcaller`, or all that `__reduce__` gives."""
    made, arguments = x.__reduce__()
    return arguments if made is type(x) else (made, arguments)


cdef bint number_or_text(object x):
    return address(type(x)) in NUMBERS_AND_TEXTS


cdef bint passive(object kind):
    """True if instances of a class from a module with state have no state but attributes. The hook sees any of its
    methods that run."""
    return module_of(kind) in ("logging", "argparse")


cdef bint plain_data(object x):
    """True for a container or array, whose entries the repr of its holder shows."""
    return isinstance(x, (list, dict, set, tuple, frozenset)) or is_a(x, NAMESPACE) \
        or cnp.PyArray_Check(x)


cdef bint special(object name, object value):
    """True if an entry of a class is a special method or descriptor, which operators call without its name."""
    return type(name) is str and (<str>name).startswith("__") and address(type(value)) not in METHODS and (
        callable(value) or any(["__get__" in attributes_of_class(base) for base in mro_of(type(value))]))


cdef bint accessor(object value):
    """True if an entry of a class is a descriptor of a compiled attribute."""
    return type(value) is types.MemberDescriptorType or type(value) is types.GetSetDescriptorType


cdef type ATTRGETTER = operator.attrgetter
cdef type METHODCALLER = operator.methodcaller
cdef object IMPORT = builtins.__import__
cdef dict LEAVES = {                # address of a class -> the parts of one of its instances
    address(slice): lambda x: (x.start, x.stop, x.step),
    address(types.GenericAlias): lambda x: (x.__origin__, x.__args__),
    address(types.UnionType): lambda x: x.__args__,
    address(types.MappingProxyType): gc.get_referents,
    address(types.MethodWrapperType): lambda x: (x.__self__,),
    address(operator.itemgetter): lambda x: x.__reduce__()[1],
    address(ATTRGETTER): lambda x: (),
    address(METHODCALLER): lambda x: names_given_to(x),
}

# Fields of functions after their code, in the order of dg_field_of_function.
cdef tuple FIELDS = ("__defaults__", "__kwdefaults__", "__dict__", "__name__", "__qualname__", "__doc__", "__module__",
                     "__annotations__")
