"""Identities: rewrite a program into one with fewer steps and the same numbers, bit for bit.

Design
------
Derivative rules leave signs and constant factors behind: a partial may be a negative, and a square gives a factor of
two. Rounding is symmetric, and a power of two only shifts the exponent, so these can be moved or removed at no cost:

* A negation is recorded instead of computed: the slot is the negative of another slot. Products and linear operations
  pass it on, two negations cancel, and sums become differences. It is computed where the number itself is needed: by a
  function that is not linear, or as a result.
* c1 * (c2 * x) becomes (c1 * c2) * x if one constant is a power of two. Division by a power of two is a product.
* c1 * (c2 - x) becomes c1 c2 - c1 x if c1 is a power of two and c1 x already exists; likewise for a sum.
* `absorb_mul` with a zero is zero, whatever the other factor; a sum with that zero is the other term.
* A square becomes a product, since products can be fused with their readers.
* A choice with a constant condition, equal for all elements, becomes the chosen operand.
* Parts that are put into zeros, do not overlap, and are added up become one concatenation. Adding zero turns -0 into 0;
  so zero is added to a part that may contain -0.

Steps that have become equal are merged. Steps without a reader are dropped at the end.

A sum that cancels is a positive zero, and so is the sum of the negatives. So a step that needs the negative of a sum
reads the sum of the negatives, as it was recorded. Two things may still differ: the sign of a zero that is an
`absorb_mul` product or is added to others, and the last digit of subnormal numbers.

Only real dtypes of four and eight bytes are rewritten.
"""
cimport numpy as cnp
from libc.math cimport INFINITY, frexp

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

from ..arrays.array cimport Array, first_number, new_array, uniform
from ..primitives.opcodes cimport *
from ..primitives.registry cimport EFFECTS, PRIMITIVES, Primitive
from .program cimport FROM_CONSTANT, FROM_STEP, Program
from .rewrites cimport *
from .tables cimport NO_KEY, SlotMap, StepIndex, tuple_of

cdef enum:
    SAFE = 64                       # constants from 2**-64 to 2**64 may be moved
    DEEPEST = 8                     # most sums within sums with a deferred negation


