"""The walk: from the names in executed code to the objects that these names reach.

Design
------
The walk begins at the function and at the arguments that are known by identity. It follows the globals and variables
that executed code names, modules that code imports, and attributes that any executed code names. Each place gets a
guard. reachability.pyx has the rules for each kind of object.

The walk may find new names: `getattr` under another name, an `attrgetter`, the descriptor of a slot. Then it begins
again with these names.

The walk is complete, or it gives the reason why not. It refuses executed code whose function it has not met: this code
was reached in a way that no guard follows.
"""
from cpython.long cimport PyLong_FromVoidPtr

import builtins
import importlib
import sys

from ..arrays.array import np
from .bytecode cimport Names, names_executed, names_of
from .executed cimport OURS, USERS, trust_of
from .guards cimport Guards
from .kinds cimport IMPORT, LOOKED_UP, READS_BY_NAME, SETTINGS, number_or_text
from .objects cimport PyModule_Check, address, attributes_of_module
from ..transforms.handles cimport wrap

cdef enum:
    MAX_OBJECTS = 1 << 20           # objects to look into: a fraction of a second


cdef class Walk:

    def __cinit__(self):
        self.guards = Guards()
        self.tensors = {}
        self.attributes = set()
        self.all_attributes = set()
        self.seen = {}
        self.work = []
        self.explained = set()
        self.parts = {}
        self.elsewhere = {}

    cdef int refuse(self, str why) except -1:
        if self.why is None:
            self.why = why
        return 0

    cdef int walk(self, object call, list others) except -1:
        """Walk until no new names are found."""
        if not self.executed.complete:
            self.refuse("it sets a profiling hook")
        elif self.executed.impure is not None:
            self.refuse(f"it calls {self.executed.impure}, whose results or effects a program cannot repeat")
        self.read_code()
        if hashes_objects(self):
            self.parts = {}             # any two of them may differ
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
        self.guards.exact = self.compares_scalars()
        self.inside = bool(self.parts)
        if self.inside:
            self.parts[address(call)] = call
        self.meet(call, "the function")
        self.inside = False
        for x in others:
            self.meet(x, "an argument")
        self.meet(type(wrap(None)), "Tensor")
        if self.why is None:
            self.read_globals()
            self.guard_settings()
        while self.work and self.why is None and not self.again:
            x, label = self.work.pop()
            self.inside = address(x) in self.parts
            self.look_into(x, label)
            count += 1
            if count > MAX_OBJECTS:
                self.refuse("it can reach too many objects to see whether one of them changes; pass it what it needs "
                            "as arguments")
        return 0

    cdef int guard_settings(self) except -1:
        """Guard settings of NumPy that the executed code reads."""
        cdef tuple entry
        cdef bint prints = False
        for entry in self.executed.codes.values():
            prints = prints or str(entry[1].get("__name__")).endswith(".arrayprint")
        for names, fn, label in SETTINGS:
            if not self.attributes.isdisjoint(names) or (prints and "get_printoptions" in names):
                self.guards.result_of(fn, label)
                self.meet(np.geterrcall(), "what np.seterrcall was given")
        return self.guards.raising() if self.replayed else 0

    cdef bint compares_scalars(self) except -1:
        """True if users' code compares objects by identity that may be scalars."""
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

    cdef int add_attribute(self, object name) except -1:
        """Add an attribute that an object on the way reads, such as an `attrgetter`."""
        if name not in self.attributes:
            self.attributes.add(name)
            self.all_attributes.add(name)
            self.again = True
        return 0

    cdef int names_are_computed(self) except -1:
        """Note that attributes are read by computed names."""
        if not self.dynamic_modules:
            self.dynamic = self.dynamic_modules = self.again = True
        return 0

    cdef int classes_are_tested(self) except -1:
        if not self.tests_class:
            self.tests_class = self.again = True
        return 0

    # ---- overridden by Reach

    cdef int meet(self, object x, object label) except -1:
        raise NotImplementedError()

    cdef int look_into(self, object x, object label) except -1:
        raise NotImplementedError()

    cdef int follow(self, object x, set chains, object label) except -1:
        raise NotImplementedError()

    # ---- code

    cdef Names names(self, object code):
        """The names in the instructions of a code object that ran, if these are known; else all."""
        offsets = self.executed.offsets
        return names_executed(code, None if offsets is None else offsets.get(address(code)))

    cdef bint has_branches(self) except -1:
        """True if users' code has branches, so that some of its names may not have been used."""
        cdef tuple entry
        if not self.executed.complete or self.executed.impure is not None:
            return False                        # code that ran stopped the walk, not a name
        for entry in self.executed.codes.values():
            if names_of(entry[0]).branches and trust_of(<dict>entry[1]) == USERS:
                return True
        return False

    cdef int read_code(self) except -1:
        """Collect the names in all executed code."""
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
            if n.dynamic and (trust == USERS or entry[1]["__name__"] in READS_BY_NAME):
                self.dynamic = True
                self.dynamic_modules = self.dynamic_modules or entry[1]["__name__"] not in ("copy", "copyreg")
            self.tests_class = self.tests_class or n.tests_class
            if trust == USERS and n.refused is not None:
                self.refuse(f"{n.refused!r} is used in {entry[0].co_name}, and no guard can follow what that reads")
        self.attributes |= LOOKED_UP
        self.all_attributes |= LOOKED_UP
        return 0

    cdef int read_globals(self) except -1:
        """Guard the globals that users' code names, and follow them."""
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
                    self.follow_import(around, name, level, inside)
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
                if name in found and (chains or (found[name] is not getattr and found[name] is not hasattr)):
                    self.follow(found[name], set(chains), name)
        return 0

    cdef int follow_import(self, dict around, str name, int level, object inside) except -1:
        """Guard and follow a module, or names in it, that code imports while it runs."""
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
        """Note that the walk has met the function of a code object, and so the functions defined in it."""
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
                                   f"was reached in a way that no guard can follow")
        return 0


cdef bint hashes_objects(Walk walk) except -1:
    """True if users' code takes the hash of objects, which differs from function to function."""
    cdef tuple entry
    cdef Names n
    for entry in walk.executed.codes.values():
        if trust_of(<dict>entry[1]) == USERS:
            n = walk.names(entry[0])
            if "hash" in n.globals or "__hash__" in n.attributes:
                return True
    return False
