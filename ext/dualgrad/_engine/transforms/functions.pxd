# Kernel and derivatives of a primitive as functions. See functions.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Array, Value
from ..values.levels cimport Algebra, BatchLevel, Level


cdef class Functions:
    cdef str name
    cdef int op
    cdef bint implicit              # has residual and correction
    cdef object kernel
    cdef object jvps                # one function for each operand (or None: zero derivative), or one for all, or None
    cdef object vjps
    cdef object residual_of         # of an implicit function: residual(out, *operands)
    cdef object correction_of       # and correction(residual, out, *operands)
    cdef set transposing            # threads on which the transpose of jvp is being taken
    cdef object core                # axes of each operand that one application works on, or a function of settings
    cdef Array execute(self, object params, PyObject **args, int n)
    cdef Value push(self, object params, PyObject **ins, int n, Value out, PyObject **tangents)
    cdef Value implicit_push(self, object params, PyObject **ins, int n, Value out, PyObject **tangents)
    cdef Value residual(self, object params, PyObject **ins, int n, Value out)
    cdef Value correction(self, object params, PyObject **ins, int n, Value out, Value residual)
    cdef list pull(self, object params, PyObject **ins, int n, Value out, Value ct, const char *wanted)
    cdef Value pulled(self, object params, PyObject **ins, int n, Value out, int i, Value ct)
    cdef Value batched(self, object params, PyObject **args, int n, BatchLevel level)
    cdef tuple core_of(self, object params)
    cdef object reads(self, step, int k)
    cdef list accumulated(self, walk, step, int k, list parts, list moving)
    cdef Value checked(self, str rule, str what, object term, Value like)
    cdef Value transposed_pull(self, dict settings, list primals, int n, Value out, PyObject **tangents)
    cdef list transposed_push(self, object params, dict settings, list primals, PyObject **ins, int n, Value out,
                              Value ct, const char *wanted)
    cdef list implicit_pull(self, object params, dict settings, list primals, PyObject **ins, int n, Value out,
                            Value ct, list along)


cdef Array array_from(str name, object result)
cdef Value by_rule(Functions given, object params, PyObject **args, int n, Level level, Algebra algebra, list primals)
