"""Common factors: replace a matrix product by a multiple of an earlier product.

Design
------
A loss with derivatives in it sends the same direction through the same linear maps more than once. First it sends the
direction itself, to take its derivative. When the loss is differentiated, it sends the direction times a cotangent,
with another factor for each sample. A factor for each row passes through all operations that are linear along the rows,

    (c x) w = c (x w)        (c x) y = c (x y)        c x + c y = c (x + y)

so if ``x w`` is already computed, the product ``(c x) w`` is a multiplication by c. The search records each slot that
is a factor times another slot. It then follows steps that read the multiple, if equal steps read the unscaled slot.

This changes the order of operations, so the last digits may differ. Rounding errors have the same bound: each element
is a sum over the same products, multiplied by c before or after.
"""
from ..arrays.array cimport Array, contiguous, first_number, to_ndarray, uniform
from .identities cimport is_real
from ..primitives.opcodes cimport (OP_ABSORB_MUL, OP_ADD, OP_CONCAT, OP_MATMUL, OP_MUL, OP_RESHAPE, OP_SUB,
                                   OP_TRANSPOSE, OP_UNSLICE)
from .program cimport FROM_CONSTANT, Program
from .rewrites cimport (COLUMN_OF_ZEROS, FACTOR_ACROSS_MATMUL, FACTOR_OF_ROWS, FACTOR_THROUGH_MATMUL,
                        FACTOR_THROUGH_PRODUCT, FACTOR_THROUGH_SUM, note)
from .tables cimport StepIndex


