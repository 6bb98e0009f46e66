"""Scalings: small factors are multiplied with each other before they meet a large array.

Design
------
A derivative by many directions sends all of them through the same slopes, one after the other. Each slope has a number
for each sample, and the array of directions many times as many:

    (x c) d = x (c d)           k (x c) = x (k c)           -(x c) = x (-c)

An array is remembered as `x c`, if a step multiplies it by an array `c` of fewer elements. A further such step makes
`c d`, and the product with x is the only large one that is left, as soon as nothing else reads those in between. So a
Hessian of a loss of X w is X^T times one multiple of X.

Products of derivative rules alone are looked at, where zero times anything is zero; what a user multiplies is
multiplied in the user's order. Each element is the same product as before. The order of the factors changes, and with
it the last digit, or more where c d leaves the range of normal numbers.
"""
from ..primitives.opcodes cimport OP_ABSORB_MUL, OP_MUL, OP_NEG
from .identities cimport is_real
from .program cimport FROM_CONSTANT, FROM_STEP, Program
from .rewrites cimport SMALL_PRODUCT, note

cdef enum:
    SMALLER = 4                     # times as many elements has the array that is scaled


cdef double size_of(tuple shape) except -1:
    cdef double size = 1.0
    for extent in shape:
        size *= extent
    return size


cdef tuple joint(tuple a, tuple b):
    """The shape that two shapes, which fit, have together."""
    cdef Py_ssize_t n = max(len(a), len(b)), i
    a = (1,) * (n - len(a)) + a
    b = (1,) * (n - len(b)) + b
    return tuple([b[i] if a[i] == 1 else a[i] for i in range(n)])


cdef class Scalings:
    """A program in which small factors meet first, in the making."""
    cdef Program program            # with the slots that are added
    cdef dict factors               # slot -> (x, c): their product

    cdef int new_slot(self, tuple shape, int like) except -1:
        """A slot for the result of a step, of the type of another one."""
        cdef Program p = self.program
        p.kinds.append(FROM_STEP)
        p.sources.append(None)
        p.typenums.append(p.typenums[like])
        p.shapes.append(shape)
        return len(p.kinds) - 1

    cdef bint is_small(self, tuple shape, int out) except -1:
        return SMALLER * size_of(shape) <= size_of(self.program.shapes[out])

    cdef bint scales(self, int op, int x, int c, int out) except -1:
        """Whether a product has the shape of x, and c is small; of two plain factors one is a number."""
        cdef Program p = self.program
        return (p.shapes[x] == p.shapes[out] and self.is_small(p.shapes[c], out)
                and (op == OP_ABSORB_MUL or p.kinds[c] == FROM_CONSTANT and not p.shapes[c]))

    cdef tuple scaling(self, int op, tuple ins, int out):
        """What a step computes as (x, the step that makes its factor or None, the factor); None if it is none."""
        cdef tuple shape
        cdef int i, c, made
        if op == OP_NEG:
            if ins[0] not in self.factors:
                return None
            x, c = self.factors[ins[0]]
            made = self.new_slot(self.program.shapes[c], c)
            return x, (OP_NEG, None, (c,), made), made
        for i in range(2):
            if not self.scales(op, ins[i], ins[1 - i], out):
                continue
            if ins[i] not in self.factors:
                return None if op == OP_MUL else (ins[i], None, ins[1 - i])
            x, c = self.factors[ins[i]]
            shape = joint(self.program.shapes[c], self.program.shapes[ins[1 - i]])
            if not self.is_small(shape, out):
                continue
            made = self.new_slot(shape, c)
            return x, (op, None, (c, ins[1 - i]), made), made
        return None

    cdef int rewrite(self, list steps) except -1:
        cdef tuple found
        cdef int op
        for step in steps:
            op, _, ins, out = step
            found = None
            if (op == OP_ABSORB_MUL or op == OP_MUL or op == OP_NEG) and is_real(self.program.typenums[out]):
                found = self.scaling(op, ins, out)
            if found is None:
                self.program.steps.append(step)
                continue
            x, small, c = found
            self.factors[out] = (x, c)
            if small is not None:
                self.program.steps.append(small)
                step = (OP_ABSORB_MUL, None, (x, c), out)
            self.program.steps.append(step)
        return 0


cdef double elements(Program program) except -1:
    """Elements that the steps looked at here compute."""
    cdef double total = 0.0
    for op, _, _, out in program.steps:
        if op == OP_ABSORB_MUL or op == OP_MUL or op == OP_NEG:
            total += size_of(program.shapes[out])
    return total


cdef Program with_small_products_first(Program program):
    """The program with fewer products of large arrays, prepared again; None if there would not be fewer."""
    cdef Scalings s
    s = Scalings()
    s.program = program.without_steps()
    s.factors = {}
    s.rewrite(program.steps)
    if len(s.program.kinds) == len(program.kinds):
        return None
    s.program.prepare()
    if elements(s.program) >= elements(program):
        return None
    note(SMALL_PRODUCT)
    return s.program
