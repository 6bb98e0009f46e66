"""Jets of elementwise functions: Taylor coefficients of sin, exp ... of a jet, or of an element of any graded algebra.

Design
------
A function is a power series, computed degree by degree. Let D be the derivation that multiplies a coefficient by its
degree. For y = phi(x), D y = phi'(x) D x. At degree d this gives the coefficients of y from coefficients of phi'(x)
below d and coefficients of x up to d. So phi' is the only knowledge of phi that is needed (Griewank and Walther,
Evaluating Derivatives, 2008, section 13.2, for jets).

phi' is an expression of primitives, each again a series: products, quotients, and functions whose slopes are
expressions too. A series computes a coefficient on demand and keeps it, and the same function of the same operands is
one series (`Work.memo`). So tanh and its slope sech2, whose slope contains tanh, are two series that feed each other. K
degrees cost O(K^2) products, for any function and any nesting of slopes.

Division has its own recurrence, z y = x: expressing the slope of a quotient by quotients would never end.
"""
from ..arrays.array cimport ARRAY, Array, Value, is_complex, scalar, to_ndarray
from ..primitives.opcodes cimport *
from ..primitives.registry cimport FAMILY_CONSTANT, family_of
from .batch cimport contracted
from .partials cimport Partial, partial_of
from .rules cimport add
from .levels cimport Algebra, BatchLevel, Level, bind2, bind_list, type_of


cdef Value times(Value v, double number):
    return v if number == 1.0 or v is None else bind2(OP_MUL, None, v, scalar(type_of(v), number))


cdef class Work:
    """The state shared by all series of one calculation."""
    cdef Algebra algebra
    cdef Level level
    cdef dict memo                  # (op, params, operand keys) -> series; it keeps operands alive, so ids stay unique
    cdef list kept                  # the series that may have slopes
    cdef Value unit                 # the coefficient of the parameter of `taylor`, known to be 1, else None


cdef Value coupled_series(Work work, Value a, Value b, int i, int k, double c):
    """The term that the product of two coefficients, `a` from block i, adds to block k."""
    cdef Algebra algebra = work.algebra
    if algebra.stacked and algebra.sizes[i] > 1 and algebra.sizes[k] == 1:
        return times(contracted(OP_ABSORB_MUL, None, a, b, <BatchLevel>work.level.stacks[i]), c)
    return times(bind2(OP_ABSORB_MUL, None, a, b), c)


cdef class Series:
    """An algebra element whose coefficients are known up to a degree; None means zero."""
    cdef list parts
    cdef int known
    cdef tuple number               # dtype and bytes of a constant with one element, else None

    cdef int reach(self, Work work, int degree) except -1:
        while self.known < degree:
            self.step(work, self.known + 1)
            self.known += 1
        return 0

    cdef int step(self, Work work, int degree) except -1:
        """Compute the coefficients of a degree, given all lower ones."""
        return 0


cdef Series series_of(list parts, int known):
    cdef Series s = Series()
    s.parts = parts
    s.known = known
    return s


cdef class Product(Series):
    cdef Series a
    cdef Series b

    cdef int step(self, Work work, int degree) except -1:
        cdef Algebra algebra = work.algebra
        cdef Value total
        cdef list a = self.a.parts, b = self.b.parts
        self.a.reach(work, degree)
        self.b.reach(work, degree)
        for k in <list>algebra.of_degree[degree]:
            total = None
            if a[k] is not None:
                total = bind2(OP_ABSORB_MUL, None, <Value>a[k], <Value>b[0])
            if b[k] is not None:
                total = add(total, bind2(OP_ABSORB_MUL, None, <Value>a[0], <Value>b[k]))
            for i, j, c in <list>algebra.into[k]:
                if a[i] is not None and b[j] is not None:
                    total = add(total, coupled_series(work, <Value>a[i], <Value>b[j], i, k, c))
            self.parts[k] = total
        return 0


