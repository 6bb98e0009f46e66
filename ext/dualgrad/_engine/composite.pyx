"""Transforms inside transforms, each as one instruction of the outer tape.

Design
------
*A gradient.* The inner call computes y = F(x, w) and g = (dF/dx)^T v, where w is everything else the inner function
reads. The outer sweep brings cotangents s of g and t of y. Consider Phi = <t, F> + <v, F_x s>: its derivative with
respect to v is the tangent F_x s of the output, and since mixed partials commute its derivative with respect to any
leaf z is the e-part of the cotangent of z when the inner program runs at x + e s and is swept back with the seed
v + e t. So one tangent sweep and one dual reverse sweep over the inner tape, kept from its execution, answer for x,
w and v together; no backward pass is ever taped. The forward rule is the same pair of sweeps, read elsewhere.

*A forward transform.* The inner tape holds duals of the transform's level. Its reverse rule is the ordinary sweep in
the same algebra with the index-reversed seed: for dual numbers, the cotangent of the tangent part stands at e^0 and
that of the value at e^1 (multiplication by an element of the algebra is its own adjoint under the pairing that reads
the top coefficient of a product). Its forward rule is the tangent sweep.

*A vmap.* The inner tape holds batches. Cotangents of inputs and outputs are batches in turn; those of what every sample
reads are added up over the samples.

All are written over a `Run`, so a transform that is itself differentiated again is swept on richer values, and any
nesting needs no further rule.
"""
from cpython.mem cimport PyMem_RawFree

from .array cimport BATCH, DUAL, Value
from .batching cimport enter, leave
from .opcodes cimport *
from .rules cimport zeros_like
from .sweeps cimport (DROP_SPENT, KEEP_ALL, Run, SubTape, accumulate, dual_sweep, inner_run_of, lift_tape, reach,
                      replay, sweep, tangent_sweep)
from .tape cimport Slots, new_slots
from .values cimport Batch, BatchLevel, Dual, Level, bind1, make_batch, make_dual, part
from .watch cimport go_on


cdef Value rebuilt(Dual like, list parts):
    """A dual of the level of another; its primal is zero where that is missing."""
    cdef Dual d
    cdef Py_ssize_t k
    for k in range(1, len(parts)):
        if parts[k] is not None:
            if parts[0] is None:
                parts[0] = zeros_like(<Value>parts[k])
            d = Dual.__new__(Dual)
            d.level = like.level
            d.algebra = like.algebra
            d.parts = tuple(parts)
            return d
    return <Value>parts[0]


cdef Value coefficient(Value v, Level level, int k):
    """Coefficient k at a level, which later levels may stand around: theirs stay around it."""
    cdef Dual d
    cdef Value inner
    if v is not None and v.kind == BATCH and (<Batch>v).level.serial > level.serial:
        inner = coefficient((<Batch>v).value, level, k)
        return None if inner is None else make_batch((<Batch>v).level, inner)
    if v is None or v.kind != DUAL:
        return v if k == 0 else None
    d = <Dual>v
    if d.level is level:
        return <Value>d.parts[k]
    if d.level.serial < level.serial:
        return v if k == 0 else None
    return rebuilt(d, [coefficient(<Value>p, level, k) for p in d.parts])


cdef Value joined(Level level, Value a, Value b):
    """a + e b at a level, with later levels in a and b kept outermost."""
    cdef Dual around = None
    cdef BatchLevel batch = None
    cdef int k
    if b is None:
        return a
    if a is None:
        a = zeros_like(b)
    for v in (a, b):
        if (<Value>v).kind == DUAL and (<Dual>v).level.serial > level.serial:
            if around is None or (<Dual>v).level.serial > around.level.serial:
                around = <Dual>v
        elif (<Value>v).kind == BATCH and (<Batch>v).level.serial > level.serial:
            if batch is None or (<Batch>v).level.serial > batch.serial:
                batch = (<Batch>v).level
    if batch is not None and (around is None or batch.serial > around.level.serial):
        return make_batch(batch, joined(level, leave(batch, a), leave(batch, b)))
    if around is None:
        return make_dual(level, a, b)
    return rebuilt(around, [joined(level, part(a, around.level, k), part(b, around.level, k))
                            for k in range(around.algebra.dim)])


