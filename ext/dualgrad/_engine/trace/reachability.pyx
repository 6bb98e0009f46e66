"""Reachability: all that a call can reach besides its arguments, and the guards for it.

Design
------
The walk begins at the function and at those of its arguments that are known by identity. Its steps are those that the
executed code (executed.pyx) can take: globals and variables by their names, attributes that some executed code names,
entries of containers, what partial functions, methods and descriptors are made of. Each place gets a guard
(guards.pyx).

The walk is complete or says why it is not. Each object is of a kind that cannot change, of a kind whose change a guard
sees, or the walk is refused, and the function runs eagerly. Executed code whose function the walk has not met is
refused too: it was reached on a way that no guard follows.

Names can also turn up on the way: `getattr` under another name, an `attrgetter`, the descriptor of a slot. Then the
walk begins anew, with these.

No code of the user's runs during a walk: objects are looked at past what their classes make of attributes, of iteration
and of `__class__`.

Tensors are left out, since programs read them anew. This package, NumPy and the part of the standard library without
state are taken as constant, except for the entries of their modules that the code names.
"""
cimport numpy as cnp
from cpython.long cimport PyLong_FromVoidPtr
from cpython.object cimport PyObject, PyTypeObject

import abc
import builtins
import functools
import gc
import importlib
import operator
import re
import sys
import types
import typing
from collections import OrderedDict, defaultdict, deque, namedtuple

import numpy as np

from .bytecode cimport CALLED, DYNAMIC, REFUSED, TESTS_CLASS, Names, names_executed, names_of
from .executed cimport IMPURE, IMPURE_BUILTINS, OURS, PURE, USERS, Executed, Trust, trust_of, trust_of_name
from .guards cimport Guards, is_a, items_of
from ..transforms.tensor cimport CellCall, TensorBase, wrap

cnp.import_array()

cdef extern from "Python.h":
    PyObject *PyCell_GET(PyObject *cell)
    bint PyFunction_Check(object x)
    bint PyMethod_Check(object x)
    bint PyModule_Check(object x)
    bint PyCFunction_Check(object x)
    PyObject **_PyObject_GetDictPtr(PyObject *x)
    object PyObject_GenericGetDict(object x, void *nothing)
    PyObject *PyModule_GetDict(object x)           # borrowed
    bint PyType_IsSubtype(PyTypeObject *a, PyTypeObject *b)

cdef extern from *:
    """
    #include <structmember.h>
    /* Where an object keeps what one of its slots holds; NULL for anything but a slot. */
    static PyObject **dg_slot_at(PyObject *holder, PyObject *descriptor)
    {
        const PyMemberDef *member;
        if (Py_TYPE(descriptor) != &PyMemberDescr_Type) return NULL;
        member = ((PyMemberDescrObject *)descriptor)->d_member;
        if (member->type != T_OBJECT_EX && member->type != T_OBJECT) return NULL;
        return (PyObject **)((char *)holder + member->offset);
    }
    static PyObject **dg_cell_at(PyObject *cell) { return &((PyCellObject *)cell)->ob_ref; }
    static PyObject **dg_field_of_function(PyObject *f, int field)
    {
        PyFunctionObject *function = (PyFunctionObject *)f;
        PyObject **fields[] = {&function->func_code, &function->func_defaults, &function->func_kwdefaults,
                               &function->func_dict, &function->func_name, &function->func_qualname,
                               &function->func_doc, &function->func_module, &function->func_annotations};
        return fields[field];
    }
    static PyObject **dg_class_at(PyObject *x) { return (PyObject **)&x->ob_type; }
    static PyObject **dg_mro_at(PyObject *t) { return &((PyTypeObject *)t)->tp_mro; }
    static PyObject *dg_attributes_of_type(PyObject *t)
    {
    #if PY_VERSION_HEX >= 0x030C0000
        return PyType_GetDict((PyTypeObject *)t);
    #else
        Py_INCREF(((PyTypeObject *)t)->tp_dict);
        return ((PyTypeObject *)t)->tp_dict;
    #endif
    }
    static void *dg_dealloc_of(PyObject *t) { return (void *)((PyTypeObject *)t)->tp_dealloc; }
    /* The name of a class of Python, and that with those of what it is defined in. */
    static PyObject **dg_name_at(PyObject *t) { return &((PyHeapTypeObject *)t)->ht_name; }
    static PyObject **dg_qualname_at(PyObject *t) { return &((PyHeapTypeObject *)t)->ht_qualname; }
    """
    PyObject **dg_slot_at(PyObject *holder, PyObject *descriptor)
    PyObject **dg_cell_at(PyObject *cell)
    PyObject **dg_field_of_function(PyObject *f, int field)
    PyObject **dg_class_at(PyObject *x)
    PyObject **dg_mro_at(PyObject *t)
    object dg_attributes_of_type(PyObject *t)
    void *dg_dealloc_of(PyObject *t)
    PyObject **dg_name_at(PyObject *t)
    PyObject **dg_qualname_at(PyObject *t)

