"""Deferred values: arrays of a recording that are computed late or never.

Design
------
A recording needs only types and shapes. If an array is large and its type and shape follow from its operands, the
recorder defers it: the array has no data yet, and arrays computed from it are deferred too. Python reads few such
arrays. When the recording ends, its plan computes the results tile by tile. Eager execution would allocate every
intermediate array.

A deferred value is computed when Python reads it, or when a primitive needs its shape from the data. The values that it
depends on are computed first. When a recording is given up, every deferred value that an object outside of this module
still holds is computed. The values are visited last to first: one that only its `DeferredValue` holds is dropped and
releases its operands.
"""
from cpython.object cimport PyObject

from ..arrays.array cimport HOOKS, MAX_DIMS, Array, is_deferred, take_over, to_ndarray, without_numbers
from ..arrays.thread cimport thread_state
from ..primitives.execute cimport Tracer, active_tracer, run
from ..primitives.opcodes cimport N_OPS
from ..primitives.registry cimport PRIMITIVES, Loop, Primitive, broadcast_shape, find_loop, is_elementwise

cdef extern from "memory/shared.h":
    long long dg_add_shared(long long *counter, long long n) noexcept
    # an argument of type object would hold a reference itself
    bint dg_held_at_most(PyObject *x, Py_ssize_t n) noexcept


COMPARE = None                      # called with the result of a plan, the right result, the plan, and its operands


def compare_deferred_by(compare):
    """Set the function that compares deferred results under `checked`."""
    global COMPARE
    COMPARE = compare


def defer_from(Py_ssize_t nbytes):
    """Defer arrays of at least `nbytes` on this thread; returns the former limit."""
    cdef Py_ssize_t former = thread_state().deferred
    thread_state().deferred = nbytes
    return former


cdef class DeferredValue:
    """An array without data, and the primitive that computes it."""


