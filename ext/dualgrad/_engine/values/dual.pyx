"""Cotangents of algebra elements: one reverse sweep serves every algebra.

Design
------
Let A be the algebra of a forward transform, and `lam` a linear functional on it such that <a, b> = lam(a b) is not
degenerate. Then the cotangent of a value y is the one element y* of A with dLoss = <y*, dy>. The ordinary reverse
rules, read in A, propagate cotangents. The reason: the differential of a lifted function is multiplication by an
element of A. A multiplication is its own adjoint, <y*, c dx> = lam(y* c dx) = <c y*, dx>. (Christianson, Reverse
accumulation and accurate rounding error estimates for Taylor series coefficients, 1992, has this for jets.)

Take the Gram matrix G_ij = lam(e_i e_j) and its inverse P. The cotangents g_k of the coefficients of y become y*_j =
sum_k P_jk g_k, and are read back as g_k = sum_j G_kj y*_j. The functional is a coordinate: the coordinate of the
highest element for which G is regular. For jets it is the top coefficient, which reverses the order of the cotangents.

Algebras without such a functional (for several unrelated operators) act on their dual space instead. There cotangents
live in A + A*, where an element a of A times a functional f is b -> f(a b). The product of two functionals is zero.

*Constants.* Weights, and everything else that does not move at the transform's level, have a differential in R only. So
nothing needs more of such a cotangent x* than lam(x*). It is computed directly: one product per channel, for the pairs
of coefficients that lam reads, instead of all products of the algebra.

Values of later levels may enclose values of this level. They stay outermost, here as everywhere.
"""
from cpython.object cimport PyObject

from ..arrays.array cimport BATCH, DUAL, Value, is_inexact
from .batch cimport contracted, enter, leave
from ..primitives.opcodes cimport *
from ..primitives.registry cimport PRIMITIVES, Primitive
from .partials cimport Partial, partial_of
from .rules cimport add, to_shape_of, vjp, zeros_like
from .levels cimport Algebra, Batch, BatchLevel, Dual, Level, bind2, make_batch, new_dual, part, type_of
from .taylor cimport times


# ------------------------------------------------------------------------------------------------ the pairing

cdef class Duality:
    """The representation of cotangents of algebra elements."""


cdef Duality duality_of(Algebra algebra):
    """The pairing of an algebra, computed once and then cached."""
    cdef Duality found
    cdef list gram, inverse
    if algebra.duality is not None:
        return <Duality>algebra.duality
    found = Duality()
    for top in sorted(range(algebra.dim), key=lambda k: -algebra.degrees[k]):
        if algebra.sizes[top] == 1:
            gram = gram_matrix(algebra, top)
            inverse = inverse_of(gram)
            if inverse is not None:
                found.algebra = algebra
                found.seeds = [[(j, float(inverse[j][k])) for j in range(algebra.dim) if k in inverse[j]]
                               for k in range(algebra.dim)]
                found.reads = [[(j, float(c)) for j, c in sorted(gram[k].items())] for k in range(algebra.dim)]
                found.pairs = [(i, j, c) for i in range(algebra.dim) for j, c in <list>found.reads[i]]
                break
    else:
        found.algebra = with_functionals(algebra)
        found.seeds = found.reads = [[(algebra.dim + k, 1.0)] for k in range(algebra.dim)]
        found.pairs = [(k, algebra.dim + k, 1.0) for k in range(algebra.dim)]
    algebra.duality = found
    return found


cdef list gram_matrix(Algebra algebra, int top):
    """The coefficients at `top` of products of basis elements, row by row, without zeros; exact."""
    from fractions import Fraction          # slow to import, and few programs need it
    cdef list gram = [{} for _ in range(algebra.dim)]
    gram[0][top] = gram[top][0] = Fraction(1)
    for i, j, k, c in algebra.products:
        if k == top and c != 0.0:
            gram[i][j] = gram[i].get(j, 0) + Fraction(c)
    return gram