cdef enum:
    MOST = 1 << 20                  # objects that are looked into: a fraction of a second


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


cdef void *DEALLOC_OF_PYTHON = dg_dealloc_of(<PyObject *>_Python)

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
cdef tuple CONTAINERS = (list, dict, set, deque)
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
cdef object MODULE_OF = type.__dict__["__module__"].__get__
cdef object QUALNAME_OF = type.__dict__["__qualname__"].__get__
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
cdef dict SLOTS = {}                # address of a class -> (the class, its slots: (name, descriptor))


cdef int find_locks() except -1:
    import _thread
    LOCKS.update(addresses((_thread.LockType, _thread.RLock)))
    return 0


find_locks()


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
    cdef list path = QUALNAME_OF(t).split(".")
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


cdef Reach reach_of(object call, list others, Executed executed):
    """Walk over all that a call can reach."""
    cdef Reach r = Reach()
    r.executed = executed
    r.walk(call, others)
    r.guards.settle()
    return r


cdef class Reach:

    def __cinit__(self):
        self.guards = Guards()
        self.tensors = {}
        self.attributes = set()
        self.all_attributes = set()
        self.seen = {}
        self.work = []
        self.explained = set()

    cdef int refuse(self, str why) except -1:
        if self.why is None:
            self.why = why
        return 0

    cdef int walk(self, object call, list others) except -1:
        """Walk, and again as long as names turn up on the way."""
        if not self.executed.complete:
            self.refuse("it sets a profiling hook")
        elif self.executed.impure is not None:
            self.refuse(f"it calls {self.executed.impure}, whose results or effects a program cannot repeat")
        self.read_code()
        while self.why is None:
            self.again = False
            self.walk_once(call, others)
            if not self.again:
                break
            self.guards = Guards()
            self.tensors = {}
            self.seen = {}
            self.work = []
            self.explained = set()
        return self.check_explained() if self.why is None else 0

    cdef int walk_once(self, object call, list others) except -1:
        cdef Py_ssize_t count = 0
        self.guards.exact = self.by_identity()
        self.meet(call, "the function")
        for x in others:
            self.meet(x, "an argument")
        self.meet(type(wrap(None)), "Tensor")
        if self.why is None:
            self.read_globals()
            self.settings()
        while self.work and self.why is None and not self.again:
            x, label = self.work.pop()
            self.into(x, label)
            count += 1
            if count > MOST:
                self.refuse("it can reach too many objects to see whether one of them changes; pass it what it needs "
                            "as arguments")
        return 0

    cdef int settings(self) except -1:
        """Guard settings of libraries that the executed code reads."""
        cdef tuple entry
        cdef bint prints = False
        for entry in self.executed.codes.values():
            prints = prints or str(entry[1].get("__name__")).endswith(".arrayprint")
        for names, ask, label in SETTINGS:
            if not self.attributes.isdisjoint(names) or (prints and "get_printoptions" in names):
                self.guards.asked(ask, label)
        self.guards.raising()
        return 0

    cdef bint by_identity(self) except -1:
        """Whether executed code compares anything by identity that could be a number or text."""
        cdef tuple entry
        for entry in self.executed.codes.values():
            around = entry[1]
            if trust_of(<dict>around) != USERS:
                continue
            for name in self.names(entry[0]).identities:
                self.compares = True
                if name is None or number_or_text(around.get(name, getattr(builtins, name, None))):
                    return True
        return False

    cdef int name(self, object name) except -1:
        """An attribute that is read by what was met on the way."""
        if name not in self.attributes:
            self.attributes.add(name)
            self.all_attributes.add(name)
            self.again = True
        return 0

    cdef int computes(self) except -1:
        """Attributes are read by names that nobody knows."""
        if not self.dynamic:
            self.dynamic = self.again = True
        return 0

    # ---- code

    cdef Names names(self, object code):
        """The names in a code object, as far as it is known to have run."""
        offsets = self.executed.offsets
        return names_executed(code, None if offsets is None else offsets.get(address(code)))

    cdef bint branches(self) except -1:
        """Whether users' code may have left out some of what it names."""
        cdef tuple entry
        if not self.executed.complete or self.executed.impure is not None:
            return False                        # which did run
        for entry in self.executed.codes.values():
            if names_of(entry[0]).branches and trust_of(<dict>entry[1]) == USERS:
                return True
        return False

    cdef int read_code(self) except -1:
        """Gather the names of all executed code."""
        cdef Names n
        cdef tuple entry
        for entry in self.executed.codes.values():
            n = self.names(entry[0])
            trust = trust_of(<dict>entry[1])
            self.all_attributes |= n.attributes
            if trust == OURS:
                continue
            self.attributes |= n.attributes
            self.attributes.add(entry[0].co_name)
            self.dynamic = self.dynamic or (n.dynamic and (
                trust == USERS or entry[1]["__name__"] in READS_BY_NAME))
            self.tests_class = self.tests_class or n.tests_class
            if trust == USERS and n.refused is not None:
                self.refuse(f"{n.refused!r} is used in {entry[0].co_name}, and no guard can follow what that reads")
        self.attributes |= LOOKED_UP
        self.all_attributes |= LOOKED_UP
        return 0

    cdef int read_globals(self) except -1:
        """Guard the globals that users' code names, and go on from them."""
        cdef Names n
        cdef tuple entry
        cdef dict around, named = {}
        for entry in self.executed.codes.values():
            for around in entry[1:]:
                if trust_of(around) != USERS:
                    continue
                n = self.names(entry[0])
                held = named.setdefault(id(around), (around, {}))[1]
                for name, chains in n.globals.items():
                    held[name] = held.get(name, frozenset()) | chains
                for name, level, inside in n.modules:
                    self.imported(around, name, level, inside)
        for around, held in named.values():
            self.guards.entries(around, tuple(held), around, f"a global of {around.get('__name__')}")
            space = around.get("__builtins__", builtins)
            space = attributes_of_module(space) if PyModule_Check(space) else space
            missing = tuple([name for name in held if name not in around])
            if type(space) is not dict:
                return self.refuse("its builtins are no plain dict")
            if missing:
                self.guards.entries(space, missing, space, "a builtin")
            for name, chains in held.items():
                found = around if name in around else space
                if name in found and (chains or found[name] not in (getattr, hasattr)):
                    self.follow(found[name], set(chains), name)
        return 0

    cdef int imported(self, dict around, str name, int level, object inside) except -1:
        """Code imports a module while it runs, or names in it."""
        cdef list parts
        cdef dict modules = sys.modules
        if level < 0:
            return self.refuse(f"it imports {name} in a way that no guard can follow")
        if level:
            self.guards.entries(around, ("__package__", "__spec__", "__name__", "__path__"), around, "the package")
            package = around.get("__package__") or getattr(around.get("__spec__"), "parent", None)
            if not isinstance(package, str):
                return self.refuse(f"it imports {name or inside} from a package that has no name")
            name = importlib.util.resolve_name("." * level + name, package)
        self.guards.entries(vars(builtins), ("__import__",), builtins, "the builtin")
        self.meet_unless(builtins.__import__, IMPORT, "__import__")
        parts = name.split(".")
        paths = [".".join(parts[:i + 1]) for i in range(len(parts))]
        paths += [f"{name}.{part}" for part in inside or ()]
        self.guards.entries(modules, tuple(paths), modules, f"the module {name}")
        found = modules.get(name if inside else parts[0])
        for path in paths[len(parts):]:
            self.meet(modules.get(path), path)
        return 0 if found is None else self.meet(found, name)

    cdef int meet_unless(self, object x, object expected, object label) except -1:
        return 0 if x is expected else self.meet(x, label)

    cdef int explain(self, object code) except -1:
        """The function of a code object was met, so those of the code inside it are its own."""
        cdef list codes = [code]
        while codes:
            code = codes.pop()
            self.explained.add(PyLong_FromVoidPtr(<void *>code))
            codes.extend(names_of(code).nested)
        return 0

    cdef int check_explained(self) except -1:
        cdef tuple entry
        for identity, entry in self.executed.codes.items():
            if identity not in self.explained and trust_of(<dict>entry[1]) == USERS:
                code = entry[0]
                return self.refuse(f"it runs {code.co_name} ({code.co_filename}, line {code.co_firstlineno}), which "
                                   f"was reached on a way that no guard can follow")
        return 0

    # ---- objects

    cdef int meet(self, object x, object label) except -1:
        cdef TensorBase t
        cdef object identity
        cdef object kind = address(type(x))
        if kind in ATOMS:
            return 0
        if kind in METHODS:
            return self.method(x)
        identity = address(x)
        if identity in self.seen:
            return 0
        self.seen[identity] = x
        if isinstance(x, TensorBase):
            t = <TensorBase>x
            self.tensors[identity] = t
            t.captured = True
            if not t.parameter and type(x).__dictoffset__ == 0:
                return 0
        elif is_a(x, GENERIC) and not is_a(x, VOID) and not of_python(type(x)):
            return 0
        elif cnp.PyArray_DescrCheck(x):
            return 0 if x.names is None else self.guards.asked(lambda: repr(x), label)      # names can be changed
        self.work.append((x, label))
        return 0

    cdef int method(self, object x) except -1:
        """A compiled attribute or method by itself: it may be called with an object and what names its attributes."""
        if type(x) is types.MemberDescriptorType:
            return self.name(x.__name__)
        if x.__name__ in REFUSED:
            return self.refuse(f"it reads {x.__name__}, and no guard can follow what that gives")
        if x.__name__ in TESTS_CLASS:
            self.asks_for_classes()
        return self.computes() if x.__name__ in DYNAMIC else 0

    cdef int asks_for_classes(self) except -1:
        if not self.tests_class:
            self.tests_class = self.again = True
        return 0

    cdef int follow(self, object x, set chains, object label) except -1:
        """Go along the attributes that code reads of a name; only a module is not read otherwise."""
        cdef object value
        cdef dict around
        if chains == {(CALLED,)} and self.only_called(x):
            return 0
        if not PyModule_Check(x):
            return self.meet(x, label)
        by_name = {}
        for chain in chains:
            if not chain or chain[0] is CALLED:
                return self.meet(x, label)
            by_name.setdefault(chain[0], set()).add(chain[1:])
        self.class_of_module(x, label)
        around = attributes_of_module(x)
        name_of_module = around.get("__name__")
        trust = trust_of_name(name_of_module)
        missing = False
        for name, rest in by_name.items():
            value = around.get(name)
            if trust == IMPURE and name not in CONSTANTS.get(name_of_module, ()) and not (
                    name in around and self.constant(value, <set>rest)):
                return self.refuse(f"it reads {name_of_module}.{name}, whose results or effects a program cannot "
                                   f"repeat")
            if name in around:
                self.follow(value, <set>rest, f"{label}.{name}")
            elif trust == USERS:
                missing = True
            else:                                   # trusted modules also import what is asked for
                self.follow(getattr(x, name, None), <set>rest, f"{label}.{name}")
        if missing:
            self.meet(around.get("__getattr__"), label)
        return self.guards.entries(around, tuple(by_name) + (("__getattr__",) if missing else ()), x,
                                   f"an attribute of the module {name_of_module}")

    cdef bint constant(self, object value, set chains) except -1:
        """Whether something in a module with state is a constant, a module, or is called only, in which case the hook
        has seen it if it has run."""
        return address(type(value)) in ATOMS or PyModule_Check(value) or (
            chains == {(CALLED,)} and self.only_called(value))

    cdef bint only_called(self, object x) except -1:
        """Whether something is a function of a module with state: it has not run, given that users' code would call
        it."""
        if PyMethod_Check(x):
            x = x.__func__
        if PyFunction_Check(x):
            return trust_of(x.__globals__) == IMPURE
        if not PyCFunction_Check(x):
            return False
        if x.__module__ == "builtins" and x.__name__ in IMPURE_BUILTINS:
            return True
        return trust_of_name(x.__module__ if x.__module__ is not None else module_of(type(x.__self__))) == IMPURE

    cdef int class_of_module(self, object x, object label) except -1:
        self.guards.pointer(dg_class_at(<PyObject *>x), x, f"the class of {label}")
        if type(x) is not types.ModuleType and trust_of_class(type(x)) == USERS:
            self.meet(type(x), label)
        return 0

    cdef int into(self, object x, object label) except -1:
        """Look into what was met."""
        cdef object kind = type(x)
        if PyFunction_Check(x):
            return self.function(x)
        if PyMethod_Check(x):
            self.meet(x.__self__, label)
            return self.meet(x.__func__, label)
        if PyModule_Check(x):
            return self.module(x, label)
        if isinstance(x, type):
            return self.kind(x, label)
        if PyCFunction_Check(x) or kind is DISPATCHER or QUALNAME_OF(kind) == "cython_function_or_method":
            return self.builtin(x, label)
        if isinstance(x, CellCall):
            return self.cell(x, kind)
        if trust_of_class(kind) == OURS and not isinstance(x, TensorBase):
            return self.own(x, kind)
        if address(kind) in LOCKS:
            return 0
        return self.instance(x, kind, label)

    cdef int builtin(self, object x, object label) except -1:
        """A compiled function, or a method of something compiled."""
        module = x.__module__
        owner = getattr(x, "__self__", None)
        if x.__name__ in TESTS_CLASS:
            self.asks_for_classes()
        if x.__name__ in DYNAMIC and x.__name__ != "format" or (x.__name__ == "format" and isinstance(owner, str)):
            self.computes()
        if owner is not None and not PyModule_Check(owner):
            return self.meet(owner, label)
        if module == "builtins" and x.__name__ in IMPURE_BUILTINS:
            return self.refuse(f"it reads {label}, the function {x.__name__}, and no guard can follow what that does")
        if trust_of_name(module) not in (OURS, PURE):
            return self.refuse(f"it reads {label}, the compiled function {module}.{x.__name__}, whose results or "
                               f"effects a program may not repeat")
        return 0

    cdef int function(self, object f) except -1:
        """A function: all that it is made of if it has run; otherwise what can be read of it."""
        cdef int field
        cdef Trust trust = trust_of(f.__globals__)
        if self.dynamic or self.runs(f):
            self.runnable(f, trust)
        if trust != USERS and dg_field_of_function(<PyObject *>f, 3)[0] is NULL and (trust == OURS or not self.runs(f)):
            return 0
        self.guards.pointer(dg_field_of_function(<PyObject *>f, 0), f, f"the code of {f.__qualname__}")
        for field, name in enumerate(FIELDS, 1):
            if self.dynamic or name in self.attributes:
                self.guards.pointer(dg_field_of_function(<PyObject *>f, field), f, f"{name} of {f.__qualname__}")
        if self.dynamic or "__annotations__" in self.attributes:
            if dg_field_of_function(<PyObject *>f, 8)[0] is not NULL:
                self.meet(<object>dg_field_of_function(<PyObject *>f, 8)[0], f"the annotations of {f.__qualname__}")
        attributes = f.__dict__         # made here, so that a look at it later is no change
        self.guards.pointer(dg_field_of_function(<PyObject *>f, 3), f, f"the attributes of {f.__qualname__}")
        self.guards.attributes(attributes, None if self.dynamic else self.attributes, f)
        for name, value in attributes.items():
            if self.dynamic or name in self.attributes:
                self.meet(value, f"{f.__qualname__}.{name}")
        return 0

    cdef int runnable(self, object f, Trust trust) except -1:
        """The defaults and the variables of a function that has run; what holds those of this package does not
        change."""
        cdef Py_ssize_t i
        cdef int field
        cdef PyObject *p
        cdef object code = f.__code__
        cdef Names n = self.names(code)
        self.explain(code)
        for field in range(1, 1 if trust == OURS else 3):
            self.guards.pointer(dg_field_of_function(<PyObject *>f, field), f, f"the defaults of {f.__qualname__}")
        self.meet(f.__defaults__, f"the defaults of {f.__qualname__}")
        self.meet(f.__kwdefaults__, f"the defaults of {f.__qualname__}")
        if trust == OURS:
            self.state_of(f)
        for i, cell in enumerate(f.__closure__ or ()):
            name = code.co_freevars[i]
            if trust != OURS:
                self.guards.pointer(dg_cell_at(<PyObject *>cell), cell, name)
            p = PyCell_GET(<PyObject *>cell)
            if name not in n.free and not n.nested and name != "__class__" and self.executed.offsets is not None:
                continue                        # nothing that has run reads it
            if p is not NULL:
                chains = n.free.get(name)
                self.follow(<object>p, {()} if chains is None or n.nested else chains, name)
        return 0

    cdef int state_of(self, object f) except -1:
        """What a function of this package gives that users' code asks for the package's state."""
        if f.__module__ == "dualgrad.context":
            self.guards.content(f.__globals__["_settings"], "the context")
            self.guards.entries(f.__globals__, ("_mode",), f, "the mode")
        elif f.__module__ == "dualgrad.random":
            if f.__name__ != "get_seed":
                return self.refuse(f"it calls dualgrad.random.{f.__name__}, whose results a program cannot repeat")
            self.guards.entries(f.__globals__, ("_seed",), f, "the seed")
        return 0

    cdef int module(self, object x, object label) except -1:
        """A module that is used otherwise than by attributes that follow its name."""
        cdef dict around = attributes_of_module(x)
        cdef object named = around.get("__name__")
        cdef Trust trust = trust_of_name(named)
        if trust == IMPURE:
            return self.refuse(f"it uses the module {named}, whose results or effects a program cannot repeat")
        if trust == PURE and self.dynamic and named.partition(".")[0] == "numpy":
            return self.refuse(f"it uses the module {named} beside code that reads attributes by computed names")
        self.class_of_module(x, label)
        if self.dynamic:                            # those of trusted modules cannot change
            self.guards.attributes(around, None, x)
            for name, value in list(around.items()):
                if trust == USERS:
                    self.meet(value, f"{label}.{name}")
            return 0
        self.guards.entries(around, (*self.attributes, "__getattr__"), x, f"an attribute of the module {named}")
        for name in self.attributes | {"__getattr__"}:
            if name in around:
                self.meet(around[name], f"{label}.{name}")
        return 0

    cdef int kind(self, object t, object label) except -1:
        """A class: the attributes of all classes that it derives from."""
        cdef Trust trust = trust_of_class(t)
        cdef dict members
        cdef str text = f"{module_of(t)}.{QUALNAME_OF(t)}"
        if t is ATTRGETTER or t is METHODCALLER:
            self.computes()
        if not of_python(t):
            if trust == OURS or trust == PURE or module_of(t) == "types":
                return 0
            return self.refuse(f"it uses the class {text}, whose state no guard can see")
        if type(t) is not type:
            if is_a(t, ABSTRACT) and self.tests_class:
                self.guards.token(t)
            if type(t) is not ABSTRACT:
                self.guards.pointer(dg_class_at(<PyObject *>t), t, f"the class of {text}")
                self.meet(type(t), label)
        if trust == IMPURE and not passive(t):
            return self.refuse(f"it uses the class {text}, whose results or effects a program cannot repeat")
        if trust == PURE:                           # somebody may replace a method all the same
            return self.guards.attributes(attributes_of_class(t), None, t)
        self.guards.pointer(dg_mro_at(<PyObject *>t), t, f"the bases of {text}")
        if trust != OURS:
            self.guards.pointer(dg_name_at(<PyObject *>t), t, f"the name of {text}")
            self.guards.pointer(dg_qualname_at(<PyObject *>t), t, f"the name of {text}")
        members = attributes_of_class(t)
        self.guards.attributes(members, None if trust == OURS or self.dynamic else self.attributes, t)
        for name, value in list(members.items()):
            if not accessor(value) and (self.runs(value) or (trust != OURS and (
                    self.dynamic or name in self.attributes or special(name, value)))):
                self.meet(value, f"{QUALNAME_OF(t)}.{name}")
        for base in mro_of(t)[1:]:
            self.meet(base, label)
        return 0

    cdef bint runs(self, object x) except -1:
        """Whether something is a function of Python that has run."""
        return PyFunction_Check(x) and PyLong_FromVoidPtr(<void *>x.__code__) in self.executed.codes

    cdef int own(self, object x, object kind) except -1:
        """An object of this package: what it is set to (private attributes are its own affair, unless users' code names
        them), and what of the user's it is wrapped around."""
        cdef PyObject **at
        if getattr(kind, "_outside_of_programs", False):
            return 0
        attributes = getattr(x, "__dict__", None)
        if isinstance(attributes, dict):
            public = {name for name in attributes if not name.startswith("_") or name == "__wrapped__"}
            self.guards.entries(attributes, tuple(public | self.attributes), x, f"an attribute of a {kind.__name__}")
            if self.dynamic:
                self.guards.attributes(attributes, None, x)
            for name, item in attributes.items():
                self.meet(item, name)
        for name, slot in slots_of(kind):
            at = dg_slot_at(<PyObject *>x, <PyObject *>slot)
            if at is not NULL and not name.startswith("_"):
                self.guards.pointer(at, x, name)
            self.meet(getattr(x, name, None), name)
        for name in ("__wrapped__", "fn"):          # of recorded functions, and of gradient functions
            found = getattr(x, name, None)
            if found is not None and name == "__wrapped__":
                self.guards.asked(wrapped_by(x), "the function that is recorded")
            self.meet(found, name)
        return 0

    cdef int instance(self, object x, object kind, object label) except -1:
        """An object by its class: all compiled ones that it derives from have to be known."""
        cdef object base
        cdef str text = f"{module_of(kind)}.{QUALNAME_OF(kind)}"
        parts = LEAVES.get(address(kind))
        if parts is not None:
            return self.leaf(x, parts, label)
        if kind is UFUNC and "O" not in x.types[0]:
            return 0
        if is_a(x, CACHED_PROPERTY):
            self.meet(x.func, label)
        if kind is CACHED and trust_of_name(x.__module__) == OURS:
            return 0
        if of_python(kind):
            for base in mro_of(kind):
                if not of_python(base) and address(base) not in BASES and not derives(base, TensorBase) \
                        and (not derives(base, GENERIC) or derives(base, VOID)):
                    return self.refuse(f"it reads {label}, a {text} derived from {module_of(base)}."
                                       f"{QUALNAME_OF(base)}, whose state no guard can see")
            if trust_of_class(kind) == IMPURE and not passive(kind):
                return self.refuse(f"it reads {label}, a {text}, which a program cannot repeat")
            self.guards.pointer(dg_class_at(<PyObject *>x), x, f"the class of {label}")
            self.meet(kind, label)
        elif address(kind) not in BASES:
            return self.refuse(f"it reads {label}, a {text}, whose state no guard can see")
        self.contents(x, label)
        names = None if self.dynamic else self.attributes
        if isinstance(x, TensorBase) and names is not None:
            names = names | OF_PARAMETERS
        return self.attributes_of(x, kind, names)

    cdef int leaf(self, object x, object parts, object label) except -1:
        """Something compiled that is made of parts once and for all."""
        if type(x) is ATTRGETTER or type(x) is METHODCALLER:
            for text in called_by(x)[:1 if type(x) is METHODCALLER else None]:
                for name in text.split(".") if isinstance(text, str) else ():
                    self.name(name)
        elif type(x) is types.MethodWrapperType and x.__name__ in DYNAMIC:
            self.computes()
        for part in parts(x):
            self.meet(part, label)
        return 0

    cdef int contents(self, object x, object label) except -1:
        """What a container holds, and a partial function or descriptor."""
        cdef PyObject **at
        if is_a(x, list) or is_a(x, dict) or is_a(x, set) \
                or is_a(x, deque):
            self.guards.content(x, label)
            for item in items_of(x):
                self.meet(item, label)
            if is_a(x, DEFAULTS):
                self.guards.pointer(dg_slot_at(<PyObject *>x, <PyObject *>DEFAULTS.default_factory), x, label)
                self.meet(DEFAULTS.default_factory.__get__(x), label)
        elif isinstance(x, (tuple, frozenset)):
            for item in tuple.__iter__(x) if isinstance(x, tuple) else frozenset.__iter__(x):
                self.meet(item, label)
        elif cnp.PyArray_Check(x):
            if x.dtype.hasobject:
                return self.refuse(f"it reads {label}, an array of objects")
            self.guards.content(x, label)
        elif is_a(x, PARTIAL):
            for part in (PARTIAL.func, PARTIAL.args, PARTIAL.keywords):
                at = dg_slot_at(<PyObject *>x, <PyObject *>part)
                if at is not NULL:
                    self.guards.pointer(at, x, label)
                self.meet(part.__get__(x), label)
        elif is_a(x, PROPERTY):
            for part in (x.fget, x.fset, x.fdel):
                self.meet(part, label)
        elif is_a(x, STATIC) or is_a(x, CLASS_METHOD):
            self.meet(x.__func__, label)
        return 0

    cdef int attributes_of(self, object x, object kind, set names) except -1:
        """The attributes that an object keeps by itself, under some names; None: all."""
        cdef PyObject **at = _PyObject_GetDictPtr(<PyObject *>x)
        cdef bint whole = is_a(x, NAMESPACE)      # its text and comparisons read all of them
        if at is not NULL:
            attributes = PyObject_GenericGetDict(x, NULL)
            if type(attributes) is not dict:
                return self.refuse(f"it can reach a {QUALNAME_OF(kind)} whose attributes are no plain dict")
            self.guards.pointer(at, x, f"the attributes of a {QUALNAME_OF(kind)}")
            self.guards.attributes(attributes, None if whole else names, x)
            if "__array_interface__" in attributes or "__array_struct__" in attributes:
                return self.refuse(f"it can reach a {QUALNAME_OF(kind)} that says where numbers lie in memory")
            for name, value in list((<dict>attributes).items()):
                if names is None or name in names or special(name, value) or (whole and plain_data(value)):
                    self.meet(value, name)
        for name, slot in slots_of(kind):
            if names is None or name in names:
                at = dg_slot_at(<PyObject *>x, <PyObject *>slot)
                if at is not NULL:
                    self.guards.pointer(at, x, name)
                    if at[0] is not NULL:
                        self.meet(<object>at[0], name)
        return 0

    cdef int cell(self, object x, object kind) except -1:
        """A Cell: all of its attributes, since the code of its base classes reads them too."""
        cdef dict attributes = PyObject_GenericGetDict(x, NULL)
        self.guards.pointer(dg_class_at(<PyObject *>x), x, f"the class of a {QUALNAME_OF(kind)}")
        self.meet(kind, QUALNAME_OF(kind))
        self.guards.pointer(_PyObject_GetDictPtr(<PyObject *>x), x, f"the attributes of a {QUALNAME_OF(kind)}")
        self.guards.attributes(attributes, None, x)
        for name, value in list(attributes.items()):
            if name in REGISTRIES:
                self.guards.attributes(value, None, x)
                for member in value.values():
                    self.meet(member, name)
            elif self.dynamic or name in self.all_attributes:
                self.meet(value, name)
        return 0


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


class ById:
    """Equal to another one if both hold the same object."""

    def __init__(self, held):
        self.held = held

    def __eq__(self, other):
        return self.held is other.held


def wrapped_by(x):
    """A function that gives which function is recorded under another."""
    return lambda: ById(x.__wrapped__)


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
