"""Closed calls, for rematerialisation: a call that is run again knows everything that it reads from outside.

Design
------
A call that is one instruction of a tape (rematerialisation.pyx) is run again when it is differentiated, so all it
depends on has to be known. Besides its arguments that is what it reads from outside: parameters, tensors it closes
over. They are handles, and every handle is read through one function (handles.pyx: `read`). While a closed call runs, a
handle that is older than the call is looked up in the table of the call. At the first run the table is filled: what is
found outside becomes an operand of the instruction, as an argument is. At a later run the table holds the operands to
use.

New values given to older handles (running statistics, counters) stay in the table. After the first run they leave the
call as results and the handles are set, once; those of later runs are forgotten. Random numbers are drawn from the
state that the first run found.

A later run has to execute what the first run executed; equal numbers are not enough, as `stop_gradient` changes none.
So a closed call has a *history*: a digest of all that Python executes in it, in order. It tells primitives with their
parameters, numbers, texts and arrays that Python gave, stops, rules, transforms with their settings, and of each
operand which tensor it was. A tensor made inside has a *mark* for that, the history at its making; the marks of
arguments and captured tensors are numbered, or come from the closed call around. Marks and histories do not depend on
which calls are closed, since that differs from run to run: a block is not closed where nothing differentiates it. Rules
of derivatives are no part of the history either.
"""
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from cpython.object cimport PyObject
from libc.string cimport memcpy

from ..arrays.thread cimport thread_state
from ..arrays.array cimport GET_RANDOM, HOOKS, NODE, PUT_RANDOM, Value
from ..primitives.watch cimport user_line
from .nodes cimport without_closed
from .tape cimport Tape, stripped

from functools import partial
from types import FunctionType, MethodType
from zlib import crc32

from ..arrays.array import np


cdef enum:
    DEEP = 6                        # containers and functions in each other that are looked into
    FEW = 4                         # entries of a list or dict that is no record of calls


cdef class Trail:

    def __dealloc__(self):
        PyMem_RawFree(self.p)

    cdef int note(self, Py_ssize_t at, digest_t history) except -1:
        cdef Py_ssize_t room
        cdef void *moved
        if at == self.capacity:
            room = 2 * at + 16
            moved = PyMem_RawRealloc(self.p, room * sizeof(digest_t))
            if moved is NULL:
                raise MemoryError()
            self.p = <digest_t *>moved
            self.capacity = room
        self.p[at] = history
        self.n = at + 1
        return 0


cdef int follow(ClosedCall closed) except -1:
    """The history has changed: the first run notes that, a later one compares it."""
    cdef Trail trail = closed.trail
    cdef Py_ssize_t at = closed.at
    closed.at += 1
    if not closed.again:
        return trail.note(at, closed.history)
    if closed.differs_at < 0 and (at >= trail.n or trail.p[at] != closed.history):
        closed.differs_at = at
        closed.differs = user_line()
    return 0


cdef class ClosedCall:

    cdef Value capture(self, object handle, Value outside, digest_t mark):
        """The value inside of a handle that is read for the first time; its mark outside, or zero."""
        cdef Value inside
        if self.again and outside.kind == NODE:     # of a closed tape too: its sweep may run this
            raise RuntimeError(f"{self.level.name}: the function reads a tensor now that it did not read when it was "
                               f"first run, so its derivative would be incomplete; let what it reads not change from "
                               f"run to run")
        inside = without_closed(outside)
        if not self.again:
            self.values.append(inside)
            if inside.kind == NODE and self.level.reverse:
                inside = (<Tape>self.level).place(stripped(inside))
        self.handles.append(handle)
        self.marks[id(handle)] = mark if mark else numbered(CAPTURED, len(self.table))
        self.table[id(handle)] = inside
        return inside


cdef digest_t numbered(int kind, Py_ssize_t i) noexcept:
    """The mark of argument or captured tensor i."""
    return mixed(<digest_t>kind, <digest_t>i)


cdef digest_t digest_of(object x) except? 0:
    """A digest of a parameter of a primitive: of numbers, texts and arrays, of tuples, lists and dicts of them, of
    types and functions, of what objects say of themselves (`_noted`). Other objects of one class are alike."""
    return digest_to(x, DEEP)


