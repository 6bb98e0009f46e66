"""Duals over any finite algebra given as a table: jets, algebras of second-order operators, and others.

Design
------
An algebra is a table of products; this file applies primitives to its elements, one rule for each family:

linear        coefficient by coefficient (families.pyx);
bilinear      sums over the table of products;
elementwise   in jets of degree 3 and more degree by degree, from the slope as a series of lower degree (taylor.pyx);
              otherwise by powers of n, the part without primal: phi(u + n) = sum phi^(m)(u) n^m / m!, n nilpotent;
rules         of primitives whose derivative is a function: see transforms/extension.pyx;
not graded    if degrees do not add up in every product: along the line u + t n, a jet whose coefficients are
              elements, read at t = 1. The jet ends with the highest power of n that is not zero.

Coefficients are normalised: derivative / k!. A coefficient that is None is zero and costs nothing. rules.pyx has a
short path for ordinary dual numbers, the most frequent algebra by far.
"""
from cpython.object cimport PyObject

from ..arrays.array cimport DUAL, Value, scalar
from .batch cimport contracted, frugal
from ..primitives.registry cimport PRIMITIVES, Primitive, primitive_of
from ..primitives.opcodes cimport *
from .partials cimport Partial, partial_of
from .rules cimport add, has_slope, look_at, widen, zeros_like
from .taylor cimport elementwise_series, times
from .levels cimport Algebra, BatchLevel, Dual, Level, bind1, bind2, bind_list, new_dual, new_level, part, type_of
from ..primitives.watch cimport Watch, active_watch


# ---------------------------------------------------------------------------------------------------- algebras

def jets(int order):
    """R[t]/t^(K+1): Taylor coefficients of one direction."""
    return Algebra(f"R[t]/t^{order + 1}", list(range(order + 1)),
                   [(i, j, i + j, 1.0) for i in range(1, order + 1) for j in range(1, order + 1 - i)])


def quadratic_algebra(int plus, int minus):
    """Basis 1, e1..er, s with ei ej = +-delta_ij s. It serves every second-order operator of that signature: a sum of
    +-half the second derivatives along the directions. All e of one sign form one block, so there are at most four
    arrays."""
    cdef list sizes = [1] + [n for n in (plus, minus) if n] + [1]
    cdef int s = len(sizes) - 1
    cdef list signs = [sign for n, sign in ((plus, 1.0), (minus, -1.0)) if n]
    return Algebra(f"second order, signature ({plus}, {minus})", [0] + [1] * (s - 1) + [2],
                   [(i + 1, i + 1, s, signs[i]) for i in range(s - 1)], sizes)


# -------------------------------------------------------------------------------------------------------- rules

cdef Value make(Level level, Algebra algebra, list parts):
    """A dual with the given coefficients; only the primal if there are no others."""
    cdef int k
    for k in range(1, algebra.dim):
        if parts[k] is not None:
            return new_dual(level, algebra, tuple(parts))
    return <Value>parts[0]


cdef Value truncated(Value v, Level level, Algebra quotient):
    """A value without its coefficients above the degree of the quotient."""
    cdef int k
    if v.kind != DUAL or (<Dual>v).level is not level:
        return v
    return make(level, quotient, [part(v, level, k) if quotient.degrees[k] <= quotient.top else None
                                  for k in range(quotient.dim)])


cdef Value derived(Value v, Level level, Algebra quotient):
    """Apply D to a value: multiply each coefficient by its degree. None if there is only the primal."""
    cdef list held = [None] * quotient.dim
    cdef Value c
    cdef int k
    for k in range(1, quotient.dim):
        c = part(v, level, k) if quotient.degrees[k] <= quotient.top else None
        if c is not None:
            held[k] = times(c, quotient.degrees[k])
            held[0] = zeros_like(c)
    return None if held[0] is None else make(level, quotient, held)


cdef Value algebra_rule(int op, object params, PyObject **args, int n, Level level, Algebra algebra):
    cdef Watch watch = active_watch() if level.watched else None
    cdef Value out
    if watch is None:
        return lifted(op, params, args, n, level, algebra)
    watch.quiet += 1
    try:
        out = lifted(op, params, args, n, level, algebra)
    finally:
        watch.quiet -= 1
    look_at(watch, op, watch.order(), out, args, n)
    return out


