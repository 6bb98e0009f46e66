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

Tensors are left out, since programs read them anew. This package, NumPy and the part of the standard library without
state are taken as constant, except for the entries of their modules that the code names.
"""
cimport numpy as cnp
from cpython.long cimport PyLong_FromVoidPtr
from cpython.object cimport PyObject, PyTypeObject

import abc
import functools
import gc
import sys
import types
from collections import OrderedDict, defaultdict, deque

import numpy as np

from .bytecode cimport Names, names_of
from .executed cimport IMPURE, OURS, PURE, USERS, Executed, Trust, trust_of, trust_of_name
from .guards cimport Guards
from .tensor cimport CellCall, TensorBase

cnp.import_array()

cdef extern from "Python.h":
    PyObject *PyCell_GET(PyObject *cell)
    bint PyFunction_Check(object x)
    bint PyMethod_Check(object x)
    bint PyModule_Check(object x)
    bint PyCFunction_Check(object x)
    PyObject **_PyObject_GetDictPtr(PyObject *x)

cdef extern from *:
    """
    #include <structmember.h>
    /* Where an object keeps what one of its slots holds; NULL for anything but a slot. */
    static PyObject **dg_slot_at(PyObject *holder, PyObject *descriptor)
    {
        const PyMemberDef *member;
        if (Py_TYPE(descriptor) != &PyMemberDescr_Type) return NULL;
        member = ((PyMemberDescrObject *)descriptor)->d_member;
        return member->type == T_OBJECT_EX ? (PyObject **)((char *)holder + member->offset) : NULL;
    }
    static PyObject **dg_cell_at(PyObject *cell) { return &((PyCellObject *)cell)->ob_ref; }
    static PyObject **dg_field_of_function(PyObject *f, int field)
    {
        PyFunctionObject *function = (PyFunctionObject *)f;
        PyObject **fields[] = {&function->func_code, &function->func_defaults, &function->func_kwdefaults,
                               &function->func_dict, &function->func_name, &function->func_qualname,
                               &function->func_doc};
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
    """
    PyObject **dg_slot_at(PyObject *holder, PyObject *descriptor)
    PyObject **dg_cell_at(PyObject *cell)
    PyObject **dg_field_of_function(PyObject *f, int field)
    PyObject **dg_class_at(PyObject *x)
    PyObject **dg_mro_at(PyObject *t)
    object dg_attributes_of_type(PyObject *t)
    void *dg_dealloc_of(PyObject *t)

cdef enum:
    MOST = 1 << 20                  # objects that are looked into: a fraction of a second


class _Python:
    """A class of Python, to tell such classes from compiled ones."""


cdef void *DEALLOC_OF_PYTHON = dg_dealloc_of(<PyObject *>_Python)

# Kinds that cannot change and hold nothing that could.
cdef set ATOMS = {
    int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented), range, types.CodeType,
    types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType, np.ufunc, type(np.mean),
}
# Kinds of locks, which give no numbers.
cdef set LOCKS = set()
cdef tuple CONTAINERS = (list, dict, set, deque)
# Compiled classes that classes of Python may derive from without bringing state that no guard sees.
cdef set BASES = {object, int, float, complex, str, bytes, tuple, frozenset, list, dict, set, deque, defaultdict,
                  OrderedDict, type, property, staticmethod, classmethod, functools.partial, np.ndarray, np.generic,
                  types.SimpleNamespace, types.ModuleType, functools.cached_property}
cdef type GENERIC = np.generic
cdef type PARTIAL = functools.partial
cdef type CACHED = functools._lru_cache_wrapper
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
cdef object READS_BY_NAME = frozenset({"copy", "copyreg", "dataclasses", "operator", "reprlib", "string"})
cdef dict SLOTS = {}                # type -> its slots: (name, descriptor)


cdef int find_locks() except -1:
    import _thread
    LOCKS.update((_thread.LockType, _thread.RLock))
    return 0


find_locks()


cdef bint of_python(object t):
    """Whether a class was made by a class statement, so that its instances keep what they hold in dicts and slots."""
    return dg_dealloc_of(<PyObject *>t) is DEALLOC_OF_PYTHON


cdef Trust trust_of_class(object t) except? OURS:
    """How far a class is trusted. A class of Python that only bears the name of a module is its user's."""
    cdef Trust found = trust_of_name(t.__module__)
    if found == USERS or not of_python(t):
        return found
    module = sys.modules.get(t.__module__)
    return found if hasattr(module, t.__qualname__.partition(".")[0]) else USERS


cdef list slots_of(type kind):
    """The slots of a class and its bases: (name, descriptor)."""
    found = SLOTS.get(kind)
    if found is None:
        found = [(name, member) for base in kind.__mro__ for name, member in base.__dict__.items()
                 if type(member) is types.MemberDescriptorType and (of_python(base) or trust_of_name(base.__module__)
                                                                   == OURS)]
        if len(SLOTS) > 4096:
            SLOTS.clear()
        SLOTS[kind] = found
    return <list>found


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
        self.free = {}

    cdef int refuse(self, str why) except -1:
        if self.why is None:
            self.why = why
        return 0

    cdef int walk(self, object call, list others) except -1:
        cdef Py_ssize_t count = 0
        if not self.executed.complete:
            self.refuse("it sets a profiling hook")
        elif self.executed.impure is not None:
            self.refuse(f"it calls {self.executed.impure}, whose results or effects a program cannot repeat")
        self.read_code()
        self.meet(call, "the function")
        for x in others:
            self.meet(x, "an argument")
        if self.why is None:
            self.read_globals()
        while self.work and self.why is None:
            x, label = self.work.pop()
            self.into(x, label)
            count += 1
            if count > MOST:
                self.refuse("it can reach too many objects to see whether one of them changes; pass it what it needs "
                            "as arguments")
        return self.check_explained() if self.why is None else 0

    # ---- code

    cdef int read_code(self) except -1:
        """Gather the names of all executed code."""
        cdef Names n
        cdef tuple entry
        for entry in self.executed.codes.values():
            n = names_of(entry[0])
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
                n = names_of(entry[0])
                held = named.setdefault(id(around), (around, {}))[1]
                for name, chains in n.globals.items():
                    held[name] = held.get(name, frozenset()) | chains
                for name in n.modules:
                    self.imported(name)
        for around, held in named.values():
            self.guards.entries(around, tuple(held), around, f"a global of {around.get('__name__')}")
            builtins = around.get("__builtins__", sys.modules["builtins"])
            builtins = getattr(builtins, "__dict__", builtins)
            missing = tuple([name for name in held if name not in around])
            if missing and isinstance(builtins, dict):
                self.guards.entries(builtins, missing, builtins, "a builtin")
            for name, chains in held.items():
                if name in around:
                    self.follow(around[name], set(chains), name)
                elif isinstance(builtins, dict) and name in builtins:
                    self.meet(builtins[name], name)
        return 0

    cdef int imported(self, str name) except -1:
        """A module that code imports while it runs."""
        self.guards.entries(sys.modules, (name,), sys.modules, f"the module {name}")
        found = sys.modules.get(name)
        return 0 if found is None else self.meet(found, name)

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
        if type(x) in ATOMS:
            return 0
        identity = PyLong_FromVoidPtr(<void *>x)
        if identity in self.seen:
            return 0
        self.seen[identity] = x
        if isinstance(x, TensorBase):
            t = <TensorBase>x
            self.tensors[identity] = t
            t.captured = True
            if not t.parameter and type(x).__dictoffset__ == 0:
                return 0
        elif cnp.PyArray_DescrCheck(x) or (isinstance(x, GENERIC) and not isinstance(x, np.void)):
            return 0
        self.work.append((x, label))
        return 0

    cdef int follow(self, object x, set chains, object label) except -1:
        """Go along the attributes that code reads of a name; only a module is not read otherwise."""
        cdef object value
        if not PyModule_Check(x):
            return self.meet(x, label)
        by_name = {}
        for chain in chains:
            if not chain:
                return self.meet(x, label)
            by_name.setdefault(chain[0], set()).add(chain[1:])
        self.guards.pointer(dg_class_at(<PyObject *>x), x, f"the class of the module {x.__name__}")
        around = x.__dict__
        trust = trust_of_name(x.__name__)
        for name, rest in by_name.items():
            if trust == IMPURE and name not in CONSTANTS.get(x.__name__, ()):
                return self.refuse(f"it reads {x.__name__}.{name}, whose results or effects a program cannot repeat")
            if name not in around and trust == USERS:
                self.meet(around.get("__getattr__"), label)
            else:                                   # from trusted modules also what they import when it is asked for
                value = around[name] if name in around else getattr(x, name, None)
                self.follow(value, <set>rest, f"{label}.{name}")
        return self.guards.entries(around, tuple(by_name), x, f"an attribute of the module {x.__name__}")

    cdef int into(self, object x, object label) except -1:
        """Look into what was met."""
        cdef type kind = type(x)
        if PyFunction_Check(x):
            return self.function(x)
        if PyMethod_Check(x):
            self.meet(x.__self__, label)
            return self.meet(x.__func__, label)
        if PyModule_Check(x):
            return self.module(x, label)
        if isinstance(x, type):
            return self.kind(x, label)
        if PyCFunction_Check(x) or kind.__name__ == "cython_function_or_method":
            return self.builtin(x, label)
        if isinstance(x, CellCall):
            return self.cell(x, kind)
        if trust_of_class(kind) == OURS and not isinstance(x, TensorBase):
            return self.own(x, kind)
        if kind in LOCKS:
            return 0
        return self.instance(x, kind, label)

    cdef int builtin(self, object x, object label) except -1:
        """A compiled function, or a method of something compiled."""
        module = x.__module__
        owner = getattr(x, "__self__", None)
        if owner is not None and not PyModule_Check(owner):
            return self.meet(owner, label)
        if trust_of_name(module) not in (OURS, PURE):
            return self.refuse(f"it reads {label}, the compiled function {module}.{x.__name__}, whose results or "
                               f"effects a program may not repeat")
        return 0

    cdef int function(self, object f) except -1:
        cdef object code = f.__code__
        cdef Trust trust = trust_of(f.__globals__)
        cdef int field
        if not self.runs(f) and not self.dynamic:
            return 0 if trust == OURS or trust == PURE else self.guards.pointer(
                dg_field_of_function(<PyObject *>f, 0), f, f"the code of {f.__qualname__}")
        self.explain(code)
        self.meet(f.__defaults__, f"the defaults of {f.__qualname__}")
        self.meet(f.__kwdefaults__, f"the defaults of {f.__qualname__}")
        self.closure(f, code, trust)
        if trust == OURS or trust == PURE:
            return 0
        for field in range(7 if self.dynamic or not self.attributes.isdisjoint(FUNCTION_NAMES) else 4):
            self.guards.pointer(dg_field_of_function(<PyObject *>f, field), f, FIELDS[field] + f.__qualname__)
        if dg_field_of_function(<PyObject *>f, 3)[0] is not NULL:
            self.guards.attributes(f.__dict__, None if self.dynamic else self.attributes, f)
            for name, value in f.__dict__.items():
                if self.dynamic or name in self.attributes:
                    self.meet(value, f"{f.__qualname__}.{name}")
        return 0

    cdef int closure(self, object f, object code, Trust trust) except -1:
        """The variables of enclosing functions; those of this package do not change."""
        cdef Names n = names_of(code)
        cdef Py_ssize_t i
        cdef PyObject *p
        for i, cell in enumerate(f.__closure__ or ()):
            name = code.co_freevars[i]
            if trust != OURS:
                self.guards.pointer(dg_cell_at(<PyObject *>cell), cell, name)
            p = PyCell_GET(<PyObject *>cell)
            if p is not NULL:
                chains = n.free.get(name)
                self.follow(<object>p, {()} if chains is None or n.nested else chains, name)
        return 0

    cdef int module(self, object x, object label) except -1:
        """A module that is used otherwise than by attributes that follow its name."""
        cdef Trust trust = trust_of_name(x.__name__)
        cdef dict around = x.__dict__
        if trust == IMPURE:
            return self.refuse(f"it uses the module {x.__name__}, whose results or effects a program cannot repeat")
        if trust == PURE and self.dynamic and x.__name__.partition(".")[0] == "numpy":
            return self.refuse(f"it uses the module {x.__name__} beside code that reads attributes by computed names")
        if trust == USERS:
            self.guards.pointer(dg_class_at(<PyObject *>x), x, f"the class of the module {x.__name__}")
            self.meet(type(x), label)
        if trust == USERS and self.dynamic:
            self.guards.attributes(around, None, x)
            for name, value in list(around.items()):
                self.meet(value, f"{label}.{name}")
            return 0
        named = tuple([name for name in self.attributes if name in around])
        self.guards.entries(around, tuple(self.attributes), x, f"an attribute of the module {x.__name__}")
        for name in named:
            self.meet(around[name], f"{label}.{name}")
        return 0

    cdef int kind(self, object t, object label) except -1:
        """A class: the attributes of all classes that it derives from."""
        cdef Trust trust = trust_of_class(t)
        cdef dict members
        if not of_python(t):
            if trust == OURS or trust == PURE or t.__module__ == "types":
                return 0
            return self.refuse(f"it uses the class {t.__module__}.{t.__qualname__}, whose state no guard can see")
        if type(t) is not type:
            if isinstance(t, abc.ABCMeta) and self.tests_class:
                self.guards.token(t)
            if type(t) is not abc.ABCMeta:
                self.guards.pointer(dg_class_at(<PyObject *>t), t, f"the class of {t.__qualname__}")
                self.meet(type(t), label)
        if trust == IMPURE:
            return self.refuse(f"it uses the class {t.__module__}.{t.__qualname__}, whose results or effects a program "
                               f"cannot repeat")
        if trust == PURE:
            return 0
        self.guards.pointer(dg_mro_at(<PyObject *>t), t, f"the bases of {t.__qualname__}")
        members = dg_attributes_of_type(<PyObject *>t)
        self.guards.attributes(members, None if trust == OURS or self.dynamic else self.attributes, t)
        for name, value in list(members.items()):
            if self.runs(value) or (trust != OURS and (self.dynamic or name in self.attributes or special(name, value))):
                self.meet(value, f"{t.__qualname__}.{name}")
        for base in t.__mro__[1:]:
            self.meet(base, label)
        return 0

    cdef bint runs(self, object x) except -1:
        """Whether something is a function of Python that has run."""
        return PyFunction_Check(x) and PyLong_FromVoidPtr(<void *>x.__code__) in self.executed.codes

    cdef int own(self, object x, type kind) except -1:
        """An object of this package: what it is set to (private attributes are its own affair), and what of the user's
        it is wrapped around."""
        cdef str name
        cdef PyObject **at
        if getattr(kind, "_outside_of_programs", False):
            return 0
        attributes = getattr(x, "__dict__", None)
        if isinstance(attributes, dict) and attributes:
            public = {name for name in attributes if not name.startswith("_") or name == "__wrapped__"}
            self.guards.entries(attributes, tuple(public), x, f"an attribute of a {kind.__name__}")
            for name, item in attributes.items():
                self.meet(item, name)
        for name, slot in slots_of(kind):
            at = dg_slot_at(<PyObject *>x, <PyObject *>slot)
            if at is not NULL and not name.startswith("_"):
                self.guards.pointer(at, x, name)
            self.meet(getattr(x, name, None), name)
        for name in ("__wrapped__", "fn"):          # of recorded functions, and of gradient functions
            self.meet(getattr(x, name, None), name)
        return 0

    cdef int instance(self, object x, type kind, object label) except -1:
        """An object by its class: all compiled ones that it derives from have to be known."""
        cdef type base
        if kind in LEAVES:
            for part in LEAVES[kind](x):
                self.meet(part, label)
            return 0
        if isinstance(x, functools.cached_property):
            return self.meet(x.func, label)
        if kind is CACHED and trust_of_name(x.__module__) == OURS:
            return 0
        if of_python(kind):
            for base in kind.__mro__:
                if not of_python(base) and base not in BASES and not issubclass(base, TensorBase):
                    return self.refuse(f"it reads {label}, a {kind.__qualname__} derived from {base.__module__}."
                                       f"{base.__qualname__}, whose state no guard can see")
            if trust_of_class(kind) == IMPURE:
                return self.refuse(f"it reads {label}, a {kind.__module__}.{kind.__qualname__}, which a program cannot "
                                   f"repeat")
            self.guards.pointer(dg_class_at(<PyObject *>x), x, f"the class of {label}")
            self.meet(kind, label)
        elif kind not in BASES:
            return self.refuse(f"it reads {label}, a {kind.__module__}.{kind.__qualname__}, whose state no guard can "
                               f"see")
        self.contents(x, kind, label)
        names = None if self.dynamic else self.attributes
        if isinstance(x, TensorBase) and names is not None:
            names = names | OF_PARAMETERS
        return self.attributes_of(x, kind, names)

    cdef int contents(self, object x, type kind, object label) except -1:
        """What a container holds, and a partial function or descriptor."""
        if isinstance(x, CONTAINERS):
            self.guards.content(x, label)
            for item in list(x.values()) if isinstance(x, dict) else list(x):
                self.meet(item, label)
            if isinstance(x, dict):
                for item in list(x):
                    self.meet(item, label)
            if isinstance(x, defaultdict):
                self.meet(x.default_factory, label)
        elif isinstance(x, (tuple, frozenset)):
            for item in x:
                self.meet(item, label)
        elif cnp.PyArray_Check(x):
            if x.dtype.hasobject:
                return self.refuse(f"it reads {label}, an array of objects")
            self.guards.content(x, label)
        elif isinstance(x, PARTIAL):
            self.meet(x.func, label)
            self.meet(x.args, label)
            self.meet(x.keywords, label)
        elif isinstance(x, property):
            for part in (x.fget, x.fset, x.fdel):
                self.meet(part, label)
        elif isinstance(x, (staticmethod, classmethod)):
            self.meet(x.__func__, label)
        return 0

    cdef int attributes_of(self, object x, type kind, set names) except -1:
        """The attributes that an object keeps by itself, under some names; None: all."""
        cdef PyObject **at = _PyObject_GetDictPtr(<PyObject *>x)
        if at is not NULL:
            attributes = x.__dict__
            self.guards.pointer(at, x, f"the attributes of a {kind.__qualname__}")
            if isinstance(attributes, dict):
                self.guards.attributes(attributes, names, x)
                for name, value in list(attributes.items()):
                    if names is None or name in names:
                        self.meet(value, name)
        for name, slot in slots_of(kind):
            if names is None or name in names:
                at = dg_slot_at(<PyObject *>x, <PyObject *>slot)
                if at is not NULL:
                    self.guards.pointer(at, x, name)
                    if at[0] is not NULL:
                        self.meet(<object>at[0], name)
        return 0

    cdef int cell(self, object x, type kind) except -1:
        """A Cell: all of its attributes, since the code of its base classes reads them too."""
        self.guards.pointer(dg_class_at(<PyObject *>x), x, f"the class of a {kind.__qualname__}")
        self.meet(kind, kind.__qualname__)
        self.guards.pointer(_PyObject_GetDictPtr(<PyObject *>x), x, f"the attributes of a {kind.__qualname__}")
        self.guards.attributes(x.__dict__, None, x)
        for name, value in list(x.__dict__.items()):
            if name in REGISTRIES:
                self.guards.attributes(value, None, x)
                for member in value.values():
                    self.meet(member, name)
            elif self.dynamic or name in self.all_attributes:
                self.meet(value, name)
        return 0


cdef dict LEAVES = {
    slice: lambda x: (x.start, x.stop, x.step),
    types.GenericAlias: lambda x: (x.__origin__, x.__args__),
    types.MappingProxyType: gc.get_referents,
    types.MethodWrapperType: lambda x: (x.__self__,),
}

cdef tuple FIELDS = ("the code of ", "the defaults of ", "the defaults of ", "the attributes of ", "the name of ",
                     "the name of ", "the docstring of ")
cdef object FUNCTION_NAMES = frozenset({"__name__", "__qualname__", "__doc__"})


cdef bint special(object name, object value):
    """Whether an entry of a class is a special method, which operators call without naming it."""
    return type(name) is str and (<str>name).startswith("__") and (callable(value) or hasattr(type(value), "__get__"))