cdef class DeferredValues:
    """The deferred values of one recording."""

    def __cinit__(self):
        self.waiting = {}

    cdef Array defer(self, int op, object params, PyObject **args, int n):
        """A result without data; None if it must be computed now."""
        cdef Py_ssize_t[MAX_DIMS] shape
        cdef Py_ssize_t nbytes = 0
        cdef Array a
        cdef int i, typenum, ndim = -1
        cdef bint unread = False
        for i in range(n):
            a = <Array>args[i]
            nbytes += a.size * a.itemsize
            unread = unread or is_deferred(a)
        if (not unread and nbytes < thread_state().deferred // 16) or (op >= N_OPS and PRIMITIVES[op] is NULL):
            return None
        typenum = type_and_shape(op, params, args, n, &ndim, shape)
        if typenum < 0:
            return None
        a = without_numbers(typenum, ndim, shape)
        return a if a.size > 0 and (unread or a.size * a.itemsize >= thread_state().deferred) else None

    cdef int remember(self, Array out, int op, object params, PyObject **args, int n) except -1:
        """Keep the primitive and operands of a deferred array, which has its slot now."""
        cdef DeferredValue p = DeferredValue()
        cdef int i
        p.out = out
        p.op = op
        p.params = params
        p.operands = [<Array>args[i] for i in range(n)]
        self.nbytes += out.size * out.itemsize
        self.waiting[out.slot] = p
        return 0

    cdef Array deferred_in(self, int slot):
        """The deferred array of a slot, or None."""
        p = self.waiting.get(slot)
        return None if p is None else (<DeferredValue>p).out

    cdef int compute(self, DeferredValue p) except -1:
        cdef bytearray room = bytearray(max(len(p.operands), 1) * sizeof(PyObject *))
        cdef PyObject **args = <PyObject **><char *>room
        cdef int i, n = len(p.operands)
        for i in range(n):
            args[i] = <PyObject *>p.operands[i]
        take_over(p.out, run(p.op, p.params, args, n))
        p.operands = None
        return 0

    cdef int evaluate(self, Array a) except -1:
        """Compute an array and the deferred values that it depends on."""
        cdef list stack = [a.slot]
        cdef DeferredValue p
        cdef Array x
        while stack:
            slot = stack[len(stack) - 1]
            p = self.waiting.get(slot)
            missing = [] if p is None else [x.slot for x in p.operands if is_deferred(x)]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if p is not None:
                self.compute(p)
                del self.waiting[slot]
                if self.done is not None:
                    self.done[slot] = p.out
                    dg_add_shared(&self.held, p.out.size * p.out.itemsize)
        return 0

    cdef int evaluate_all(self) except -1:
        """Compute every deferred value that another object holds, and drop all others."""
        cdef list deferred = list(self.waiting.values()), needed = []
        cdef DeferredValue p
        self.waiting = {}
        while deferred:
            p = deferred.pop()
            if dg_held_at_most(<PyObject *>p.out, 1):
                p.operands = None
            else:
                needed.append(p)
        while needed:
            self.compute(needed.pop())
        return 0

    cdef list slots_held(self):
        """The slots of deferred arrays that another object holds."""
        cdef dict inside = {}           # slot -> how often deferred values read it
        cdef DeferredValue p
        cdef Array x
        for p in self.waiting.values():
            for x in p.operands:
                if is_deferred(x):
                    inside[x.slot] = inside.get(x.slot, 0) + 1
        x = None
        return [slot for slot, p in self.waiting.items()
                if not dg_held_at_most(<PyObject *>(<DeferredValue>p).out, 1 + <Py_ssize_t>inside.get(slot, 0))]

    cdef int compare(self, list slots, list arrays, object plan) except -1:
        """Compare the results of a plan with the results of single primitives, and use the latter."""
        cdef Array a
        cdef DeferredValue p
        operands = [to_ndarray(a) for p in self.waiting.values() for a in p.operands if not is_deferred(a)]
        for slot, numbers in zip(slots, arrays):
            a = self.deferred_in(slot)
            if a is not None:
                self.evaluate(a)
                COMPARE(to_ndarray(<Array>numbers), to_ndarray(a), plan, operands)
        return 0

    cdef int fill_in(self, list slots, list arrays, object plan) except -1:
        """Give deferred arrays the data that a plan has computed."""
        cdef DeferredValue p
        if thread_state().checking:
            self.compare(slots, arrays, plan)
        for slot, numbers in zip(slots, arrays):
            p = self.waiting.pop(slot, None)
            if p is not None:
                take_over(p.out, numbers)
        return 0


cdef int compute_now(Array a) except -1:
    """Compute a deferred array that Python or a kernel reads."""
    cdef Tracer tracer = active_tracer()
    if tracer is not None and tracer.knows(a):
        return tracer.needed(a)
    if is_deferred(a):                          # else its call has computed it meanwhile
        raise RuntimeError("the numbers of this tensor are deferred while another thread records a function, or an "
                           "error kept them from being computed")
    return 0


# ------------------------------------------------------------------------------------------------- types and shapes

cdef int type_and_shape(int op, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
    """The type number and the shape of a result; -1 if they depend on data, or the operands do not fit."""
    cdef Primitive p
    cdef Loop *loop
    cdef int i
    if PRIMITIVES[op] is not NULL:
        p = <Primitive>PRIMITIVES[op]
        return p.form(params, args, n, ndim, shape) if p.can_wait(params, args, n) else -1
    for i in range(1, n):
        if (<Array>args[i]).typenum != (<Array>args[0]).typenum:
            return -1
    if n == 0 or params is not None or not is_elementwise(op):
        return -1
    loop = find_loop(op, (<Array>args[0]).typenum)
    if loop.fn is NULL or loop.asks:        # such a loop may raise, which must happen at the call
        return -1
    ndim[0] = broadcast_shape(op, args, n, shape)
    return loop.out_typenum


HOOKS.compute = compute_now
