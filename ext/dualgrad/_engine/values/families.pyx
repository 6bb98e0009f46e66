"""Families of primitives: each supplies the parts of a primitive that follow from the kind of its function.

Design
------
A *linear* primitive is linear in its first operand, and the others, indices or conditions, have no derivative. Its jvp
is itself, and the tangent of its vjp is its vjp. In a concatenation each array counts as the first operand. A
*bilinear* primitive has two operands, and its jvp follows. A *selection* selects elements; ties share the derivative. A
*constant* primitive has no derivative. An *elementwise* one is a row with a kernel of its own, or with parameters.

The primitive itself supplies its kernel, the form of its result, its transpose, and its rules for batching, lowering
and sparsity. The registry reports missing parts at import.
"""
cimport numpy as cnp
from cpython.object cimport PyObject

from ..arrays.array cimport Value, is_inexact
from ..primitives.opcodes cimport *
from ..primitives.registry cimport Primitive, keeps_ints
from .algebra cimport coefficients, elementwise_over, make, product_of_elements
from .batch cimport batched_elementwise, leave
from .dual cimport cotangent, elementwise_functional_vjp
from .levels cimport Algebra, Batch, BatchLevel, Level, bind1, bind2, bind_list, part, shape_of, type_of
from .rules cimport (add, elementwise_has_slope, elementwise_jvp, elementwise_vjp, elementwise_vjp_tangent, slope_type,
                     typed, widened_jvp, widened_vjp, widened_vjp_tangent)


cdef class Elementwise(Primitive):
    """A row whose kernel is not one of the built-in loops."""

    def __cinit__(self):
        self.core = 0

    cdef bint has_slope(self, object params, PyObject **args, int n) except -1:
        return elementwise_has_slope(self.op, args)

    cdef Value jvp(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        return elementwise_jvp(self.op, ins, n, out, tangents)

    cdef Value jvp_of_integers(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        return widened_jvp(self.op, params, ins, n, out, tangents, 0, False)

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return elementwise_vjp(self.op, ins, n, out, i, ct)

    cdef Value vjp_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return widened_vjp(self.op, params, ins, n, out, i, ct)

    cdef Value vjp_tangent(self, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                           PyObject **in_dots, Value out_dot, object level):
        return elementwise_vjp_tangent(self.op, ins, n, out, i, ct, ct_dot, in_dots, out_dot, <Level>level)

    cdef Value vjp_tangent_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct,
                                       Value ct_dot, PyObject **in_dots, Value out_dot, object level):
        return widened_vjp_tangent(self.op, params, ins, n, out, i, ct, ct_dot, in_dots, out_dot, <Level>level)

    cdef Value lifted(self, object params, PyObject **args, int n, object level, object algebra):
        return elementwise_over(self.op, params, args, n, <Level>level, <Algebra>algebra)

    cdef Value functional_vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct, object level,
                              object algebra):
        return elementwise_functional_vjp(self.op, params, ins, n, out, i, ct, <Level>level, <Algebra>algebra)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return batched_elementwise(self.op, params, args, n, <BatchLevel>level)

    def reads(self, step, int k):
        return step.elementwise(k)

    def accumulated(self, walk, step, int k, list parts, list moving):
        return walk.refused()


cdef class Linear(Primitive):
    """Linear in its first operand, without derivative in the others."""

    cdef bint has_slope(self, object params, PyObject **args, int n) except -1:
        cdef int typenum = type_of(<Value>args[0])
        return is_inexact(typenum) or (typenum != cnp.NPY_BOOL and (self.op < N_OPS or keeps_ints(self.op)))

    cdef Value jvp(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        if tangents[0] is NULL:
            return None
        if n == 1:
            return bind1(self.op, params, <Value>tangents[0])
        return bind_list(self.op, params, [<Value>tangents[0]] + [<Value>ins[k] for k in range(1, n)])

    cdef Value jvp_of_integers(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        return self.jvp(params, ins, n, out, tangents)

    cdef Value vjp_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return self.vjp(params, ins, n, out, i, ct)

    cdef Value vjp_tangent(self, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                           PyObject **in_dots, Value out_dot, object level):
        return None if ct_dot is None else self.vjp(params, ins, n, out, i, ct_dot)

    cdef Value vjp_tangent_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct,
                                       Value ct_dot, PyObject **in_dots, Value out_dot, object level):
        return None if ct_dot is None else self.vjp_of_integers(params, ins, n, out, i, ct_dot)

    cdef Value lifted(self, object params, PyObject **args, int n, object level, object algebra):
        return by_coefficients(self, params, args, n, <Level>level, <Algebra>algebra)

    cdef Value functional_vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct, object level,
                              object algebra):
        cdef Value a = cotangent(<Level>level, <Algebra>algebra, ct, 0)
        return None if a is None else vjp_of_any(self, params, ins, n, out, i, a)