cdef Value met_at(Level level, Value v):
    """A value that may be a node, as a dual of a level: an operation that meets it belongs to that level first. Later
    levels stay outermost."""
    cdef Dual d
    if v is None:
        return None
    if v.kind == BATCH and (<Batch>v).level.serial > level.serial:
        return make_batch((<Batch>v).level, met_at(level, (<Batch>v).value))
    if v.kind == DUAL:
        d = <Dual>v
        if d.level is level:
            return v
        if d.level.serial > level.serial:
            return rebuilt(d, [met_at(level, <Value>p) for p in d.parts])
    return make_dual(level, v, zeros_like(v))


cdef Slots dual_slots(Slots primals, Slots dots, Level level):
    """Slot by slot, the dual of a value and its tangent."""
    cdef Slots duals = new_slots(primals.n)
    cdef Py_ssize_t i
    cdef Value v, dot
    for i in range(primals.n):
        v = primals.get(i)
        dot = dots.get(i)
        if dot is not None:
            v = make_dual(level, zeros_like(dot) if v is None else v, dot)
        if v is not None:
            duals.put(i, v)
    return duals


cdef dict enriched_inner(Run run, dict records, Level level):
    cdef dict inner = {} if run.inner is None else dict(run.inner)
    cdef SubTape sub
    for e, record in records.items():
        sub = <SubTape>run.tape.entries[<Py_ssize_t>e].params
        inner[e] = sub.enrich(inner_run_of(run, e, sub), record, level)
    return inner


cdef dict NO_RECORDS = {}           # of a tape that holds no inner transforms; stays empty


cdef class SubGradient(SubTape):
    """A gradient call. Operands: the linked leaves, then the seeds that are differentiated. Results: the values that
    left the call, then the gradients."""

    cdef list pull(self, Run run, list cts):
        cdef Py_ssize_t n = run.primals.n, i, n_values = len(self.value_slots)
        cdef Slots dots = new_slots(n)
        cdef Slots adjoint_dots = new_slots(n)
        cdef dict records = {} if run.tape.holds_subtapes else NO_RECORDS
        cdef char *needed
        cdef list of_seeds = []
        for i in range(len(self.gradient_slots)):
            accumulate(dots, self.gradient_slots[i], <Value>cts[n_values + i])
        for i in range(n_values):
            accumulate(adjoint_dots, self.value_slots[i], <Value>cts[i])
        tangent_sweep(run, dots, records)
        for k in self.seed_operands:
            of_seeds.append(dots.get(self.seed_slots[k]))
        needed = reach(run.tape, self.leaf_slots)
        try:
            dual_sweep(run, dots, adjoint_dots, records, needed, DROP_SPENT)
        finally:
            PyMem_RawFree(needed)
        terms = []
        for slot in self.leaf_slots:
            terms.append(adjoint_dots.get(slot))
        terms.extend(of_seeds)
        return terms

    cdef list push(self, Run run, list tangents, list record):
        cdef Py_ssize_t n = run.primals.n, i, n_leaves = len(self.leaf_slots)
        cdef Slots dots = new_slots(n)
        cdef Slots adjoint_dots = new_slots(n)
        cdef dict records = {}
        cdef char *needed
        cdef list seed_dots = [None] * len(self.seed_slots)
        for i in range(n_leaves):
            if tangents[i] is not None:
                dots.put(self.leaf_slots[i], <Value>tangents[i])
        for i in range(len(self.seed_operands)):
            k = self.seed_operands[i]
            seed_dots[k] = tangents[n_leaves + i]
            accumulate(adjoint_dots, self.seed_slots[k], <Value>seed_dots[k])
        tangent_sweep(run, dots, records)
        needed = reach(run.tape, self.gradient_slots)
        try:
            dual_sweep(run, dots, adjoint_dots, records, needed, KEEP_ALL)
        finally:
            PyMem_RawFree(needed)
        record.extend((dots, adjoint_dots, records, seed_dots))
        return ([dots.get(slot) for slot in self.value_slots]
                + [adjoint_dots.get(slot) for slot in self.gradient_slots])

    cdef Run enrich(self, Run run, list record, Level level):
        cdef Run rich = Run()
        rich.tape = run.tape
        rich.primals = dual_slots(run.primals, <Slots>record[0], level)
        rich.adjoints = dual_slots(run.adjoints, <Slots>record[1], level)
        rich.inner = enriched_inner(run, <dict>record[2], level)
        return rich

    cdef Run lift(self, Run run, list operands):
        cdef Run lifted = Run()
        lifted.inner = {}
        lifted.primals = lift_tape(run, dict(zip(self.leaf_slots, operands)), lifted.inner)
        self.sweep_lifted(lifted, run, operands)
        return lifted

    cdef Run again(self, Run run, list operands):
        cdef Run lifted = Run()
        lifted.inner = {}
        lifted.primals = replay(run, dict(zip(self.leaf_slots, operands)), lifted.inner)
        self.sweep_lifted(lifted, run, operands)
        return lifted

    cdef list results(self, Run run):
        return [run.primals.get(slot) for slot in self.value_slots] + [
            zeros_like(run.primals.get(slot)) if run.adjoints.get(slot) is None else run.adjoints.get(slot)
            for slot in self.gradient_slots]

    cdef int sweep_lifted(self, Run lifted, Run run, list operands) except -1:
        """Cotangents for the primals of a lifted run."""
        cdef Py_ssize_t i, n_leaves = len(self.leaf_slots)
        cdef Slots adjoints = new_slots(run.primals.n)
        cdef list seeds = list(run.seeds)
        cdef char *needed
        lifted.tape = run.tape
        for i in range(len(self.seed_operands)):
            seeds[self.seed_operands[i]] = operands[n_leaves + i]
        for i in range(len(seeds)):
            accumulate(adjoints, self.seed_slots[i], <Value>seeds[i])
        needed = reach(run.tape, self.gradient_slots)
        try:
            sweep(lifted, adjoints, needed, KEEP_ALL)
        finally:
            PyMem_RawFree(needed)
        lifted.adjoints = adjoints
        return 0


