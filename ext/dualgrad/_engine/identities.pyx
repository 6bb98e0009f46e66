"""Identities: a program with fewer steps that gives the same numbers, to the last bit.

Design
------
Derivative rules leave signs and constant factors behind: a slope is the negative of something, a square brings a two.
Rounding is symmetric, and a power of two only shifts the exponent, so these may go where they cost nothing:

* A negation is not done but remembered: the slot is the negative of another one. Products and linear operations pass it
  on, two of them cancel, sums become differences. It is done where somebody needs the number itself: a function that
  is not linear, a result.
* c1 * (c2 * x) is (c1 * c2) * x where one of the constants is a power of two, and division by one is a product.
* c1 * (c2 - x) is c1 c2 - c1 x where c1 is a power of two and c1 x is there already; likewise for a sum.
* A square is a product, since products can be fused with what reads them.

Steps that have become the same are one. Whatever nobody reads any more is dropped in the end.

A sum that cancels is a positive zero, and so is the sum of the negatives. Who needs the negative of a sum gets the sum
of the negatives, therefore, as it was recorded. Two things may differ all the same: the sign of a zero that is a
product of `absorb_mul`, or that is added to others, and the last digit of numbers too small to be normal.

Only real types of four and eight bytes are looked at.
"""
cimport numpy as cnp
from libc.math cimport INFINITY, frexp

import numpy as np

from .array cimport Array, first_number, from_ndarray, uniform
from .opcodes cimport *
from .program cimport FROM_CONSTANT, FROM_STEP, Program, in_order

cdef enum:
    SAFE = 64                       # powers of two up to this one, and constants of that size, are moved
    DEEPEST = 8                     # sums within sums whose negation is put off