cdef digest_t digest_to(object x, int deep) except? 0:
    cdef digest_t found
    cdef double real
    cdef digest_t bits
    if type(x) is float:
        real = x
        memcpy(&bits, &real, sizeof(bits))
        return mixed(2, bits)
    if x is None or x is True or x is False:
        return 3 if x is None else 4 if x is True else 5
    if isinstance(x, str):
        return mixed(6, <digest_t>hash(x))
    if isinstance(x, (int, float, complex)):
        return mixed(7, <digest_t>hash(repr(x)))    # numbers that differ may have one hash: -1 and -2
    if isinstance(x, np.ndarray):
        if x.dtype.kind not in "biufc":
            return 8
        return mixed(9, <digest_t>hash((x.shape, x.dtype.str, crc32(np.ascontiguousarray(x).data.cast("B"))
                                        if x.size else 0)))
    if isinstance(x, type):
        return mixed(10, <digest_t>id(x))
    if deep == 0:
        return 11
    if isinstance(x, tuple) or isinstance(x, list) and len(x) <= FEW:
        found = mixed(12, <digest_t>len(x))
        for entry in x:
            found = mixed(found, digest_to(entry, deep - 1))
        return found
    if isinstance(x, slice):
        return mixed(13, digest_to((x.start, x.stop, x.step), deep - 1))
    if isinstance(x, dict) and len(x) <= FEW:
        return mixed(14, digest_to(tuple(x.items()), deep - 1))
    if isinstance(x, (FunctionType, MethodType, partial)):
        return mixed(15, digest_of_function(x, deep - 1))
    noted = getattr(type(x), "_noted", None)
    return mixed(16, digest_to(noted(x), deep)) if callable(noted) else mixed(17, <digest_t>id(type(x)))


cdef digest_t digest_of_function(object fn, int deep) except? 0:
    """A digest of the code of a function, and of what it holds: the object of a method, defaults, variables."""
    cdef digest_t found
    if isinstance(fn, partial):
        return mixed(digest_to(fn.func, deep), digest_to((fn.args, tuple(fn.keywords.items())), deep))
    if isinstance(fn, MethodType):
        return mixed(digest_to(fn.__func__, deep), digest_of_object(fn.__self__, deep))
    found = mixed(<digest_t>hash(fn.__code__), digest_to((fn.__defaults__, fn.__kwdefaults__), deep))
    for cell in fn.__closure__ or ():
        try:
            held = cell.cell_contents
        except ValueError:                      # empty
            held = None
        found = mixed(found, digest_to(held, deep))
    return mixed(found, digest_to(tuple([fn.__globals__.get(name) for name in fn.__code__.co_names]), min(deep, 2)))


cdef digest_t digest_of_object(object x, int deep) except? 0:
    """A digest of an object whose method is a rule: of its attributes, but for those that are private."""
    held = getattr(x, "__dict__", None)
    if hasattr(type(x), "_noted") or type(held) is not dict:
        return digest_to(x, deep)
    return mixed(digest_to(type(x), deep), digest_to(tuple([(name, entry) for name, entry in list(held.items())
                                                            if isinstance(name, str) and name[:1] != "_"]), deep))


cdef Moment moment(ClosedCall closed):
    """The history as it is now, to put it back after a rule: whether and how rules run depends on the order of a
    derivative, so they are no part of the function that is differentiated."""
    cdef Moment now
    now.history = 0 if closed is None else closed.history
    now.made = 0 if closed is None else closed.made
    now.at = 0 if closed is None else closed.at
    return now


cdef int put_back(ClosedCall closed, Moment before) except -1:
    if closed is not None and before.history:   # zero: nothing was noted then
        closed.history = before.history
        closed.made = before.made
        closed.at = before.at
        if closed.differs_at >= before.at:
            closed.differs_at = -1
    return 0


cdef class Rule:
    """A function of Python that a primitive calls."""

    def __call__(self, *args, **settings):
        cdef PyObject *closed = thread_state().closed_call
        cdef Moment before
        if closed is NULL:
            return self.fn(*args, **settings)
        before = moment(<ClosedCall>closed)
        found = self.fn(*args, **settings)
        put_back(<ClosedCall>closed, before)
        return found


cdef object without_notes(object fn):
    """A kernel or rule as a primitive calls it, or a tuple of them."""
    cdef Rule rule
    if isinstance(fn, (tuple, list)):
        return tuple([without_notes(part) for part in fn])
    if not callable(fn):
        return fn
    rule = Rule()
    rule.fn = fn
    return rule


# -------------------------------------------------------------------------------------------------- random numbers

cdef object random_state():
    return (<object>HOOKS.objects[GET_RANDOM])()


cdef int set_random_state(object state) except -1:
    (<object>HOOKS.objects[PUT_RANDOM])(state)
    return 0


cdef int before_draw(ClosedCall closed) except -1:
    """Before numbers are drawn in a closed call: in first runs, it and those around it note the random state."""
    while closed is not None:
        if not closed.again and closed.state is None:
            closed.state = random_state()
        closed = closed.outer
    return 0
