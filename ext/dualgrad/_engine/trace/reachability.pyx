"""Reachability: the objects that a call can reach besides its arguments, and their guards.

Design
------
The walk (walk.pyx) has three answers to an object that it meets. The object is immutable, or a guard (guards.pyx) sees
its changes, or the walk is refused and the function runs eagerly. From an object the walk goes on to everything that
executed code can read of it: attributes that the code names, entries of containers, the parts of partial functions,
methods and descriptors.

No users' code runs during a walk: attributes, items and classes are read without `__getattribute__`, `__iter__` and
`__class__` (objects.pyx).

Tensors have no guards, since each run of a program reads them again. This package, NumPy and the stateless part of the
standard library are constant, except for the entries of their modules that the code names.
"""
cimport numpy as cnp
from cpython.long cimport PyLong_FromVoidPtr
from cpython.object cimport PyObject

import types
from collections import deque

from .bytecode cimport CALLED, DYNAMIC, REFUSED, TESTS_CLASS, Names
from .executed cimport IMPURE, IMPURE_BUILTINS, OURS, PURE, USERS, Executed, Trust, trust_of, trust_of_name
from .guards cimport ABSENT, is_a, items_of, plain_array, pointed_at
from .guards import SameObject
from .kinds cimport *
from .objects cimport *
from .walk cimport Walk
from ..transforms.calls cimport CellCall
from ..transforms.handles cimport TensorBase, dg_set_flag, hooks_of
from ..transforms.transformed cimport Transformed

cnp.import_array()

# Kinds of objects that keys of functions compare by value, though programs can tell them apart.
cdef set PARTS = addresses((types.FunctionType, Transformed, tuple, types.CellType))


cdef Reach reachable_from(object call, list others, Executed executed, bint replayed, dict parts=None):
    """Walk over all objects that a call can reach. `replayed`: also guard the settings of warnings and errors, on which
    a sparsity pattern does not depend. `parts`: see keys.pyx."""
    cdef Reach r = Reach()
    r.parts = {} if parts is None else parts
    r.replayed = replayed
    r.executed = executed
    r.walk(call, others)
    r.guards.gather_words()
    return r


