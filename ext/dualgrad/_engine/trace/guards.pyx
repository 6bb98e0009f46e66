"""Guards: what a program depends on besides its arguments, and whether it has changed since.

Design
------
A program holds what Python made of numbers, attributes, containers and functions outside of it. Every such place has a
guard: the place, and what was found there. A program is replayed while all its guards hold.

Most guards are one word in memory. For a variable of a closure, a slot of an object or the code of a function it is the
pointer kept there. For a dict it is the version, which the interpreter changes at every modification. These words are
compared first, in one loop. Where one differs, the guard looks closer: another object may be as good (an equal number),
and a dict may have changed in entries that no code names. If all is well the guard remembers the new word.

Contents of lists, sets, arrays and of dicts without versions are compared whole, at any size. Classes that derive from
these cannot hide what they hold: no code of theirs runs.

A guard holds what it has found, so that no other object comes to lie at the same address.
"""
cimport numpy as cnp
from cpython.dict cimport PyDict_GetItem, PyDict_Next, PyDict_Size
from cpython.bytes cimport PyBytes_CheckExact
from cpython.complex cimport PyComplex_CheckExact
from cpython.float cimport PyFloat_CheckExact
from cpython.list cimport PyList_GET_SIZE
from cpython.long cimport PyLong_CheckExact
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject, PyTypeObject
from cpython.tuple cimport PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_CheckExact
from libc.math cimport signbit
from libc.string cimport memcmp

import warnings
from collections import OrderedDict, deque

import numpy as np

cnp.import_array()

cdef extern from *:
    """
    #include <structmember.h>
    /* The word that changes whenever a dict does; NULL where the interpreter keeps none that is reliable: from 3.13 on
       attributes may be written past it. */
    static size_t *dg_version_of(PyObject *dict)
    {
    #if PY_VERSION_HEX < 0x030D0000 && SIZEOF_SIZE_T == 8
        return (size_t *)&((PyDictObject *)dict)->ma_version_tag;
    #else
        (void)dict;
        return NULL;
    #endif
    }
    static PyObject **dg_items_of_list(PyObject *list) { return ((PyListObject *)list)->ob_item; }
    static PyObject **dg_items_of_tuple(PyObject *tuple) { return ((PyTupleObject *)tuple)->ob_item; }
    """
    size_t *dg_version_of(PyObject *d)
    PyObject **dg_items_of_list(PyObject *x)
    PyObject **dg_items_of_tuple(PyObject *x)

cdef extern from "Python.h":
    PyTypeObject *Py_TYPE(PyObject *x)
    bint PyType_IsSubtype(PyTypeObject *a, PyTypeObject *b)

from _abc import get_cache_token

cdef object ABSENT = object()


cdef bint is_a(object x, object kind) noexcept:
    """Whether an object is of a class by its type: no code of the user's is asked."""
    return PyType_IsSubtype(Py_TYPE(<PyObject *>x), <PyTypeObject *>kind)


cdef bint equal(object a, object b) except -1:
    """Whether two objects are equal immutable scalars of one type. Signed zeros differ, and nan from another nan, which
    `in` tells apart."""
    if type(a) is not type(b):
        return False
    if PyFloat_CheckExact(a):
        return same_number(<double>a, <double>b)
    if PyComplex_CheckExact(a):
        return same_number(a.real, b.real) and same_number(a.imag, b.imag)
    return (PyLong_CheckExact(a) or PyUnicode_CheckExact(a) or PyBytes_CheckExact(a)) and a == b


cdef bint same_number(double a, double b) noexcept:
    return a == b and signbit(a) == signbit(b)


cdef class Guard:

    cdef bint alike(self, object now, object before) except -1:
        """Whether one object is as good as another: code that asks for identity needs the same."""
        return now is before or (not self.exact and equal(now, before))

    cdef bint same_items(self, tuple now, tuple found) except -1:
        """Whether two tuples hold the same, one by one."""
        cdef Py_ssize_t i
        if len(now) != len(found):
            return False
        for i in range(len(found)):
            if not self.alike(now[i], found[i]):
                return False
        return True

    cdef bint holds(self) except -1:
        """Whether the same is found; called where the word differs, or always where there is none."""
        raise NotImplementedError


