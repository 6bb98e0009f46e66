"""Derivative rules: a tangent passes forwards through a primitive, a cotangent passes back.

Design
------
Rules are written on values and apply primitives through `bind`, so one text serves arrays, duals of any order and
nodes. Each rule has three forms:

`jvp`
    the tangent of the result, from the tangents of the operands;
`vjp`
    the cotangent of operand i, from the cotangent of the result;
`vjp_tangent`
    the tangent of `vjp`, without the value. The dual reverse sweep of a gradient inside a gradient needs only this: the
    first sweep computed the value, and it was kept.

A missing tangent or cotangent (None, NULL) is zero. This module has the rules for elementwise rows, which state their
partials as expressions (partials.pyx). A primitive that is more than a row has an object, whose methods are the rules.
Products of a partial with a derivative use `absorb_mul`, so a zero derivative stays zero beside an infinite partial.

*Integers.* A derivative of a floating value has the dtype of that value. A derivative of an integer value keeps the
integer dtype while all its partials are integers (the formal derivative), and then has a float dtype. The rules for
integer values (`widened_jvp`, `widened_vjp`, `widened_vjp_tangent`) convert operands and derivatives to one dtype,
float64 if any of them is floating. The result has the float dtype of the incoming derivative.
"""
cimport numpy as cnp
from cpython.object cimport PyObject

from ..arrays.array import np
from ..arrays.array cimport BATCH, DUAL, HOOKS, NODE, Array, Value, full, is_complex, is_inexact, scalar
from ..arrays.defaults cimport default_float
from ..primitives.registry cimport FAMILY_CONSTANT, PRIMITIVES, Primitive, family_of, keeps_ints
from ..primitives.opcodes cimport *
from .levels cimport (DUAL_NUMBERS, Algebra, Batch, Dual, Level, Node, array_of, bind, bind1,
                      bind2, bind_list, make_dual, misuse, part, same_shape_of, shape_of, shaped_array,
                      this_thread, type_of)
from .partials cimport Partial, partial_of
from ..primitives.watch cimport Watch, active_watch

cdef enum:
    NO_TYPE = -2                # the dtype of a zero derivative

# ------------------------------------------------------------------------------------------------- small helpers

cdef Value add(Value a, Value b):
    """The sum of two derivatives; None stands for zero."""
    cdef int typenum
    if a is None:
        return b
    if b is None:
        return a
    if type_of(a) != type_of(b):            # derivatives of an integer: one formal, one in a float dtype
        typenum = common_type(type_of(a), type_of(b))
        a = typed(a, typenum)
        b = typed(b, typenum)
    return bind2(OP_ADD, None, a, b)


cdef Value typed(Value v, int typenum):
    """A value cast to a dtype."""
    return v if v is None or type_of(v) == typenum else bind1(OP_CAST, typenum, v)


cdef int common_type(int a, int b) except -1:
    """The dtype of the sum of two derivatives; NO_TYPE stands for a missing one. Any float dtype wins over any
    integer."""
    if a == b or b == NO_TYPE:
        return a
    if a == NO_TYPE or not is_inexact(a) and is_inexact(b):
        return b
    if is_inexact(a) and not is_inexact(b):
        return a
    return np.promote_types(cnp.PyArray_DescrFromType(a), cnp.PyArray_DescrFromType(b)).num


cdef Value filled_like(Value v, double number):
    cdef int first
    cdef Array a = shaped_array(v, &first)
    return full(a.typenum, a.ndim - first, a.shape + first, number)


cdef Value zeros_like(Value v):
    return filled_like(v, 0.0)


cdef Value ones_like(Value v):
    return filled_like(v, 1.0)


cdef Value to_shape_of(Value term, Value like):
    """A cotangent summed down to the shape of its operand."""
    if same_shape_of(term, like):
        return term
    return bind1(OP_SUM_TO, shape_of(like), term)


cdef Value widen(Value term, Value like):
    """A tangent broadcast to the shape of the result."""
    if same_shape_of(term, like):
        return term
    return bind1(OP_BROADCAST_TO, shape_of(like), term)