cdef class SubForward(SubTape):
    """A forward transform. Operands: primal and tangent of each input, then the values it reads. Results: primal and
    tangent of each output."""

    cdef list pull(self, Run run, list cts):
        cdef Py_ssize_t n = run.primals.n, i
        cdef Slots adjoints = new_slots(n)
        cdef Value value_ct, tangent_ct, ct
        cdef char *needed
        cdef list terms = []
        for i in range(len(self.value_slots)):
            value_ct = cts[2 * i]
            tangent_ct = cts[2 * i + 1]
            ct = joined(self.level, tangent_ct, value_ct)
            accumulate(adjoints, self.value_slots[i], met_at(self.level, ct) if run.lifted else ct)
        needed = reach(run.tape, self.input_slots + self.leaf_slots)
        try:
            if run.tape.watched:
                go_on()
            sweep(run, adjoints, needed, DROP_SPENT)
        finally:
            PyMem_RawFree(needed)
        for slot in self.input_slots:
            ct = adjoints.get(slot)
            terms.append(coefficient(ct, self.level, 1))
            terms.append(coefficient(ct, self.level, 0))
        for slot in self.leaf_slots:
            terms.append(coefficient(adjoints.get(slot), self.level, 1))
        return terms

    cdef list push(self, Run run, list tangents, list record):
        cdef Slots dots = new_slots(run.primals.n)
        cdef dict records = {}
        cdef Py_ssize_t i, n_inputs = len(self.input_slots)
        cdef Value v, t
        cdef list results = []
        for i in range(n_inputs):
            v = tangents[2 * i]
            t = tangents[2 * i + 1]
            v = joined(self.level, v, t)
            dots.put(self.input_slots[i], met_at(self.level, v) if run.lifted else v)
        for i in range(len(self.leaf_slots)):
            v = tangents[2 * n_inputs + i]
            if v is not None:
                dots.put(self.leaf_slots[i], met_at(self.level, v) if run.lifted else v)
        if run.tape.watched:
            go_on()
        tangent_sweep(run, dots, records)
        record.extend((dots, records))
        for slot in self.value_slots:
            v = dots.get(slot)
            results.append(coefficient(v, self.level, 0))
            results.append(coefficient(v, self.level, 1))
        return results

    cdef Run enrich(self, Run run, list record, Level level):
        cdef Run rich = Run()
        rich.tape = run.tape
        rich.primals = dual_slots(run.primals, <Slots>record[0], level)
        rich.inner = enriched_inner(run, <dict>record[1], level)
        rich.lifted = run.lifted
        return rich

    cdef Run lift(self, Run run, list operands):
        """On values of outer tapes the duals have nodes as coefficients: the program is run again on those, and what
        that does is recorded coefficient by coefficient."""
        cdef Run lifted = Run()
        cdef Py_ssize_t i, n_inputs = len(self.input_slots)
        cdef dict leaves = {}
        for i in range(n_inputs):
            leaves[self.input_slots[i]] = make_dual(self.level, operands[2 * i], operands[2 * i + 1])
        for i in range(len(self.leaf_slots)):
            leaves[self.leaf_slots[i]] = met_at(self.level, operands[2 * n_inputs + i])
        lifted.tape = run.tape
        lifted.inner = {}
        lifted.primals = replay(run, leaves, lifted.inner)
        lifted.lifted = True
        return lifted

    cdef list results(self, Run run):
        cdef list found = []
        cdef Value v, t
        for slot in self.value_slots:
            v = coefficient(run.primals.get(slot), self.level, 0)
            t = coefficient(run.primals.get(slot), self.level, 1)
            found.append(v)
            found.append(zeros_like(v) if t is None else t)
        return found


