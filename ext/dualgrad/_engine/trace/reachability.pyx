"""Reachability: all that a call can reach besides its arguments, and the guards for it.

Design
------
Each object that the walk (walk.pyx) meets is of a kind that cannot change, of a kind whose change a guard sees
(guards.pyx), or the walk is refused, and the function runs eagerly. From an object the walk goes on to what executed
code can read of it: attributes that some of it names, entries of containers, what partial functions, methods and
descriptors are made of.

No code of the user's runs during a walk: objects are looked at past what their classes make of attributes, of iteration
and of `__class__` (objects.pyx).

Tensors are left out, since programs read them anew. This package, NumPy and the part of the standard library without
state are taken as constant, except for the entries of their modules that the code names.
"""
cimport numpy as cnp
from cpython.long cimport PyLong_FromVoidPtr
from cpython.object cimport PyObject

import types
from collections import deque

from .bytecode cimport CALLED, DYNAMIC, REFUSED, TESTS_CLASS, Names
from .executed cimport IMPURE, IMPURE_BUILTINS, OURS, PURE, USERS, Executed, Trust, trust_of, trust_of_name
from .guards cimport is_a, items_of
from .kinds cimport *
from .objects cimport *
from .walk cimport Walk
from ..transforms.calls cimport CellCall
from ..transforms.handles cimport TensorBase

cnp.import_array()


cdef Reach reach_of(object call, list others, Executed executed, bint replayed):
    """Walk over all that a call can reach. What becomes an error matters where the call is replayed; a pattern does not
    depend on it."""
    cdef Reach r = Reach()
    r.replayed = replayed
    r.executed = executed
    r.walk(call, others)
    r.guards.settle()
    return r


cdef class Reach(Walk):

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
        if PyCFunction_Check(x) or kind is DISPATCHER or qualname_of(kind) == "cython_function_or_method":
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
        cdef str text = f"{module_of(t)}.{qualname_of(t)}"
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
                self.meet(value, f"{qualname_of(t)}.{name}")
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
        cdef str text = f"{module_of(kind)}.{qualname_of(kind)}"
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
                                       f"{qualname_of(base)}, whose state no guard can see")
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
                return self.refuse(f"it can reach a {qualname_of(kind)} whose attributes are no plain dict")
            self.guards.pointer(at, x, f"the attributes of a {qualname_of(kind)}")
            self.guards.attributes(attributes, None if whole else names, x)
            if "__array_interface__" in attributes or "__array_struct__" in attributes:
                return self.refuse(f"it can reach a {qualname_of(kind)} that says where numbers lie in memory")
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
        self.guards.pointer(dg_class_at(<PyObject *>x), x, f"the class of a {qualname_of(kind)}")
        self.meet(kind, qualname_of(kind))
        self.guards.pointer(_PyObject_GetDictPtr(<PyObject *>x), x, f"the attributes of a {qualname_of(kind)}")
        self.guards.attributes(attributes, None, x)
        for name, value in list(attributes.items()):
            if name in REGISTRIES:
                self.guards.attributes(value, None, x)
                for member in value.values():
                    self.meet(member, name)
            elif self.dynamic or name in self.all_attributes:
                self.meet(value, name)
        return 0


class ById:
    """Equal to another one if both hold the same object."""

    def __init__(self, held):
        self.held = held

    def __eq__(self, other):
        return self.held is other.held


def wrapped_by(x):
    """A function that gives which function is recorded under another."""
    return lambda: ById(x.__wrapped__)