cdef Value scaled(Value derivative, Partial p, Value partial):
    """A derivative times a partial, which is a number or a value."""
    if p.is_number:
        if p.number == 1.0:
            return derivative
        if p.number == -1.0:
            return bind1(OP_NEG, None, derivative)
        return bind2(OP_MUL, None, derivative, scalar(type_of(derivative), p.number))
    return bind2(OP_ABSORB_MUL, None, derivative, partial)


cdef Value tangent_or_zeros(PyObject *tangent, Value like):
    return zeros_like(like) if tangent is NULL else <Value>tangent


# ------------------------------------------------------------------------------------------------- elementwise rows

cdef bint elementwise_has_slope(int op, PyObject **args) except -1:
    cdef int typenum
    if family_of(op) == FAMILY_CONSTANT:
        return False
    typenum = type_of(<Value>args[0])
    return is_inexact(typenum) or (typenum != cnp.NPY_BOOL and (op < N_OPS or keeps_ints(op)))


cdef Value elementwise_jvp(int op, PyObject **ins, int n, Value out, PyObject **tangents):
    """`jvp` of a row, if each tangent has the dtype of its value."""
    cdef Value total = None
    cdef Partial p
    cdef int i
    if family_of(op) == FAMILY_CONSTANT:
        return None
    for i in range(n):
        if tangents[i] is NULL:
            continue
        p = partial_of(op, i, <Value>ins[0])
        if p is not None:
            total = add(total, scaled(<Value>tangents[i], p, None if p.is_number else p.evaluate(ins, n, out)))
    return None if total is None else widen(total, out)


cdef Value elementwise_vjp(int op, PyObject **ins, int n, Value out, int i, Value ct):
    """`vjp` of a row, if the cotangent has the dtype of the operands."""
    cdef Partial p
    if family_of(op) == FAMILY_CONSTANT:
        return None
    p = partial_of(op, i, <Value>ins[0])
    if p is None:
        return None
    return to_shape_of(scaled(ct, p, None if p.is_number else p.evaluate(ins, n, out)), <Value>ins[i])


cdef Value elementwise_vjp_tangent(int op, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                                   PyObject **in_dots, Value out_dot, Level level):
    """`vjp_tangent` of a row, if derivatives have the dtype of the operands."""
    cdef Value x = <Value>ins[i], partial, dot
    cdef Partial p = None if family_of(op) == FAMILY_CONSTANT else partial_of(op, i, <Value>ins[0])
    cdef bint moves = False
    cdef int k
    if p is None:
        return None
    if p.is_number:
        return None if ct_dot is None else to_shape_of(scaled(ct_dot, p, None), x)
    if ct is not None:
        for k in range(n):
            moves = moves or in_dots[k] is not NULL
    if ct_dot is None and not moves:
        return None
    if not moves:
        partial, dot = p.evaluate(ins, n, out), None
    elif p.n_steps == 0:                # the partial is an operand or the result
        if p.result == 3:
            partial, dot = out, out_dot
        else:
            partial = <Value>ins[p.result]
            dot = None if in_dots[p.result] is NULL else <Value>in_dots[p.result]
    else:
        partial = partial_on_duals(p, ins, n, out, in_dots, out_dot, level)
        dot = part(partial, level, 1)
        partial = part(partial, level, 0)
    return to_shape_of_moved(ct, dot, ct_dot, partial, x)


cdef Value partial_on_duals(Partial p, PyObject **ins, int n, Value out, PyObject **in_dots, Value out_dot,
                            Level level):
    """A partial and its tangent."""
    cdef PyObject *duals[4]
    cdef list held = []
    cdef int k
    for k in range(n):
        held.append(make_dual(level, <Value>ins[k], None if in_dots[k] is NULL else <Value>in_dots[k]))
        duals[k] = <PyObject *>held[k]
    return p.evaluate(duals, n, make_dual(level, out, out_dot))


cdef Value to_shape_of_moved(Value ct, Value dot, Value ct_dot, Value partial, Value like):
    """The tangent of ct * partial, summed down to the shape of the operand; `dot`: the tangent of the partial."""
    cdef Value total = None
    if dot is not None:
        total = bind2(OP_ABSORB_MUL, None, ct, dot)
    if ct_dot is not None:
        total = add(bind2(OP_ABSORB_MUL, None, ct_dot, partial), total)
    return None if total is None else to_shape_of(total, like)


# ---------------------------------------------------------------------------------------------------- integers