cdef class SubMap(SubTape):
    """A vmap. Operands: the inputs, samples along their first axis, then the values that every sample reads. Results:
    the outputs, samples along their first axis."""

    cdef list pull(self, Run run, list cts):
        cdef Slots adjoints = new_slots(run.primals.n)
        cdef Py_ssize_t i
        cdef Value ct
        cdef char *needed
        cdef list terms = []
        for i in range(len(self.value_slots)):
            accumulate(adjoints, self.value_slots[i], enter(self.level, <Value>cts[i]))
        needed = reach(run.tape, self.input_slots + self.leaf_slots)
        try:
            if run.tape.watched:
                go_on()
            sweep(run, adjoints, needed, DROP_SPENT)
        finally:
            PyMem_RawFree(needed)
        for slot in self.input_slots:
            terms.append(leave(self.level, adjoints.get(slot)))
        for slot in self.leaf_slots:
            ct = leave(self.level, adjoints.get(slot))
            terms.append(None if ct is None else bind1(OP_SUM, ((0,), False), ct))
        return terms

    cdef list push(self, Run run, list tangents, list record):
        cdef Slots dots = new_slots(run.primals.n)
        cdef dict records = {}
        cdef Py_ssize_t i, n_inputs = len(self.input_slots)
        cdef Value v
        for i in range(n_inputs):
            dots.put(self.input_slots[i], enter(self.level, <Value>tangents[i]))
        for i in range(len(self.leaf_slots)):
            v = tangents[n_inputs + i]
            if v is not None:
                dots.put(self.leaf_slots[i], enter(self.level, leave(self.level, v)) if run.lifted else v)
        if run.tape.watched:
            go_on()
        tangent_sweep(run, dots, records)
        record.extend((dots, records))
        return [leave(self.level, dots.get(slot)) for slot in self.value_slots]

    cdef Run enrich(self, Run run, list record, Level level):
        cdef Run rich = Run()
        rich.tape = run.tape
        rich.primals = dual_slots(run.primals, <Slots>record[0], level)
        rich.inner = enriched_inner(run, <dict>record[1], level)
        rich.lifted = run.lifted
        return rich

    cdef Run lift(self, Run run, list operands):
        """On values of outer tapes the batches hold nodes: the program is run again on those."""
        cdef Run lifted = Run()
        cdef Py_ssize_t i, n_inputs = len(self.input_slots)
        cdef dict leaves = {}
        for i in range(n_inputs):
            leaves[self.input_slots[i]] = make_batch(self.level, operands[i])
        for i in range(len(self.leaf_slots)):       # batches as well, so that they are met inside this level
            leaves[self.leaf_slots[i]] = make_batch(self.level, leave(self.level, operands[n_inputs + i]))
        lifted.tape = run.tape
        lifted.inner = {}
        lifted.primals = replay(run, leaves, lifted.inner)
        lifted.lifted = True
        return lifted

    cdef list results(self, Run run):
        return [leave(self.level, run.primals.get(slot)) for slot in self.value_slots]
