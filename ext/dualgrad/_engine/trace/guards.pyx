"""Guards: checks that the objects a program depends on, besides its arguments, are unchanged.

Design
------
The steps of a program depend on numbers, attributes, containers and functions that Python read while it was recorded.
Each place that was read has a guard: the place and the object found there. A program is replayed while its guards hold.

Most guards compare one word in memory first. For a variable of a closure, a slot of an object or the code of a function
the word is the pointer. For a dict it is the version, which the interpreter changes at every modification. One loop
compares all words. Where a word differs, the guard compares the objects: an equal scalar is accepted, and so is a dict
that changed only in entries that no code names. Then the guard keeps the new word.

The contents of lists, sets, arrays and dicts without versions are compared whole, at any size. No code of derived
classes runs, so these cannot hide their contents.

A guard keeps a reference to the object it found, so that no other object gets the same address.

Without the GIL other threads may change the places during a comparison. A reference is taken in the critical section of
the object that holds the place. A guard changes its notes in its own critical section. Words are read without one.
"""
cimport cython
cimport numpy as cnp
from cpython.dict cimport PyDict_Next, PyDict_Size
from cpython.bytes cimport PyBytes_CheckExact
from cpython.complex cimport PyComplex_CheckExact
from cpython.contextvars cimport PyContextVar_Get
from cpython.float cimport PyFloat_CheckExact
from cpython.list cimport PyList_GET_SIZE
from cpython.long cimport PyLong_CheckExact
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_XDECREF
from cpython.tuple cimport PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_CheckExact
from libc.math cimport signbit
from libc.string cimport memcmp

import _warnings
import warnings
from collections import OrderedDict, deque

from ..arrays.array import np

cnp.import_array()

cdef extern from *:
    """
    #include <structmember.h>
    /* The version of a dict, which changes with the dict; NULL from Python 3.13 on, where attributes may be written
       without changing it. */
    static size_t *dg_version_of(PyObject *dict)
    {
    #if PY_VERSION_HEX < 0x030D0000 && SIZEOF_SIZE_T == 8
        return (size_t *)&((PyDictObject *)dict)->ma_version_tag;
    #else
        (void)dict;
        return NULL;
    #endif
    }
    /* True if a list has the very items of a tuple. An empty list may have no memory for items. */
    static int dg_has_items(PyObject *list, PyObject *tuple)
    {
        const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
        return PyList_GET_SIZE(list) == n
               && (n == 0 || memcmp(((PyListObject *)list)->ob_item, ((PyTupleObject *)tuple)->ob_item,
                                    (size_t)n * sizeof(PyObject *)) == 0);
    }
    """
    size_t *dg_version_of(PyObject *d)
    bint dg_has_items(PyObject *x, PyObject *y)

cdef extern from "Python.h":
    PyTypeObject *Py_TYPE(PyObject *x)
    bint PyType_IsSubtype(PyTypeObject *a, PyTypeObject *b)

from _abc import get_cache_token

cdef extern from "memory/shared.h":
    size_t dg_read_word(const size_t *place) noexcept nogil
    void dg_write_word(size_t *place, size_t word) noexcept

cdef object ABSENT = object()


cdef object pointed_at(PyObject **at, object holder):
    """The object that a pointer in an object points to, or ABSENT."""
    with cython.critical_section(holder):
        return ABSENT if at[0] is NULL else <object>at[0]


cdef bint is_a(object x, object kind) noexcept:
    """True if the type of an object derives from a class; no users' code runs."""
    return PyType_IsSubtype(Py_TYPE(<PyObject *>x), <PyTypeObject *>kind)


cdef bint equal_scalars(object a, object b) except -1:
    """True if two objects are equal immutable scalars of one type. Signed zeros differ. A nan differs from any other
    nan, since `in` compares by identity first."""
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

    cdef int looked(self, size_t now) except -1:
        """Note the word of a place that was found unchanged."""
        if self.value is not NULL:
            dg_write_word(self.value, now)
        return 0

    cdef bint holds_now(self) except -1:
        """Note the word of a dict whose guarded entries are unchanged."""
        if self.word is not NULL:
            self.looked(self.word[0])
        return True

    cdef int note(self, object changed) except -1:
        """Note the entry that has changed."""
        with cython.critical_section(self):
            self.changed = changed
        return 0

    cdef bint alike(self, object now, object before) except -1:
        """True if one object may stand for another: the same, or an equal scalar if no code compares by identity."""
        return now is before or (not self.exact and equal_scalars(now, before))

    cdef bint same_items(self, tuple now, tuple found) except -1:
        """True if the items of two tuples are alike."""
        cdef Py_ssize_t i
        if len(now) != len(found):
            return False
        for i in range(len(found)):
            if not self.alike(now[i], found[i]):
                return False
        return True

    cdef bint holds(self) except -1:
        """True if the place is unchanged; called if the word differs or there is none."""
        raise NotImplementedError