cdef int slope_type(int op, int typenum) noexcept:
    """The dtype of the derivative of an integer value. Primitives that keep integers keep the incoming dtype; all
    others give the default float type."""
    return typenum if is_inexact(typenum) or keeps_ints(op) else default_float()


cdef int working_type(int typenum) noexcept:
    """The dtype for computing derivatives of integers; it can represent the integers."""
    return cnp.NPY_DOUBLE if is_inexact(typenum) and not is_complex(typenum) else typenum


cdef int type_of_terms(PyObject **terms, int n, int typenum) except? -1:
    """The dtype of a sum of derivatives, some of them missing, and of a derivative of dtype `typenum`."""
    cdef int k
    for k in range(n):
        if terms[k] is not NULL:
            typenum = common_type(typenum, type_of(<Value>terms[k]))
    return typenum


cdef list in_type(PyObject **values, int n, int first, int typenum, PyObject **moved):
    """Cast the values from index `first` on to a dtype. The caller holds the returned list, which keeps them alive."""
    cdef list held = []
    cdef Value v
    cdef int k
    for k in range(n):
        v = None if values[k] is NULL else <Value>values[k]
        v = v if k < first else typed(v, typenum)
        held.append(v)
        moved[k] = NULL if v is None else <PyObject *>v
    return held


cdef Value widened_jvp(int op, object params, PyObject **ins, int n, Value out, PyObject **tangents, int first,
                       bint exact):
    """`jvp` for an integer result. Operands from `first` on are cast to the tangents' dtype; so is the result, unless
    `first` is n. `exact`: nothing is rounded on the way, so the derivative's own dtype suffices."""
    cdef bytearray room = bytearray(2 * n * sizeof(PyObject *))
    cdef PyObject **moved = <PyObject **><char *>room
    cdef int slope, work, typenum = type_of_terms(tangents, n, NO_TYPE)
    if typenum == NO_TYPE:
        return None
    slope = slope_type(op, typenum)
    work = slope if exact else working_type(slope)
    held = in_type(tangents, n, 0, work, moved) + in_type(ins, n, first, work, moved + n)
    out = jvp_of_one_type(op, params, moved + n, n, typed(out, work) if first < n else out, moved)
    held.clear()
    return typed(out, slope)


cdef Value widened_vjp(int op, object params, PyObject **ins, int n, Value out, int i, Value ct):
    """`vjp` for an integer operand: a float cotangent keeps its dtype."""
    cdef int work, slope = slope_type(op, type_of(ct))
    cdef bytearray room = bytearray(n * sizeof(PyObject *))
    cdef PyObject **wide = <PyObject **><char *>room
    if not is_inexact(slope):
        return vjp_of_one_type(op, params, ins, n, out, i, ct)
    work = working_type(slope)
    held = in_type(ins, n, 0, work, wide)
    ct = typed(vjp_of_one_type(op, params, wide, n, typed(out, work), i, typed(ct, work)), slope)
    held.clear()
    return ct


cdef Value widened_vjp_tangent(int op, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                               PyObject **in_dots, Value out_dot, Level level):
    """`vjp_tangent` for an integer operand."""
    cdef int work, slope, typenum = NO_TYPE
    cdef bytearray room = bytearray(2 * n * sizeof(PyObject *))
    cdef PyObject **wide = <PyObject **><char *>room
    cdef Value term
    if ct is not None:
        typenum = common_type(typenum, type_of(ct))
    if ct_dot is not None:
        typenum = common_type(typenum, type_of(ct_dot))
    typenum = type_of_terms(in_dots, n, typenum)
    slope = slope_type(op, typenum)
    if not is_inexact(slope):
        return vjp_tangent_of_one_type(op, params, ins, n, out, i, ct, ct_dot, in_dots, out_dot, level)
    work = working_type(slope)
    held = in_type(ins, n, 0, work, wide) + in_type(in_dots, n, 0, work, wide + n)
    term = vjp_tangent_of_one_type(op, params, wide, n, typed(out, work), i, typed(ct, work), typed(ct_dot, work),
                                   wide + n, typed(out_dot, work), level)
    held.clear()
    return typed(term, slope)


# --------------------------------------------------------------------------------------- whatever primitive it is

