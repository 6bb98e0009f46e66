"""Stretches: parts of a program where a sequence of steps, the body, repeats.

Design
------
Step t + g is the same primitive as step t, with the same parameters and forms, for a period of g steps. The operands
decide on the kind of loop. From one iteration to the next, an operand is one of these:

* a result made the same number of steps before, in this iteration or in the one before (it is carried);
* the same slot (shared);
* another slot that existed before the loop: an entry. Entries are constants, which are stacked, or results from the
  iterations of an earlier stretch. They come in the order of those iterations or, on the way back, in reverse order.

A step that takes a row of an array, the next one in each iteration, is itself an entry.

A stretch leaves out iterations at both ends that differ. Hash-consing produces such ends: a result that is constant in
the first iteration is computed in no other iteration.
"""
from ..primitives.opcodes cimport OP_SLICE
from ..primitives.registry cimport EFFECTS
from .program cimport FROM_CONSTANT, Program

cdef enum:
    LEAST = 16                  # least iterations
    WINDOW = 6                  # steps that are compared to find a period
    OCCURRENCES = 12            # occurrences of a window that are tried as periods


cdef class Stretch:
    pass


cdef class Search:

    # finding stretches

    cdef int number_steps(self) except -1:
        """Give equal steps equal codes."""
        cdef dict known = {}, rows = {}
        cdef Program p = self.program
        cdef Py_ssize_t t = 0
        self.codes = []
        self.taken = set()
        for op, params, ins, _ in p.steps:
            if takes_row(op, params):
                rows.setdefault(ins[0], set()).add(params[0][0])
        self.maker = [-1] * len(p.kinds)
        for op, params, ins, out in p.steps:
            key = (op, params, p.typenums[out], p.shapes[out], tuple([p.shapes[slot] for slot in ins]))
            if takes_row(op, params) and len(<set>rows[ins[0]]) >= LEAST:
                key = (op, ins, params[1:])
                self.taken.add(t)
            try:
                code = -1 - t if EFFECTS[<int>op] else known.setdefault(key, len(known))
            except TypeError:
                code = -1 - t           # parameters that cannot be compared
            self.codes.append(code)
            self.maker[out] = t
            t += 1
        return 0

    cdef list next_windows(self):
        """For each step, the next step from which the same few steps follow; -1 if there is none."""
        cdef dict seen = {}
        cdef list codes = self.codes, following = [-1] * len(codes)
        cdef Py_ssize_t t
        for t in range(len(codes) - WINDOW, -1, -1):
            key = tuple(codes[t:t + WINDOW])
            following[t] = seen.get(key, -1)
            seen[key] = t
        return following

    cdef Py_ssize_t repeated(self, Py_ssize_t t, Py_ssize_t period) except -1:
        """The number of steps from t on that repeat after a period."""
        cdef list codes = self.codes
        cdef Py_ssize_t k = t, n = len(codes) - period
        while k < n and codes[k] == codes[k + period]:
            k += 1
        return k - t

    cdef int find(self) except -1:
        cdef list following = self.next_windows()
        cdef dict looked_at = {}        # period -> the last step at which it was tried
        cdef Py_ssize_t t = 0, n = len(self.codes), later, period, length
        cdef Stretch found
        while t < n - LEAST:
            later, found = following[t], None
            for _ in range(OCCURRENCES):
                if later < 0 or (later - t) * LEAST > n:
                    break
                period = later - t
                later = following[later]
                if <Py_ssize_t>looked_at.get(period, 0) > t:
                    continue
                length = self.repeated(t, period)
                looked_at[period] = t + max(length, 1)
                if length >= (LEAST - 1) * period:
                    found = self.stretch_at(t, period, length // period + 1)
                    if found is not None:
                        break
            if found is None:
                t += 1
                continue
            self.stretches.append(found)
            for k in range(found.start, found.start + found.n * found.period):
                self.inside[k] = found
            t = found.start + found.n * found.period
        return 0

    # kinds of operands

    cdef object kind(self, Py_ssize_t t, Py_ssize_t period, int r):
        """The relation of operand r of step t to the same operand one period before."""
        now, before = self.operand(t, r), self.operand(t - period, r)
        if t in self.taken:
            return "next row" if self.row(t) == self.row(t - period) + 1 else \
                "row before" if self.row(t) == self.row(t - period) - 1 else "row"
        if now == before:
            return "shared"
        if self.maker[now] >= 0 and self.maker[before] >= 0 and t - self.maker[now] == t - period - self.maker[before]:
            return t - <Py_ssize_t>self.maker[now]
        return "entry"

    cdef Py_ssize_t row(self, Py_ssize_t t) except -1:
        """The index of the row that a step takes."""
        return (<tuple>self.program.steps[t])[1][0][0]

    cdef int operand(self, Py_ssize_t t, int r) except -1:
        return (<tuple>(<tuple>self.program.steps[t])[2])[r]

    cdef Stretch stretch_at(self, Py_ssize_t start, Py_ssize_t period, Py_ssize_t n):
        """The longest sequence of alike iterations around the middle one; None if it is short."""
        cdef Py_ssize_t middle = start + n // 2 * period, first = 1, last = n, i, j, d
        cdef Stretch s = Stretch()
        cdef list kinds = []
        for j in range(period):
            for r in range(len((<tuple>self.program.steps[middle + j])[2])):
                kind = self.kind(middle + j, period, r)
                if kind == "row":
                    return None
                if type(kind) is not str and <Py_ssize_t>kind > j + period:
                    return None         # made two or more iterations before
                kinds.append((j, r, kind))
        for i in range(n // 2, 0, -1):
            if not self.alike(start + i * period, period, kinds):
                first = i + 1
                break
        for i in range(n // 2, n):
            if not self.alike(start + i * period, period, kinds):
                last = i
                break
        for j, r, kind in kinds:
            d = self.maker[self.operand(middle + j, r)]
            if kind in ("shared", "next row", "row before") and d >= start:     # must exist before the stretch
                first = max(first, (d - start) // period + 1)
            elif kind == "entry":
                first, last = self.entries_from(start + <Py_ssize_t>j, period, r, n // 2, first, last)
        if last - first < LEAST:
            return None
        s.start = start + first * period
        s.period = period
        s.n = last - first
        return s if self.classify(s, kinds) else None

    cdef tuple entries_from(self, Py_ssize_t t, Py_ssize_t period, int r, Py_ssize_t middle, Py_ssize_t first,
                            Py_ssize_t last):
        """The iterations around the middle one whose entries have the same source. t: the step of the body in the first
        iteration."""
        cdef Py_ssize_t i
        cdef object source = self.source_of(self.operand(t + middle * period, r))
        for i in range(middle, first - 1, -1):
            if self.source_of(self.operand(t + i * period, r)) is not source:
                first = i + 1
                break
        for i in range(middle, last):
            if self.source_of(self.operand(t + i * period, r)) is not source:
                last = i
                break
        return first, last

    cdef object source_of(self, int slot):
        """The source of an entry: a stretch, True for a constant, or None for anything else."""
        if self.maker[slot] < 0:
            return True if self.program.kinds[slot] == FROM_CONSTANT else None
        return self.inside.get(self.maker[slot])

    cdef bint alike(self, Py_ssize_t t, Py_ssize_t period, list kinds) except -1:
        for j, r, kind in kinds:
            if self.kind(t + <Py_ssize_t>j, period, r) != kind:
                return False
        return True

    cdef bint classify(self, Stretch s, list kinds) except -1:
        """Record the carry, the shared slots and the entries of a stretch; False if it cannot be a loop."""
        cdef Py_ssize_t i
        cdef tuple slots
        s.carried, s.shared, s.entries, s.made = {}, {}, {}, {}
        s.last, s.each, s.stacks = set(), set(), {}
        s.kinds = {(j, r): kind for j, r, kind in kinds}
        directions = set()
        for j, r, kind in kinds:
            if kind == "shared":
                slot = self.operand(s.start + <Py_ssize_t>j, r)
                if self.program.kinds[slot] != FROM_CONSTANT:
                    s.shared.setdefault(slot, len(s.shared))
            elif kind in ("next row", "row before"):
                directions.add(1 if kind == "next row" else -1)
                s.entries.setdefault(<Py_ssize_t>j, len(s.entries))
            elif kind != "entry":
                if <Py_ssize_t>kind > <Py_ssize_t>j:
                    s.carried.setdefault(<Py_ssize_t>j - <Py_ssize_t>kind + s.period, len(s.carried))
            else:
                slots = tuple([self.operand(s.start + i * s.period + <Py_ssize_t>j, r) for i in range(s.n)])
                direction = self.direction(s, slots)
                if direction is None:
                    return False
                directions.add(direction)
                s.entries.setdefault(slots, len(s.entries))
        s.reverse = -1 in directions
        return True

    cdef object direction(self, Stretch s, tuple slots):
        """Order of entries: 1 or -1 for results of an earlier stretch, forwards or backwards; 0 for constants; else
        None."""
        cdef Stretch other
        cdef Py_ssize_t i, step
        if all([self.program.kinds[slot] == FROM_CONSTANT for slot in slots]):
            return 0
        makers = [self.maker[slot] for slot in slots]
        other = self.inside.get(makers[0])
        if other is None or min(makers) < 0:
            return None
        step = makers[1] - makers[0]
        if step != other.period and step != -other.period:
            return None
        for i in range(len(makers)):
            if makers[i] != makers[0] + i * step or self.inside.get(makers[i]) is not other:
                return None
        return 1 if step > 0 else -1


cdef bint takes_row(int op, object params) except -1:
    return op == OP_SLICE and len(params) > 0 and params[0][1] == 1