cdef class Bilinear(Primitive):
    """Linear in each of two operands."""

    cdef bint has_slope(self, object params, PyObject **args, int n) except -1:
        cdef int typenum = type_of(<Value>args[0])
        return is_inexact(typenum) or (typenum != cnp.NPY_BOOL and (self.op < N_OPS or keeps_ints(self.op)))

    cdef Value jvp(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        cdef Value total = None
        if tangents[0] is not NULL:
            total = bind2(self.op, params, <Value>tangents[0], <Value>ins[1])
        if tangents[1] is not NULL:
            total = add(total, bind2(self.op, params, <Value>ins[0], <Value>tangents[1]))
        return total

    cdef Value jvp_of_integers(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        return widened_jvp(self.op, params, ins, n, out, tangents, 0, False)

    cdef Value vjp_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return widened_vjp(self.op, params, ins, n, out, i, ct)

    cdef Value vjp_tangent(self, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                           PyObject **in_dots, Value out_dot, object level):
        cdef Value total = None
        cdef PyObject *moved[2]
        cdef int k = 1 - i
        if ct_dot is not None:
            total = self.vjp(params, ins, n, out, i, ct_dot)
        if ct is not None and in_dots[k] is not NULL:
            moved[i] = ins[i]
            moved[k] = in_dots[k]
            total = add(total, self.vjp(params, moved, n, out, i, ct))
        return total

    cdef Value vjp_tangent_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct,
                                       Value ct_dot, PyObject **in_dots, Value out_dot, object level):
        return widened_vjp_tangent(self.op, params, ins, n, out, i, ct, ct_dot, in_dots, out_dot, <Level>level)

    cdef Value lifted(self, object params, PyObject **args, int n, object level, object algebra):
        cdef list p = coefficients(<Value>args[0], <Level>level, <Algebra>algebra)
        cdef list q = coefficients(<Value>args[1], <Level>level, <Algebra>algebra)
        cdef list out = [None] * (<Algebra>algebra).dim
        out[0] = bind2(self.op, params, <Value>p[0], <Value>q[0])
        product_of_elements(self.op, params, p, q, out, <Level>level, <Algebra>algebra)
        return make(<Level>level, <Algebra>algebra, out)

    cdef Value functional_vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct, object level,
                              object algebra):
        return functional_of_vjp(self, params, ins, n, out, i, ct, level, algebra)

    cdef Value coupled(self, object params, Value a, Value b):
        return bind2(self.op, params, a, b)

    cdef Value contracted(self, object params, Value a, Value b, object level):
        return bind1(OP_SUM, ((0,), False), leave(<BatchLevel>level, bind2(self.op, params, a, b)))