cdef bint has_slope(int op, object params, PyObject **args, int n) except -1:
    """True if a derivative can pass. Constant rows, casts from float to integer, and truth values block it."""
    cdef PyObject *p = PRIMITIVES[op]
    if p is NULL:
        return elementwise_has_slope(op, args)
    return (<Primitive>p).has_slope(params, args, n)


cdef Value jvp(int op, object params, PyObject **ins, int n, Value out, PyObject **tangents):
    """The tangent of `out`; None if it is zero. `tangents` holds NULL for an operand with a zero tangent."""
    if is_inexact(type_of(out)):
        return jvp_of_one_type(op, params, ins, n, out, tangents)
    if PRIMITIVES[op] is not NULL:
        return (<Primitive>PRIMITIVES[op]).jvp_of_integers(params, ins, n, out, tangents)
    if family_of(op) == FAMILY_CONSTANT:
        return None
    return widened_jvp(op, params, ins, n, out, tangents, 0, False)


cdef Value jvp_of_one_type(int op, object params, PyObject **ins, int n, Value out, PyObject **tangents):
    """`jvp` if each tangent has the dtype of its value."""
    cdef PyObject *p = PRIMITIVES[op]
    if p is NULL:
        return elementwise_jvp(op, ins, n, out, tangents)
    return (<Primitive>p).jvp(params, ins, n, out, tangents)


cdef Value vjp(int op, object params, PyObject **ins, int n, Value out, int i, Value ct):
    """The cotangent of operand i; None where it is zero."""
    if is_inexact(type_of(<Value>ins[i])):
        return vjp_of_one_type(op, params, ins, n, out, i, ct)
    if PRIMITIVES[op] is not NULL:
        return (<Primitive>PRIMITIVES[op]).vjp_of_integers(params, ins, n, out, i, ct)
    if family_of(op) == FAMILY_CONSTANT:
        return None
    return widened_vjp(op, params, ins, n, out, i, ct)


cdef Value vjp_of_one_type(int op, object params, PyObject **ins, int n, Value out, int i, Value ct):
    """`vjp` if the cotangent has the dtype of the operands, or the rule does not read the operands."""
    cdef PyObject *p = PRIMITIVES[op]
    if p is NULL:
        return elementwise_vjp(op, ins, n, out, i, ct)
    return (<Primitive>p).vjp(params, ins, n, out, i, ct)


cdef Value vjp_tangent(int op, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                       PyObject **in_dots, Value out_dot, Level level):
    """The tangent of vjp(...) for operand i, given the tangents of everything it reads; None where it is zero.

    `ct` and `ct_dot` may be None. Only the tangent is computed, since the caller knows the value. The tangent of a
    partial comes from its evaluation on duals of `level`, a token that belongs to no value outside of this call.
    """
    if is_inexact(type_of(<Value>ins[i])):
        return vjp_tangent_of_one_type(op, params, ins, n, out, i, ct, ct_dot, in_dots, out_dot, level)
    if PRIMITIVES[op] is not NULL:
        return (<Primitive>PRIMITIVES[op]).vjp_tangent_of_integers(params, ins, n, out, i, ct, ct_dot, in_dots, out_dot,
                                                                   level)
    if family_of(op) == FAMILY_CONSTANT:
        return None
    return widened_vjp_tangent(op, params, ins, n, out, i, ct, ct_dot, in_dots, out_dot, level)


cdef Value vjp_tangent_of_one_type(int op, object params, PyObject **ins, int n, Value out, int i, Value ct,
                                   Value ct_dot, PyObject **in_dots, Value out_dot, Level level):
    """`vjp_tangent` if derivatives have the dtype of the operands."""
    cdef PyObject *p = PRIMITIVES[op]
    if p is NULL:
        return elementwise_vjp_tangent(op, ins, n, out, i, ct, ct_dot, in_dots, out_dot, level)
    return (<Primitive>p).vjp_tangent(params, ins, n, out, i, ct, ct_dot, in_dots, out_dot, level)


# ------------------------------------------------------------------------------------------------ duals, one level

