"""Reductions that select or count: reduce_max and reduce_min, argmax, argmin, argsort, all, any, and counts.

params: (axes, keepdims), or one axis, or None for all of them; argsort: (axis, descending).
"""
cimport numpy as cnp
from cpython.object cimport PyObject

from ..arrays.array import np
from ..arrays.array cimport Array, Value, shape_tuple, to_ndarray
from ..primitives.registry cimport define
from ..primitives.forms cimport like, real, reduced, wrap
from ..values.families cimport Constant, Selection, batched_reduction
from ..values.levels cimport Batch, bind1

cnp.import_array()


cdef class Extreme(Selection):
    """The largest or smallest element."""
    cdef object ufunc
    cdef str called, wanted

    cdef Array execute(self, object params, PyObject **args, int n):
        cdef Array a = <Array>args[0]
        numbers = real(self.op, a)
        if not a.size and nothing_to_choose(a, params[0]):
            raise ValueError(f"{self.called}: the operand of shape {shape_tuple(a)} is empty, so it has no "
                             f"{self.wanted} element")
        return wrap(self.ufunc.reduce(numbers, axis=params[0], keepdims=params[1]))

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return reduced(<Array>args[0], (<Array>args[0]).typenum, params[0], params[1], ndim, shape)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return batched_reduction(self, params, <Value>args[0], level)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return None

    def reads(self, step, int k):
        return step.gathered_along_axes(k)

    def accumulated(self, walk, step, int k, list parts, list moving):
        return walk.refused()


cdef bint nothing_to_choose(Array a, tuple axes):
    """True if a reduced axis has no elements, although the result may have some."""
    for axis in axes:
        if a.shape[<int>axis] == 0:
            return True
    return False


cdef class Largest(Extreme):
    def __cinit__(self):
        self.ufunc, self.called, self.wanted = np.maximum, "max", "largest"


cdef class Smallest(Extreme):
    def __cinit__(self):
        self.ufunc, self.called, self.wanted = np.minimum, "min", "smallest"


# --------------------------------------------------------------------------------------------- positions and counts

cdef class Count(Constant):
    """An integer, or a truth value, for each group of elements."""
    cdef object function            # function of an array, axis and keepdims
    cdef int typenum                # type number of the result
    cdef bint orders                # the function orders elements, so complex numbers are refused

    cdef Array execute(self, object params, PyObject **args, int n):
        numbers = real(self.op, <Array>args[0]) if self.orders else to_ndarray(<Array>args[0])
        return wrap(self.function(numbers, axis=params[0], keepdims=params[1]))

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return reduced(<Array>args[0], self.typenum, params[0], params[1], ndim, shape)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return batched_reduction(self, params, <Value>args[0], level)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return None


cdef Count counting(object function, int typenum, bint orders=False):
    cdef Count p = Count()
    p.function = function
    p.typenum = typenum
    p.orders = orders
    return p


cdef class ArgSort(Constant):
    """A stable sort, so that ties keep their order."""

    cdef Array execute(self, object params, PyObject **args, int n):
        a = real(self.op, <Array>args[0])
        axis, descending = params
        if descending:
            return wrap(a.shape[axis] - 1 - np.flip(np.argsort(np.flip(a, axis), axis, kind="stable"), axis))
        return wrap(np.argsort(a, axis, kind="stable"))

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return like(<Array>args[0], cnp.NPY_INTP, ndim, shape)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return bind1(self.op, (params[0] + 1, params[1]), (<Batch>args[0]).value)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return None


define(Largest(), "reduce_max")
define(Smallest(), "reduce_min")
define(counting(np.argmax, cnp.NPY_INTP, True), "argmax")
define(counting(np.argmin, cnp.NPY_INTP, True), "argmin")
define(counting(np.logical_and.reduce, cnp.NPY_BOOL), "all")
define(counting(np.logical_or.reduce, cnp.NPY_BOOL), "any")
define(counting(np.count_nonzero, cnp.NPY_INTP), "count_nonzero")
define(ArgSort(), "argsort")