cdef list inverse_of(list matrix):
    """The inverse of a sparse matrix of fractions, row by row; None if it is singular."""
    from fractions import Fraction
    cdef int n = len(matrix), k, r
    cdef list left = [dict(row) for row in matrix]
    cdef list right = [{k: Fraction(1)} for k in range(n)]
    cdef list free = list(range(n)), order = []
    for k in range(n):
        candidates = [r for r in free if k in left[r]]
        if not candidates:
            return None
        r = min(candidates, key=lambda r: len(left[r]))
        free.remove(r)
        order.append(r)
        pivot = left[r][k]
        left[r] = {j: c / pivot for j, c in left[r].items()}
        right[r] = {j: c / pivot for j, c in right[r].items()}
        for s in range(n):
            if s != r and k in left[s]:
                factor = left[s][k]
                subtract(left[s], left[r], factor)
                subtract(right[s], right[r], factor)
    return [right[r] for r in order]


cdef int subtract(dict row, dict other, object factor) except -1:
    """row -= factor * other, without keeping zeros."""
    for j, c in other.items():
        c = row.get(j, 0) - factor * c
        if c:
            row[j] = c
        else:
            row.pop(j, None)
    return 0


cdef Algebra with_functionals(Algebra algebra):
    """A + A*: block dim + k is the functional that returns coefficient k."""
    cdef int n = algebra.dim, top = algebra.top + 1
    cdef list products = list(algebra.products)
    for i, j, k, c in algebra.products:
        products += [(i, n + k, n + j, c), (n + k, i, n + j, c)]
    for i in range(1, n):
        products += [(i, n + i, n, 1.0), (n + i, i, n, 1.0)]
    degrees = algebra.degrees + tuple([top - degree for degree in algebra.degrees])
    return Algebra(f"{algebra.name} and its dual space", degrees, products, algebra.sizes * 2, algebra.graded, top)


# ------------------------------------------------------------------------------------------------ coefficients

cdef Value rebuilt(object like, list parts):
    """A dual at the level of `like`; a missing primal becomes zero."""
    cdef Py_ssize_t k
    for k in range(1, len(parts)):
        if parts[k] is not None:
            if parts[0] is None:
                parts[0] = zeros_like(<Value>parts[k])
            return new_dual((<Dual>like).level, (<Dual>like).algebra, tuple(parts))
    return <Value>parts[0]


cdef Value coefficient(Value v, Level level, int k):
    """Coefficient k of a value at a level. Later levels that enclose the value also enclose the coefficient."""
    cdef Dual d
    cdef Value inner
    if v is not None and v.kind == BATCH and (<Batch>v).level.serial > level.serial:
        inner = coefficient((<Batch>v).value, level, k)
        return None if inner is None else make_batch((<Batch>v).level, inner)
    if v is None or v.kind != DUAL:
        return v if k == 0 else None
    d = <Dual>v
    if d.level is level:
        return part(v, level, k)
    if d.level.serial < level.serial:
        return v if k == 0 else None
    return rebuilt(d, [coefficient(<Value>p, level, k) for p in d.parts])


cdef Value joined(Level level, Algebra algebra, list coefficients):
    """The element of a level with these coefficients (None for zero); None if all are zero. Later levels in them stay
    outermost."""
    cdef Dual around = None
    cdef BatchLevel batch = None
    cdef Value v
    cdef bint any_above = False
    cdef int k
    for k in range(len(coefficients)):
        v = coefficients[k]
        if v is None:
            continue
        any_above = any_above or k > 0
        if v.kind == DUAL and (<Dual>v).level.serial > level.serial:
            if around is None or (<Dual>v).level.serial > around.level.serial:
                around = <Dual>v
        elif v.kind == BATCH and (<Batch>v).level.serial > level.serial:
            if batch is None or (<Batch>v).level.serial > batch.serial:
                batch = (<Batch>v).level
    if not any_above:
        return <Value>coefficients[0]
    if batch is not None and (around is None or batch.serial > around.level.serial):
        return make_batch(batch, joined(level, algebra, [leave(batch, <Value>c) for c in coefficients]))
    if around is not None:
        return rebuilt(around, [joined(level, algebra, [part(<Value>c, around.level, k) for c in coefficients])
                                for k in range(around.algebra.dim)])
    if coefficients[0] is None:
        coefficients = list(coefficients)
        for c in coefficients:
            if c is not None:
                coefficients[0] = zeros_like(<Value>c)
                break
    return new_dual(level, algebra, tuple(coefficients))


cdef Value entered(Level level, int k, Value v):
    """A coefficient as it is stored in an element: in a block of several elements it is a batch."""
    if v is None or level.stacks is None or level.stacks[k] is None:
        return v
    return enter(<BatchLevel>level.stacks[k], v)