cdef class Reach(Walk):

    cdef int meet(self, object x, object label) except -1:
        cdef TensorBase t
        cdef object identity
        cdef object kind = address(type(x))
        if kind in ATOMS:
            return 0
        if kind in METHODS:
            return self.compiled_attribute(x)
        identity = address(x)
        if not self.inside and kind in PARTS and (self.compares or type(x) is not tuple):
            self.elsewhere[identity] = x
        if identity in self.seen:
            return 0
        self.seen[identity] = x
        if isinstance(x, TensorBase):
            t = <TensorBase>x
            self.tensors[identity] = t
            dg_set_flag(&t.captured)
            hooks = hooks_of(t)
            if hooks is not None:
                self.meet(hooks, label)
            if not t.parameter and type(x).__dictoffset__ == 0:
                return 0
        elif is_a(x, GENERIC) and not is_a(x, VOID) and not of_python(type(x)):
            return 0
        elif cnp.PyArray_DescrCheck(x):
            return 0 if x.names is None else self.guards.result_of(lambda: repr(x), label)      # its names can change
        self.work.append((x, label))
        return 0

    cdef int compiled_attribute(self, object x) except -1:
        """A compiled descriptor or method: called with an object, it may read attributes of the object."""
        if type(x) is types.MemberDescriptorType:
            return self.add_attribute(x.__name__)
        if x.__name__ in REFUSED:
            return self.refuse(f"it reads {x.__name__}, and no guard can follow what that gives")
        if x.__name__ in TESTS_CLASS:
            self.classes_are_tested()
        return self.names_are_computed() if x.__name__ in DYNAMIC else 0

    cdef int follow(self, object x, set chains, object label) except -1:
        """Follow the attributes that code reads after a name. Only of a module can it read no other attributes."""
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
                    name in around and self.constant_or_called(value, <set>rest)):
                return self.refuse(f"it reads {name_of_module}.{name}, whose results or effects a program cannot "
                                   f"repeat")
            if name in around:
                self.follow(value, <set>rest, f"{label}.{name}")
            elif trust == USERS:
                missing = True
            else:                                   # trusted modules may import the attribute
                self.follow(getattr(x, name, None), <set>rest, f"{label}.{name}")
        if missing:
            self.meet(around.get("__getattr__"), label)
        return self.guards.entries(around, tuple(by_name) + (("__getattr__",) if missing else ()), x,
                                   f"an attribute of the module {name_of_module}")

    cdef bint constant_or_called(self, object value, set chains) except -1:
        """True if an entry of a module with state is a constant, a module, or only called. The hook has seen the call
        if it ran."""
        return address(type(value)) in ATOMS or PyModule_Check(value) or (
            chains == {(CALLED,)} and self.only_called(value))

    cdef bint only_called(self, object x) except -1:
        """True if an object is a function of a module with state. It has not run, or the hook would have refused it."""
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

    cdef int look_into(self, object x, object label) except -1:
        """Guard an object and meet its parts."""
        cdef object kind = type(x)
        if PyFunction_Check(x):
            return self.function(x)
        if PyMethod_Check(x):
            self.meet(x.__self__, label)
            return self.meet(x.__func__, label)
        if PyModule_Check(x):
            return self.module(x, label)
        if isinstance(x, type):
            return self.class_object(x, label)
        if PyCFunction_Check(x) or kind is DISPATCHER or (
                not of_python(kind) and qualname_of(kind) == "cython_function_or_method"):
            return self.compiled_function(x, label)
        if isinstance(x, CellCall):
            return self.cell(x, kind)
        if trust_of_class(kind) == OURS and not isinstance(x, TensorBase):
            return self.package_object(x, kind)
        if address(kind) in LOCKS:
            return 0
        return self.instance(x, kind, label)

    cdef int compiled_function(self, object x, object label) except -1:
        """A compiled function, or a bound method of a compiled class."""
        module = x.__module__
        owner = getattr(x, "__self__", None)
        if x.__name__ in TESTS_CLASS:
            self.classes_are_tested()
        if x.__name__ in DYNAMIC and x.__name__ != "format" or (x.__name__ == "format" and isinstance(owner, str)):
            self.names_are_computed()
        if owner is not None and not PyModule_Check(owner):
            return self.meet(owner, label)
        if module == "builtins" and x.__name__ in IMPURE_BUILTINS:
            return self.refuse(f"it reads {label}, the function {x.__name__}, and no guard can follow what that does")
        if trust_of_name(module) not in (OURS, PURE):
            return self.refuse(f"it reads {label}, the compiled function {module}.{x.__name__}, whose results or "
                               f"effects a program may not repeat")
        return 0

    cdef int function(self, object f) except -1:
        """A function: all of its parts if it has run, otherwise the attributes that code can read."""
        cdef int field
        cdef Trust trust = trust_of(f.__globals__)
        if self.dynamic or self.has_run(f):
            self.executed_function(f, trust)
        if trust != USERS and pointed_at(dg_field_of_function(<PyObject *>f, 3), f) is ABSENT \
                and (trust == OURS or not self.has_run(f)):
            return 0
        self.guards.pointer(dg_field_of_function(<PyObject *>f, 0), f, f"the code of {f.__qualname__}")
        for field, name in enumerate(FIELDS, 1):
            if self.dynamic or name in self.attributes:
                self.guards.pointer(dg_field_of_function(<PyObject *>f, field), f, f"{name} of {f.__qualname__}")
        if self.dynamic or "__annotations__" in self.attributes:
            annotations = pointed_at(dg_field_of_function(<PyObject *>f, 8), f)
            if annotations is not ABSENT or getattr(f, "__annotate__", None) is not None:
                self.elsewhere[address(f)] = f      # no key holds them
            if annotations is not ABSENT:
                self.meet(annotations, f"the annotations of {f.__qualname__}")
        attributes = f.__dict__         # created here, so that a later read does not change the pointer
        self.guards.pointer(dg_field_of_function(<PyObject *>f, 3), f, f"the attributes of {f.__qualname__}")
        self.guards.attributes(attributes, None if self.dynamic else self.attributes, f)
        for name, value in list(attributes.items()):
            if trust == OURS and name == "__signature__":   # it does not change, and nothing in it
                continue
            if self.dynamic or name in self.attributes:
                self.meet(value, f"{f.__qualname__}.{name}")
        return 0

    cdef int executed_function(self, object f, Trust trust) except -1:
        """The defaults and variables of a function that has run. In this package's functions the values can change, but
        not the pointers to them."""
        cdef Py_ssize_t i
        cdef int field
        cdef object code = f.__code__
        cdef Names n = self.names(code)
        self.explain(code)
        for field in range(1, 1 if trust == OURS else 3):
            self.guards.pointer(dg_field_of_function(<PyObject *>f, field), f, f"the defaults of {f.__qualname__}")
        self.meet(f.__defaults__, f"the defaults of {f.__qualname__}")
        self.meet(f.__kwdefaults__, f"the defaults of {f.__qualname__}")
        if trust == OURS:
            self.package_state(f)
        for i, cell in enumerate(f.__closure__ or ()):
            name = code.co_freevars[i]
            if trust != OURS:
                self.guards.pointer(dg_cell_at(<PyObject *>cell), cell, name)
            held = pointed_at(dg_cell_at(<PyObject *>cell), cell)
            if name not in n.free and not n.nested and name != "__class__" and self.executed.offsets is not None:
                continue                        # no code that ran reads it
            if held is not ABSENT:
                chains = n.free.get(name)
                self.follow(held, {()} if chains is None or n.nested else chains, name)
        return 0

    cdef int package_state(self, object f) except -1:
        """Guard the state of this package that one of its functions returns: context, mode, seed."""
        cdef tuple state = STATES.get(f.__module__)
        if state is not None:
            around = f.__globals__
            self.guards.result_of(lambda: state[1](around), state[0])
        if f.__module__ == "dualgrad.context":
            self.guards.content(f.__globals__["_settings"], "the context")
            self.guards.entries(f.__globals__, ("_mode",), f, "the mode")
        elif f.__module__ == "dualgrad.random":
            if f.__name__ != "get_seed":
                return self.refuse(f"it calls dualgrad.random.{f.__name__}, whose results a program cannot repeat")
            self.guards.entries(f.__globals__, ("_seed",), f, "the seed")
        return 0

    cdef int module(self, object x, object label) except -1:
        """A module that code uses as an object, not only by attributes after its name."""
        cdef dict around = attributes_of_module(x)
        cdef object named = around.get("__name__")
        cdef Trust trust = trust_of_name(named)
        if trust == IMPURE:
            return self.refuse(f"it uses the module {named}, whose results or effects a program cannot repeat")
        if trust == PURE and self.dynamic_modules and named.partition(".")[0] == "numpy":
            return self.refuse(f"it uses the module {named} beside code that reads attributes by computed names")
        self.class_of_module(x, label)
        if self.dynamic_modules:                    # entries of trusted modules are guarded, not entered
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

    cdef int class_object(self, object t, object label) except -1:
        """A class: its attributes and bases."""
        cdef Trust trust = trust_of_class(t)
        cdef dict members
        cdef str text = f"{name_of_module(t)}.{qualname_of(t)}"
        if t is ATTRGETTER or t is METHODCALLER:
            self.names_are_computed()
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
        if trust == PURE:                           # its methods may still be replaced
            return self.guards.attributes(attributes_of_class(t), None, t)
        self.guards.pointer(dg_mro_at(<PyObject *>t), t, f"the bases of {text}")
        if trust != OURS:
            self.guards.pointer(dg_name_at(<PyObject *>t), t, f"the name of {text}")
            self.guards.pointer(dg_qualname_at(<PyObject *>t), t, f"the name of {text}")
        members = attributes_of_class(t)
        self.guards.attributes(members, None if trust == OURS or self.dynamic else self.attributes, t)
        for name, value in list(members.items()):
            if not accessor(value) and (self.has_run(value) or (trust != OURS and (
                    self.dynamic or name in self.attributes or special(name, value)))):
                self.meet(value, f"{qualname_of(t)}.{name}")
        for base in mro_of(t)[1:]:
            self.meet(base, label)
        return 0

    cdef bint has_run(self, object x) except -1:
        """True if an object is a Python function that has run."""
        return PyFunction_Check(x) and PyLong_FromVoidPtr(<void *>x.__code__) in self.executed.codes

    cdef int package_object(self, object x, object kind) except -1:
        """An object of this package: its public attributes, private ones that users' code names, and the function
        that it wraps."""
        cdef PyObject **at
        if getattr(kind, "_outside_of_programs", False):
            return 0
        attributes = getattr(x, "__dict__", None)
        if isinstance(attributes, dict):
            public = {name for name in attributes if not name.startswith("_") or name == "__wrapped__"}
            self.guards.entries(attributes, tuple(public | self.attributes), x, f"an attribute of a {kind.__name__}")
            if self.dynamic:
                self.guards.attributes(attributes, None, x)
            for name, item in list(attributes.items()):
                self.meet(item, name)
        for name, slot in slots_of_class(kind):
            at = dg_slot_at(<PyObject *>x, <PyObject *>slot)
            if at is not NULL and not name.startswith("_"):
                self.guards.pointer(at, x, name)
            self.meet(getattr(x, name, None), name)
        for name in ("__wrapped__", "fn"):          # of recorded functions and of gradient functions
            found = getattr(x, name, None)
            if found is not None and name == "__wrapped__":
                self.guards.result_of(wrapped_by(x), "the function that is recorded")
            self.meet(found, name)
        return 0

    cdef int instance(self, object x, object kind, object label) except -1:
        """An object of another class: each compiled class that it derives from must be one of BASES."""
        cdef object base
        cdef str text = f"{name_of_module(kind)}.{qualname_of(kind)}"
        parts = LEAVES.get(address(kind))
        if parts is not None:
            return self.made_of_parts(x, parts, label)
        if kind is types.CellType:                  # in some classes, and in tuples of a closure
            self.guards.pointer(dg_cell_at(<PyObject *>x), x, label)
            held = pointed_at(dg_cell_at(<PyObject *>x), x)
            return 0 if held is ABSENT else self.meet(held, label)
        if kind is UFUNC and "O" not in x.types[0]:
            return 0
        if is_a(x, CACHED_PROPERTY):
            self.meet(PyObject_GenericGetDict(x, NULL).get("func"), label)
        if kind is CACHED and trust_of_name(x.__module__) == OURS:
            return 0
        if of_python(kind):
            for base in mro_of(kind):
                if not of_python(base) and address(base) not in BASES and not derives(base, TensorBase) \
                        and (not derives(base, GENERIC) or derives(base, VOID)):
                    return self.refuse(f"it reads {label}, a {text} derived from {name_of_module(base)}."
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
        return self.own_attributes(x, kind, names)

    cdef int made_of_parts(self, object x, object parts, object label) except -1:
        """An immutable compiled object that consists of parts."""
        if type(x) is ATTRGETTER or type(x) is METHODCALLER:
            for text in names_given_to(x)[:1 if type(x) is METHODCALLER else None]:
                for name in text.split(".") if isinstance(text, str) else ():
                    self.add_attribute(name)
        elif type(x) is types.MethodWrapperType and x.__name__ in DYNAMIC:
            self.names_are_computed()
        for part in parts(x):
            self.meet(part, label)
        return 0

    cdef int contents(self, object x, object label) except -1:
        """The items of a container, or the parts of a partial function or descriptor."""
        cdef PyObject **at
        if is_a(x, list) or is_a(x, dict) or is_a(x, set) or is_a(x, deque):
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
            if plain_array(x).dtype.hasobject:
                return self.refuse(f"it reads {label}, an array of objects")
            self.guards.content(x, label)
        elif is_a(x, PARTIAL):
            for part in (PARTIAL.func, PARTIAL.args, PARTIAL.keywords):
                at = dg_slot_at(<PyObject *>x, <PyObject *>part)
                if at is not NULL:
                    self.guards.pointer(at, x, label)
                self.meet(part.__get__(x), label)
        elif is_a(x, PROPERTY):
            for part in (PROPERTY.fget, PROPERTY.fset, PROPERTY.fdel):
                self.meet(part.__get__(x), label)
        elif is_a(x, STATIC) or is_a(x, CLASS_METHOD):
            self.meet((STATIC if is_a(x, STATIC) else CLASS_METHOD).__dict__["__func__"].__get__(x), label)
        return 0

    cdef int own_attributes(self, object x, object kind, set names) except -1:
        """The instance attributes of an object under some names; None: all."""
        cdef PyObject **at = _PyObject_GetDictPtr(<PyObject *>x)
        cdef bint whole = is_a(x, NAMESPACE)      # its repr and comparison read all of them
        if at is not NULL:
            attributes = PyObject_GenericGetDict(x, NULL)
            if type(attributes) is not dict or not all([type(name) is str for name in <dict>attributes]):
                return self.refuse(f"it can reach a {qualname_of(kind)} whose attributes are no plain dict")
            self.guards.pointer(at, x, f"the attributes of a {qualname_of(kind)}")
            self.guards.attributes(attributes, None if whole else names, x)
            if "__array_interface__" in attributes or "__array_struct__" in attributes:
                return self.refuse(f"it can reach a {qualname_of(kind)} that says where numbers lie in memory")
            for name, value in list((<dict>attributes).items()):
                if names is None or name in names or special(name, value) or (whole and plain_data(value)):
                    self.meet(value, name)
        for name, slot in slots_of_class(kind):
            if names is None or name in names:
                at = dg_slot_at(<PyObject *>x, <PyObject *>slot)
                if at is not NULL:
                    self.guards.pointer(at, x, name)
                    held = pointed_at(at, x)
                    if held is not ABSENT:
                        self.meet(held, name)
        return 0

    cdef int cell(self, object x, object kind) except -1:
        """A Cell: all of its attributes, since this package's code reads them too."""
        cdef dict attributes = PyObject_GenericGetDict(x, NULL)
        self.guards.pointer(dg_class_at(<PyObject *>x), x, f"the class of a {qualname_of(kind)}")
        self.meet(kind, qualname_of(kind))
        self.guards.pointer(_PyObject_GetDictPtr(<PyObject *>x), x, f"the attributes of a {qualname_of(kind)}")
        self.guards.attributes(attributes, None, x)
        for name, value in list(attributes.items()):
            if name in REGISTRIES:
                self.guards.attributes(value, None, x)
                for member in list(value.values()):
                    self.meet(member, name)
            elif self.dynamic or name in self.all_attributes:
                self.meet(value, name)
        return 0


def wrapped_by(x):
    """A function that returns the function which a recorded function wraps now."""
    return lambda: SameObject(x.__wrapped__)
