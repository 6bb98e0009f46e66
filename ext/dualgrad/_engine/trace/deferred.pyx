"""Promises: results of a recording that are not computed before somebody needs their numbers.

Design
------
A recording needs types and shapes. So where an array is large and its form is known beforehand, its computation is put
off: the array has no data yet, and what is computed from it is put off too. Most such arrays are never looked at.
When the recording ends its program is planned and run, block by block, and gives the numbers of all results; an eager
execution would have filled memory with everything in between first.

A promise is kept at once where Python is given numbers, or a primitive is met whose result cannot be foretold; then
what it depends on is computed as eager execution would have done. When a recording is given up, so are all promises
whose arrays are still held by somebody else: gone through backwards, an array that only its promise holds can be
dropped, and lets go of its operands.
"""
cimport numpy as cnp
from cpython.object cimport PyObject

from ..arrays.array cimport MAX_DIMS, Array, is_complex, take_over, without_numbers
from ..arrays.thread cimport thread_state
from ..primitives.execute cimport Tracer, active_tracer, run
from ..primitives.opcodes cimport *
from ..primitives.registry cimport Loop, broadcast_shape, find_loop, is_elementwise, rule_of


def put_off_from(Py_ssize_t nbytes):
    """Have this thread put off arrays from this size on; returns the former one."""
    cdef Py_ssize_t former = thread_state().deferred
    thread_state().deferred = nbytes
    return former


cdef class Promise:
    """An array without numbers, and how they are computed."""