cdef class Pointer(Guard):
    """A pointer in an object."""

    cdef bint holds(self) except -1:
        now = pointed_at(<PyObject **>self.word, self.holder)
        with cython.critical_section(self):
            before = self.found
        if now is ABSENT or before is ABSENT or not self.alike(now, before):
            return False
        with cython.critical_section(self):     # hold the object before its address is compared
            self.found = now
            self.looked(<size_t><void *>now)
        return True


cdef class Entries(Guard):
    """The entries of a dict under some names; `found` holds those that exist."""
    cdef dict d
    cdef object names

    cdef bint holds(self) except -1:
        cdef dict found = <dict>self.found
        for name in self.names:
            now = self.d.get(name, ABSENT)
            before = found.get(name, ABSENT)
            if now is before:
                continue
            if now is ABSENT or before is ABSENT or not self.alike(now, before):
                self.note(name)
                return False
            found[name] = now
        return self.holds_now()


cdef class Attributes(Guard):
    """The entries of a dict of attributes under the names of a walk (None: all). New ones count as changes."""
    cdef dict d
    cdef set names

    cdef bint counts(self, object name) except -1:
        """True if an entry is guarded. A name that is not a str is guarded, because its class may define equality."""
        return self.names is None or type(name) is not str or name in self.names or (
            (<str>name).startswith("__") and (<str>name).endswith("__"))

    cdef bint holds(self) except -1:
        cdef PyObject *key
        cdef PyObject *now
        cdef Py_ssize_t i = 0, met = 0
        cdef dict found = <dict>self.found
        with cython.critical_section(self.d):
            while PyDict_Next(self.d, &i, &key, &now):
                if not self.counts(<object>key):
                    continue
                before = found.get(<object>key, ABSENT) if PyUnicode_CheckExact(<object>key) else ABSENT
                if before is ABSENT or (<object>now is not before and not self.alike(<object>now, before)):
                    self.note(<object>key)
                    return False
                met += 1
        if met != len(found):
            self.note(next((name for name in found if name not in self.d), None))
            return False
        return self.holds_now()


cdef class Items(Guard):
    """The entries of a dict, in their order."""

    cdef bint holds(self) except -1:
        cdef PyObject *key
        cdef PyObject *now
        cdef Py_ssize_t i = 0, k = 0
        cdef tuple found = <tuple>self.found
        cdef object d = self.holder
        if is_a(d, OrderedDict):
            return self.same_items(items_of(d), found)
        with cython.critical_section(d):
            if PyDict_Size(d) * 2 != len(found):
                return False
            while PyDict_Next(d, &i, &key, &now):
                if not self.alike(<object>key, found[k]) or not self.alike(<object>now, found[k + 1]):
                    return False
                k += 2
        return self.holds_now()


cdef tuple items_of(object x):
    """The items of a container, read without code of its class; for a dict keys and values in turn."""
    with cython.critical_section(x):
        if isinstance(x, dict):
            items = OrderedDict.items(x) if is_a(x, OrderedDict) else dict.items(x)
            return tuple([part for pair in items for part in pair])
        if isinstance(x, list):
            return tuple(list.__iter__(x))
        return tuple(set.__iter__(x) if isinstance(x, set) else deque.__iter__(x))


cdef class Sequence(Guard):
    """The entries of a list, deque or set, in their order."""

    cdef bint holds(self) except -1:
        if isinstance(self.holder, list):
            with cython.critical_section(self.holder):
                if PyList_GET_SIZE(self.holder) != PyTuple_GET_SIZE(self.found):
                    return False
                if dg_has_items(<PyObject *>self.holder, <PyObject *>self.found):
                    return True
        return self.same_items(items_of(self.holder), <tuple>self.found)