cdef Value dual_rule(int op, object params, PyObject **args, int n):
    """Apply a primitive to duals and batches: unpack the highest level among the operands, and continue one level
    down."""
    cdef Level top = None
    cdef Algebra algebra = None
    cdef Dual d
    cdef Value v, out, tangent
    cdef PyObject *primals[8]
    cdef PyObject *tangents[8]
    cdef int i
    cdef bint any_tangent = False
    for i in range(n):
        v = <Value>args[i]
        if v.kind == DUAL:
            d = <Dual>v
            if not d.level.open:
                return bind_list(op, params, [living(<Value>args[k]) for k in range(n)])
            if d.level.thread != this_thread():
                raise misuse(d.level)
            if top is None or d.level.serial > top.serial:
                top = d.level
                algebra = d.algebra
            elif d.level is top and d.algebra.top > algebra.top:    # another operand was truncated to a lower degree
                algebra = d.algebra
        elif v.kind == BATCH:
            if top is None or (<Batch>v).level.serial > top.serial:
                top = (<Batch>v).level
                algebra = None
    if algebra is None:
        return HOOKS.batch(op, params, args, n, top)
    if algebra is not DUAL_NUMBERS:
        return HOOKS.algebra(op, params, args, n, top, algebra)
    if n > 8:
        return dual_rule_many(op, params, args, n, top)
    for i in range(n):
        v = <Value>args[i]
        tangents[i] = NULL
        if v.kind == DUAL and (<Dual>v).level is top:
            d = <Dual>v
            primals[i] = <PyObject *>d.parts[0]
            if d.parts[1] is not None:
                tangents[i] = <PyObject *>d.parts[1]
                any_tangent = True
        else:
            primals[i] = args[i]
    out = bind(op, params, primals, n)
    if not any_tangent or not has_slope(op, params, primals, n):
        return out
    tangent = (watched_jvp(op, params, primals, n, out, tangents, 1) if top.watched
               else jvp(op, params, primals, n, out, tangents))
    return make_dual(top, out, tangent)


cdef Value watched_jvp(int op, object params, PyObject **ins, int n, Value out, PyObject **tangents, int order):
    """`jvp` with a check of its result, whose order is `order` more than the running sweeps."""
    cdef Watch watch = active_watch()
    cdef Value tangent
    if watch is None:
        return jvp(op, params, ins, n, out, tangents)
    watch.quiet += 1
    try:
        tangent = jvp(op, params, ins, n, out, tangents)
    finally:
        watch.quiet -= 1
    look_at(watch, op, watch.order() + order, tangent, ins, n)
    return tangent


cdef int look_at(Watch watch, int op, int order, Value v, PyObject **args, int n) except -1:
    """Report a derivative that is not finite. Coefficients of a dual are derivatives of higher order, by their degrees;
    levels that do not belong to a transform of the user do not count."""
    cdef Dual d
    cdef int k
    if v is None or watch.quiet:
        return 0
    if v.kind == NODE:
        return look_at(watch, op, order, (<Node>v).primal, args, n)
    if v.kind == BATCH:
        return look_at(watch, op, order, (<Batch>v).value, args, n)
    if v.kind == DUAL:
        d = <Dual>v
        for k in range(len(d.parts)):
            look_at(watch, op, order + (<int>d.algebra.degrees[k] if d.level.watched else 0), <Value>d.parts[k], args,
                    n)
        return 0
    if watch.bad(<Array>v):
        watch.complain(op, order, <Array>v, [array_of(<Value>args[k]) for k in range(n)])
    return 0


cdef Value living(Value v):
    """A value without duals of closed levels: after the transform has returned, only the primal remains."""
    while v.kind == DUAL and not (<Dual>v).level.open:
        v = <Value>(<Dual>v).parts[0]
    return v


cdef Value dual_rule_many(int op, object params, PyObject **args, int n, Level top):
    """Apply a primitive that is linear in more than eight operands, such as concat, to dual numbers."""
    cdef list primals = [part(<Value>args[i], top, 0) for i in range(n)]
    cdef list tangents = [part(<Value>args[i], top, 1) for i in range(n)]
    cdef int i
    cdef int typenum = NO_TYPE
    for t in tangents:
        if t is not None:
            typenum = common_type(typenum, type_of(<Value>t))
    for i in range(n):
        tangents[i] = typed(zeros_like(<Value>primals[i]) if tangents[i] is None else <Value>tangents[i], typenum)
    return make_dual(top, bind_list(op, params, primals), bind_list(op, params, tangents))