cdef class Pointer(Guard):
    """A pointer in an object."""

    cdef bint holds(self) except -1:
        cdef PyObject *now = <PyObject *>self.word[0]
        if now is NULL or self.found is ABSENT or not self.alike(<object>now, self.found):
            return False
        self.found = <object>now
        self.value = <size_t>now
        return True


cdef class Entries(Guard):
    """The entries of a dict under some names; `found` has those that are there."""
    cdef dict d
    cdef object names

    cdef bint holds(self) except -1:
        cdef PyObject *now
        cdef PyObject *before
        for name in self.names:
            now = PyDict_GetItem(self.d, name)
            before = PyDict_GetItem(self.found, name)
            if now is before:
                continue
            if now is NULL or before is NULL or not self.alike(<object>now, <object>before):
                self.changed = name
                return False
            (<dict>self.found)[name] = <object>now
        self.value = 0 if self.word is NULL else self.word[0]
        return True


cdef class Attributes(Guard):
    """The entries of a dict of attributes that are among the names of a walk; None: all. Absent ones stay absent."""
    cdef dict d
    cdef set names

    cdef bint counts(self, object name):
        return self.names is None or name in self.names or (
            type(name) is str and (<str>name).startswith("__") and (<str>name).endswith("__"))

    cdef bint holds(self) except -1:
        cdef PyObject *key
        cdef PyObject *now
        cdef PyObject *before
        cdef Py_ssize_t i = 0, met = 0
        cdef dict found = <dict>self.found
        while PyDict_Next(self.d, &i, &key, &now):
            if not self.counts(<object>key):
                continue
            before = PyDict_GetItem(found, <object>key)
            if before is NULL or (now is not before and not self.alike(<object>now, <object>before)):
                self.changed = <object>key
                return False
            met += 1
        if met != len(found):
            self.changed = next((name for name in found if name not in self.d), None)
            return False
        self.value = 0 if self.word is NULL else self.word[0]
        return True


cdef class Items(Guard):
    """The entries of a dict, in their order."""

    cdef bint holds(self) except -1:
        cdef PyObject *key
        cdef PyObject *now
        cdef Py_ssize_t i = 0, k = 0
        cdef tuple found = <tuple>self.found
        cdef object d = self.holder
        if PyDict_Size(d) * 2 != len(found):
            return False
        if is_a(d, OrderedDict):
            return self.same_items(items_of(d), found)
        while PyDict_Next(d, &i, &key, &now):
            if not self.alike(<object>key, found[k]) or not self.alike(<object>now, found[k + 1]):
                return False
            k += 2
        self.value = 0 if self.word is NULL else self.word[0]
        return True


cdef tuple items_of(object x):
    """What a container holds, whatever its class makes of it; of a dict the keys and values in turn."""
    if isinstance(x, dict):
        items = OrderedDict.items(x) if is_a(x, OrderedDict) else dict.items(x)
        return tuple([part for pair in items for part in pair])
    if isinstance(x, list):
        return tuple(list.__iter__(x))
    return tuple(set.__iter__(x) if isinstance(x, set) else deque.__iter__(x))


cdef class Sequence(Guard):
    """The entries of a list, deque or set, in their order."""

    cdef bint holds(self) except -1:
        cdef Py_ssize_t n = PyTuple_GET_SIZE(self.found)
        if isinstance(self.holder, list):
            if PyList_GET_SIZE(self.holder) != n:
                return False
            if memcmp(dg_items_of_list(<PyObject *>self.holder), dg_items_of_tuple(<PyObject *>self.found),
                      n * sizeof(PyObject *)) == 0:
                return True
        return self.same_items(items_of(self.holder), <tuple>self.found)


