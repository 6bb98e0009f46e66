"""Surroundings: what a function can reach besides its arguments, and whether it has changed since.

Design
------
A program holds what Python made of numbers, lists, attributes and functions outside of it. So before a call is
written down, a survey walks over all that its code can reach by the names in it: closures, defaults, globals, what
those hold, attributes of objects, modules and classes as far as some code that was met names them. Every place becomes
a look: the place, and what is there. A program is replayed while all looks find the same. Most places are pointers
inside of objects that stay where they are: those are compared first, all in one loop.

Looks that do not right after the call show that the function itself changes what it can read. If it adds to a container
or rebinds a number, the recordings have to show whether that matters; attributes that it sets are results which a
program could not give.

Tensors are left out, since programs read them anew, and so is what belongs to this package, NumPy and the standard
library. Attributes of Cells need no looks: the Cells count how often they are set.

Arrays are compared by their bytes up to LARGE, and by a sample of them beyond; of containers with more than MANY
entries only the length is looked at. A walk that would take longer than a fraction of a second is broken off: the
function is then not recorded.
"""
cimport numpy as cnp
from cpython.dict cimport PyDict_GetItem, PyDict_Next
from cpython.long cimport PyLong_FromVoidPtr
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.string cimport memcmp

import functools
import sys
import types

import numpy as np

from .tensor cimport CellCall, TensorBase

cnp.import_array()