cdef class Rewriting:
    """A program in the making, and what is known of its slots."""
    cdef Program new
    cdef dict same                  # slot -> the slot that it is equal to
    cdef dict minus                 # slot -> (the slot that it is the negative of, the step as it was recorded, depth)
    cdef dict scaled                # slot -> (constant, slot): their product
    cdef dict shifted               # slot -> (opcode, operands): a sum or difference with a constant
    cdef dict known                 # (opcode, parameters, operands) -> result
    cdef dict numbers               # slot of a constant, or (type, number) -> number, or slot of it

    cdef int positive(self, int slot, bint *negative) except -1:
        """The slot that another one is equal to, up to the sign."""
        while True:
            if slot in self.same:
                slot = self.same[slot]
            elif slot in self.minus:
                slot = self.minus[slot][0]
                negative[0] = not negative[0]
            else:
                return slot

    cdef int needed(self, int slot) except -1:
        """The slot that holds just this number; the step that computes it is done now if it was put off."""
        cdef int result
        while slot in self.same:
            slot = self.same[slot]
        if slot not in self.minus:
            return slot
        other, (op, params, ins), depth = self.minus.pop(slot)
        if other in self.scaled:
            constant, x = self.scaled[other]
            result = self.add(OP_MUL, None, (self.number(-constant, self.new.typenums[slot]), x), slot)
        elif depth:
            result = self.add(op, params, tuple([self.needed(i) for i in ins]), slot)
        else:
            result = self.add(OP_NEG, None, (other,), slot)
        if result != slot:
            self.same[slot] = result
        return result

    cdef int depth(self, tuple ins):
        """How many sums within sums wait for their negation, those of the operands included."""
        cdef int depth = 0
        for slot in ins:
            while slot in self.same:
                slot = self.same[slot]
            if slot in self.minus:
                depth = max(depth, <int>self.minus[slot][2])
        return depth + 1

    cdef int add(self, int op, object params, tuple ins, int slot, bint other=False) except -1:
        """The slot of a step: the given one, another like it, or that of an equal step."""
        cdef object key = None
        if op != OP_DRAW and op != OP_INSPECT:
            key = key_of(op, params, ins, self.new.typenums[slot])
            try:
                found = self.known.get(key)
            except TypeError:                   # settings that cannot be hashed
                found = key = None
            if found is not None:
                return found
        if other:
            slot = self.fresh(slot)
        if key is not None:
            self.known[key] = slot
        self.new.steps.append((op, params, ins, slot))
        return slot

    cdef int fresh(self, int like) except -1:
        """A slot for a result of the type and shape of another one."""
        cdef Program p = self.new
        p.kinds.append(FROM_STEP)
        p.sources.append(None)
        p.typenums.append(p.typenums[like])
        p.shapes.append(p.shapes[like])
        return len(p.kinds) - 1

    cdef int number(self, double value, int typenum) except -1:
        """The slot of a constant."""
        cdef Array a
        slot = self.numbers.get((typenum, value))
        if slot is None:
            a = from_ndarray(np.array(value, np.float64 if typenum == cnp.NPY_DOUBLE else np.float32))
            slot = self.numbers[typenum, value] = self.new.new_slot(FROM_CONSTANT, a, a)
        return slot

    cdef double constant(self, int slot, int other, int out) except? -1:
        """The factor that an operand is; 0 if it is none, or not one to be moved."""
        cdef Program p = self.new
        cdef Array a
        cdef double value
        if p.kinds[slot] != FROM_CONSTANT or p.shapes[other] != p.shapes[out]:
            return 0.0
        found = self.numbers.get(slot)
        if found is None:
            a = <Array>p.sources[slot]
            found = self.numbers[slot] = first_number(a) if is_real(a.typenum) and uniform(a) else INFINITY
        value = found
        return value if 2.0 ** -SAFE <= abs(value) <= 2.0 ** SAFE else 0.0

    cdef int is_equal(self, int out, int slot) except -1:
        """Note that a result is that of another step."""
        if slot != out:
            self.same[out] = slot
        return 0

    cdef int is_minus(self, int out, int slot, int op, object params, tuple ins, int depth=0) except -1:
        """Note that a result is the negative of that of another step."""
        self.minus[out] = (slot, (op, params, ins), depth)
        return 0

    cdef int rewrite(self, int op, object params, tuple ins, int out) except -1:
        cdef bint negative = False
        cdef int a
        if not ins or not is_real(self.new.typenums[out]) or not is_real(self.new.typenums[<int>ins[0]]):
            return self.plain(op, params, ins, out)
        if op == OP_MUL or op == OP_ABSORB_MUL or op == OP_DIV:
            return self.product(op, ins, out)
        if op == OP_ADD or op == OP_SUB:
            return self.sum(op, ins, out)
        if is_linear(op) or op == OP_MATMUL:
            return self.linear(op, params, ins, out)
        if op == OP_NEG or op == OP_SQUARE or op == OP_ABS:
            a = self.positive(ins[0], &negative)
            if op == OP_SQUARE:
                return self.is_equal(out, self.add(OP_MUL, None, (a, a), out))
            if op == OP_ABS:
                return self.is_equal(out, self.add(OP_ABS, None, (a,), out))
            return self.is_equal(out, a) if negative else self.is_minus(out, a, op, None, ins)
        return self.plain(op, params, ins, out)

    cdef int plain(self, int op, object params, tuple ins, int out) except -1:
        """A step as it is."""
        return self.is_equal(out, self.add(op, params, tuple([self.needed(i) for i in ins]), out))

    cdef int linear(self, int op, object params, tuple ins, int out) except -1:
        """A step whose result is negative with its operands."""
        cdef bint negative = False
        cdef int depth = self.depth(ins)
        cdef tuple positive = tuple([self.positive(i, &negative) for i in ins])
        if not negative:
            return self.is_equal(out, self.add(op, params, positive, out))
        if depth > DEEPEST:
            return self.plain(op, params, ins, out)
        return self.is_minus(out, self.add(op, params, positive, out, True), op, params, ins, depth)

    cdef int product(self, int op, tuple ins, int out) except -1:
        cdef bint negative = False
        cdef int a = self.positive(ins[0], &negative), b = self.positive(ins[1], &negative)
        cdef double c = self.constant(b, a, out), d
        if op == OP_DIV:
            c = 1.0 / c if is_power(c) else 0.0
        elif c == 0.0:
            c = self.constant(a, b, out)
            if c != 0.0:
                a, b = b, a
        if c != 0.0:                            # a times c
            if c < 0.0:
                c = -c
                negative = not negative
            if a in self.scaled:
                d, inner = self.scaled[a]
                if (is_power(c) or is_power(d)) and 2.0 ** -SAFE <= c * d <= 2.0 ** SAFE:
                    c *= d
                    a = inner
            if c == 1.0:
                return self.is_minus(out, a, op, None, ins) if negative else self.is_equal(out, a)
            if a in self.shifted and c > 1.0 and is_power(c):
                slot = self.distributed(c, a, out, negative)
                if slot >= 0:
                    return self.is_minus(out, slot, op, None, ins) if negative else self.is_equal(out, slot)
            b = self.number(c, self.new.typenums[out])
            op = OP_MUL
        slot = self.add(op, None, (a, b), out, negative)
        if c != 0.0:
            self.scaled[slot] = (c, a)
        return self.is_minus(out, slot, op, None, ins) if negative else self.is_equal(out, slot)

    cdef int distributed(self, double c, int a, int out, bint negative) except -2:
        """The slot of c times a sum with a constant, from a product that is there; -1 if it is not. Nothing is rounded
        otherwise, and nothing overflows that would not, since the constant is of moderate size."""
        cdef double k
        cdef int typenum = self.new.typenums[out], i
        cdef list ins
        op, operands = <tuple>self.shifted[a]
        for i in range(2):
            k = self.constant(operands[i], operands[1 - i], out)
            number = self.numbers.get((typenum, c))
            if k == 0.0 or number is None or abs(c * k) > 2.0 ** SAFE:
                continue
            x = <int>operands[1 - i]
            found = self.known.get(key_of(OP_MUL, None, (number, x), typenum))
            if found is not None:
                ins = [None, None]
                ins[i] = self.number(c * k, typenum)
                ins[1 - i] = found
                return self.add(op, None, tuple(ins), out, negative)
        return -1

    cdef int sum(self, int op, tuple ins, int out) except -1:
        cdef bint na = False, nb = op == OP_SUB
        cdef int depth = self.depth(ins)
        cdef int a = self.positive(ins[0], &na), b = self.positive(ins[1], &nb)
        if na and nb:
            if depth > DEEPEST:
                return self.plain(op, None, ins, out)
            return self.is_minus(out, self.add(OP_ADD, None, (a, b), out, True), op, None, ins, depth)
        if na:
            a, b, nb = b, a, True
        slot = self.add(OP_SUB if nb else OP_ADD, None, (a, b), out)
        if self.new.kinds[a] == FROM_CONSTANT or self.new.kinds[b] == FROM_CONSTANT:
            self.shifted[slot] = OP_SUB if nb else OP_ADD, (a, b)
        return self.is_equal(out, slot)