cdef class Numbers(Guard):
    """The numbers of an array, its form among them."""
    cdef object form

    cdef bint holds(self) except -1:
        cdef const unsigned char[:] now
        cdef const unsigned char[:] before
        array = plain(self.holder)
        if form_of(array) != self.form:
            return False
        now = numbers_of(array)
        before = self.found
        return now.shape[0] == 0 or memcmp(&now[0], &before[0], now.shape[0]) == 0


cdef object plain(object array):
    """An array without what its class makes of it."""
    return array if type(array) is np.ndarray else np.ndarray.view(array, np.ndarray)


cdef object form_of(object array):
    cdef object dtype = array.dtype             # its names may be changed
    return (array.shape, dtype, array.strides, cnp.PyArray_ISWRITEABLE(array),
            None if dtype.names is None else repr(dtype))


cdef object numbers_of(object array):
    """The bytes of an array; of what is repeated once."""
    if not array.flags.c_contiguous:
        if 0 in array.strides:
            array = array[tuple([slice(None) if step else slice(1) for step in array.strides])]
        array = np.ascontiguousarray(array)
    return array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)


cdef class Token(Guard):
    """How often a class was registered with an abstract one, on which isinstance depends."""

    cdef bint holds(self) except -1:
        return get_cache_token() == self.found


cdef class Asked(Guard):
    """What a function without arguments gives."""
    cdef object ask

    cdef bint holds(self) except -1:
        now = self.ask()
        return now is self.found or (type(now) is type(self.found) and bool(now == self.found))


cdef class Raising(Guard):
    """Which warnings are errors, and which numbers are to NumPy. Whatever else is done about them is no matter, since a
    replay does not warn."""
    cdef object filters                 # as they were at the last look: the list, and what it held
    cdef tuple entries
    cdef object treatment               # NumPy's

    cdef bint holds(self) except -1:
        cdef PyObject *p = PyDict_GetItem(WARNINGS, "filters")
        cdef object now = None if p is NULL else <object>p
        cdef object treatment = EXTENSION.get(None) if EXTENSION is not None else np.geterr()
        if now is self.filters and treatment is self.treatment and type(now) is list \
                and PyList_GET_SIZE(now) == PyTuple_GET_SIZE(self.entries) \
                and memcmp(dg_items_of_list(<PyObject *>now), dg_items_of_tuple(<PyObject *>self.entries),
                           PyTuple_GET_SIZE(self.entries) * sizeof(PyObject *)) == 0:
            return True
        raising = (errors_of_warnings(now), errors_of_numpy())
        if self.found is None:
            self.found = raising
        elif self.found != raising:
            return False
        self.filters = now
        self.entries = tuple(now) if type(now) is list else ()
        self.treatment = treatment
        return True


cdef dict WARNINGS = vars(warnings)
cdef object EXTENSION = getattr(np._core.umath, "_extobj_contextvar", None)     # which holds NumPy's settings


cdef list errors_of_warnings(object filters):
    """The filters of warnings if some of them make errors; else none."""
    entries = list(filters) if isinstance(filters, (list, tuple)) else []
    return entries if any([entry[0] == "error" for entry in entries]) else []


cdef tuple errors_of_numpy():
    """The kinds of numbers for which NumPy raises or calls a function, and that function."""
    kinds = {kind: how for kind, how in np.geterr().items() if how in ("raise", "call", "log")}
    return kinds, np.geterrcall() if kinds else None


