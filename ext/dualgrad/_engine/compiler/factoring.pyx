"""Factoring: take sums before matrix products where that leaves fewer products.

Design
------
A loss may add up derivatives that were taken one by one, say the second derivatives along each axis. Each of them has
its own way back through the same layers,

    a w + b w = (a + b) w        w a + w b = w (a + b)

but a single way for their sum is enough. The sums come at the end of these ways, with other linear steps in between. So
the pass takes a sum apart into its terms. If several terms are the same linear step of different operands, it sums the
operands and applies the step once; then it treats the new sum in the same way. A term with other readers is still
computed for them. At the end, steps without a reader are dropped. The result is used if it has fewer products.

Reverse mode sums the cotangents of a shared value before it passes them on. So these are the numbers of a function that
evaluates the layers once. The order of operations changes, and with it the last digits.
"""
from ..primitives.opcodes cimport (OP_ABSORB_MUL, OP_ADD, OP_MATMUL, OP_MUL, OP_NEG, OP_RESHAPE, OP_SUB, OP_SUM,
                                   OP_TRANSPOSE, OP_UNSLICE)
from ..primitives.registry cimport EFFECTS
from .identities cimport is_real
from .program cimport FROM_STEP, Program
from .rewrites cimport PRODUCT_OF_SUM, note

cdef enum:
    MOST_TERMS = 48                 # most terms of a sum
    DEEPEST = 64                    # most linear steps in a chain
    ELEMENT = 6                     # operations of a product that take as long as one element of another step


cdef class Factoring:
    """The program under construction, in which sums come first."""
    cdef Program program            # with the added slots
    cdef dict makers                # slot -> the step that computes it
    cdef dict known                 # (opcode, parameters, operands) -> the slot of such a step
    cdef dict sums                  # terms -> the slot of their sum
    cdef list steps

    cdef tuple maker(self, int slot):
        """The step that computes a slot with real numbers; else None."""
        return self.makers.get(slot) if is_real(self.program.typenums[slot]) else None

    # sums as terms

    cdef list terms_of(self, int slot, int sign):
        """The terms of a sum as (sign, slot), in order."""
        cdef list found = [], waiting = [(sign, slot)]
        cdef tuple step, ins
        while waiting:
            sign, slot = waiting.pop()
            step = self.maker(slot)
            if step is None or len(found) + len(waiting) >= MOST_TERMS or not self.is_sum(step):
                found.append((sign, slot))
                continue
            ins = step[2]
            if step[0] == OP_NEG:
                waiting.append((-sign, ins[0]))
                continue
            waiting.append((-sign if step[0] == OP_SUB else sign, ins[1]))
            waiting.append((sign, ins[0]))
        return found

    cdef bint is_sum(self, tuple step) except -1:
        """True if a step adds, subtracts or negates arrays with the shape of its result."""
        cdef int op = step[0]
        if (op != OP_ADD and op != OP_SUB and op != OP_NEG) or step[1] is not None:
            return False
        for slot in <tuple>step[2]:
            if self.program.shapes[slot] != self.program.shapes[step[3]]:
                return False
        return True

    cdef list ways(self, int slot):
        """The ways in which a slot is a linear step of another slot, the varied operand. Each is a pair: (opcode,
        parameters, the other operand or -1, the index of the varied operand, its shape), and the varied operand."""
        cdef tuple step = self.maker(slot), ins
        cdef int op
        if step is None:
            return []
        op, params, ins, _ = step
        shapes = self.program.shapes
        if op == OP_MATMUL or ((op == OP_MUL or op == OP_ABSORB_MUL) and params is None):
            return [((op, params, ins[1 - k], k, shapes[ins[k]]), ins[k]) for k in range(2)
                    if self.program.typenums[ins[k]] == self.program.typenums[slot]]
        if op == OP_TRANSPOSE or op == OP_RESHAPE or op == OP_UNSLICE or op == OP_SUM:
            return [((op, params, -1, 0, shapes[ins[0]]), ins[0])]
        return []

    cdef list groups(self, list terms):
        """Group the terms that are the same linear step of different slots: pairs (step as in `ways`, the slots with
        their signs). Products come first; a pair with None holds the remaining terms."""
        cdef dict found = {}
        cdef list chosen = []
        cdef set taken = set()
        for i, (sign, slot) in enumerate(terms):
            for way, varied in self.ways(slot):
                found.setdefault(way, []).append((i, sign, varied))
        for way in sorted(found, key=lambda way: (way[0] != OP_MATMUL, -len(found[way]))):
            members = [member for member in found[way] if member[0] not in taken]
            if len(members) < 2:
                continue
            taken.update([i for i, _, _ in members])
            chosen.append((way, [(sign, varied) for _, sign, varied in members]))
        if chosen:
            chosen.append((None, [term for i, term in enumerate(terms) if i not in taken]))
        return chosen

    # the new steps

    cdef int emit(self, int op, object params, tuple ins, int like, int out) except -1:
        """The slot of a step: `out`; or if that is -1, the slot of an equal step or a new slot like `like`."""
        cdef Program p = self.program
        if out < 0:
            found = self.known.get((op, params, ins))
            if found is not None:
                return found
            out = len(p.kinds)
            p.kinds.append(FROM_STEP)
            p.sources.append(None)
            p.typenums.append(p.typenums[like])
            p.shapes.append(p.shapes[like])
        self.known.setdefault((op, params, ins), out)
        self.steps.append((op, params, ins, out))
        return out

    cdef int sum_of(self, list terms, int like, int out, int depth) except -1:
        """The slot of a sum: `out` if it is not negative."""
        cdef list chosen = self.groups(terms) if depth < DEEPEST else [], parts = []
        cdef object key = tuple(terms)
        cdef int inner, made
        if out < 0 and key in self.sums:
            return self.sums[key]
        for way, members in chosen:
            if way is None:
                parts += members
                continue
            op, params, other, place, _ = way
            inner = self.sum_of([term for sign, slot in members for term in self.terms_of(slot, sign)],
                                members[0][1], -1, depth + 1)
            ins = (inner,) if other < 0 else (inner, other) if place == 0 else (other, inner)
            made = self.emit(op, params, ins, like, out if len(chosen) == 2 and not chosen[1][1] else -1)
            parts.append((1, made))
        made = self.added(parts if chosen else terms, like, out)
        if out < 0:
            self.sums[key] = made
        return made

    cdef int added(self, list terms, int like, int out) except -1:
        """The slot of a sum, added term by term, positive terms first."""
        cdef list ordered = [slot for sign, slot in terms if sign > 0]
        cdef Py_ssize_t positive = len(ordered), i
        cdef int made
        ordered += [slot for sign, slot in terms if sign < 0]
        made = ordered[0]
        if positive == 0:
            made = self.emit(OP_NEG, None, (made,), like, out if len(ordered) == 1 else -1)
        for i in range(1, len(ordered)):
            made = self.emit(OP_ADD if i < positive else OP_SUB, None, (made, ordered[i]), like,
                             out if i == len(ordered) - 1 else -1)
        return made

    cdef int rewrite(self, list steps, bytearray inside) except -1:
        """Rewrite all steps; `inside` marks slots that only sums read."""
        cdef list terms
        for step in steps:
            op, params, ins, out = step
            if not inside[out] and is_real(self.program.typenums[out]) and self.is_sum(step):
                terms = self.terms_of(out, 1)
                if self.groups(terms):
                    self.sum_of(terms, out, out, 0)
                    continue
            if not EFFECTS[<int>op]:
                self.known.setdefault((op, params, ins), out)
            self.steps.append(step)
        return 0