cdef class Numbers(Guard):
    """The elements and the layout of an array."""
    cdef object layout

    cdef bint holds(self) except -1:
        cdef const unsigned char[:] now
        cdef const unsigned char[:] before
        array = plain_array(self.holder)
        if layout_of(array) != self.layout:
            return False
        now = bytes_of_array(array)
        before = self.found
        return now.shape[0] == 0 or memcmp(&now[0], &before[0], now.shape[0]) == 0


cdef object plain_array(object array):
    """An array as a plain ndarray, without code of its class."""
    return array if type(array) is np.ndarray else np.ndarray.view(array, np.ndarray)


cdef object layout_of(object array):
    cdef object dtype = array.dtype             # its names may be changed
    return (array.shape, dtype, array.strides, cnp.PyArray_ISWRITEABLE(array),
            None if dtype.names is None else repr(dtype))


cdef object bytes_of_array(object array):
    """The bytes of an array; elements that are repeated by a stride of zero occur once."""
    if not array.flags.c_contiguous:
        if 0 in array.strides:
            array = array[tuple([slice(None) if step else slice(1) for step in array.strides])]
        array = np.ascontiguousarray(array)
    return array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)


cdef class Token(Guard):
    """The number of registrations with abstract classes, on which isinstance depends."""

    cdef bint holds(self) except -1:
        return get_cache_token() == self.found


cdef class CallResult(Guard):
    """The result of a function without arguments."""
    cdef object fn

    cdef bint holds(self) except -1:
        now = self.fn()
        return now is self.found or (type(now) is type(self.found) and bool(now == self.found))


cdef class Raising(Guard):
    """The warnings and floating-point events of NumPy that are errors. Other settings do not matter: a replay does not
    warn."""
    cdef tuple looked_at                # the list of filters at the last look, its entries, settings of NumPy

    cdef bint holds(self) except -1:
        cdef object now = filters_of_warnings()
        cdef object numpy_settings = settings_of_numpy()
        with cython.critical_section(self):
            filters, entries, settings = self.looked_at
        if now is filters and numpy_settings is settings and type(now) is list:
            with cython.critical_section(now):
                if dg_has_items(<PyObject *>now, <PyObject *>entries):
                    return True
        raising = (errors_of_warnings(now), errors_of_numpy())
        if self.found is None:
            self.found = raising
        elif self.found != raising:
            return False
        with cython.critical_section(self):
            self.looked_at = now, tuple(now) if type(now) is list else (), numpy_settings
        return True


cdef dict WARNINGS = vars(warnings)
cdef object WARNINGS_CONTEXT = getattr(_warnings, "_warnings_context", None)    # since Python 3.14
cdef object NUMPY_SETTINGS = getattr(np._core.umath, "_extobj_contextvar", None)


cdef object filters_of_warnings():
    """The list of filters in use: the list of this context if `catch_warnings` has made one, else the common list."""
    here = None if WARNINGS_CONTEXT is None else in_context(WARNINGS_CONTEXT)
    return WARNINGS.get("filters") if here is None else here._filters


cdef object settings_of_numpy():
    """NumPy's treatment of floating-point events in this context: another object once it is set."""
    return np.geterr() if NUMPY_SETTINGS is None else in_context(NUMPY_SETTINGS)


cdef object in_context(object variable):
    """The value of a context variable, or None."""
    cdef PyObject *found = NULL
    PyContextVar_Get(variable, NULL, &found)
    if found is NULL:
        return None
    value = <object>found
    Py_XDECREF(found)
    return value


cdef list errors_of_warnings(object filters):
    """The filters of warnings if one of them makes errors; else an empty list."""
    entries = list(filters) if isinstance(filters, (list, tuple)) else []
    return entries if any([entry[0] == "error" for entry in entries]) else []


cdef tuple errors_of_numpy():
    """The floating-point events for which NumPy raises or calls a function, and that function."""
    kinds = {kind: how for kind, how in np.geterr().items() if how in ("raise", "call", "log")}
    return kinds, SameObject(np.geterrcall() if kinds else None)