cdef class Quotient(Series):
    """y = a / b, from b y = a."""
    cdef Series a
    cdef Series b

    cdef int step(self, Work work, int degree) except -1:
        cdef Algebra algebra = work.algebra
        cdef Value total
        cdef list b = self.b.parts, y = self.parts
        self.a.reach(work, degree)
        self.b.reach(work, degree)
        for k in <list>algebra.of_degree[degree]:
            total = None
            if b[k] is not None:
                total = bind2(OP_ABSORB_MUL, None, <Value>b[k], <Value>y[0])
            for i, j, c in <list>algebra.into[k]:
                if b[i] is not None and y[j] is not None:
                    total = add(total, coupled_series(work, <Value>b[i], <Value>y[j], i, k, c))
            if self.a.parts[k] is not None:
                total = (<Value>self.a.parts[k] if total is None
                         else bind2(OP_SUB, None, <Value>self.a.parts[k], total))
            elif total is not None:
                total = bind2(OP_MUL, None, total, scalar(type_of(total), -1.0))
            y[k] = None if total is None else bind2(OP_DIV, None, total, <Value>b[0])
        return 0


cdef class Choice(Series):
    """where(c, a, b), linear in a and b."""
    cdef Value condition
    cdef Series a
    cdef Series b

    cdef int step(self, Work work, int degree) except -1:
        cdef Value zero
        self.a.reach(work, degree)
        self.b.reach(work, degree)
        for k in <list>work.algebra.of_degree[degree]:
            a, b = self.a.parts[k], self.b.parts[k]
            if a is not None or b is not None:
                zero = scalar(type_of(<Value>(b if a is None else a)), 0.0)
                self.parts[k] = bind_list(OP_WHERE, None, [self.condition, zero if a is None else a,
                                                           zero if b is None else b])
        return 0


cdef class Scaled(Series):
    """A series times a number."""
    cdef Series a
    cdef double number

    cdef int step(self, Work work, int degree) except -1:
        self.a.reach(work, degree)
        for k in <list>work.algebra.of_degree[degree]:
            if self.a.parts[k] is not None:
                self.parts[k] = times(<Value>self.a.parts[k], self.number)
        return 0


cdef class ElementwiseSeries(Series):
    """An elementwise primitive of series, computed with its partials."""
    cdef int op
    cdef object params
    cdef list operands
    cdef list slopes                # series of the partials, made on first use

    cdef int step(self, Work work, int degree) except -1:
        cdef Series x
        cdef Partial p
        cdef dict moved = {}
        cdef int i
        for i in range(len(self.operands)):
            x = <Series>self.operands[i]
            x.reach(work, degree)
            if not moves(x, work.algebra, degree):
                continue
            p = None
            if self.op != OP_POWER:
                p = partial_of(self.op, i, <Value>(<Series>self.operands[0]).parts[0])
                if p is None:
                    continue
            if p is not None and p.is_number:
                for k in <list>work.algebra.of_degree[degree]:
                    if x.parts[k] is not None:
                        moved[k] = add(moved.get(k), times(<Value>x.parts[k], p.number * degree))
            else:
                self.move(work, degree, i, x, moved)
        for k, v in moved.items():
            self.parts[k] = times(<Value>v, 1.0 / degree)
        return 0

    cdef int move(self, Work work, int degree, int i, Series x, dict moved) except -1:
        """Add the product of a slope with D of an operand, at one degree."""
        cdef Algebra algebra = work.algebra
        cdef Series slope = self.slope(work, i)
        cdef Value total
        if slope is None:
            return 0
        slope.reach(work, degree - 1)
        for k in <list>algebra.of_degree[degree]:
            total = moved.get(k)
            if x.parts[k] is not None:
                total = add(total, times(<Value>slope.parts[0] if x.parts[k] is work.unit else
                                         bind2(OP_ABSORB_MUL, None, <Value>x.parts[k], <Value>slope.parts[0]),
                                         degree))
            for a, b, c in <list>algebra.into[k]:
                if slope.parts[a] is not None and x.parts[b] is not None:
                    total = add(total, coupled_series(work, <Value>x.parts[b], <Value>slope.parts[a], b, k,
                                                      c * algebra.degrees[b]))
            if total is not None:
                moved[k] = total
        return 0

    cdef Series slope(self, Work work, int i):
        """The partial by operand i; None if it is zero."""
        cdef list registers
        cdef Partial p
        cdef int k, j, r
        cdef int typenum
        cdef Series s
        if self.slopes[i] is not None:
            return <Series>self.slopes[i]
        if self.op == OP_POWER:
            if self.params == 0:
                return None
            typenum = type_of(<Value>self.parts[0])
            if isinstance(self.params, float) and not is_complex(typenum):
                operands = [self.operands[0], constant(work, scalar(typenum, self.params)),
                            constant(work, scalar(typenum, 1.0))]
                self.slopes[i] = function(work, OP_POW_PARTIAL, None, operands)
                return <Series>self.slopes[i]
            s = function(work, OP_POWER, self.params - 1, self.operands) if self.params != 1 else None
            self.slopes[i] = constant(work, scalar(typenum, 1.0)) if s is None \
                else scaled_series(work, s, self.params)
            return <Series>self.slopes[i]
        p = partial_of(self.op, i, <Value>(<Series>self.operands[0]).parts[0])
        typenum = type_of(<Value>(<Series>self.operands[0]).parts[0])
        registers = list(self.operands) + [None] * (3 - len(self.operands)) + [self]
        for k in range(p.n_steps):
            operands = []
            for j in range(p.arity[k]):
                r = p.operand[k][j]
                operands.append(constant(work, p.constant(r - 100, typenum)) if r >= 100 else registers[r])
            registers.append(function(work, p.op[k], None, operands))
        self.slopes[i] = registers[p.result]
        return <Series>self.slopes[i]


