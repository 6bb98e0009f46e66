"""Primitives that are added while the program runs: the engine's side of `dualgrad.extend`.

An added primitive has a row and an opcode like a built-in one. A row cannot hold kernels and rules that are Python
functions (functions.pyx), so an object of the primitive's family holds them.
"""
cimport numpy as cnp
from cpython.object cimport PyObject

from ..arrays.array import np
from ..arrays.array cimport MAX_DIMS, Array, Value, to_ndarray
from ..primitives.registry cimport Primitive, add_row, broadcast_shape
from ..tape.closed_call cimport without_notes
from ..values.algebra cimport by_line, coefficients
from ..values.families cimport Bilinear, Elementwise, Linear, functional_of_vjp
from ..values.levels cimport Algebra, BatchLevel, Level, make_dual, part, type_of
from ..values.rules cimport zeros_like
from .functions cimport Functions, array_from, by_rule


cdef class ElementwiseKernel(Elementwise):
    """A function of NumPy arrays as the kernel of an elementwise row."""
    cdef object kernel
    cdef bint to_bool

    cdef Array execute(self, object params, PyObject **args, int n):
        cdef Py_ssize_t[MAX_DIMS] shape
        cdef Array first = <Array>args[0]
        cdef int ndim = broadcast_shape(self.op, args, n, shape), i
        result = np.asarray(self.kernel(*[to_ndarray(<Array>args[i]) for i in range(n)]))
        expected = tuple([shape[i] for i in range(ndim)])
        if result.shape != expected:
            raise ValueError(f"{self.name}: the kernel returned shape {result.shape} for operands that broadcast to "
                             f"{expected}; an elementwise kernel returns one number for each element")
        if self.to_bool:
            return array_from(self.name, result.astype(bool))
        dtype = to_ndarray(first).dtype
        return array_from(self.name, result if result.dtype == dtype else result.astype(dtype))

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return -1

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return None


cdef class GivenLinear(Linear):
    """A primitive that is linear in the first operand, given by functions."""
    cdef Functions given

    cdef Array execute(self, object params, PyObject **args, int n):
        return self.given.execute(params, args, n)

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return -1

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return self.given.pulled(params, ins, n, None, i, ct) if i == 0 else None

    cdef Value functional_vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct, object level,
                              object algebra):
        return functional_of_vjp(self, params, ins, n, out, i, ct, level, algebra)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return self.given.batched(params, args, n, <BatchLevel>level)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return None

    def reads(self, step, int k):
        return self.given.reads(step, k)

    def accumulated(self, walk, step, int k, list parts, list moving):
        return self.given.accumulated(walk, step, k, parts, moving)


cdef class GivenBilinear(Bilinear):
    """A primitive that is linear in each of two operands, given by functions."""
    cdef Functions given

    cdef Array execute(self, object params, PyObject **args, int n):
        return self.given.execute(params, args, n)

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return -1

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return self.given.pulled(params, ins, n, None, i, ct)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return self.given.batched(params, args, n, <BatchLevel>level)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return None

    def reads(self, step, int k):
        return self.given.reads(step, k)

    def accumulated(self, walk, step, int k, list parts, list moving):
        return self.given.accumulated(walk, step, k, parts, moving)