class SameObject:
    """Equal to another if both hold the same object."""

    def __init__(self, held):
        self.held = held

    def __eq__(self, other):
        return isinstance(other, SameObject) and self.held is other.held


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
        """Guard a pointer in an object."""
        cdef Pointer g = Pointer()
        g.word = <size_t *>at
        return self.add(g, holder, label, pointed_at(at, holder))

    cdef int entries(self, dict d, object names, object holder, object label) except -1:
        """Guard the presence, absence and values of some names in a dict."""
        cdef Entries g = Entries()
        cdef dict found = {}
        for name in names:
            now = d.get(name, ABSENT)
            if now is not ABSENT:
                found[name] = now
        g.d = d
        g.names = names
        g.word = dg_version_of(<PyObject *>d)
        return self.add(g, holder, label, found)

    cdef int attributes(self, dict d, set names, object holder) except -1:
        """Guard the entries of a dict of attributes under `names` and special names; None: all entries."""
        cdef Attributes g = Attributes()
        g.d = d
        g.names = names
        g.word = dg_version_of(<PyObject *>d)
        return self.add(g, holder, None, {name: found for name, found in list(d.items())
                                          if type(name) is str and g.counts(name)})

    cdef int content(self, object x, object label) except -1:
        """Guard the whole contents of a list, dict, set, deque or array."""
        cdef Guard g
        cdef Numbers numbers
        if cnp.PyArray_Check(x):
            numbers = Numbers()
            numbers.layout = layout_of(plain_array(x))
            held = np.array(bytes_of_array(plain_array(x)))
            self.bytes += held.size
            return self.add(numbers, x, label, held)
        items = items_of(x)
        self.bytes += 8 * len(items)
        if isinstance(x, dict):
            g = Items()
            g.word = NULL if is_a(x, OrderedDict) else dg_version_of(<PyObject *>x)
            return self.add(g, x, label, items)
        return self.add(Sequence(), x, label, items)

    cdef int result_of(self, object fn, object label) except -1:
        """Guard the result of a function without arguments."""
        cdef CallResult g = CallResult()
        g.fn = fn
        return self.add(g, None, label, fn())

    cdef int raising(self) except -1:
        """Guard the settings that turn warnings and floating-point events into errors."""
        cdef Raising g = Raising()
        g.looked_at = None, (), None
        self.add(g, None, "what becomes an error: the filters of warnings, or numpy.seterr", None)
        return g.holds()

    cdef int token(self, object of) except -1:
        return self.add(Token(), of, "the classes registered with it", get_cache_token())

    cdef int gather_words(self) except -1:
        """Copy words and values to C arrays, after the last guard was added."""
        cdef Guard g
        self.n = len(self.quick)
        self.words = <size_t **>PyMem_Realloc(self.words, max(self.n, 1) * sizeof(size_t *))
        self.values = <size_t *>PyMem_Realloc(self.values, max(self.n, 1) * sizeof(size_t))
        if self.words is NULL or self.values is NULL:
            raise MemoryError()
        for i in range(self.n):
            g = <Guard>self.quick[i]
            g.value = &self.values[i]
            self.words[i] = g.word
            self.values[i] = dg_read_word(g.word)
        return 0

    cdef bint hold(self) except -1:
        """True if all guards hold."""
        return self.broken() is None

    cdef Guard broken(self):
        """The first guard that does not hold, or None."""
        cdef Py_ssize_t i = 0
        cdef Guard g
        while True:
            i = next_changed(self.words, self.values, i, self.n)
            if i == self.n:
                break
            g = <Guard>self.quick[i]
            if not held(g):
                return g
            i += 1
        for g in self.slow:
            if not held(g):
                return g
        return None


cdef bint held(Guard g) except -1:
    """True if a guard holds; False if its check raises an error."""
    try:
        return g.holds()
    except Exception:
        return False


cdef inline Py_ssize_t next_changed(size_t **words, const size_t *values, Py_ssize_t i, Py_ssize_t n) noexcept:
    """The first place from i on with a changed word; n if there is none. Compares four words at once."""
    while i + 4 <= n and not (differ(words, values, i) | differ(words, values, i + 1)
                              | differ(words, values, i + 2) | differ(words, values, i + 3)):
        i += 4
    while i < n and not differ(words, values, i):
        i += 1
    return i


cdef inline size_t differ(size_t **words, const size_t *values, Py_ssize_t i) noexcept:
    """Not zero if a word has changed."""
    return dg_read_word(words[i]) ^ dg_read_word(&values[i])


cdef str guard_in_words(Guard g):
    """The place of a guard in words; reading the name of the holder may raise."""
    try:
        if g.label is None:
            return f"the attribute {g.changed!r} of {name_in_words(g.holder)}"
        return f"{g.label}, {g.changed!r}" if g.changed is not None else str(g.label)
    except Exception:
        return "something that it can reach"


cdef str name_in_words(object x):
    name = getattr(x, "__qualname__", None)
    return name if isinstance(name, str) else f"a {type(x).__qualname__}"