cdef Value lifted(int op, object params, PyObject **args, int n, Level level, Algebra algebra):
    if PRIMITIVES[op] is NULL:
        return elementwise_over(op, params, args, n, level, algebra)
    return (<Primitive>PRIMITIVES[op]).lifted(params, args, n, level, algebra)


cdef list coefficients(object v, Level level, Algebra algebra):
    """All coefficients of a value, the primal first; None for zero."""
    cdef int k
    return [part(<Value>v, level, k) for k in range(algebra.dim)]


cdef Value elementwise_over(int op, object params, PyObject **args, int n, Level level, Algebra algebra):
    """Apply a row to elements of an algebra."""
    cdef int i, k
    cdef list primals = [part(<Value>args[i], level, 0) for i in range(n)]
    cdef list ins, out
    cdef PyObject *p[3]
    cdef bint multiplies = op == OP_MUL or op == OP_ABSORB_MUL
    for i in range(n):
        p[i] = <PyObject *>primals[i]
    if not multiplies and not has_slope(op, params, p, n):
        return bind_list(op, params, primals)
    ins = [coefficients(<Value>args[i], level, algebra) for i in range(n)]
    out = [None] * algebra.dim
    i = the_moving_one(ins)
    if multiplies:
        out[0] = bind_list(op, params, primals)
        product_of_elements(OP_ABSORB_MUL, None, <list>ins[0], <list>ins[1], out, level, algebra)
    elif by_numbers(op, primals, ins, out, algebra):
        out[0] = bind_list(op, params, primals)
    elif i >= 0 and by_its_powers(algebra):
        out = by_powers(op, params, primals, <list>ins[i], i, level, algebra)
    elif algebra.graded:
        out = elementwise_series(op, params, ins, algebra, level, None)
    else:
        return by_line(op, params, primals, ins, level, algebra)
    for k in range(1, algebra.dim):
        if out[k] is not None:
            out[k] = widen(<Value>out[k], <Value>out[0])
    return make(level, algebra, out)


cdef int the_moving_one(list ins) except -2:
    """The index of the only operand with coefficients above the unit; -1 if several have some."""
    cdef int i, found = -1
    for i in range(len(ins)):
        for c in ins[i][1:]:
            if c is not None:
                if found >= 0:
                    return -1
                found = i
                break
    return found


cdef bint by_numbers(int op, list primals, list ins, list out, Algebra algebra) except -1:
    """Compute coefficient by coefficient, for sums and the like; if a slope is not a number, do nothing and return
    False."""
    cdef list slopes = []
    cdef Partial p
    cdef int i, k
    if op == OP_POWER:
        return False
    for i in range(len(ins)):
        p = None
        if any([c is not None for c in ins[i][1:]]):
            p = partial_of(op, i, <Value>primals[0])
            if p is not None and not p.is_number:
                return False
        slopes.append(p)
    for i in range(len(ins)):
        p = slopes[i]
        if p is not None:
            for k in range(1, algebra.dim):
                if ins[i][k] is not None:
                    out[k] = add(<Value>out[k], bind1(OP_NEG, None, <Value>ins[i][k]) if p.number == -1.0
                                 else times(<Value>ins[i][k], p.number))
    return True


cdef bint by_its_powers(Algebra algebra) noexcept:
    """True if powers cost less than series, which they do except in jets of high degree."""
    return not algebra.graded or algebra.top == 2 or (algebra.top <= 4 and algebra.dim > algebra.top + 1)


