"""Loops in programs: a program of one step that runs many times, its reverse, a choice of two branches, and unpacking.

Loops are rolled up below all transforms (trace/rolling.pyx), so no tape and no dual number ever meets one of these
primitives.
"""
cimport numpy as cnp
from cpython.object cimport PyObject

from ..arrays.array cimport MAX_DIMS, Array, Value, contiguous, item_size, new_view
from ..compiler.loops cimport run_choice, run_loop, run_reversed
from ..compiler.repetitions cimport Choice, Repetition, Reversal
from ..primitives.registry cimport define
from ..values.families cimport Constant

from ..._table.row import structural


cdef class BelowTransforms(Constant):
    """Base of primitives that only recordings contain."""

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        raise RuntimeError(f"{self.name}: an instruction of recorded programs has no samples")

    cdef Value lifted(self, object params, PyObject **args, int n, object level, object algebra):
        raise RuntimeError(f"{self.name}: an instruction of recorded programs has no derivative")

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return None

    def reads(self, step, int k):
        return step.dense(k)

    def accumulated(self, walk, step, int k, list parts, list moving):
        return walk.refused()


cdef int bytes_form(Py_ssize_t nbytes, int *ndim, Py_ssize_t *shape) noexcept:
    ndim[0] = 1
    shape[0] = nbytes
    return cnp.NPY_UBYTE


cdef class RunLoop(BelowTransforms):
    """params: a Repetition. The result is packed."""

    cdef Array execute(self, object params, PyObject **args, int n):
        return run_loop(<Repetition>params, args)

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return bytes_form((<Repetition>params).nbytes, ndim, shape)


cdef class RunReversed(BelowTransforms):
    """params: a Reversal. The result is packed."""

    cdef Array execute(self, object params, PyObject **args, int n):
        return run_reversed(<Reversal>params, args)

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return bytes_form((<Reversal>params).backward.nbytes, ndim, shape)


cdef class RunChoice(BelowTransforms):
    """params: a Choice. The result is packed."""

    cdef Array execute(self, object params, PyObject **args, int n):
        return run_choice(<Choice>params, args)

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return bytes_form((<Choice>params).nbytes, ndim, shape)


cdef class Unpack(BelowTransforms):
    """One of several packed results; params: its type number, its shape, and its offset in bytes."""

    cdef Array execute(self, object params, PyObject **args, int n):
        cdef Py_ssize_t[MAX_DIMS] shape
        cdef Py_ssize_t[MAX_DIMS] strides
        cdef Py_ssize_t stride
        cdef Array packed = contiguous(<Array>args[0]), view
        cdef int typenum = params[0], ndim = 0, i
        self.form(params, args, n, &ndim, shape)
        stride = item_size(typenum)
        for i in range(ndim - 1, -1, -1):
            strides[i] = stride
            stride *= shape[i]
        view = new_view(packed, ndim, shape, strides, packed.data + <Py_ssize_t>params[2])
        view.typenum = typenum
        view.itemsize = item_size(typenum)
        view.contiguous = True
        return view

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        cdef int i
        ndim[0] = len(params[1])
        for i in range(ndim[0]):
            shape[i] = params[1][i]
        return params[0]


cdef int OP_LOOP = define(RunLoop(), structural("loop", "constant", -1, result="any", variadic=True,
                                                summary="the steps of a loop, one after the other"))
cdef int OP_REVERSED_LOOP = define(RunReversed(), structural("reversed_loop", "constant", -1, result="any",
                                                             variadic=True, summary="the steps of a loop backwards"))
cdef int OP_CHOICE = define(RunChoice(), structural("choice", "constant", -1, result="any", variadic=True,
                                                    summary="one of two branches"))
cdef int OP_UNPACK = define(Unpack(), structural("unpack", "constant", 1, result="any",
                                                 summary="one of the results of a loop"))