cdef class Guards:

    def __cinit__(self):
        self.quick = []
        self.slow = []

    def __dealloc__(self):
        PyMem_Free(self.words)
        PyMem_Free(self.values)

    cdef int add(self, Guard g, object holder, object label, object found) except -1:
        g.holder = holder
        g.label = label
        g.found = found
        g.exact = self.exact
        (self.slow if g.word is NULL else self.quick).append(g)
        return 0

    cdef int pointer(self, PyObject **at, object holder, object label) except -1:
        """Guard a pointer inside of an object."""
        cdef Pointer g = Pointer()
        g.word = <size_t *>at
        return self.add(g, holder, label, ABSENT if at[0] is NULL else <object>at[0])

    cdef int entries(self, dict d, object names, object holder, object label) except -1:
        """Guard the entries of a dict under some names, and their absence."""
        cdef Entries g = Entries()
        cdef PyObject *p
        cdef dict found = {}
        for name in names:
            p = PyDict_GetItem(d, name)
            if p is not NULL:
                found[name] = <object>p
        g.d = d
        g.names = names
        g.word = dg_version_of(<PyObject *>d)
        return self.add(g, holder, label, found)

    cdef int attributes(self, dict d, set names, object holder) except -1:
        """Guard the entries of a dict of attributes that are in `names`, and special ones; all for None."""
        cdef Attributes g = Attributes()
        g.d = d
        g.names = names
        g.word = dg_version_of(<PyObject *>d)
        return self.add(g, holder, None, {name: found for name, found in d.items() if g.counts(name)})

    cdef int content(self, object x, object label) except -1:
        """Guard all that a list, dict, set, deque or array holds."""
        cdef Guard g
        cdef Numbers numbers
        if cnp.PyArray_Check(x):
            numbers = Numbers()
            numbers.form = form_of(plain(x))
            held = np.array(numbers_of(plain(x)))
            self.bytes += held.size
            return self.add(numbers, x, label, held)
        items = items_of(x)
        self.bytes += 8 * len(items)
        if isinstance(x, dict):
            g = Items()
            g.word = NULL if is_a(x, OrderedDict) else dg_version_of(<PyObject *>x)
            return self.add(g, x, label, items)
        return self.add(Sequence(), x, label, items)

    cdef int asked(self, object ask, object label) except -1:
        """Guard what a function gives that has no arguments."""
        cdef Asked g = Asked()
        g.ask = ask
        return self.add(g, None, label, ask())

    cdef int raising(self) except -1:
        """Guard what makes errors of warnings and of numbers that are not finite."""
        cdef Raising g = Raising()
        self.add(g, None, "what becomes an error: the filters of warnings, or numpy.seterr", None)
        return g.holds()

    cdef int token(self, object of) except -1:
        return self.add(Token(), of, "the classes registered with it", get_cache_token())

    cdef int gather_words(self) except -1:
        """Gather the words, once all guards are there."""
        cdef Guard g
        self.n = len(self.quick)
        self.words = <size_t **>PyMem_Realloc(self.words, max(self.n, 1) * sizeof(size_t *))
        self.values = <size_t *>PyMem_Realloc(self.values, max(self.n, 1) * sizeof(size_t))
        if self.words is NULL or self.values is NULL:
            raise MemoryError()
        for i in range(self.n):
            g = <Guard>self.quick[i]
            g.value = g.word[0]
            self.words[i] = g.word
            self.values[i] = g.value
        return 0

    cdef bint hold(self) except -1:
        """Whether everything is as it was found."""
        return self.broken() is None

    cdef Guard broken(self):
        """The first guard that does not hold, or None."""
        cdef Py_ssize_t i
        cdef Guard g
        for i in range(self.n):
            if self.words[i][0] != self.values[i]:
                g = <Guard>self.quick[i]
                if not g.holds():
                    return g
                self.values[i] = g.value
        for g in self.slow:
            if not g.holds():
                return g
        return None


cdef str described(Guard g):
    """The place of a guard in words; what is there may raise when its name is asked for."""
    try:
        if g.label is None:
            return f"the attribute {g.changed!r} of {named(g.holder)}"
        return f"{g.label}, {g.changed!r}" if g.changed is not None else str(g.label)
    except Exception:
        return "something that it can reach"


cdef str named(object x):
    name = getattr(x, "__qualname__", None)
    return name if isinstance(name, str) else f"a {type(x).__qualname__}"
