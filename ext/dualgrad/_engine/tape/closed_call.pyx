"""Closed calls, for rematerialisation: a call that runs again knows everything that it reads from outside.

Design
------
A tape holds such a call as one instruction (rematerialisation.pyx) and runs it again to differentiate it. So all inputs
of the call must be known: its arguments, and the tensors that it reads from outside (parameters, tensors it closes
over). These are handles, and one function reads all handles (handles.pyx: `read`). During a closed call it looks up
each handle that is older than the call in the table of the call. The first run fills the table: each value found
outside becomes an operand of the instruction, like an argument. In a later run the table holds the operands.

New values of older handles (running statistics, counters) stay in the table. The first run returns them as results and
sets the handles once; later runs drop them. Random draws start from the state that the first run found.

A later run must execute the operations of the first run. Equal numbers do not prove this: `stop_gradient` changes no
numbers. So a closed call has a *history*: a digest of all that Python executes in it, in order. The digest includes
primitives with their parameters, numbers, texts and arrays given by Python, stops, rules, and transforms with their
settings. It also tells for each operand which tensor it was. For that, a tensor made inside has a *mark*: the history
when it was made. Marks of arguments and captured tensors are numbers, or come from the surrounding closed call. Marks
and histories do not depend on which calls are closed. Runs may close different calls: a block is not closed where
nothing differentiates it. Operations inside derivative rules are not in the history either.
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
    DEEP = 6                        # levels of nested containers and functions that a digest includes
    FEW = 4                         # most entries of a list or dict in a digest: a longer one may log calls


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
    """Note the new history in the first run; compare it in a later run."""
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
        """The inside value of a handle that is read for the first time. `mark` is its mark outside, or zero."""
        cdef Value inside
        if self.again and outside.kind == NODE:     # also of a closed tape: its sweep may run this
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
    """A digest of a parameter of a primitive. It reads numbers, texts, arrays, types, functions, nests of these, and
    the `_noted` of objects. Other objects of one class have equal digests."""
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
        return mixed(7, <digest_t>hash(repr(x)))    # different numbers may have equal hashes: -1 and -2
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
    """A digest of a function's code, its bound object, defaults and variables."""
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
    """A digest of an object that has a rule as a method: of its public attributes, or its `_noted`."""
    held = getattr(x, "__dict__", None)
    if hasattr(type(x), "_noted") or type(held) is not dict:
        return digest_to(x, deep)
    return mixed(digest_to(type(x), deep), digest_to(tuple([(name, entry) for name, entry in list(held.items())
                                                            if isinstance(name, str) and name[:1] != "_"]), deep))


cdef Moment moment(ClosedCall closed):
    """The current history, to restore it after a rule. How rules run depends on the order of a derivative, so they are
    not part of the differentiated function."""
    cdef Moment now
    now.history = 0 if closed is None else closed.history
    now.made = 0 if closed is None else closed.made
    now.at = 0 if closed is None else closed.at
    return now


cdef int put_back(ClosedCall closed, Moment before) except -1:
    if closed is not None and before.history:   # zero: there was no closed call
        closed.history = before.history
        closed.made = before.made
        closed.at = before.at
        if closed.differs_at >= before.at:
            closed.differs_at = -1
    return 0


cdef class Rule:
    """A Python function that a primitive calls; its operations do not enter the history."""

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
    """Wrap a kernel or rule, or a tuple of them, so that its operations do not enter the history."""
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
    """Before a draw: store the random state in each surrounding closed call that is in its first run."""
    while closed is not None:
        if not closed.again and closed.state is None:
            closed.state = random_state()
        closed = closed.outer
    return 0
