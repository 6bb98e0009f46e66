"""where: one of two operands, element by element."""
cimport numpy as cnp
from cpython.object cimport PyObject

from ..arrays.array import np
from ..arrays.array cimport MAX_DIMS, Array, Value, is_inexact, item_size, scalar, to_ndarray
from ..compiler.lowering cimport AS_SELECT, Lowering
from ..compiler.views cimport View
from ..primitives.opcodes cimport OP_WHERE
from ..primitives.registry cimport broadcast_shape, define, np_name
from ..primitives.forms cimport wrap
from ..values.batch cimport batched_elementwise
from ..values.families cimport Linear
from ..values.levels cimport BatchLevel, bind3, type_of
from ..values.rules cimport tangent_or_zeros, to_shape_of, widen, widened_jvp


cdef class Where(Linear):
    """Operands: a condition, the values where it holds, and the values elsewhere. Linear in the last two."""

    def __cinit__(self):
        self.core = 0

    cdef Array execute(self, object params, PyObject **args, int n):
        cdef Py_ssize_t[MAX_DIMS] shape
        cdef int ndim
        self.form(params, args, n, &ndim, shape)
        return wrap(np.where(to_ndarray(<Array>args[0]), to_ndarray(<Array>args[1]), to_ndarray(<Array>args[2])))

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        cdef Array x = <Array>args[1], y = <Array>args[2]
        if x.typenum != y.typenum:
            raise TypeError(f"where: the choices have types {np_name(x)} and {np_name(y)}; expected equal types")
        ndim[0] = broadcast_shape(OP_WHERE, args, n, shape)
        return x.typenum

    cdef bint can_wait(self, object params, PyObject **args, int n) except -1:
        return True

    cdef bint has_slope(self, object params, PyObject **args, int n) except -1:
        cdef int typenum = type_of(<Value>args[1])
        return is_inexact(typenum) or typenum != cnp.NPY_BOOL

    cdef Value jvp(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        if tangents[1] is NULL and tangents[2] is NULL:
            return None
        return widen(bind3(OP_WHERE, None, <Value>ins[0], tangent_or_zeros(tangents[1], <Value>ins[1]),
                           tangent_or_zeros(tangents[2], <Value>ins[2])), out)

    cdef Value jvp_of_integers(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        return widened_jvp(OP_WHERE, params, ins, n, out, tangents, 1, True)

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        cdef Value zero
        if i == 0:
            return None
        zero = scalar(type_of(ct), 0.0)
        return to_shape_of(bind3(OP_WHERE, None, <Value>ins[0], ct, zero) if i == 1
                           else bind3(OP_WHERE, None, <Value>ins[0], zero, ct), <Value>ins[i])

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return batched_elementwise(OP_WHERE, params, args, n, <BatchLevel>level)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        cdef Lowering low = <Lowering>lowering
        if (<View>ins[0]).buffer.typenum != cnp.NPY_BOOL or item_size(typenum) > 8:
            return None
        return low.elementwise(AS_SELECT, OP_WHERE, None, low.elements(ins), typenum, shape)

    def reads(self, step, int k):
        """The operand that a known condition selects for each element; else both."""
        if k == 0:
            return None
        reads = step.broadcast(k)
        condition = step.numbers(0)
        if condition is None:
            return reads
        if reads is step.same:
            reads = step.positions(k).ravel()
        taken = np.broadcast_to(condition.astype(bool), step.shape).ravel()
        return np.where(taken == (k == 1), reads, -1)

    def accumulated(self, walk, step, int k, list parts, list moving):
        if k == 0 or 0 in moving:
            return walk.refused()
        shape = walk.shapes[step[3]]
        return walk.chosen(step, k, walk.spread_out(parts, walk.shapes[step[2][k]], shape), shape)


define(Where(), "where")