cdef bint moves(Series x, Algebra algebra, int degree):
    cdef int k
    for k in range(1, algebra.dim):
        if x.parts[k] is not None and algebra.degrees[k] <= degree:
            return True
    return False


cdef Series constant(Work work, Value v):
    cdef Series s = series_of([v] + [None] * (work.algebra.dim - 1), work.algebra.top)
    if v.kind == ARRAY and (<Array>v).size == 1:
        s.number = ((<Array>v).typenum, to_ndarray(<Array>v).tobytes())
    return s


cdef Series scaled_series(Work work, Series a, double number):
    cdef Scaled s = Scaled()
    s.a = a
    s.number = number
    s.parts = [times(<Value>a.parts[0], number)] + [None] * (work.algebra.dim - 1)
    return s


cdef object identity(Series s):
    """The key of an operand. Equal constants share a key, because many series contain the same constants."""
    return id(s) if s.number is None else s.number


cdef Series function(Work work, int op, object params, list operands):
    """The series of a primitive applied to series; equal primitives and operands share one series."""
    cdef object key = (op, params, tuple([identity(<Series>x) for x in operands]))
    cdef Series s = work.memo.get(key)
    cdef Product product
    cdef Quotient quotient
    cdef Choice choice
    cdef ElementwiseSeries f
    cdef Value primal
    if s is not None:
        return s
    primal = bind_list(op, params, [<Value>(<Series>x).parts[0] for x in operands])
    if all([(<Series>x).number is not None for x in operands]):
        s = constant(work, primal)
        work.memo[key] = s
        return s
    if op == OP_MUL or op == OP_ABSORB_MUL:
        product = Product()
        product.a, product.b = operands
        s = product
    elif op == OP_DIV:
        quotient = Quotient()
        quotient.a, quotient.b = operands
        s = quotient
    elif op == OP_WHERE:
        choice = Choice()
        choice.condition = <Value>(<Series>operands[0]).parts[0]
        choice.a, choice.b = operands[1:]
        s = choice
    elif family_of(op) == FAMILY_CONSTANT:
        s = Series()
    else:
        f = ElementwiseSeries()
        f.op = op
        f.params = params
        f.operands = operands
        f.slopes = [None] * len(operands)
        work.kept.append(f)
        s = f
    s.parts = [primal] + [None] * (work.algebra.dim - 1)
    work.memo[key] = s
    return s


cdef list elementwise_series(int op, object params, list operands, Algebra algebra, Level level, Value unit):
    """The coefficients of a primitive of algebra elements, each given as a list of coefficients.

    Blocks of several elements are batches of the level. `unit` is a coefficient known to be 1, or None.
    """
    cdef Work work = Work()
    cdef Series s
    work.algebra = algebra
    work.level = level
    work.unit = unit
    work.memo = {}
    work.kept = []
    s = function(work, op, params, [series_of(parts, algebra.top) for parts in operands])
    try:
        s.reach(work, algebra.top)
    finally:
        for kept in work.kept:              # slopes may refer to each other in a cycle
            (<ElementwiseSeries>kept).slopes = None
    return s.parts
