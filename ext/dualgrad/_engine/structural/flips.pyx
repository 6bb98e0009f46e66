"""flip: the elements in reverse order along axes."""
from cpython.object cimport PyObject

import numpy as np

from dualgrad._table.row import structural

from ..arrays.array cimport Array, Value, to_ndarray
from ..compiler.views cimport View, view
from ..primitives.registry cimport define
from ..primitives.structural cimport like, wrap
from ..values.families cimport Linear
from ..values.levels cimport Batch, bind1


cdef class Flip(Linear):
    """params: the axes."""

    def __cinit__(self):
        self.odd = True

    cdef Array execute(self, object params, PyObject **args, int n):
        return wrap(np.flip(to_ndarray(<Array>args[0]), params))

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return like(<Array>args[0], (<Array>args[0]).typenum, ndim, shape)

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return bind1(self.op, params, ct)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return bind1(self.op, tuple([axis + 1 for axis in params]), (<Batch>args[0]).value)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        cdef View x = <View>ins[0]
        cdef list strides = list(x.strides)
        cdef Py_ssize_t offset = x.offset
        for axis in params:
            if shape[axis]:
                offset += <Py_ssize_t>strides[axis] * (<Py_ssize_t>shape[axis] - 1)
            strides[axis] = -<Py_ssize_t>strides[axis]
        return view(x.root, offset, shape, tuple(strides))

    def reads(self, step, int k):
        return step.moved(step.positions(k))

    def tokens(self, params, list ins, tuple shape):
        return np.flip(ins[0], params)

    def accumulated(self, walk, step, int k, list parts, list moving):
        return walk.generic(step, k, parts)


define(Flip(), structural("flip", "linear", summary="reverse order along axes", keeps_ints=True))
