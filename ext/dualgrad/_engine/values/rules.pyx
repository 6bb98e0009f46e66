"""Derivative rules: how a tangent goes through a primitive, and how a cotangent comes back.

Design
------
Rules are written on values and apply primitives through `bind`, so one text serves arrays, duals of any order and
nodes. There are three readings of each rule:

`jvp`
    the tangent of the result, from the tangents of the operands;
`vjp`
    the cotangent of operand i, from the cotangent of the result;
`vjp_tangent`
    the tangent of `vjp` where its value is known already. This is what the dual reverse sweep of a gradient inside
    a gradient needs: the value part was computed by the first sweep and kept.

A missing tangent or cotangent (None, NULL) is zero. Elementwise rows state their partials as expressions; they are
parsed on first use into a short list of primitives and constants (`Partial`). Products of a partial with a derivative
use `absorb_mul`, so a zero derivative stays zero beside an infinite slope.

*Integers.* A derivative of a floating value has that value's type. One of an integer value has a type of its own: the
integer type while the slope has met integers only (the formal derivative), a floating type once it has met one. The
rules for integer values (`jvp_of_integers`, `vjp_of_integers`, `vjp_tangent_of_integers`) bring operands and
derivatives to one type, float64 if any is floating, and give the result the floating type that came in.
"""
cimport numpy as cnp
from cpython.object cimport PyObject

import ast

import numpy as np

from dualgrad._table import CONSTANTS, UNDEFINED
from dualgrad._table.partials import parsed

from ..arrays.array cimport BATCH, DUAL, HOOKS, N_TYPES, Array, Value, full, is_complex, is_inexact, scalar
from ..primitives.registry cimport (FAMILY_BILINEAR, FAMILY_CONSTANT, FAMILY_ELEMENTWISE, FAMILY_LINEAR, FAMILY_RULE,
                                    FAMILY_SELECTION, family_of, keeps_ints, op_name, op_named, row_of, rule_of)
from ..primitives.opcodes cimport *
from .levels cimport (DUAL_NUMBERS, Algebra, Batch, Dual, Level, bind, bind1, bind2, bind3,
                      bind_list, look_at, make_dual, misuse, ndim_of, part, same_shape_of, shape_of,
                      shaped_array, this_thread, type_of)
from ..primitives.watch cimport Watch, active_watch


# ---------------------------------------------------------------------------------------------------- partials

cdef enum:
    NO_TYPE = -2                # of a derivative that is zero: it has none

OPERATORS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Eq: "eq", ast.Gt: "gt"}