cdef list by_powers(int op, object params, list primals, list x, int i, Level level, Algebra algebra):
    """phi(u + n) = sum phi^(m)(u) n^m / m!, for an elementwise function with one moving operand."""
    cdef Value unit = scalar(type_of(<Value>primals[i]), 1.0)
    cdef list operands = [[p] + [None] * algebra.top for p in primals]
    cdef list nilpotent = [None] + x[1:]
    cdef list power = nilpotent, derivatives, out
    cdef int m, k
    operands[i][1] = unit
    derivatives = elementwise_series(op, params, operands, line_of(algebra.top), None, unit)
    out = [derivatives[0]] + [None] * (algebra.dim - 1)
    for m in range(1, algebra.top + 1):
        if m > 1:
            power = nilpotent_product(power, nilpotent, m == 2, level, algebra)
        if derivatives[m] is not None:
            for k in range(1, algebra.dim):
                if power[k] is not None:
                    out[k] = add(<Value>out[k], bind2(OP_ABSORB_MUL, None, <Value>power[k], <Value>derivatives[m]))
    return out


cdef list nilpotent_product(list a, list b, bint square, Level level, Algebra algebra):
    """The product of two elements without unit part; `square`: both are the same element."""
    cdef list out = [None] * algebra.dim
    table_product(OP_ABSORB_MUL, None, a, b, square, out, level, algebra)
    return out


cdef int table_product(int op, object params, list a, list b, bint square, list out, Level level,
                       Algebra algebra) except -1:
    """Add the products above the unit to `out`. Products with the same factor and target are summed before they are
    scaled. `square`: a is b, so each pair stands for two."""
    cdef dict sums = {}
    cdef Value term
    for i, j, k, c in algebra.products:
        if a[i] is not None and b[j] is not None and not (square and i > j):
            if square and i < j:
                c = 2.0 * c
            term = coupled(op, params, <Value>a[i], <Value>b[j], i, k, level, algebra)
            sums[k, c] = frugal(OP_ADD, None, sums[k, c], term) if (k, c) in sums else term
    for (k, c), total in sums.items():
        if c != 1.0:
            total = frugal(OP_MUL, None, <Value>total, scalar(type_of(<Value>total), c))
        out[k] = total if out[k] is None else frugal(OP_ADD, None, <Value>out[k], <Value>total)
    return 0


cdef dict LINES = {}                # degree -> the algebra of jets of that degree


cdef Algebra line_of(int degree):
    if degree not in LINES:
        LINES.setdefault(degree, jets(degree))      # another thread may have added it
    return <Algebra>LINES[degree]


cdef Value by_line(int op, object params, list primals, list ins, Level level, Algebra algebra):
    """Apply any primitive along the line from the primals to the elements."""
    cdef Level line = new_level("a line in an algebra")
    cdef Algebra along = line_of(algebra.top)
    cdef list operands = []
    cdef Value out, total = None
    cdef int k
    for primal, x in zip(primals, ins):
        moved = make(level, algebra, [zeros_like(<Value>primal)] + x[1:])
        operands.append(primal if all([c is None for c in x[1:]])
                        else make(line, along, [primal, moved] + [None] * (algebra.top - 1)))
    out = bind_list(op, params, operands)
    line.open = False
    for k in range(along.dim):
        total = add(total, part(out, line, k))
    return total


cdef Value coupled(int op, object params, Value a, Value b, int i, int k, Level level, Algebra algebra):
    """The term that the product of two coefficients, `a` from block i, adds to block k."""
    if algebra.stacked and algebra.sizes[i] > 1 and algebra.sizes[k] == 1:
        return contracted(op, params, a, b, <BatchLevel>level.stacks[i])
    return frugal(op, params, a, b) if op == OP_ABSORB_MUL else bind2(op, params, a, b)


cdef int product_of_elements(int op, object params, list a, list b, list out, Level level, Algebra algebra) except -1:
    """Compute the coefficients of a product above the unit, from the table."""
    cdef Primitive p = primitive_of(op)
    cdef int k
    if p is not None and p.coupled_together(a, b, out):
        return 0
    for k in range(1, algebra.dim):
        if algebra.degrees[k] > algebra.top:
            continue
        if a[k] is not None:
            out[k] = (bind2(op, params, <Value>a[k], <Value>b[0]) if p is None
                      else p.coupled(params, <Value>a[k], <Value>b[0]))
        if b[k] is not None:
            out[k] = add(<Value>out[k], bind2(op, params, <Value>a[0], <Value>b[k]))
    table_product(op, params, a, b, False, out, level, algebra)
    return 0