cdef Value left(Level level, int k, Value v):
    """A coefficient as it is seen outside: in a block of several elements, its first axis counts them."""
    if v is None or level.stacks is None or level.stacks[k] is None:
        return v
    return leave(<BatchLevel>level.stacks[k], v)


cdef bint moves_at(Value v, Level level):
    """True if a value has coefficients of a level, possibly inside of later levels."""
    cdef Value p
    if v.kind == DUAL:
        if (<Dual>v).level is level:
            return True
        if (<Dual>v).level.serial > level.serial:
            for p in (<Dual>v).parts:
                if p is not None and moves_at(p, level):
                    return True
        return False
    return v.kind == BATCH and (<Batch>v).level.serial > level.serial and moves_at((<Batch>v).value, level)


# -------------------------------------------------------------------------------------------------- cotangents

cdef Value seeded(Level level, Algebra algebra, list cotangents):
    """The cotangent of an element, given the cotangents of its coefficients (None for zero), all inside the level."""
    cdef Duality duality = duality_of(algebra)
    cdef list parts = [None] * duality.algebra.dim
    cdef int k
    for k in range(len(cotangents)):
        if cotangents[k] is not None:
            for j, c in <list>duality.seeds[k]:
                parts[j] = add(<Value>parts[j], times(<Value>cotangents[k], c))
    return joined(level, duality.algebra, parts)


cdef Value cotangent(Level level, Algebra algebra, Value adjoint, int k):
    """The cotangent of coefficient k, given the cotangent of the element; None for zero. For k = 0 it is lam of it."""
    cdef Value total = None
    for j, c in <list>duality_of(algebra).reads[k]:
        total = add(total, times(coefficient(adjoint, level, j), c))
    return total


cdef Value functional_of_product(Level level, Algebra algebra, int op, Value a, Value b, bint ct_first):
    """lam(a b) of an element and a cotangent, by a bilinear primitive: one product per channel."""
    cdef Value total = None
    cdef Value p, q
    for i, j, c in duality_of(algebra).pairs:
        if ct_first:
            i, j = j, i
        p = coefficient(a, level, i)
        q = None if p is None else coefficient(b, level, j)
        if q is not None:
            i = (j if ct_first else i)
            if algebra.sizes[i] > 1:
                p = contracted(op, None, p, q, <BatchLevel>level.stacks[i])
            else:
                p = (bind2(op, None, p, q) if PRIMITIVES[op] is NULL
                     else (<Primitive>PRIMITIVES[op]).coupled(None, p, q))
            total = add(total, times(p, c))
    return total


cdef Value vjp_over(Level level, Algebra algebra, int op, object params, PyObject **ins, int n, Value out, int i,
                    Value ct):
    """`vjp` with primals that are elements of a level's algebra. For an operand that does not move there, compute only
    lam of its cotangent; for others, the whole element."""
    cdef bint x_moves = moves_at(<Value>ins[i], level)
    cdef Value a
    if not moves_at(out, level):
        a = vjp(op, params, ins, n, out, i, ct)
        return seeded(level, algebra, [a]) if x_moves else a
    if x_moves:
        return vjp(op, params, ins, n, out, i, ct)
    if PRIMITIVES[op] is not NULL:
        return (<Primitive>PRIMITIVES[op]).functional_vjp(params, ins, n, out, i, ct, level, algebra)
    return elementwise_functional_vjp(op, params, ins, n, out, i, ct, level, algebra)


cdef Value elementwise_functional_vjp(int op, object params, PyObject **ins, int n, Value out, int i, Value ct,
                                      Level level, Algebra algebra):
    """lam of the cotangent of an operand of a row, if the operand does not move."""
    cdef Value x = <Value>ins[i], a
    cdef Partial p
    if not is_inexact(type_of(x)):              # the operands would need the cotangent's dtype
        return cotangent(level, algebra, vjp(op, params, ins, n, out, i, ct), 0)
    p = partial_of(op, i, x)
    if p is None:
        return None
    if p.is_number:
        a = cotangent(level, algebra, ct, 0)
        return None if a is None else vjp(op, params, ins, n, out, i, a)
    a = functional_of_product(level, algebra, OP_ABSORB_MUL, ct, p.evaluate(ins, n, out), True)
    return None if a is None else to_shape_of(a, x)
