"""Rerolling: loops that a recording has unrolled become loops again.

Design
------
A Python loop records the same steps many times, and so does its reverse. For each such stretch of a program
(stretches.pyx), an instruction repeats the body. A result that only the last iteration provides is carried; a result
needed from every iteration, for example by the reverse, is stacked.

A body is planned once, so planning time does not depend on the number of iterations, and its instructions stay in
cache.
"""
cimport numpy as cnp

from ..arrays.array import np
from ..arrays.array cimport Array, copy_of, to_ndarray
from ..primitives.opcodes cimport OP_RESHAPE, OP_SLICE
from ..primitives.registry cimport op_named
from .program cimport FROM_CONSTANT, FROM_INPUT, FROM_STEP, Program
from .repetitions cimport Body, Repetition, repetition
from .scalarisation cimport is_number
from .stretches cimport Search, Stretch

cdef enum:
    LEAST_STEPS = 400           # least steps of a program that is worth the search
    MANY_NUMBERS = 40_000       # steps on single numbers that stay unrolled: they still fit into cache


cdef class Reroller(Search):

    cdef int find_uses(self) except -1:
        """Record which results of each stretch are read outside of it."""
        cdef Program p = self.program
        cdef Stretch s
        cdef Py_ssize_t t
        for t in range(len(p.steps)):
            if self.inside.get(t) is None:
                for slot in (<tuple>p.steps[t])[2]:
                    self.need(slot)
        for slot in p.outputs + [slot for _, slot in p.effects]:
            self.need(slot)
        for s in self.stretches:
            for slot in s.shared:
                self.need(slot)
            for j in s.carried:
                self.need((<tuple>p.steps[s.start - s.period + <Py_ssize_t>j])[3])
            for slots in s.entries:
                if type(slots) is tuple:
                    self.need_all(slots)
                else:
                    self.need(self.operand(s.start + <Py_ssize_t>slots, 0))
        more = True
        while more:                     # if only the last iteration's result is needed, it is carried
            more = False
            for s in self.stretches:
                for j in s.last:
                    if j not in s.carried:
                        more = True
                        s.carried[j] = len(s.carried)
                        self.need((<tuple>p.steps[s.start - s.period + <Py_ssize_t>j])[3])
        return 0

    cdef int need(self, int slot) except -1:
        """Record that a slot is read by itself."""
        cdef Py_ssize_t t = self.maker[slot], i, j
        cdef Stretch s = self.inside.get(t)
        if s is None:
            return 0
        i, j = (t - s.start) // s.period, (t - s.start) % s.period
        if i == s.n - 1:
            s.last.add(j)
        else:
            s.each.add((j, i))
            s.made.setdefault(j, len(s.made))
        return 0

    cdef int need_all(self, tuple slots) except -1:
        """Record that each iteration of another stretch reads one of these slots."""
        cdef Stretch s = self.inside.get(self.maker[<int>slots[0]])
        if s is not None:
            s.made.setdefault((self.maker[<int>slots[0]] - s.start) % s.period, len(s.made))
        return 0

    # the loops

    cdef Body body(self, Stretch s):
        """The program of one iteration: its inputs are the carry, entries, and shared slots."""
        cdef Program p = self.program, made = Program()
        cdef Body body = Body()
        cdef dict carried = {}, entries = {}, shared = {}
        cdef list own = []              # slots of the results of this iteration
        cdef Py_ssize_t j, d
        cdef int r
        for j in s.carried:
            carried[j] = self.new_input(made, (<tuple>p.steps[s.start + j])[3])
        for slots in s.entries:
            entries[slots] = self.new_input(made, (<tuple>slots)[0] if type(slots) is tuple
                                            else (<tuple>p.steps[s.start + <Py_ssize_t>slots])[3])
        for slot in s.shared:
            shared[slot] = self.new_input(made, slot)
        for j in range(s.period):
            op, params, ins, out = p.steps[s.start + j]
            if j in entries:
                own.append(entries[j])
                continue
            read = []
            for r in range(len(<tuple>ins)):
                kind = s.kinds[j, r]
                slot = (<tuple>ins)[r]
                if kind == "entry":
                    slots = tuple([self.operand(s.start + i * s.period + j, r) for i in range(s.n)])
                    read.append(entries[slots])
                elif kind != "shared":
                    d = kind
                    read.append(own[j - d] if d <= j else carried[j - d + s.period])
                else:
                    if slot not in shared:      # a constant
                        shared[slot] = self.new_slot(made, FROM_CONSTANT, p.sources[slot], slot)
                    read.append(shared[slot])
            own.append(self.new_slot(made, FROM_STEP, len(made.steps), out))
            made.steps.append((op, params, tuple(read), own[j]))
        made.outputs.extend([own[j] for j in s.carried])
        made.outputs.extend([own[j] for j in s.made])
        made.prepare()
        body.program = made
        body.carried = len(s.carried)
        body.entries = len(s.entries)
        body.made = len(s.made)
        return body

    cdef int new_input(self, Program made, int slot) except -1:
        made.inputs.append(len(made.kinds))
        return self.new_slot(made, FROM_INPUT, len(made.inputs) - 1, slot)

    cdef int new_slot(self, Program made, int kind, object source, int slot) except -1:
        """A new slot with the form of a slot of the program."""
        return append_slot(made, kind, source, self.program.typenums[slot], self.program.shapes[slot])

    cdef Program rewritten(self):
        """The program with loops in place of its stretches."""
        cdef Program p = self.program, made = p.without_steps()
        cdef Stretch s
        cdef Py_ssize_t t = 0, n = len(p.steps)
        while t < n:
            s = self.inside.get(t)
            if s is None:
                made.steps.append(p.steps[t])
                t += 1
                continue
            self.write_loop(made, s)
            t = s.start + s.n * s.period
        made.prepare()
        return made

    cdef int write_loop(self, Program made, Stretch s) except -1:
        """Append a loop, and copy its results to the slots that need them."""
        cdef Program p = self.program
        cdef Repetition loop
        cdef Py_ssize_t j, i, last = s.start + (s.n - 1) * s.period
        cdef list operands = [p.steps[s.start - s.period + <Py_ssize_t>j][3] for j in s.carried]
        cdef int k = len(operands), packed, slot, unpack = op_named("unpack")
        operands += [self.stacked(made, s, slots) if type(slots) is tuple else self.rows(made, s, slots)
                     for slots in s.entries]
        operands += list(s.shared)
        loop = repetition(self.body(s), s.n, s.reverse, tuple(range(k, k + len(s.entries))),
                          tuple(range(k + len(s.entries), len(operands))))
        packed = append_step(made, op_named("loop"), loop, operands, cnp.NPY_UBYTE, (loop.nbytes,))
        k = 0
        for j in s.carried:
            if j in s.last:
                slot = p.steps[last + j][3]
                made.steps.append((unpack, loop.results[k], (packed,), slot))
            k += 1
        for j in s.made:
            typenum, shape, _ = loop.results[k]
            s.stacks[j] = append_step(made, unpack, loop.results[k], [packed], typenum, shape)
            k += 1
        for j, i in sorted(s.each):
            self.write_entry(made, s, j, i, p.steps[s.start + i * s.period + j][3])
        return 0

    cdef int write_entry(self, Program made, Stretch s, Py_ssize_t j, Py_ssize_t i, int slot) except -1:
        """Append steps that copy the result of one iteration out of the stack."""
        cdef tuple shape = <tuple>self.program.shapes[slot]
        cdef Py_ssize_t k = s.n - 1 - i if s.reverse else i
        cdef int row
        row = append_step(made, OP_SLICE, ((k, 1, 1),) + tuple([(0, n, 1) for n in shape]), [s.stacks[j]],
                          self.program.typenums[slot], (1,) + shape)
        made.steps.append((OP_RESHAPE, shape, (row,), slot))
        return 0

    cdef int rows(self, Program made, Stretch s, Py_ssize_t j) except -1:
        """The slot of the rows that a step takes, stacked in the order of the loop."""
        cdef Py_ssize_t t = s.start + (s.n - 1 if s.reverse else 0) * s.period + j
        cdef tuple step = <tuple>self.program.steps[t], whole
        cdef int out = step[3], typenum = self.program.typenums[out], found
        cdef bint down = self.row(s.start + s.period + j) < self.row(s.start + j)
        whole = tuple(step[1])[1:]
        found = append_step(made, OP_SLICE, ((self.row(t), s.n, -1 if down != s.reverse else 1),) + whole, [step[2][0]],
                            typenum, (s.n,) + <tuple>self.program.shapes[out][1:])
        return append_step(made, OP_RESHAPE, (s.n,) + <tuple>self.program.shapes[out], [found], typenum,
                           (s.n,) + <tuple>self.program.shapes[out])

    cdef int stacked(self, Program made, Stretch s, tuple slots) except -1:
        """The slot of the stacked entries, in the order of the loop."""
        cdef Stretch other
        cdef Py_ssize_t first, i, j, at, step
        cdef tuple shape = <tuple>self.program.shapes[<int>slots[0]]
        cdef int typenum = self.program.typenums[<int>slots[0]]
        if self.maker[<int>slots[0]] < 0:
            numbers = np.stack([to_ndarray(<Array>self.program.sources[<int>slot]) for slot in slots])
            array = copy_of(numbers[::-1] if s.reverse else numbers)
            return append_slot(made, FROM_CONSTANT, array, typenum, (s.n,) + shape)
        first = self.maker[<int>slots[s.n - 1 if s.reverse else 0]]
        other = self.inside[first]
        j = (first - other.start) % other.period
        i = (first - other.start) // other.period
        at = other.n - 1 - i if other.reverse else i
        step = 1 if <Py_ssize_t>self.maker[<int>slots[1]] > <Py_ssize_t>self.maker[<int>slots[0]] else -1
        step = -step if s.reverse != other.reverse else step
        if at == 0 and step == 1 and other.n == s.n:
            return other.stacks[j]
        return append_step(made, OP_SLICE, ((at, s.n, step),) + tuple([(0, n, 1) for n in shape]), [other.stacks[j]],
                           typenum, (s.n,) + shape)


cdef int append_slot(Program p, int kind, object source, int typenum, tuple shape) except -1:
    p.kinds.append(kind)
    p.sources.append(source)
    p.typenums.append(typenum)
    p.shapes.append(shape)
    return len(p.kinds) - 1


cdef int append_step(Program p, int op, object params, list ins, int typenum, tuple shape) except -1:
    """Append a step; return the slot of its result."""
    cdef int slot = append_slot(p, FROM_STEP, len(p.steps), typenum, shape)
    p.steps.append((op, params, tuple(ins), slot))
    return slot


cdef bint on_numbers(Program p) except -1:
    for shape in p.shapes:
        if not is_number(<tuple>shape):
            return False
    return True


cdef Program rerolled(Program program):
    """The program with loops where steps repeat; None if there are none."""
    cdef Reroller r
    if len(program.steps) < LEAST_STEPS or (len(program.steps) < MANY_NUMBERS and on_numbers(program)):
        return None
    r = Reroller()
    r.program = program
    r.stretches = []
    r.inside = {}
    r.number_steps()
    r.find()
    if not r.stretches:
        return None
    r.find_uses()
    return r.rewritten()