cdef double cost_of(Program program, int *products) except -1.0:
    """Cost of a program: operations of its products, plus the equivalent for each element of another step."""
    cdef double total = 0.0
    cdef int op
    for op, _, ins, out in program.steps:
        size = 1.0
        for extent in program.shapes[out]:
            size *= extent
        if op == OP_MATMUL:
            products[0] += 1
            inner = program.shapes[ins[0]]
            total += 2.0 * size * <double>inner[len(inner) - 1]
        else:
            total += ELEMENT * size
    return total


cdef bint have_common_factors(Program program) except -1:
    """True if two products have the same factor on the same side."""
    cdef set seen = set()
    for op, _, ins, _ in program.steps:
        if op == OP_MATMUL:
            for k in range(2):
                if (k, ins[k]) in seen:
                    return True
                seen.add((k, ins[k]))
    return False


cdef bytearray read_by_sums(Program program):
    """For each slot, 1 if only sums and differences read it."""
    cdef bytearray found = bytearray(b"\1") * len(program.kinds)
    for slot in program.outputs + [slot for _, slot in program.effects]:
        found[slot] = 0
    for op, _, ins, _ in program.steps:
        if op != OP_ADD and op != OP_SUB and op != OP_NEG:
            for slot in <tuple>ins:
                found[slot] = 0
    return found


cdef Program with_sums_first(Program program):
    """The program with fewer matrix products, prepared again; None if it would not have fewer."""
    cdef Factoring f
    cdef int before = 0, after = 0
    cdef double cost
    if not have_common_factors(program):
        return None
    f = Factoring()
    f.program = program.without_steps()
    f.makers = {(<tuple>step)[3]: step for step in program.steps}
    f.known = {}
    f.sums = {}
    f.steps = []
    f.rewrite(program.steps, read_by_sums(program))
    f.program.steps = f.steps
    f.program.prepare()
    cost = cost_of(program, &before)
    if cost_of(f.program, &after) >= cost or after >= before:
        return None
    for _ in range(before - after):
        note(PRODUCT_OF_SUM)
    return f.program