cdef class Selection(Linear):
    """Selected elements along axes; params: (axes, keepdims). It is linear while the selection stays the same."""

    cdef Value jvp(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        cdef Value tangent
        if tangents[0] is NULL:
            return None
        tangent = <Value>tangents[0]
        return bind1(OP_SUM, params, bind2(OP_ABSORB_MUL, None, tangent,
                                           share(params, <Value>ins[0], out, type_of(tangent))))

    cdef Value jvp_of_integers(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        return widened_jvp(self.op, params, ins, n, out, tangents, n, True)

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        cdef Value x = <Value>ins[0]
        return bind2(OP_ABSORB_MUL, None, bind1(OP_RESHAPE, kept_shape(x, params[0]), ct),
                     share(params, x, out, type_of(ct)))

    cdef Value vjp_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return self.vjp(params, ins, n, out, i, typed(ct, slope_type(self.op, type_of(ct))))

    cdef Value functional_vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct, object level,
                              object algebra):
        return functional_of_vjp(self, params, ins, n, out, i, ct, level, algebra)


cdef class Constant(Primitive):
    """No derivative."""

    cdef bint has_slope(self, object params, PyObject **args, int n) except -1:
        return False

    cdef Value jvp(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        return None

    cdef Value jvp_of_integers(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        return None

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return None

    cdef Value vjp_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return None

    cdef Value vjp_tangent(self, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                           PyObject **in_dots, Value out_dot, object level):
        return None

    cdef Value vjp_tangent_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct,
                                       Value ct_dot, PyObject **in_dots, Value out_dot, object level):
        return None

    cdef Value lifted(self, object params, PyObject **args, int n, object level, object algebra):
        return bind_list(self.op, params, [part(<Value>args[i], <Level>level, 0) for i in range(n)])

    cdef Value functional_vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct, object level,
                              object algebra):
        return None

    def reads(self, step, int k):
        return None

    def accumulated(self, walk, step, int k, list parts, list moving):
        return []


# ----------------------------------------------------------------------------------------------------------- helpers

cdef Value by_coefficients(Primitive p, object params, PyObject **args, int n, Level level, Algebra algebra):
    """Apply a primitive to algebra elements, by the jvp of each coefficient. It requires a jvp linear in the
    tangents."""
    cdef list columns = [coefficients(<Value>args[i], level, algebra) for i in range(n)]
    cdef bytearray room = bytearray(2 * n * sizeof(PyObject *))
    cdef PyObject **ins = <PyObject **><char *>room
    cdef PyObject **tangents = ins + n
    cdef list out = [None] * algebra.dim
    cdef int i, k
    out[0] = bind_list(p.op, params, [(<list>column)[0] for column in columns])
    for i in range(n):
        ins[i] = <PyObject *>(<list>columns[i])[0]
    for k in range(1, algebra.dim):
        for i in range(n):
            c = (<list>columns[i])[k]
            tangents[i] = NULL if c is None else <PyObject *>c
        out[k] = p.jvp(params, ins, n, <Value>out[0], tangents)
    return make(level, algebra, out)


cdef Value vjp_of_any(Primitive p, object params, PyObject **ins, int n, Value out, int i, Value ct):
    """The vjp of a primitive for the dtype of its operand, float or integer."""
    if is_inexact(type_of(<Value>ins[i])):
        return p.vjp(params, ins, n, out, i, ct)
    return p.vjp_of_integers(params, ins, n, out, i, ct)


cdef Value functional_of_vjp(Primitive p, object params, PyObject **ins, int n, Value out, int i, Value ct,
                             object level, object algebra):
    """lam of a cotangent, computed from the whole cotangent."""
    return cotangent(<Level>level, <Algebra>algebra, vjp_of_any(p, params, ins, n, out, i, ct), 0)


cdef tuple kept_shape(Value v, tuple axes):
    """The shape with the given axes of length 1."""
    cdef list shape = list(shape_of(v))
    for axis in axes:
        shape[axis] = 1
    return tuple(shape)


cdef Value share(object params, Value x, Value out, int typenum):
    """For max and min over axes: 1/m at each of the m elements that attain the extreme, 0 elsewhere, in a float dtype.
    The level treats it as a constant."""
    cdef tuple axes = params[0]
    cdef Value kept = bind1(OP_RESHAPE, kept_shape(x, axes), out)
    cdef Value mask = bind1(OP_CAST, typenum, bind2(OP_EQ, None, x, kept))
    return bind2(OP_DIV, None, mask, bind1(OP_SUM, (axes, True), mask))


cdef Value batched_reduction(Primitive p, tuple params, Value x, object level):
    """A reduction of each sample over axes. If axes is None, positions count in the flattened sample.

    params: (axes, one axis, or None; keepdims).
    """
    cdef Value v = (<Batch>x).value
    cdef tuple shape = shape_of(v)
    cdef Py_ssize_t n = 1
    axes, keepdims = params
    if axes is not None:
        axes = tuple([axis + 1 for axis in axes]) if isinstance(axes, tuple) else axes + 1
        return bind1(p.op, (axes, keepdims), v)
    for extent in shape[1:]:
        n *= extent
    v = bind1(p.op, (1, False), bind1(OP_RESHAPE, (shape[0], n), v))
    return bind1(OP_RESHAPE, shape[:1] + (1,) * (len(shape) - 1), v) if keepdims else v