cdef tuple key_of(int op, object params, tuple ins, object typenum):
    """What equal steps have in common."""
    return op, type(params), params, in_order(op, ins), typenum


cdef bint is_real(int typenum):
    return typenum == cnp.NPY_DOUBLE or typenum == cnp.NPY_FLOAT


cdef bint is_linear(int op):
    """Whether an operation of one operand only moves or adds up numbers."""
    return (op == OP_RESHAPE or op == OP_TRANSPOSE or op == OP_BROADCAST_TO or op == OP_SLICE or op == OP_UNSLICE
            or op == OP_SUM or op == OP_SUM_TO or op == OP_IDENTITY)


cdef bint is_power(double c):
    """Whether a number is a power of two."""
    cdef int exponent
    return c != 0.0 and abs(frexp(c, &exponent)) == 0.5


cdef Program simplified(Program program):
    """The program, rewritten and prepared."""
    cdef Rewriting r = Rewriting()
    cdef Program p = Program()
    r.new = p
    p.kinds = list(program.kinds)
    p.sources = list(program.sources)
    p.typenums = list(program.typenums)
    p.shapes = list(program.shapes)
    p.inputs = list(program.inputs)
    r.same = {}
    r.minus = {}
    r.scaled = {}
    r.shifted = {}
    r.known = {}
    r.numbers = {}
    for op, params, ins, out in program.steps:
        r.rewrite(op, params, ins, out)
    p.outputs = [r.needed(slot) for slot in program.outputs]
    p.effects = [(handle, r.needed(slot)) for handle, slot in program.effects]
    p.prepare()
    return p