cdef class Rewriting:
    """A program under construction, and facts about its slots."""
    cdef Program new
    cdef SlotMap same               # slot -> an equal slot
    cdef SlotMap minus              # slot -> the slot whose negative it is
    cdef SlotMap depths             # slot of a deferred negation -> nesting depth of sums in it
    cdef dict put_off               # slot of a deferred negation -> its recorded step: (opcode, parameters, operands)
    cdef dict scaled                # slot -> (constant, slot): the factors of a product
    cdef set zeros                  # slots that are zero throughout
    cdef dict shifted               # slot -> (opcode, operands): a sum or difference with a constant
    cdef dict parts                 # slot -> (axis, [(start, stop, slot)]): parts put into zeros and added up
    cdef set unsigned               # slots without any -0
    cdef StepIndex index            # steps of the new program
    cdef dict numbers               # slot of a constant -> its number; (dtype, number) -> slot of a constant

    cdef int equal(self, int slot) noexcept:
        """Follow a slot to the slot that it equals."""
        cdef int other = self.same.get(slot)
        while other >= 0:
            slot = other
            other = self.same.get(slot)
        return slot

    cdef int positive(self, int slot, bint *negative) noexcept:
        """The slot that equals `slot` or its negative; flip `negative` for a negative."""
        cdef int other
        while True:
            slot = self.equal(slot)
            other = self.minus.get(slot)
            if other < 0:
                return slot
            negative[0] = not negative[0]
            slot = other

    cdef int needed(self, int slot) except -1:
        """The slot that holds exactly this number. A deferred negation is computed now."""
        cdef int result, other
        cdef int[2] ins
        slot = self.equal(slot)
        other = self.minus.get(slot)
        if other < 0:
            return slot
        op, params, operands = self.put_off.pop(slot)
        self.minus.put(slot, -1)
        if other in self.scaled:
            note(NEGATION_IN_CONSTANT)
            constant, x = self.scaled[other]
            ins[0] = self.number(-constant, self.new.typenums[slot])
            ins[1] = x
            result = self.add(OP_MUL, None, ins, 2, slot)
        elif self.depths.get(slot) > 0:
            note(NEGATION_OF_OPERANDS)
            result = self.add_needed(op, params, operands, slot)
        else:
            note(NEGATION_DONE)
            result = self.add(OP_NEG, None, &other, 1, slot)
        if result != slot:
            self.same.put(slot, result)
        return result

    cdef int depth(self, tuple ins) except -1:
        """The depth of nested sums in a new deferred negation, given the operands of its step."""
        cdef int depth = 0, slot
        for slot in ins:
            slot = self.equal(slot)
            if self.minus.get(slot) >= 0:
                depth = max(depth, self.depths.get(slot))
        return depth + 1

    cdef int add(self, int op, object params, const int *ins, Py_ssize_t n, int slot, bint other=False) except -1:
        """The slot of a step: the slot of an equal step, else the given slot, or with `other` a new slot like it."""
        cdef int found = NO_KEY
        if not EFFECTS[op]:
            found = self.index.find(op, params, ins, n)
            if found >= 0:
                note(EQUAL_STEP)
                return found
        if other:
            slot = self.fresh(slot)
        if found != NO_KEY:
            self.index.add(op, params, ins, n, slot)
        self.new.steps.append((op, params, tuple_of(ins, n), slot))
        return slot

    cdef int add_needed(self, int op, object params, tuple operands, int slot) except -1:
        """The slot of a step whose operands are computed exactly, without deferred negations."""
        cdef Py_ssize_t n = len(operands), i
        cdef object memory = PyBytes_FromStringAndSize(NULL, n * sizeof(int))
        cdef int *ins = <int *>PyBytes_AS_STRING(memory)
        for i in range(n):
            ins[i] = self.needed(operands[i])
        return self.add(op, params, ins, n, slot)

    cdef int fresh(self, int like) except -1:
        """A new slot with the dtype and shape of `like`."""
        cdef Program p = self.new
        p.kinds.append(FROM_STEP)
        p.sources.append(None)
        p.typenums.append(p.typenums[like])
        p.shapes.append(p.shapes[like])
        return len(p.kinds) - 1

    cdef int number(self, double value, int typenum) except -1:
        """The slot of a constant number."""
        cdef Array a
        slot = self.numbers.get((typenum, value))
        if slot is None:
            a = new_array(typenum, 0, NULL)
            if typenum == cnp.NPY_DOUBLE:
                (<double *>a.data)[0] = value
            else:
                (<float *>a.data)[0] = <float>value
            slot = self.numbers[typenum, value] = self.new.new_slot(FROM_CONSTANT, a, a)
        return slot

    cdef double constant(self, int slot, int other, int out) except? -1:
        """The value of an operand that is a constant factor; 0 if it is none, or too large or small to be moved."""
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

    cdef bint is_zero(self, int slot) except -1:
        """True if a slot is known to be zero throughout."""
        cdef Array a
        if slot in self.zeros:
            return True
        if self.new.kinds[slot] != FROM_CONSTANT:
            return False
        a = <Array>self.new.sources[slot]
        return is_real(a.typenum) and uniform(a) and first_number(a) == 0.0

    cdef int become_zero(self, int out) except -1:
        """Record that a result is zero throughout."""
        cdef tuple shape = self.new.shapes[out]
        cdef int slot = self.number(0.0, self.new.typenums[out])
        note(FACTOR_ZERO)
        if shape:
            slot = self.add(OP_BROADCAST_TO, shape, &slot, 1, out)
        self.zeros.add(slot)
        self.unsigned.add(slot)
        return self.is_equal(out, slot)

    cdef int is_equal(self, int out, int slot) except -1:
        """Record that slot `out` equals `slot`."""
        if slot != out:
            self.same.put(out, slot)
        return 0

    cdef int is_minus(self, int out, int slot, int op, object params, tuple ins, int depth=0) except -1:
        """Record that `out` is the negative of `slot`, and keep its step, in case the number itself is needed."""
        self.minus.put(out, slot)
        self.depths.put(out, depth)
        self.put_off[out] = op, params, ins
        return 0

    cdef int rewrite(self, int op, object params, tuple ins, int out) except -1:
        cdef bint negative = False
        cdef int[2] both
        cdef int a
        if not ins or not is_real(self.new.typenums[out]):
            return self.plain(op, params, ins, out)
        if op == OP_WHERE:
            return self.choice(ins, out)
        if not is_real(self.new.typenums[<int>ins[0]]):
            return self.plain(op, params, ins, out)
        if op == OP_MUL or op == OP_ABSORB_MUL or op == OP_DIV:
            return self.product(op, ins, out)
        if op == OP_ADD or op == OP_SUB:
            return self.sum(op, ins, out)
        if PRIMITIVES[op] is not NULL and (<Primitive>PRIMITIVES[op]).odd:
            self.linear(op, params, ins, out)
            return self.put_into_zeros(params, ins, out) if op == OP_UNSLICE else 0
        if op == OP_NEG or op == OP_SQUARE or op == OP_ABS:
            a = self.positive(ins[0], &negative)
            if op == OP_SQUARE:
                note(SQUARE_AS_PRODUCT)
                both[0] = both[1] = a
                return self.is_equal(out, self.add(OP_MUL, None, both, 2, out))
            if op == OP_ABS:
                if negative:
                    note(ABSOLUTE_OF_NEGATIVE)
                return self.is_equal(out, self.add(OP_ABS, None, &a, 1, out))
            if negative:
                note(NEGATIONS_CANCEL)
                return self.is_equal(out, a)
            return self.is_minus(out, a, op, None, ins)
        return self.plain(op, params, ins, out)

    cdef int plain(self, int op, object params, tuple ins, int out) except -1:
        """Add a step unchanged."""
        return self.is_equal(out, self.add_needed(op, params, ins, out))

    cdef int choice(self, tuple ins, int out) except -1:
        cdef Program p = self.new
        cdef int condition = ins[0], chosen
        cdef Array a
        if p.kinds[condition] == FROM_CONSTANT and uniform(<Array>p.sources[condition]):
            a = <Array>p.sources[condition]
            chosen = ins[1] if a.data[0] else ins[2]
            if p.shapes[chosen] == p.shapes[out]:
                note(CHOICE_KNOWN)
                return self.is_equal(out, self.equal(chosen))
        return self.plain(OP_WHERE, None, ins, out)

    cdef int linear(self, int op, object params, tuple ins, int out) except -1:
        """Add a step with one or two operands, whose result changes sign with each of them."""
        cdef bint negative = False
        cdef int depth = self.depth(ins), i, slot
        cdef int[2] positive
        for i in range(len(ins)):
            positive[i] = self.positive(ins[i], &negative)
        if negative and depth > DEEPEST:
            note(NEGATION_TOO_DEEP)
            return self.plain(op, params, ins, out)
        slot = self.add(op, params, positive, len(ins), out, negative)
        if positive[0] in self.unsigned and (op == OP_RESHAPE or op == OP_TRANSPOSE or op == OP_SLICE
                                             or op == OP_BROADCAST_TO):
            self.unsigned.add(slot)
        if not negative:
            return self.is_equal(out, slot)
        note(NEGATION_PASSED_ON)
        return self.is_minus(out, slot, op, params, ins, depth)

    cdef int put_into_zeros(self, object params, tuple ins, int out) except -1:
        """Record the nonzero part of a result, if it is a range along a single axis."""
        cdef bint negative = False
        cdef int axis = -1, k
        for k, (n, (start, length, step)) in enumerate(zip(*params)):
            if step != 1 or length == 0 or axis >= 0 and length != n:
                return 0
            if length != n:
                axis = k
        if axis >= 0:
            start, length, _ = params[1][axis]
            part = start, start + length, self.positive(ins[0], &negative)
            self.parts[self.positive(out, &negative)] = axis, [part]
        return 0

    cdef tuple together(self, int a, int b):
        """The combined parts of a sum, (axis, [(start, stop, slot)]); None if parts overlap or a term is anything
        else."""
        cdef Py_ssize_t reached = 0
        cdef list parts
        if a not in self.parts or b not in self.parts or self.parts[a][0] != self.parts[b][0]:
            return None
        parts = sorted(self.parts[a][1] + self.parts[b][1])
        for start, stop, _ in parts:
            if start < reached:
                return None
            reached = stop
        return self.parts[a][0], parts

    cdef int joined(self, int axis, list parts, int out) except -1:
        """The slot of the concatenation of parts."""
        cdef list slots = []
        cdef int[2] ins
        for _, _, slot in parts:
            if slot not in self.unsigned:
                ins[0] = slot
                ins[1] = self.number(0.0, self.new.typenums[<int>slot])
                slot = self.add(OP_ADD, None, ins, 2, slot, True)
            slots.append(slot)
        note(PARTS_JOINED)
        return self.add_needed(OP_CONCAT, axis, tuple(slots), out)

    cdef int product(self, int op, tuple operands, int out) except -1:
        cdef bint negative = False
        cdef int a = self.positive(operands[0], &negative), b = self.positive(operands[1], &negative), slot
        cdef int[2] ins
        cdef double c = self.constant(b, a, out), d
        if op == OP_ABSORB_MUL and (self.is_zero(a) or self.is_zero(b)):
            return self.become_zero(out)
        if op == OP_DIV:
            c = 1.0 / c if is_power(c) else 0.0
            if c != 0.0:
                note(DIVISION_AS_PRODUCT)
        elif c == 0.0:
            c = self.constant(a, b, out)
            if c != 0.0:
                a, b = b, a
        if c != 0.0:                            # a times the constant c
            if c < 0.0:
                c = -c
                negative = not negative
            if a in self.scaled:
                d, inner = self.scaled[a]
                if (is_power(c) or is_power(d)) and 2.0 ** -SAFE <= c * d <= 2.0 ** SAFE:
                    c *= d
                    a = inner
                    note(CONSTANTS_MULTIPLIED)
            if c == 1.0:
                note(FACTOR_ONE)
                return self.is_minus(out, a, op, None, operands) if negative else self.is_equal(out, a)
            if a in self.shifted and c > 1.0 and is_power(c):
                slot = self.distributed(c, a, out, negative)
                if slot >= 0:
                    return self.is_minus(out, slot, op, None, operands) if negative else self.is_equal(out, slot)
            b = self.number(c, self.new.typenums[out])
            op = OP_MUL
        ins[0] = a
        ins[1] = b
        slot = self.add(op, None, ins, 2, out, negative)
        if op == OP_ABSORB_MUL:
            self.unsigned.add(slot)
        if c != 0.0:
            self.scaled[slot] = (c, a)
        return self.is_minus(out, slot, op, None, operands) if negative else self.is_equal(out, slot)

    cdef int distributed(self, double c, int a, int out, bint negative) except -2:
        """The slot of c times a sum with a constant, if the product with the other term exists; else -1. The constant
        is of moderate size, so rounding and overflow stay the same."""
        cdef double k
        cdef int typenum = self.new.typenums[out], i, found
        cdef int[2] ins
        op, operands = <tuple>self.shifted[a]
        for i in range(2):
            k = self.constant(operands[i], operands[1 - i], out)
            number = self.numbers.get((typenum, c))
            if k == 0.0 or number is None or abs(c * k) > 2.0 ** SAFE:
                continue
            ins[0] = number
            ins[1] = operands[1 - i]
            found = self.index.find(OP_MUL, None, ins, 2)
            if found >= 0:
                note(PRODUCT_DISTRIBUTED)
                ins[i] = self.number(c * k, typenum)
                ins[1 - i] = found
                return self.add(op, None, ins, 2, out, negative)
        return -1

    cdef int sum(self, int op, tuple operands, int out) except -1:
        cdef bint na = False, nb = op == OP_SUB
        cdef int depth = self.depth(operands), slot, i
        cdef int[2] ins
        cdef tuple parts
        ins[0] = self.positive(operands[0], &na)
        ins[1] = self.positive(operands[1], &nb)
        for i in range(2):
            if ins[i] in self.zeros and self.new.shapes[ins[1 - i]] == self.new.shapes[out]:
                note(ZERO_IN_SUM)
                if nb if i == 0 else na:
                    return self.is_minus(out, ins[1 - i], op, None, operands)
                return self.is_equal(out, ins[1 - i])
        if na and nb:
            if depth > DEEPEST:
                note(NEGATION_TOO_DEEP)
                return self.plain(op, None, operands, out)
            note(SUM_OF_NEGATIVES)
            return self.is_minus(out, self.add(OP_ADD, None, ins, 2, out, True), op, None, operands, depth)
        if na or nb != (op == OP_SUB):
            note(SIGN_IN_SUM)
        if na:
            ins[0], ins[1], nb = ins[1], ins[0], True
        parts = None if nb else self.together(ins[0], ins[1])
        if parts is not None and sum([stop - start for start, stop, _ in parts[1]]) == self.new.shapes[out][parts[0]]:
            return self.is_equal(out, self.joined(parts[0], parts[1], out))
        slot = self.add(OP_SUB if nb else OP_ADD, None, ins, 2, out)
        if parts is not None:
            self.parts[slot] = parts
        if ins[0] in self.unsigned or not nb and ins[1] in self.unsigned:
            self.unsigned.add(slot)
        if self.new.kinds[ins[0]] == FROM_CONSTANT or self.new.kinds[ins[1]] == FROM_CONSTANT:
            self.shifted[slot] = OP_SUB if nb else OP_ADD, (ins[0], ins[1])
        return self.is_equal(out, slot)


cdef bint is_real(int typenum) noexcept:
    return typenum == cnp.NPY_DOUBLE or typenum == cnp.NPY_FLOAT


cdef bint is_power(double c):
    """True if a number is a power of two."""
    cdef int exponent
    return c != 0.0 and abs(frexp(c, &exponent)) == 0.5


cdef Program simplified(Program program):
    """The program, rewritten and prepared."""
    cdef Rewriting r = Rewriting()
    cdef Program p = program.without_steps()
    r.new = p
    r.same = SlotMap()
    r.minus = SlotMap()
    r.depths = SlotMap()
    r.put_off = {}
    r.scaled = {}
    r.shifted = {}
    r.zeros = set()
    r.parts = {}
    r.unsigned = set()
    r.index = StepIndex()
    r.numbers = {}
    for op, params, ins, out in program.steps:
        r.rewrite(op, params, ins, out)
    p.outputs = [r.needed(slot) for slot in program.outputs]
    p.effects = [(handle, r.needed(slot)) for handle, slot in program.effects]
    p.prepare()
    return p