cdef extern from "Python.h":
    PyObject *PyCell_GET(PyObject *cell)
    bint PyFunction_Check(object x)
    bint PyMethod_Check(object x)
    bint PyModule_Check(object x)
    bint PyCode_Check(object x)

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
    static PyObject **dg_code_at(PyObject *f) { return &((PyFunctionObject *)f)->func_code; }
    static PyObject **dg_defaults_at(PyObject *f) { return &((PyFunctionObject *)f)->func_defaults; }
    static PyObject **dg_keywords_at(PyObject *f) { return &((PyFunctionObject *)f)->func_kwdefaults; }
    """
    PyObject **dg_slot_at(PyObject *holder, PyObject *descriptor)
    PyObject **dg_cell_at(PyObject *cell)
    PyObject **dg_code_at(PyObject *f)
    PyObject **dg_defaults_at(PyObject *f)
    PyObject **dg_keywords_at(PyObject *f)

cdef enum:
    ENTRY                           # of a dict
    MEMBER                          # of a class
    CELL                            # contents of a closure's cell
    CODE                            # of a function: its code, and the values that its arguments have
    SLOT                            # an attribute that is asked for
    LIST
    DICT
    SET
    NUMBERS                         # of an array

cdef enum:
    MANY = 4096                     # entries
    LARGE = 1 << 20                 # bytes
    MOST = 1 << 20                  # places that are looked at or tried: a fraction of a second

cdef object ABSENT = object()
cdef object PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None), type(...), slice})
cdef type GENERIC = np.generic
cdef type PARTIAL = functools.partial
# Looked for in every object, since code that uses it does not name them.
cdef tuple PROTOCOL = ("__call__", "__getitem__", "__iter__", "__next__", "__len__", "__contains__", "__enter__",
                       "__exit__", "__getattr__")
cdef object MEMBERS = frozenset({"_cells", "_params", "_param_tuples"})
cdef object OURS = frozenset({"dualgrad", "numpy", "builtins"})
cdef object FOREIGN = OURS | frozenset(sys.stdlib_module_names)
cdef long long SWITCHED = 0         # how often it was set whether a parameter is differentiated


def note_switch():
    """Whether a parameter is to be differentiated is being set."""
    global SWITCHED
    SWITCHED += 1


cdef long long switched() noexcept:
    return SWITCHED


cdef dict PACKAGES = {}             # name of a module -> of its package
cdef dict SLOTS = {}                # type of this package -> its slots


cdef bint belongs(object name, object packages) except -1:
    """Whether a module is one of some packages."""
    if not isinstance(name, str):
        return False
    package = PACKAGES.get(name)
    if package is None:
        package = PACKAGES[name] = (<str>name).partition(".")[0]
    return package in packages or name in packages


cdef list slots_of(type kind):
    """The slots of a type of this package: (name, whether it is public, descriptor)."""
    found = SLOTS.get(kind)
    if found is None:
        found = SLOTS[kind] = [(name, not name.startswith("_"), base.__dict__.get(name)) for base in kind.__mro__
                               for name in base.__dict__.get("__slots__", ())]
    return <list>found


cdef bint equal(object a, object b) except -1:
    """Whether two objects are one, or numbers or texts nobody can tell apart."""
    if a is b:
        return True
    if type(a) is not type(b) or not isinstance(a, (int, float, complex, str, bytes)):
        return False
    return a == b and (not isinstance(a, (float, complex)) or repr(a) == repr(b))


cdef object bytes_of(object array):
    """The bytes of an array, or a sample of them."""
    if array.nbytes <= LARGE:
        return array.tobytes()
    flat = array.reshape(-1) if array.flags.c_contiguous else array.T.reshape(-1) if array.flags.f_contiguous else None
    if flat is None:
        return array[tuple([slice(None, None, max(1, n // 64)) for n in array.shape])].tobytes()
    return flat[::max(1, array.nbytes // LARGE)].tobytes()


cdef object values_at(int place, object holder):
    """What is in a container or an array now."""
    if place == NUMBERS:
        return (holder.shape, holder.dtype, bytes_of(holder))
    if len(holder) > MANY:
        return len(holder)
    return list(holder) if place == LIST else dict(holder) if place == DICT else set(holder)


cdef class Look:

    cdef bint holds(self) except -1:
        """Whether the same is there."""
        cdef PyObject *p
        cdef PyObject *key
        cdef PyObject *before
        cdef PyObject *other
        cdef PyObject *now
        cdef Py_ssize_t i = 0, k = 0
        if self.place == ENTRY:
            p = PyDict_GetItem(self.holder, self.key)
            if p is <PyObject *>self.found:
                return True
            return equal(ABSENT if p is NULL else <object>p, self.found)
        if self.place == CELL:
            p = PyCell_GET(<PyObject *>self.holder)
            if p is <PyObject *>self.found:
                return True
            return equal(ABSENT if p is NULL else <object>p, self.found)
        if self.place == CODE:
            f = self.holder
            code, defaults, keywords = <tuple>self.found
            return f.__code__ is code and f.__defaults__ is defaults and f.__kwdefaults__ is keywords
        if self.place == SLOT:
            if self.at is not NULL and self.at[0] is <PyObject *>self.found:
                return True
            return equal(getattr(self.holder, self.key, ABSENT), self.found)
        if self.place == MEMBER:
            return equal(self.holder.get(self.key, ABSENT), self.found)
        if self.place == NUMBERS:
            return self.numbers()
        if isinstance(self.found, int):
            return len(self.holder) == self.found
        if len(self.holder) != len(self.found):
            return False
        if self.place == LIST:
            for i in range(len(<list>self.found)):
                if not equal(self.holder[i], (<list>self.found)[i]):
                    return False
            return True
        if self.place == SET:
            return self.holder == self.found
        if type(self.holder) is dict:
            while PyDict_Next(self.found, &i, &key, &before):
                if not PyDict_Next(self.holder, &k, &other, &now):
                    return False
                if not (other is key and now is before) and not (
                        equal(<object>other, <object>key) and equal(<object>now, <object>before)):
                    return False
            return True
        for a, b in zip(self.holder.items(), (<dict>self.found).items()):
            if not equal(a[0], b[0]) or not equal(a[1], b[1]):
                return False
        return True

    cdef bint note(self, Places p) except -1:
        """Write down where the pointer to what was found is kept; False if that is no fixed place."""
        cdef PyObject *found = NULL if self.found is ABSENT else <PyObject *>self.found
        if self.place == SLOT and self.at is not NULL:
            p.note(self.at, found)
        elif self.place == CELL:
            p.note(dg_cell_at(<PyObject *>self.holder), found)
        elif self.place == CODE:
            code, defaults, keywords = <tuple>self.found
            p.note(dg_code_at(<PyObject *>self.holder), <PyObject *>code)
            p.note(dg_defaults_at(<PyObject *>self.holder), NULL if defaults is None else <PyObject *>defaults)
            p.note(dg_keywords_at(<PyObject *>self.holder), NULL if keywords is None else <PyObject *>keywords)
        else:
            return False
        return True

    cdef bint numbers(self) except -1:
        cdef const unsigned char[:] now
        cdef bytes before
        shape, dtype, before = self.found
        array = self.holder
        if array.shape != shape or array.dtype != dtype:
            return False
        if array.nbytes <= LARGE and array.flags.c_contiguous and array.nbytes and not dtype.hasobject:
            now = array.reshape(-1).view(np.uint8)
            return memcmp(&now[0], <const char *>before, len(before)) == 0
        return bytes_of(array) == before

    cdef bint grown(self) except -1:
        """Whether entries were added to a container, and nothing else has changed: somebody keeps a list."""
        if self.place == SET:
            return isinstance(self.found, set) and self.found <= self.holder
        if self.place == LIST:
            return isinstance(self.found, list) and len(self.holder) > len(self.found) and all(
                [equal(a, b) for a, b in zip(self.found, self.holder)])
        if self.place == DICT:
            return isinstance(self.found, dict) and all(
                [equal(self.holder.get(key, ABSENT), value) for key, value in (<dict>self.found).items()])
        return False


cdef class Survey:

    def __cinit__(self):
        self.looks = []
        self.cells = []
        self.switches = []
        self.shadows = []
        self.attributes = []
        self.work = []
        self.holders = []
        self.tried = []
        self.names = list(PROTOCOL)
        self.known_names = set(PROTOCOL)
        self.seen = {}

    cdef int look(self, int place, object holder, object key, object found) except -1:
        cdef Look look = Look()
        look.place = place
        look.holder = holder
        look.key = key
        look.found = found
        self.looks.append(look)
        return 0

    cdef int meet(self, object x) except -1:
        cdef object identity
        if type(x) in PLAIN:
            return 0
        identity = PyLong_FromVoidPtr(<void *>x)
        if identity in self.seen or isinstance(x, (int, float, complex, str, bytes)) or isinstance(x, GENERIC) \
                or cnp.PyArray_DescrCheck(x):
            return 0
        if isinstance(x, TensorBase):
            if (<TensorBase>x).parameter:
                self.seen[identity] = x
                self.switches.append((x, x.requires_grad))
            return 0
        self.seen[identity] = x
        self.work.append(x)
        return 0

    cdef int into(self, object x) except -1:
        """Look into what was met."""
        cdef type kind = type(x)
        if PyFunction_Check(x):
            return self.function(x)
        if PyMethod_Check(x):
            self.meet(x.__self__)
            return self.function(x.__func__) if PyFunction_Check(x.__func__) else self.meet(x.__func__)
        if isinstance(x, CellCall):
            return self.cell(x)
        if isinstance(x, (tuple, list)):
            if not isinstance(x, tuple):
                self.look(LIST, x, None, values_at(LIST, x))
            if len(x) <= MANY:
                for item in x:
                    self.meet(item)
        elif isinstance(x, dict):
            self.look(DICT, x, None, values_at(DICT, x))
            if len(x) <= MANY:
                for item in x.values():
                    self.meet(item)
        elif isinstance(x, set):
            self.look(SET, x, None, values_at(SET, x))
        elif cnp.PyArray_Check(x):
            if x.flags.writeable or x.base is not None:
                self.look(NUMBERS, x, None, values_at(NUMBERS, x))
        elif isinstance(x, PARTIAL):
            self.meet(x.func)
            self.meet(x.args)
            self.meet(x.keywords)
        elif isinstance(x, (staticmethod, classmethod)):
            self.meet(x.__func__)
        elif isinstance(x, property):
            self.meet(x.fget)
        elif PyModule_Check(x) or isinstance(x, type):
            if not belongs(x.__name__ if PyModule_Check(x) else x.__module__, FOREIGN):
                self.hold(x)
        elif belongs(kind.__module__, OURS):
            self.settings(x, kind)
        else:
            if isinstance(getattr(x, "__dict__", None), dict):
                self.shadows.append((x.__dict__, dict(x.__dict__)))
                self.meet(x.__dict__.get("__wrapped__"))
            self.hold(x)
        return 0

    cdef int settings(self, object x, type kind) except -1:
        """An object of this package: what it is set to (private attributes are its own affair), and what of the user's
        it is wrapped around."""
        cdef str name
        for name, item in (getattr(x, "__dict__", None) or {}).items():
            if not name.startswith("_"):
                self.look(ENTRY, x.__dict__, name, item)
            self.meet(item)
        for name, public, slot in slots_of(kind):
            item = getattr(x, name, ABSENT)
            if public:
                self.look(SLOT, x, name, item)
                (<Look>self.looks[len(self.looks) - 1]).at = dg_slot_at(<PyObject *>x, <PyObject *>slot)
            self.meet(item)
        for name in ("__wrapped__", "fn"):          # of recorded functions, and of gradient functions
            self.meet(getattr(x, name, None))
        return 0

    cdef int function(self, object f) except -1:
        for cell in f.__closure__ or ():
            p = PyCell_GET(<PyObject *>cell)
            self.look(CELL, cell, None, ABSENT if p is NULL else <object>p)
            if p is not NULL:
                self.meet(<object>p)
        if belongs(f.__module__, FOREIGN):
            return 0
        self.look(CODE, f, None, (f.__code__, f.__defaults__, f.__kwdefaults__))
        self.meet(f.__defaults__)
        self.meet(f.__kwdefaults__)
        return self.code(f.__code__, f.__globals__)

    cdef int code(self, object code, dict around) except -1:
        """The globals that some code names; its names are those of attributes too."""
        cdef PyObject *p
        for name in code.co_names:
            if name not in self.known_names:
                self.known_names.add(name)
                self.names.append(name)
            p = PyDict_GetItem(around, name)
            if p is not NULL:
                if PyModule_Check(<object>p) and belongs((<object>p).__name__, FOREIGN):
                    continue
                self.look(ENTRY, around, name, <object>p)
                self.meet(<object>p)
        for constant in code.co_consts:
            if PyCode_Check(constant):
                self.code(constant, around)
        return 0

    cdef int cell(self, object x) except -1:
        cdef type kind = type(x)
        self.cells.append(x)
        for name, item in x.__dict__.items():
            if name in MEMBERS:
                for member in item.values():
                    self.meet(member)
            else:
                self.meet(item)
        if not belongs(kind.__module__, OURS):
            self.meet(kind.construct)
            self.hold(kind)
            for members in (<tuple>self.holders[len(self.holders) - 1])[2]:
                if "bprop" in members:
                    self.meet(members["bprop"])
                    break
        return 0

    cdef int hold(self, object x) except -1:
        """An object, module or class whose attributes matter: where those are kept."""
        attributes = getattr(x, "__dict__", None)
        kinds = () if PyModule_Check(x) else (x if isinstance(x, type) else type(x)).__mro__
        self.holders.append((x, attributes if isinstance(attributes, dict) else None,
                             [kind.__dict__ for kind in kinds if not belongs(kind.__module__, FOREIGN)]))
        self.tried.append(0)
        return 0

    cdef int attribute(self, tuple holder, object name) except -1:
        """An attribute of an object, module or class, by a name that some code uses."""
        cdef PyObject *p
        x, attributes, kinds = holder
        if attributes is not None:
            p = PyDict_GetItem(attributes, name)
            if p is not NULL:
                self.look(ENTRY, attributes, name, <object>p)
                self.meet(<object>p)
                return 0
        for members in <list>kinds:
            if name in members:
                found = members[name]
                self.look(MEMBER, members, name, found)
                if isinstance(found, types.MemberDescriptorType) and not isinstance(x, type):
                    found = getattr(x, name, ABSENT)
                    self.look(SLOT, x, name, found)
                self.meet(found)
                return 0
        return 0

    cdef Change settle(self) except? NOTHING:
        """After the call: what it has changed itself. Looks that would find that again are dropped."""
        cdef Change change = NOTHING
        cdef Look look
        cdef list kept = []
        for look in self.looks:
            if look.holds():
                kept.append(look)
            elif not look.grown():
                change = VALUES
        self.looks = kept
        for attributes, before in self.shadows:
            for name, value in (<dict>attributes).items():
                if not equal((<dict>before).get(name, ABSENT), value):
                    self.attributes.append(name)
        return ATTRIBUTES if self.attributes else change


cdef Survey survey(object call, list others):
    """What a call can reach, of a function and of the arguments that are neither tensors nor compared by value."""
    cdef Survey s = Survey()
    cdef Py_ssize_t i, k, count = 0
    s.meet(call)
    for x in others:
        s.meet(x)
    while True:
        while s.work and count <= MOST:
            s.into(s.work.pop())
            count += 1
        i = 0
        while i < len(s.holders) and not s.work and count <= MOST:
            count += len(s.names) - <Py_ssize_t>s.tried[i]
            for k in range(<Py_ssize_t>s.tried[i], len(s.names)):
                s.attribute(s.holders[i], s.names[k])
            s.tried[i] = len(s.names)
            i += 1
        s.endless = count > MOST
        if s.endless or not s.work:
            return s


cdef class Places:

    def __dealloc__(self):
        PyMem_Free(self.places)

    cdef int note(self, PyObject **at, PyObject *found) noexcept:
        self.places[self.n].at = at
        self.places[self.n].found = found
        self.n += 1
        return 0

    cdef bint hold(self) except -1:
        """Whether all looks find what they found."""
        cdef Look look
        cdef Py_ssize_t i
        cdef list looks = self.others
        for i in range(self.n):
            if self.places[i].at[0] is not self.places[i].found:
                looks = self.looks              # another object may be as good
                break
        for look in looks:
            if not look.holds():
                return False
        return True


cdef Places places_of(list looks):
    cdef Places p = Places()
    cdef Look look
    p.looks = looks
    p.others = []
    p.places = <Place *>PyMem_Malloc(max(3 * len(looks), 1) * sizeof(Place))
    if p.places is NULL:
        raise MemoryError()
    for look in looks:
        if not look.note(p):
            p.others.append(look)
    return p