cdef class Search:
    """Facts about the slots of a program."""
    cdef Program program
    cdef StepIndex index            # the steps so far
    cdef dict multiples             # slot -> (opcode of the product, factor, unscaled slot)
    cdef dict scaled                # (factor, unscaled slot) -> slot
    cdef dict transposed            # slot -> slot of its transpose
    cdef dict straight              # slot of a transpose -> slot that it transposes
    cdef dict seeds                 # (dtype, shape, column) -> slot of a constant: ones in that column, zeros elsewhere

    cdef bint varies_by_row(self, int c, int x, int out) except -1:
        """True if c * x = out multiplies each row of x by one number."""
        cdef tuple f = self.program.shapes[c], shape = self.program.shapes[out]
        return (f != shape and len(shape) > 0 and self.program.shapes[x] == shape and self.broadcasts(c, x, out)
                and (not f or f[len(f) - 1] == 1))

    cdef bint broadcasts(self, int c, int x, int out) except -1:
        """True if the product of slots c and x has the shape of `out`. All three have the same dtype."""
        cdef Program p = self.program
        cdef tuple f = p.shapes[c], g = p.shapes[x], shape = p.shapes[out]
        cdef int i, n = len(shape)
        if max(len(f), len(g)) != n:
            return False
        for i in range(1, n + 1):
            extent = 1
            for s in (f, g):
                if i <= len(s) and s[len(s) - i] != 1:
                    if extent != 1 and extent != s[len(s) - i]:
                        return False
                    extent = s[len(s) - i]
            if extent != shape[n - i]:
                return False
        return True

    cdef tuple seeded(self, int op, object params, tuple ins, int out):
        """One column between zeros, as a multiple of a constant with ones in that column."""
        cdef int c = -1, column
        column = self.column_between(params, ins, out, &c) if op == OP_CONCAT else self.column_of(params, ins, &c)
        if column < 0:
            return None
        seed = self.seeds.get((self.program.typenums[out], self.program.shapes[out], column))
        if seed is None:
            return None
        note(COLUMN_OF_ZEROS)
        return OP_ABSORB_MUL, c, seed

    cdef int column_of(self, object params, tuple ins, int *c) except -2:
        """The column of zeros that an operand fills; -1 if it does not fill just one column."""
        cdef tuple shape, ranges
        cdef int i, last
        shape, ranges = params
        last = len(shape) - 1
        for i in range(last):
            if ranges[i] != (0, shape[i], 1):
                return -1
        if last < 0 or ranges[last][1] != 1:
            return -1
        c[0] = ins[0]
        return ranges[last][0]

    cdef int column_between(self, int axis, tuple ins, int out, int *c) except -2:
        """Position of the only column between zeros; -1 if the parts are anything else."""
        cdef Program p = self.program
        cdef tuple shape = p.shapes[out]
        cdef int column = -1, place = 0
        cdef Array a
        if axis != len(shape) - 1:
            return -1
        for slot in ins:
            if p.kinds[slot] == FROM_CONSTANT:
                a = <Array>p.sources[slot]
                if not uniform(a) or first_number(a) != 0.0:
                    return -1
            elif column >= 0 or p.shapes[slot][axis] != 1:
                return -1
            else:
                column = place
                c[0] = slot
            place += p.shapes[slot][axis]
        return column

    cdef int note_seed(self, int slot) except -1:
        """Record a constant whose rows are all the same unit vector."""
        cdef Program p = self.program
        cdef tuple shape = p.shapes[slot]
        if p.kinds[slot] != FROM_CONSTANT or len(shape) < 2 or 0 in shape:
            return 0
        numbers = to_ndarray(contiguous(<Array>p.sources[slot])).reshape(-1, shape[len(shape) - 1])
        row = numbers[0]
        if (row == 1).sum() == 1 and (row != 0).sum() == 1 and (numbers == row).all():
            self.seeds.setdefault((p.typenums[slot], shape, int(row.argmax())), slot)
        return 0

    cdef int result_of(self, int op, int a, int b) except -3:
        """The slot of a step without parameters; -1 if there is none."""
        cdef int[2] ins
        ins[0] = a
        ins[1] = b
        return self.index.find(op, None, ins, 2)

    cdef tuple derived(self, int op, tuple ins, int out):
        """A step's result as (opcode of the product, factor, earlier result); None if it is not a known multiple."""
        cdef int i, result
        cdef tuple one, other
        if op == OP_MATMUL:
            if len(self.program.shapes[ins[1]]) < 2 or len(self.program.shapes[out]) < len(self.program.shapes[ins[0]]):
                return None
            one = self.multiples.get(ins[0])
            if one is None:
                return None
            result = self.result_of(op, one[2], ins[1])
            if result < 0 or not self.broadcasts(one[1], result, out):
                return None
            note(FACTOR_THROUGH_MATMUL)
            return one[0], one[1], result
        if op == OP_ADD or op == OP_SUB:
            one = self.multiples.get(ins[0])
            other = self.multiples.get(ins[1])
            if one is None or other is None or one[1] != other[1]:
                return None
            result = self.result_of(op, one[2], other[2])
            if result < 0 or not self.broadcasts(one[1], result, out):
                return None
            note(FACTOR_THROUGH_SUM)
            return (one[0] if one[0] == other[0] else OP_MUL), one[1], result
        for i in range(2):
            one = self.multiples.get(ins[i])
            if one is not None:
                result = self.result_of(op, one[2], ins[1 - i])
                if result >= 0 and self.broadcasts(one[1], result, out):
                    note(FACTOR_THROUGH_PRODUCT)
                    return (OP_ABSORB_MUL if op == OP_ABSORB_MUL else one[0]), one[1], result
        for i in range(2):
            if self.varies_by_row(ins[i], ins[1 - i], out):
                note(FACTOR_OF_ROWS)
                return op, ins[i], ins[1 - i]
        return None

    cdef int across(self, tuple ins) except -3:
        """The slot of an earlier product that is equal because a row factor may change sides: (c x)^T y is x^T (c y).
        -1 if there is none."""
        cdef int x = self.straight.get(ins[0], -1), y = ins[1]
        cdef tuple one = self.multiples.get(x), other = self.multiples.get(y)
        if x < 0:
            return -1
        if one is not None:
            x, y = self.transposed.get(one[2], -1), self.scaled.get((one[1], y), -1)
        elif other is not None:
            x, y = self.transposed.get(self.scaled.get((other[1], x), -1), -1), other[2]
        else:
            return -1
        return self.result_of(OP_MATMUL, x, y) if x >= 0 and y >= 0 else -1

    cdef int note_step(self, int op, tuple operands, int out) except -1:
        """Record a step without parameters, unless an equal step is already recorded."""
        cdef int[2] ins = [operands[0], operands[1]]
        return 0 if self.index.find(op, None, ins, 2) >= 0 else self.index.add(op, None, ins, 2, out)

    cdef list replaced(self):
        """The steps, with multiplications in place of matrix products; None if nothing changes."""
        cdef list steps = []
        cdef bint found = False
        cdef tuple multiple, ins
        cdef int op, same
        for step in self.program.steps:
            op, params, ins, out = step
            multiple = None
            same = -1
            if op == OP_TRANSPOSE and params == (1, 0):
                self.transposed.setdefault(ins[0], out)
                self.straight[out] = ins[0]
            if op == OP_CONCAT or op == OP_UNSLICE:
                multiple = self.seeded(op, params, ins, out)
            elif op == OP_MATMUL or ((op == OP_MUL or op == OP_ABSORB_MUL or op == OP_ADD or op == OP_SUB)
                                     and params is None):
                if op == OP_MATMUL:
                    self.note_seed(ins[0])
                if is_real(self.program.typenums[out]):
                    multiple = self.derived(op, ins, out)
                    if op == OP_MATMUL and multiple is None:
                        same = self.across(ins)
                self.note_step(op, ins, out)
            if same >= 0:
                note(FACTOR_ACROSS_MATMUL)
                step = (OP_RESHAPE, self.program.shapes[out], (same,), out)
                found = True
            if multiple is not None:
                self.multiples[out] = multiple
                self.scaled.setdefault(multiple[1:], out)
                if op == OP_MATMUL:
                    step = (multiple[0], None, multiple[1:], out)
                    found = True
            steps.append(step)
        return steps if found else None


cdef Program with_common_factors(Program program):
    """The program with fewer matrix products, prepared again; the program itself if it has no fewer."""
    cdef Search search
    cdef int products = 0
    for step in program.steps:
        products += step[0] == OP_MATMUL
    if products < 2:
        return program
    search = Search()
    search.program = program
    search.index = StepIndex()
    search.multiples = {}
    search.scaled = {}
    search.transposed = {}
    search.straight = {}
    search.seeds = {}
    steps = search.replaced()
    return program if steps is None else program.with_steps(steps)