cdef class Partial:
    """A partial derivative as a list of steps, or a plain number."""

    def __init__(self, str text):
        self.constants = []
        self.typed = []
        tree = parsed(text)                     # by Python of this package: a recording asks who calls the library
        number = self.literal(tree)
        if number is not None:
            self.is_number = True
            self.number = number
            return
        self.result = self.compile(tree)

    cdef object literal(self, node):
        if isinstance(node, ast.Constant):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id in CONSTANTS:
            return CONSTANTS[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.literal(node.operand)
            return None if inner is None else -inner
        return None

    cdef int compile(self, node) except -1:
        """The register that will hold the value of an expression; constants follow the operands, then steps."""
        cdef int k
        number = self.literal(node)
        if number is not None:
            self.constants.append(number)
            self.typed.append([None] * N_TYPES)
            return 100 + len(self.constants) - 1
        if isinstance(node, ast.Name):
            return ("x", "y", "z", "out").index(node.id)
        if isinstance(node, ast.UnaryOp):
            name, operands = "neg", [node.operand]
        elif isinstance(node, ast.BinOp):
            name, operands = OPERATORS[type(node.op)], [node.left, node.right]
        elif isinstance(node, ast.Compare):
            name, operands = OPERATORS[type(node.ops[0])], [node.left, node.comparators[0]]
        else:
            name, operands = node.func.id, node.args
        registers = [self.compile(operand) for operand in operands]
        k = self.n_steps
        if k == MAX_STEPS:
            raise ValueError(f"a partial derivative is longer than {MAX_STEPS} steps; make a part of it a primitive of "
                             f"its own")
        self.n_steps += 1
        self.op[k] = op_named(name)
        self.arity[k] = len(registers)
        for i, r in enumerate(registers):
            self.operand[k][i] = r
        return X_REGISTERS + k

    cdef Value constant(self, int k, int typenum):
        cdef list typed = <list>self.typed[k]
        if typed[typenum] is None:
            typed[typenum] = scalar(typenum, self.constants[k])
        return <Value>typed[typenum]

    cdef Value evaluate(self, PyObject **ins, int n, Value out):
        cdef list registers, held
        cdef PyObject *args[3]
        cdef int typenum, k, j, r
        cdef object constant
        if self.n_steps == 0:
            return out if self.result == 3 else <Value>ins[self.result]
        registers = [None] * (X_REGISTERS + self.n_steps)
        held = []
        typenum = type_of(<Value>ins[0])
        for k in range(n):
            registers[k] = <Value>ins[k]
        registers[3] = out
        for k in range(self.n_steps):
            for j in range(self.arity[k]):
                r = self.operand[k][j]
                if r >= 100:
                    constant = self.constant(r - 100, typenum)
                    held.append(constant)
                    args[j] = <PyObject *>constant
                else:
                    args[j] = <PyObject *>registers[r]
            registers[X_REGISTERS + k] = bind(self.op[k], None, args, self.arity[k])
        return <Value>registers[self.result]


cdef list PARTIALS = []             # for each opcode None, or its partials: [for reals, for complex numbers]


cdef Partial partial_of(int op, int i, Value operand):
    """The partial of a primitive with respect to operand i, for an operand of its type; None where it is zero."""
    cdef list forms = None
    cdef list form
    if op < len(PARTIALS):
        forms = <list>PARTIALS[op]
    if forms is None:
        while len(PARTIALS) <= op:
            PARTIALS.append(None)
        row = row_of(op)
        forms = [list(row.partials), list(row.complex_partials) if row.complex_partials else None]
        PARTIALS[op] = forms
    form = <list>(forms[0] if forms[1] is None or not is_complex(type_of(operand)) else forms[1])
    if isinstance(form[i], str):
        if form[i] == UNDEFINED:
            raise NotImplementedError(
                f"{op_name(op)}: no formula is known for its derivative by operand {i + 1}, an order or a setting; "
                f"differentiate by the other operands only, or pass dualgrad.stop_gradient(...) of this one")
        form[i] = Partial(form[i])      # parsed on first use
    return <Partial>form[i]


cdef Value power_partial(object exponent, Value x):
    """n x**(n-1), the polynomial's: no logarithm, no division, no nan at 0. A broken n less 1 would be rounded, which
    `pow_partial` makes up for where x is real."""
    if isinstance(exponent, float) and not is_complex(type_of(x)):
        return bind3(OP_POW_PARTIAL, None, x, scalar(type_of(x), exponent), scalar(type_of(x), 1.0))
    if exponent == 2:
        return bind2(OP_MUL, None, scalar(type_of(x), 2.0), x)
    return bind2(OP_MUL, None, scalar(type_of(x), exponent), bind1(OP_POWER, exponent - 1, x))


# ------------------------------------------------------------------------------------------------- small helpers

cdef Value add(Value a, Value b):
    """The sum of two derivatives, either of which may be zero."""
    cdef int typenum
    if a is None:
        return b
    if b is None:
        return a
    if type_of(a) != type_of(b):            # derivatives of an integer: a formal one, and one in a floating type
        typenum = common_type(type_of(a), type_of(b))
        a = typed(a, typenum)
        b = typed(b, typenum)
    return bind2(OP_ADD, None, a, b)


cdef Value typed(Value v, int typenum):
    """A value in another type."""
    return v if v is None or type_of(v) == typenum else bind1(OP_CAST, typenum, v)


cdef int common_type(int a, int b) except -1:
    """The type of the sum of two derivatives; -2 stands for a missing one. Any floating type beats any integer."""
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
    """A cotangent summed down to the shape of the operand it belongs to."""
    if same_shape_of(term, like):
        return term
    return bind1(OP_SUM_TO, shape_of(like), term)


cdef Value widen(Value term, Value like):
    """A tangent repeated up to the shape of the result."""
    if same_shape_of(term, like):
        return term
    return bind1(OP_BROADCAST_TO, shape_of(like), term)


cdef Value scaled(Value derivative, Partial p, Value partial):
    """derivative times a partial (a number or a value)."""
    if p.is_number:
        if p.number == 1.0:
            return derivative
        if p.number == -1.0:
            return bind1(OP_NEG, None, derivative)
        return bind2(OP_MUL, None, derivative, scalar(type_of(derivative), p.number))
    return bind2(OP_ABSORB_MUL, None, derivative, partial)


cdef Value swapped(Value v):
    """The last two axes exchanged."""
    cdef int ndim = ndim_of(v)
    if ndim == 2:
        return bind1(OP_TRANSPOSE, (1, 0), v)
    return bind1(OP_TRANSPOSE, tuple(range(ndim - 2)) + (ndim - 1, ndim - 2), v)


cdef tuple kept_shape(Value v, tuple axes):
    """The shape with the given axes of length 1."""
    cdef list shape = list(shape_of(v))
    for axis in axes:
        shape[axis] = 1
    return tuple(shape)


cdef Value share(object params, Value x, Value out, int typenum):
    """For max and min over axes: 1/m at each of the m elements that attain it, 0 elsewhere, in a floating type. A
    constant of the level."""
    cdef tuple axes = params[0]
    cdef Value kept = bind1(OP_RESHAPE, kept_shape(x, axes), out)
    cdef Value mask = bind1(OP_CAST, typenum, bind2(OP_EQ, None, x, kept))
    return bind2(OP_DIV, None, mask, bind1(OP_SUM, (axes, True), mask))


cdef bint has_slope(int op, object params, PyObject **args, int n):
    """Whether a derivative can pass: not through constant rows, casts from a floating type to integers, truth values.
    """
    cdef int family = family_of(op)
    cdef int typenum, i
    if family == FAMILY_CONSTANT:
        return False
    if op == OP_CAST:
        typenum = type_of(<Value>args[0])
        return is_inexact(<int>params) if is_inexact(typenum) else (typenum != cnp.NPY_BOOL
                                                                    and <int>params != cnp.NPY_BOOL)
    if family == FAMILY_RULE:
        for i in range(n):
            if type_of(<Value>args[i]) != cnp.NPY_BOOL:
                return True
        return False
    typenum = type_of(<Value>args[1 if op == OP_WHERE else 0])
    return is_inexact(typenum) or (typenum != cnp.NPY_BOOL and (op < N_OPS or keeps_ints(op)))


# ----------------------------------------------------------------------------------------------------- forward

cdef Value jvp(int op, object params, PyObject **ins, int n, Value out, PyObject **tangents):
    """The tangent of `out`; None where it is zero. `tangents` holds NULL where an operand's is zero."""
    if not is_inexact(type_of(out)):
        return jvp_of_integers(op, params, ins, n, out, tangents)
    return jvp_of_one_type(op, params, ins, n, out, tangents)


cdef Value jvp_of_one_type(int op, object params, PyObject **ins, int n, Value out, PyObject **tangents):
    """`jvp` where tangents have the type of what they belong to."""
    cdef Value total = None
    cdef Value term
    cdef Partial p
    cdef int i, family = family_of(op)
    if family == FAMILY_CONSTANT:
        return None
    if op == OP_POWER:
        if tangents[0] is NULL or params == 0:
            return None
        if params == 1:
            return <Value>tangents[0]
        return bind2(OP_ABSORB_MUL, None, <Value>tangents[0], power_partial(params, <Value>ins[0]))
    if family == FAMILY_ELEMENTWISE:
        for i in range(n):
            if tangents[i] is NULL:
                continue
            p = partial_of(op, i, <Value>ins[0])
            if p is None:
                continue
            term = scaled(<Value>tangents[i], p, None if p.is_number else p.evaluate(ins, n, out))
            total = add(total, term)
        return None if total is None else widen(total, out)
    if op == OP_WHERE:
        if tangents[1] is NULL and tangents[2] is NULL:
            return None
        return widen(bind3(OP_WHERE, None, <Value>ins[0], given(tangents[1], <Value>ins[1]),
                           given(tangents[2], <Value>ins[2])), out)
    if op == OP_CONCAT:
        for i in range(n):
            if tangents[i] is not NULL:
                return bind_list(op, params, [given(tangents[k], <Value>ins[k]) for k in range(n)])
        return None
    if family == FAMILY_LINEAR:
        if tangents[0] is NULL:
            return None
        if op == OP_INSPECT:
            return <Value>tangents[0]
        if n == 1:
            return bind1(op, params, <Value>tangents[0])
        return bind_list(op, params, [<Value>tangents[0]] + [<Value>ins[k] for k in range(1, n)])
    if family == FAMILY_BILINEAR:
        if tangents[0] is not NULL:
            total = bind2(op, params, <Value>tangents[0], <Value>ins[1])
        if tangents[1] is not NULL:
            total = add(total, bind2(op, params, <Value>ins[0], <Value>tangents[1]))
        return total
    if family == FAMILY_SELECTION:
        if tangents[0] is NULL:
            return None
        return bind1(OP_SUM, params, bind2(OP_ABSORB_MUL, None, <Value>tangents[0],
                                           share(params, <Value>ins[0], out, type_of(<Value>tangents[0]))))
    if family == FAMILY_RULE:
        return rule_of(op).push(params, ins, n, out, tangents)
    raise RuntimeError(f"{op_name(op)}: no forward rule")


cdef Value given(PyObject *tangent, Value like):
    return zeros_like(like) if tangent is NULL else <Value>tangent


# ----------------------------------------------------------------------------------------------------- reverse

cdef Value vjp(int op, object params, PyObject **ins, int n, Value out, int i, Value ct):
    """The cotangent of operand i; None where it is zero."""
    if not is_inexact(type_of(<Value>ins[i])):
        return vjp_of_integers(op, params, ins, n, out, i, ct)
    return vjp_of_one_type(op, params, ins, n, out, i, ct)


cdef Value vjp_of_one_type(int op, object params, PyObject **ins, int n, Value out, int i, Value ct):
    """`vjp` where the cotangent has the type of the operands, or those are not read."""
    cdef Value x = <Value>ins[i]
    cdef Partial p
    cdef int family = family_of(op)
    if op == OP_POWER:
        if params == 0:
            return None
        return ct if params == 1 else bind2(OP_ABSORB_MUL, None, ct, power_partial(params, x))
    if family == FAMILY_ELEMENTWISE:
        p = partial_of(op, i, <Value>ins[0])
        if p is None:
            return None
        return to_shape_of(scaled(ct, p, None if p.is_number else p.evaluate(ins, n, out)), x)
    if family == FAMILY_LINEAR:
        return transpose(op, params, ins, n, i, ct)
    if family == FAMILY_BILINEAR:
        return bilinear_vjp(op, params, ins[0], ins[1], i, ct)
    if family == FAMILY_RULE:
        return rule_vjp(op, params, ins, n, out, i, ct)
    if family == FAMILY_SELECTION:
        return bind2(OP_ABSORB_MUL, None, bind1(OP_RESHAPE, kept_shape(x, params[0]), ct),
                     share(params, x, out, type_of(ct)))
    if family == FAMILY_CONSTANT:
        return None
    raise RuntimeError(f"{op_name(op)}: no reverse rule")


cdef Value rule_vjp(int op, object params, PyObject **ins, int n, Value out, int i, Value ct):
    """The cotangent of one operand by a rule that gives those of all."""
    cdef bytearray wanted = bytearray(n)
    wanted[i] = 1
    return rule_of(op).pull(params, ins, n, out, ct, wanted)[i]


cdef Value bilinear_vjp(int op, object params, PyObject *a, PyObject *b, int i, Value ct):
    cdef PyObject *ins[2]
    if op == OP_MATMUL:
        return matmul_vjp(<Value>a, <Value>b, i, ct)
    ins[0] = a
    ins[1] = b
    return rule_vjp(op, params, ins, 2, None, i, ct)


cdef Value matmul_vjp(Value a, Value b, int i, Value ct):
    """For c = a @ b: the cotangent of a is ct @ b^T, that of b is a^T @ ct, summed over broadcast leading axes."""
    if i == 0 and ndim_of(a) == 2 and ndim_of(b) > 2:       # one product over all columns, see below
        return bind2(OP_MATMUL, None, swapped(rows(swapped(ct))), rows(swapped(b)))
    if i == 0:
        return to_shape_of(bind2(OP_MATMUL, None, ct, swapped(b)), a)
    if ndim_of(b) == 2 and ndim_of(a) > 2:          # one product over all rows instead of one for each stack
        a = rows(a)
        ct = rows(ct)
    return to_shape_of(bind2(OP_MATMUL, None, swapped(a), ct), b)


cdef Value rows(Value v):
    """A stack of matrices as one matrix of all their rows."""
    cdef tuple shape = shape_of(v)
    cdef Py_ssize_t count = 1, last = len(shape) - 1, k
    for k in range(last):
        count *= shape[k]
    return bind1(OP_RESHAPE, (count, shape[last]), v)


cdef Value transpose(int op, object params, PyObject **ins, int n, int i, Value ct):
    """The transpose of a linear primitive, applied to a cotangent."""
    cdef Value x = <Value>ins[i]
    cdef Py_ssize_t start
    cdef int axis, k
    if op == OP_RESHAPE:
        return bind1(OP_RESHAPE, shape_of(x), ct)
    if op == OP_TRANSPOSE:
        inverse = [0] * len(params)
        for k in range(len(params)):
            inverse[params[k]] = k
        return bind1(OP_TRANSPOSE, tuple(inverse), ct)
    if op == OP_BROADCAST_TO:
        return bind1(OP_SUM_TO, shape_of(x), ct)
    if op == OP_SUM_TO:
        return bind1(OP_BROADCAST_TO, shape_of(x), ct)
    if op == OP_SUM:
        if not params[1]:
            ct = bind1(OP_RESHAPE, kept_shape(x, params[0]), ct)
        return bind1(OP_BROADCAST_TO, shape_of(x), ct)
    if op == OP_CAST:
        return bind1(OP_CAST, type_of(x), ct)
    if op == OP_IDENTITY or op == OP_INSPECT:
        return ct
    if op == OP_CUMSUM:
        return bind1(OP_CUMSUM, (params[0], not params[1]), ct)
    if op == OP_SLICE:
        return bind1(OP_UNSLICE, (shape_of(x), params), ct)
    if op == OP_UNSLICE:
        return bind1(OP_SLICE, params[1], ct)
    if op == OP_GATHER:
        return bind_list(OP_SCATTER_ADD, (shape_of(x), params), [ct] + [<Value>ins[k] for k in range(1, n)]) \
            if i == 0 else None
    if op == OP_SCATTER_ADD:
        return bind_list(OP_GATHER, params[1], [ct] + [<Value>ins[k] for k in range(1, n)]) if i == 0 else None
    if op == OP_WHERE:
        if i == 0:
            return None
        zero = scalar(type_of(ct), 0.0)
        return to_shape_of(bind3(OP_WHERE, None, <Value>ins[0], ct, zero) if i == 1
                           else bind3(OP_WHERE, None, <Value>ins[0], zero, ct), x)
    if op == OP_CONJ:
        return bind1(OP_CONJ, None, ct)
    if op == OP_VIEW_AS_REAL:           # cotangents pair as Re(ct * dz); see the table's complex rows
        return bind1(OP_CONJ, None, bind1(OP_VIEW_AS_COMPLEX, None, ct))
    if op == OP_VIEW_AS_COMPLEX:
        return bind1(OP_VIEW_AS_REAL, None, bind1(OP_CONJ, None, ct))
    if op == OP_CONCAT:
        axis = params
        start = 0
        for k in range(i):
            start += shape_of(<Value>ins[k])[axis]
        spec = [(0, length, 1) for length in shape_of(x)]
        spec[axis] = (start, shape_of(x)[axis], 1)
        return bind1(OP_SLICE, tuple(spec), ct)
    if op >= N_OPS:
        return rule_vjp(op, params, ins, n, None, i, ct) if i == 0 else None
    raise RuntimeError(f"{op_name(op)}: no transpose")


# ---------------------------------------------------------------------------------- the tangent of the reverse rule

cdef Value vjp_tangent(int op, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                       PyObject **in_dots, Value out_dot, Level level):
    """The tangent of vjp(...) for operand i, given the tangents of everything it reads; None where it is zero.

    `ct` and `ct_dot` may be None. Only the tangent is computed: its value part is known to the caller. The slope of
    a partial comes from evaluating it on duals of `level`, a token no value outside this call belongs to.
    """
    if not is_inexact(type_of(<Value>ins[i])):
        return vjp_tangent_of_integers(op, params, ins, n, out, i, ct, ct_dot, in_dots, out_dot, level)
    return vjp_tangent_of_one_type(op, params, ins, n, out, i, ct, ct_dot, in_dots, out_dot, level)


cdef Value vjp_tangent_of_one_type(int op, object params, PyObject **ins, int n, Value out, int i, Value ct,
                                   Value ct_dot, PyObject **in_dots, Value out_dot, Level level):
    """`vjp_tangent` where derivatives have the type of the operands."""
    cdef int family = family_of(op), k
    cdef Value total = None
    cdef Value partial, dot, x = <Value>ins[i]
    cdef Partial p
    cdef PyObject *duals[4]
    cdef list held
    cdef bint moves
    if family == FAMILY_LINEAR:
        return None if ct_dot is None else transpose(op, params, ins, n, i, ct_dot)
    if family == FAMILY_BILINEAR:
        if ct_dot is not None:
            total = bilinear_vjp(op, params, ins[0], ins[1], i, ct_dot)
        k = 1 - i
        if ct is not None and in_dots[k] is not NULL:
            total = add(total, bilinear_vjp(op, params, in_dots[0] if k == 0 else ins[0],
                                            in_dots[1] if k == 1 else ins[1], i, ct))
        return total
    if family == FAMILY_RULE:
        return rule_vjp_tangent(op, params, ins, n, out, i, ct, ct_dot, in_dots, out_dot, level)
    if family == FAMILY_ELEMENTWISE:
        if op == OP_POWER:
            if params == 0 or params == 1:
                return ct_dot if params == 1 else None
        else:
            p = partial_of(op, i, <Value>ins[0])
            if p is None:
                return None
            if p.is_number:
                return None if ct_dot is None else to_shape_of(scaled(ct_dot, p, None), x)
        moves = False
        if ct is not None:
            for k in range(n):
                moves = moves or in_dots[k] is not NULL
        if ct_dot is None and not moves:
            return None
        if moves:
            if op != OP_POWER and p.n_steps == 0:       # the partial is an operand, or the result
                if p.result == 3:
                    partial, dot = out, out_dot
                else:
                    partial = <Value>ins[p.result]
                    dot = None if in_dots[p.result] is NULL else <Value>in_dots[p.result]
                if dot is not None:
                    total = bind2(OP_ABSORB_MUL, None, ct, dot)
                if ct_dot is not None:
                    total = add(bind2(OP_ABSORB_MUL, None, ct_dot, partial), total)
                return None if total is None else to_shape_of(total, x)
            held = []
            for k in range(n):
                held.append(make_dual(level, <Value>ins[k], None if in_dots[k] is NULL else <Value>in_dots[k]))
                duals[k] = <PyObject *>held[k]
            partial = (power_partial(params, <Value>duals[0]) if op == OP_POWER
                       else p.evaluate(duals, n, make_dual(level, out, out_dot)))
            if part(partial, level, 1) is not None:
                total = bind2(OP_ABSORB_MUL, None, ct, part(partial, level, 1))
            partial = part(partial, level, 0)
        else:
            partial = power_partial(params, x) if op == OP_POWER else p.evaluate(ins, n, out)
        if ct_dot is not None:
            total = add(bind2(OP_ABSORB_MUL, None, ct_dot, partial), total)
        return None if total is None else to_shape_of(total, x)
    # what is left is linear in the cotangent with a constant of every level: the elements it picks do not move
    return None if ct_dot is None else vjp_of_one_type(op, params, ins, n, out, i, ct_dot)


cdef Value rule_vjp_tangent(int op, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                            PyObject **in_dots, Value out_dot, Level level):
    """The tangent of a rule written as a function: the function on duals."""
    cdef list held = []
    cdef PyObject **duals
    cdef bytearray room = bytearray(n * sizeof(PyObject *))
    cdef bint moves = False
    cdef int k
    for k in range(n):
        moves = moves or in_dots[k] is not NULL
    if not moves:
        return None if ct_dot is None else rule_vjp(op, params, ins, n, out, i, ct_dot)
    duals = <PyObject **><char *>room
    for k in range(n):
        held.append(make_dual(level, <Value>ins[k], None if in_dots[k] is NULL else <Value>in_dots[k]))
        duals[k] = <PyObject *>held[k]
    if ct is None:
        if ct_dot is None:
            return None
        ct = zeros_like(ct_dot)
    return part(rule_vjp(op, params, duals, n, make_dual(level, out, out_dot), i, make_dual(level, ct, ct_dot)), level,
                1)


# ---------------------------------------------------------------------------------------------------- integers

cdef int slope_type(int op, int typenum) noexcept:
    """The type of a slope that comes to an integer value in some type: most primitives keep integers, where the slope
    of another is a number it is a broken one."""
    return typenum if is_inexact(typenum) or keeps_ints(op) else cnp.NPY_FLOAT


cdef int working_type(int typenum) noexcept:
    """The type in which slopes of integers are computed: one that holds the integers."""
    return cnp.NPY_DOUBLE if is_inexact(typenum) and not is_complex(typenum) else typenum


cdef Value slope_through_cast(Value derivative, int typenum):
    """A derivative of an integer, at the other side of a cast from or to it. Through a cast between integers a
    floating one passes as it is; that of a complex number by an integer, which is real, has a real part only."""
    cdef int own = type_of(derivative)
    if is_complex(own):
        return bind1(OP_CAST, cnp.NPY_DOUBLE if own == cnp.NPY_CDOUBLE else cnp.NPY_FLOAT, derivative)
    return derivative if is_inexact(own) else typed(derivative, typenum)


cdef Value jvp_of_integers(int op, object params, PyObject **ins, int n, Value out, PyObject **tangents):
    """`jvp` where the result is an integer, and tangents have types of their own."""
    cdef int i, family = family_of(op), typenum = NO_TYPE, slope, work
    cdef list held
    cdef PyObject **moved
    cdef Value tangent
    cdef bint joins = op == OP_WHERE or op == OP_CONCAT
    if family == FAMILY_RULE or family == FAMILY_CONSTANT:
        return jvp_of_one_type(op, params, ins, n, out, tangents)
    if op == OP_CAST:
        return None if tangents[0] is NULL else slope_through_cast(<Value>tangents[0], type_of(out))
    if family == FAMILY_LINEAR and not joins:           # other operands are indices
        return jvp_of_one_type(op, params, ins, n, out, tangents)
    for i in range(n):
        if tangents[i] is not NULL:
            typenum = common_type(typenum, type_of(<Value>tangents[i]))
    if typenum == NO_TYPE:
        return None
    slope = slope_type(op, typenum)
    work = slope if joins or family == FAMILY_SELECTION else working_type(slope)
    held = [typed(<Value>tangents[i], work) if tangents[i] is not NULL else None for i in range(n)]
    held += [<Value>ins[i] if family == FAMILY_SELECTION or op == OP_WHERE and i == 0 else typed(<Value>ins[i], work)
             for i in range(n)]
    room = bytearray(2 * n * sizeof(PyObject *))
    moved = <PyObject **><char *>room
    for i in range(2 * n):
        moved[i] = NULL if held[i] is None else <PyObject *>held[i]
    tangent = jvp_of_one_type(op, params, moved + n, n, out if family == FAMILY_SELECTION else typed(out, work), moved)
    return typed(tangent, slope)


cdef Value vjp_of_integers(int op, object params, PyObject **ins, int n, Value out, int i, Value ct):
    """`vjp` for an integer operand: the cotangent has the type it came with, and so has the result."""
    cdef int family = family_of(op), k, slope, work
    cdef list held
    cdef PyObject **wide
    if family == FAMILY_CONSTANT:
        return None
    if op == OP_CAST:
        return slope_through_cast(ct, type_of(<Value>ins[i]))
    slope = slope_type(op, type_of(ct))
    if family == FAMILY_SELECTION:
        return vjp_of_one_type(op, params, ins, n, out, i, typed(ct, slope))
    if family == FAMILY_LINEAR or family == FAMILY_RULE or not is_inexact(slope):
        return vjp_of_one_type(op, params, ins, n, out, i, ct)
    work = working_type(slope)
    held = [typed(<Value>ins[k], work) for k in range(n)]
    room = bytearray(n * sizeof(PyObject *))
    wide = <PyObject **><char *>room
    for k in range(n):
        wide[k] = <PyObject *>held[k]
    return typed(vjp_of_one_type(op, params, wide, n, typed(out, work), i, typed(ct, work)), slope)


cdef Value vjp_tangent_of_integers(int op, object params, PyObject **ins, int n, Value out, int i, Value ct,
                                   Value ct_dot, PyObject **in_dots, Value out_dot, Level level):
    """`vjp_tangent` for an integer operand."""
    cdef int family = family_of(op), k, typenum = NO_TYPE, slope, work
    cdef list held
    cdef PyObject **wide
    cdef Value term
    if family == FAMILY_CONSTANT or family == FAMILY_LINEAR or family == FAMILY_SELECTION:
        return None if ct_dot is None else vjp_of_integers(op, params, ins, n, out, i, ct_dot)
    if family == FAMILY_RULE:
        return vjp_tangent_of_one_type(op, params, ins, n, out, i, ct, ct_dot, in_dots, out_dot, level)
    for v in [ct, ct_dot] + [<Value>in_dots[k] for k in range(n) if in_dots[k] is not NULL]:
        if v is not None:
            typenum = common_type(typenum, type_of(<Value>v))
    slope = slope_type(op, typenum)
    if not is_inexact(slope):
        return vjp_tangent_of_one_type(op, params, ins, n, out, i, ct, ct_dot, in_dots, out_dot, level)
    work = working_type(slope)
    held = [typed(<Value>ins[k], work) for k in range(n)]
    held += [None if in_dots[k] is NULL else typed(<Value>in_dots[k], work) for k in range(n)]
    room = bytearray(2 * n * sizeof(PyObject *))
    wide = <PyObject **><char *>room
    for k in range(2 * n):
        wide[k] = NULL if held[k] is None else <PyObject *>held[k]
    term = vjp_tangent_of_one_type(op, params, wide, n, typed(out, work), i, typed(ct, work), typed(ct_dot, work),
                                   wide + n, typed(out_dot, work), level)
    return typed(term, slope)


# ------------------------------------------------------------------------------------------------ duals, one level

cdef Value dual_rule(int op, object params, PyObject **args, int n):
    """A primitive on duals and batches: the highest level among the operands is unpacked, the rest is one level down.
    """
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
            elif d.level is top and d.algebra.top > algebra.top:    # one is known to a lower degree only
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
    """`jvp`, its result looked at; a derivative of `order` more than the sweeps that are going on."""
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


cdef Value living(Value v):
    """A value without the duals of closed levels: the transform has returned, what is left is the primal."""
    while v.kind == DUAL and not (<Dual>v).level.open:
        v = <Value>(<Dual>v).parts[0]
    return v


cdef Value dual_rule_many(int op, object params, PyObject **args, int n, Level top):
    """Joins of many operands, all linear: coefficient by coefficient."""
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
