"""Kinds of objects: which cannot change, which are made of parts, which have state that no guard sees.

Design
------
A kind that stands nowhere here is unknown, and what reaches an object of it runs eagerly. Kinds are known by their
addresses (objects.pyx).
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

import numpy as np

from .guards cimport is_a
from .objects cimport address, addresses, attributes_of_class, module_of, mro_of

cnp.import_array()

# Kinds that cannot change and hold nothing that could.
cdef set ATOMS = addresses((
    int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented), range, types.CodeType,
    re.Pattern, re.Match, type(namedtuple("_", "x").x), typing.TypeVar, typing.ParamSpec,
    type(abc.ABC.__dict__["_abc_impl"]), type(sys.float_info), type(sys.int_info), type(sys.version_info),
    type(sys.flags), type(sys.hash_info)))
# Kinds of compiled attributes and methods, which cannot change either, but may say which attributes are read.
cdef set METHODS = addresses((
    types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType))
# Kinds of locks, which give no numbers.
cdef set LOCKS = set()
# Compiled classes that classes of Python may derive from without bringing state that no guard sees.
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
cdef type DISPATCHER = type(np.sum)         # what most functions of NumPy are
cdef type ABSTRACT = abc.ABCMeta
# Attributes that compiled code looks up in instances.
cdef object LOOKED_UP = frozenset({"construct", "bprop", "fn", "__wrapped__", "__array_interface__",
                                   "__array_struct__", "__array_priority__", "__array_ufunc__"})
cdef object OF_PARAMETERS = frozenset({"_requires_grad", "_name"})
cdef object REGISTRIES = frozenset({"_cells", "_params", "_param_tuples"})
# Of a module of the standard library that keeps state, what does not.
cdef dict CONSTANTS = {"sys": frozenset({"float_info", "int_info", "maxsize", "version_info", "version", "platform",
                                         "byteorder", "hexversion", "maxunicode", "implementation"}),
                       "os": frozenset({"sep", "linesep", "name"})}
# Modules whose functions read attributes of what they are given by names that are computed.
cdef object READS_BY_NAME = frozenset({"copy", "copyreg", "dataclasses", "operator", "reprlib", "string", "typing"})
# Settings of NumPy: the names of functions that give them, what gives them, and what they are called.
cdef tuple SETTINGS = ((frozenset({"geterr", "errstate"}), np.geterr, "NumPy's treatment of errors"),
                       (frozenset({"get_printoptions", "printoptions"}), np.get_printoptions, "NumPy's way to print"))


cdef int find_locks() except -1:
    import _thread
    LOCKS.update(addresses((_thread.LockType, _thread.RLock)))
    return 0


find_locks()


cdef object called_by(object x):
    """What an `attrgetter` or `methodcaller` was made of: names, or whatever it takes to make it again."""
    made, arguments = x.__reduce__()
    return arguments if made is type(x) else (made, arguments)


cdef bint number_or_text(object x):
    return type(x) in (int, float, complex, str, bytes)


cdef bint passive(object kind):
    """Whether a class of a module with state keeps none besides its attributes; the hook sees whether its methods
    run."""
    return module_of(kind) in ("logging", "argparse")


cdef bint plain_data(object x):
    """Whether something is a container, number or text that the text of what holds it shows."""
    return isinstance(x, (list, dict, set, tuple, frozenset)) or is_a(x, NAMESPACE) \
        or cnp.PyArray_Check(x)


cdef bint special(object name, object value):
    """Whether an entry of a class is a special method, which operators call without naming it."""
    return type(name) is str and (<str>name).startswith("__") and address(type(value)) not in METHODS and (
        callable(value) or any(["__get__" in attributes_of_class(base) for base in mro_of(type(value))]))


cdef bint accessor(object value):
    """Whether an entry of a class is how compiled attributes are read, by the names of the entries."""
    return type(value) is types.MemberDescriptorType or type(value) is types.GetSetDescriptorType


cdef type ATTRGETTER = operator.attrgetter
cdef type METHODCALLER = operator.methodcaller
cdef object IMPORT = builtins.__import__
cdef dict LEAVES = {                # address of a class -> what one of its instances is made of
    address(slice): lambda x: (x.start, x.stop, x.step),
    address(types.GenericAlias): lambda x: (x.__origin__, x.__args__),
    address(types.UnionType): lambda x: x.__args__,
    address(types.MappingProxyType): gc.get_referents,
    address(types.MethodWrapperType): lambda x: (x.__self__,),
    address(operator.itemgetter): lambda x: x.__reduce__()[1],
    address(ATTRGETTER): lambda x: (),
    address(METHODCALLER): lambda x: called_by(x),
}

# Fields of functions, after their code; those that are no attributes are guarded otherwise.
cdef tuple FIELDS = ("__defaults__", "__kwdefaults__", "__dict__", "__name__", "__qualname__", "__doc__", "__module__",
                     "__annotations__")