cdef class Promises:
    """Those of one recording."""

    def __cinit__(self):
        self.waiting = {}

    cdef Array promise(self, int op, object params, PyObject **args, int n):
        """A result without numbers; None if it has to be computed now."""
        cdef Py_ssize_t[MAX_DIMS] shape
        cdef Py_ssize_t nbytes = 0
        cdef Array a
        cdef int i, typenum, ndim = -1
        cdef bint waits = False
        for i in range(n):
            a = <Array>args[i]
            nbytes += a.size * a.itemsize
            waits = waits or (a.data is NULL and a.size > 0)
        if (not waits and nbytes < thread_state().deferred // 16) or op >= N_OPS:
            return None
        typenum = form(op, params, args, n, &ndim, shape)
        if typenum < 0:
            return None
        a = without_numbers(typenum, ndim, shape)
        return a if a.size > 0 and (waits or a.size * a.itemsize >= thread_state().deferred) else None

    cdef int remember(self, Array out, int op, object params, PyObject **args, int n) except -1:
        """How the numbers of a promised array, which has its slot now, are computed."""
        cdef Promise p = Promise()
        cdef int i
        p.out = out
        p.op = op
        p.params = params
        p.operands = [<Array>args[i] for i in range(n)]
        self.waiting[out.slot] = p
        return 0

    cdef Array waits(self, int slot):
        """The array of a slot that is put off, or None."""
        p = self.waiting.get(slot)
        return None if p is None else (<Promise>p).out

    cdef int compute(self, Promise p) except -1:
        cdef bytearray room = bytearray(max(len(p.operands), 1) * sizeof(PyObject *))
        cdef PyObject **args = <PyObject **><char *>room
        cdef int i, n = len(p.operands)
        for i in range(n):
            args[i] = <PyObject *>p.operands[i]
        take_over(p.out, run(p.op, p.params, args, n))
        p.operands = None
        return 0

    cdef int keep(self, Array a) except -1:
        """Compute the numbers of an array, and what they depend on."""
        cdef list stack = [a.slot]
        cdef Promise p
        cdef Array x
        while stack:
            slot = stack[len(stack) - 1]
            p = self.waiting.get(slot)
            missing = [] if p is None else [x.slot for x in p.operands if x.data is NULL and x.size > 0]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if p is not None:
                self.compute(p)
                del self.waiting[slot]
        return 0

    cdef int keep_all(self) except -1:
        """Compute whatever is held by others."""
        cdef list promises = list(self.waiting.values()), needed = []
        cdef Promise p
        self.waiting = {}
        while promises:
            p = promises.pop()
            if (<PyObject *>p.out).ob_refcnt > 1:
                needed.append(p)
            else:
                p.operands = None
        while needed:
            self.compute(needed.pop())
        return 0

    cdef int fulfil(self, list slots, list arrays) except -1:
        """Give promised arrays the numbers that a program has computed."""
        cdef Promise p
        for slot, numbers in zip(slots, arrays):
            p = self.waiting.pop(slot, None)
            if p is not None:
                take_over(p.out, numbers)
        return 0


cdef int compute_now(Array a) except -1:
    """Somebody reads an array that is put off."""
    cdef Tracer tracer = active_tracer()
    if tracer is None:
        raise RuntimeError("the numbers of this tensor were put off while a function was recorded, and an error kept "
                           "them from being computed")
    return tracer.needed(a)


# -------------------------------------------------------------------------------------------------------------- forms

cdef int form(int op, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
    """The type number and the shape of a result; -1 if they are not foretold, or the operands do not fit."""
    cdef Array a = <Array>args[0] if n else None
    cdef Loop *loop
    cdef int i, k
    if n == 0:
        return -1
    if op == OP_WHERE:
        if (<Array>args[1]).typenum != (<Array>args[2]).typenum:
            return -1
        ndim[0] = broadcast_shape(op, args, n, shape)
        return (<Array>args[1]).typenum
    for i in range(1, n):
        if (<Array>args[i]).typenum != a.typenum:
            return -1
    if op == OP_MATMUL:
        return multiplied(a, <Array>args[1], ndim, shape)
    if op == OP_CONCAT:
        return joined(params, args, n, ndim, shape)
    if op == OP_CAST:
        return -1 if params == a.typenum or is_complex(a.typenum) else like(a, params, ndim, shape)
    if op == OP_POWER:
        return like(a, a.typenum, ndim, shape) if a.typenum == cnp.NPY_DOUBLE or a.typenum == cnp.NPY_FLOAT else -1
    if op == OP_TRANSPOSE:
        ndim[0] = a.ndim
        for i in range(a.ndim):
            shape[i] = a.shape[<int>params[i]]
        return a.typenum
    if op == OP_RESHAPE or op == OP_BROADCAST_TO or op == OP_UNSLICE or op == OP_SUM_TO:
        if op == OP_SUM_TO and a.typenum != cnp.NPY_DOUBLE and a.typenum != cnp.NPY_FLOAT:
            return -1
        target = params[0] if op == OP_UNSLICE else params
        if len(target) > MAX_DIMS:
            return -1
        ndim[0] = len(target)
        for i in range(ndim[0]):
            shape[i] = target[i]
        return a.typenum
    if op == OP_SLICE:
        ndim[0] = a.ndim
        for i in range(a.ndim):
            shape[i] = params[i][1]
        return a.typenum
    if op == OP_SUM:
        axes, keepdims = params
        if not axes or (a.typenum != cnp.NPY_DOUBLE and a.typenum != cnp.NPY_FLOAT):
            return -1
        k = 0
        for i in range(a.ndim):
            if i not in axes or keepdims:
                shape[k] = 1 if i in axes else a.shape[i]
                k += 1
        ndim[0] = k
        return a.typenum
    if params is not None or not is_elementwise(op) or rule_of(op) is not None:
        return -1
    loop = find_loop(op, a.typenum)
    if loop.fn is NULL or loop.asks:        # an error is raised where the function is called, not later
        return -1
    ndim[0] = broadcast_shape(op, args, n, shape)
    return loop.out_typenum


cdef int like(Array a, int typenum, int *ndim, Py_ssize_t *shape) noexcept:
    """A result of the shape of an operand."""
    cdef int i
    ndim[0] = a.ndim
    for i in range(a.ndim):
        shape[i] = a.shape[i]
    return typenum


cdef int multiplied(Array a, Array b, int *ndim, Py_ssize_t *shape) noexcept:
    """A matrix product of floats; leading axes broadcast."""
    cdef int n = max(a.ndim, b.ndim), i
    cdef Py_ssize_t p, q
    if a.typenum != cnp.NPY_DOUBLE and a.typenum != cnp.NPY_FLOAT:
        return -1
    if a.ndim < 2 or b.ndim < 2 or a.shape[a.ndim - 1] != b.shape[b.ndim - 2]:
        return -1
    for i in range(n - 2):
        p = 1 if i < n - a.ndim else a.shape[i - (n - a.ndim)]
        q = 1 if i < n - b.ndim else b.shape[i - (n - b.ndim)]
        if p != q and p != 1 and q != 1:
            return -1
        shape[i] = q if p == 1 else p
    shape[n - 2] = a.shape[a.ndim - 2]
    shape[n - 1] = b.shape[b.ndim - 1]
    ndim[0] = n
    return a.typenum


cdef int joined(int axis, PyObject **args, int n, int *ndim, Py_ssize_t *shape) noexcept:
    """Operands one behind the other."""
    cdef Array a = <Array>args[0], b
    cdef int i, j
    like(a, a.typenum, ndim, shape)
    if axis < 0 or axis >= a.ndim:
        return -1
    for i in range(1, n):
        b = <Array>args[i]
        if b.ndim != a.ndim:
            return -1
        for j in range(a.ndim):
            if j != axis and b.shape[j] != a.shape[j]:
                return -1
        shape[axis] += b.shape[axis]
    return a.typenum