cdef class GivenRule(Primitive):
    """A primitive given by a jvp, a vjp, or a residual and its correction."""
    cdef Functions given

    cdef Array execute(self, object params, PyObject **args, int n):
        return self.given.execute(params, args, n)

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return -1

    cdef bint has_slope(self, object params, PyObject **args, int n) except -1:
        cdef int i
        for i in range(n):
            if type_of(<Value>args[i]) != cnp.NPY_BOOL:
                return True
        return False

    cdef Value jvp(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        return self.given.push(params, ins, n, out, tangents)

    cdef Value jvp_of_integers(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        return self.given.push(params, ins, n, out, tangents)

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return self.given.pulled(params, ins, n, out, i, ct)

    cdef Value vjp_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return self.given.pulled(params, ins, n, out, i, ct)

    cdef list pull(self, object params, PyObject **ins, int n, Value out, Value ct, const char *wanted):
        return self.given.pull(params, ins, n, out, ct, wanted)

    cdef Value vjp_tangent(self, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                           PyObject **in_dots, Value out_dot, object level):
        """The tangent part of `pulled` on duals."""
        cdef list held = []
        cdef bytearray room = bytearray(n * sizeof(PyObject *))
        cdef PyObject **duals = <PyObject **><char *>room
        cdef bint moves = False
        cdef int k
        for k in range(n):
            moves = moves or in_dots[k] is not NULL
        if not moves:
            return None if ct_dot is None else self.given.pulled(params, ins, n, out, i, ct_dot)
        for k in range(n):
            held.append(make_dual(<Level>level, <Value>ins[k], None if in_dots[k] is NULL else <Value>in_dots[k]))
            duals[k] = <PyObject *>held[k]
        if ct is None:
            if ct_dot is None:
                return None
            ct = zeros_like(ct_dot)
        return part(self.given.pulled(params, duals, n, make_dual(<Level>level, out, out_dot), i,
                                      make_dual(<Level>level, ct, ct_dot)), <Level>level, 1)

    cdef Value vjp_tangent_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct,
                                       Value ct_dot, PyObject **in_dots, Value out_dot, object level):
        return self.vjp_tangent(params, ins, n, out, i, ct, ct_dot, in_dots, out_dot, level)

    cdef Value lifted(self, object params, PyObject **args, int n, object level, object algebra):
        cdef Level at = <Level>level
        cdef Algebra over = <Algebra>algebra
        cdef list primals = [part(<Value>args[i], at, 0) for i in range(n)]
        if over.graded or self.given.implicit:
            return by_rule(self.given, params, args, n, at, over, primals)
        return by_line(self.op, params, primals, [coefficients(<Value>args[i], at, over) for i in range(n)], at, over)

    cdef Value functional_vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct, object level,
                              object algebra):
        return functional_of_vjp(self, params, ins, n, out, i, ct, level, algebra)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return self.given.batched(params, args, n, <BatchLevel>level)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return None

    def reads(self, step, int k):
        return self.given.reads(step, k)

    def accumulated(self, walk, step, int k, list parts, list moving):
        return self.given.accumulated(walk, step, k, parts, moving)


def add_elementwise(row, kernel):
    """The opcode of a new elementwise row. `kernel` is a ufunc, (address, is double) of a C function, or a function of
    NumPy arrays."""
    cdef ElementwiseKernel p
    if isinstance(kernel, tuple) or isinstance(kernel, np.ufunc):
        return add_row(row, None, kernel)
    p = ElementwiseKernel()
    p.kernel = without_notes(kernel)
    p.to_bool = row.result == "bool"
    return add_row(row, p, kernel)


def add_rule(row, kernel, jvps, vjps, residual, correction, core):
    """The opcode of a new primitive whose kernel and rules are functions."""
    cdef Functions given = Functions()
    given.name = row.name
    given.kernel = without_notes(kernel)
    given.jvps = without_notes(jvps)
    given.vjps = without_notes(vjps)
    given.residual_of = without_notes(residual)
    given.correction_of = without_notes(correction)
    given.implicit = residual is not None
    given.core = without_notes(core)
    given.transposing = set()
    given.op = add_row(row, object_of(row.family, given), None)
    return given.op


cdef Primitive object_of(str family, Functions given):
    """The object of a primitive of one of the three families that functions can have."""
    cdef GivenLinear linear
    cdef GivenBilinear bilinear
    cdef GivenRule rule
    if family == "linear":
        linear = GivenLinear()
        linear.given = given
        return linear
    if family == "bilinear":
        bilinear = GivenBilinear()
        bilinear.given = given
        return bilinear
    rule = GivenRule()
    rule.given = given
    return rule
