"""Derivatives of transforms inside transforms. Each inner transform is one instruction of the outer tape.

`compose_gradient` (transforms/gradient.pyx), `compose_forward` (forward.pyx) and `compose_map` (vmap.pyx) write these
instructions. This module has their derivatives.

Design
------
*A gradient.* The inner call computes y = F(x, w) and g = (dF/dx)^T v, where w are all other values that the inner
function reads. The outer sweep brings cotangents s of g and t of y. Let Phi = <t, F> + <v, F_x s>. Its derivative with
respect to v is F_x s, the tangent of the output. Mixed partials commute. So the derivative of Phi by any leaf z is the
e-part of a cotangent: the cotangent of z for the inner program at x + e s, swept with the seed v + e t. One tangent
sweep and one dual reverse sweep over the kept inner tape thus serve x, w and v together; no backward pass is ever
taped. The forward rule does the same two sweeps and reads other results.

*A forward transform.* The inner tape holds elements of the transform's algebra: dual numbers, jets or any other. Its
reverse rule is the ordinary sweep in this algebra, with cotangents as in dual.pyx. For dual numbers, the cotangent of
the tangent part is at e^0 and the cotangent of the value at e^1. Its forward rule is the tangent sweep.

*A vmap.* The inner tape holds batches. Cotangents of inputs and outputs are batches too. Cotangents of values that
every sample reads are summed over the samples.

All rules work on a `Run`. So the sweep of a transform that is differentiated again runs on richer values, and any
nesting needs no further rule.
"""
from cpython.mem cimport PyMem_RawFree

from ..arrays.array cimport NODE, Value
from ..values.batch cimport enter, holds_batch, leave, over_samples
from ..values.dual cimport coefficient, cotangent, duality_of, entered, joined, left, moves_at, seeded
from ..primitives.opcodes cimport *
from ..values.rules cimport zeros_like
from .runs cimport Run, SubTape, inner_run_of, lift_tape, reevaluate
from .sweeps cimport DROP_SPENT, KEEP_ALL, accumulate, dual_sweep, reach, sweep, tangent_sweep
from .nodes cimport holds_node, target_of
from .tape cimport Slots, Tape, new_slots
from ..values.levels cimport Level, make_batch, make_dual
from ..primitives.watch cimport go_on


cdef Slots dual_slots(Slots primals, Slots dots, Level level):
    """For each slot, the dual of its value and its tangent."""
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


cdef dict NO_RECORDS = {}           # for tapes without inner transforms; stays empty


cdef class SubGradient(SubTape):
    """A gradient call. Operands: the linked leaves, then the differentiated seeds. Results: the values that left the
    call, then the gradients."""

    cdef list pull(self, Run run, list cts):
        cdef Py_ssize_t n = run.primals.n, i, n_values = len(self.value_slots)
        cdef Slots dots = new_slots(n)
        cdef Slots adjoint_dots = new_slots(n)
        cdef dict records = {} if run.tape.holds_subtapes else NO_RECORDS
        cdef char *needed
        cdef list of_seeds, terms
        for i in range(len(self.gradient_slots)):
            accumulate(dots, self.gradient_slots[i], <Value>cts[n_values + i])
        for i in range(n_values):
            accumulate(adjoint_dots, self.value_slots[i], <Value>cts[i])
        tangent_sweep(run, dots, records)
        of_seeds = [dots.get(self.seed_slots[k]) for k in self.seed_operands]
        needed = reach(run.tape, self.leaf_slots)
        try:
            dual_sweep(run, dots, adjoint_dots, records, needed, DROP_SPENT)
        finally:
            PyMem_RawFree(needed)
        terms = [adjoint_dots.get(slot) for slot in self.leaf_slots]
        return terms + of_seeds if of_seeds else terms

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
        lifted.primals = reevaluate(run, dict(zip(self.leaf_slots, operands)), lifted.inner)
        self.sweep_lifted(lifted, run, operands)
        return lifted

    cdef list results(self, Run run):
        return [run.primals.get(slot) for slot in self.value_slots] + [
            zeros_like(run.primals.get(slot)) if run.adjoints.get(slot) is None else run.adjoints.get(slot)
            for slot in self.gradient_slots]

    cdef int sweep_lifted(self, Run lifted, Run run, list operands) except -1:
        """Sweep a lifted run, to compute its cotangents."""
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
    """A forward transform. Operands: coefficients of the inputs, then the values it reads. Results: coefficients of the
    outputs."""

    cdef list pull(self, Run run, list cts):
        cdef Slots adjoints = new_slots(run.primals.n)
        cdef dict by_slot = {}
        cdef Value ct
        cdef char *needed
        cdef list terms = []
        for (slot, k), ct in zip(self.results_at, cts):
            if ct is not None:
                if slot not in by_slot:
                    by_slot[slot] = [None] * self.algebra.dim
                by_slot[slot][k] = entered(self.level, k, ct)
        for slot, parts in by_slot.items():
            if moves_at(run.primals.get(slot), self.level):
                ct = seeded(self.level, self.algebra, parts)
                if (run.lifted or holds_node(ct)) and not moves_at(ct, self.level):
                    ct = self.held(ct)
            else:
                ct = parts[0]
            accumulate(adjoints, slot, ct)
        needed = reach(run.tape, self.wanted)
        try:
            if run.tape.watched:
                go_on()
            sweep(run, adjoints, needed, DROP_SPENT)
        finally:
            PyMem_RawFree(needed)
        for slot, k in self.operands_at:
            terms.append(self.term(run, slot, k, adjoints.get(slot)))
        for slot in self.leaf_slots:
            terms.append(self.term(run, slot, 0, adjoints.get(slot)))
        return terms

    cdef Value term(self, Run run, Py_ssize_t slot, int k, Value adjoint):
        """The cotangent of coefficient k of a leaf."""
        if adjoint is None:
            return None
        if not moves_at(run.primals.get(slot), self.level):
            return adjoint if k == 0 else None
        return left(self.level, k, cotangent(self.level, self.algebra, adjoint, k))

    cdef Value held(self, Value v):
        """A constant cotangent as an element of the algebra; see `lift`."""
        return joined(self.level, duality_of(self.algebra).algebra, [v, zeros_like(v)])

    cdef Value met(self, Value v):
        """A value, which may be a node, as an element. So this level handles an operation on it before the node's tape
        does. Later levels stay outermost."""
        if moves_at(v, self.level):
            return v
        return joined(self.level, self.algebra, [v, zeros_like(v)])

    cdef Value tangent(self, Run run, Value v):
        """A tangent for the sweep: an element where a node could stand alone among elements."""
        return self.met(v) if v is not None and (run.lifted or holds_node(v)) else v

    cdef dict leaves_of(self, list coefficients):
        """The elements at the inputs, from coefficients in the order of the operands; None where all are zero."""
        cdef dict parts = {}
        cdef Py_ssize_t i
        for i in range(len(self.operands_at)):
            slot, k = self.operands_at[i]
            if slot not in parts:
                parts[slot] = [None] * self.algebra.dim
            parts[slot][k] = entered(self.level, k, <Value>coefficients[i])
        return {slot: joined(self.level, self.algebra, found) for slot, found in parts.items()}

    cdef list push(self, Run run, list tangents, list record):
        cdef Slots dots = new_slots(run.primals.n)
        cdef dict records = {}
        cdef Py_ssize_t i, n_operands = len(self.operands_at)
        for slot, v in self.leaves_of(tangents).items():
            dots.put(slot, self.tangent(run, <Value>v))
        for i in range(len(self.leaf_slots)):
            dots.put(self.leaf_slots[i], self.tangent(run, <Value>tangents[n_operands + i]))
        if run.tape.watched:
            go_on()
        tangent_sweep(run, dots, records)
        record.extend((dots, records))
        return [left(self.level, k, coefficient(dots.get(slot), self.level, k)) for slot, k in self.results_at]

    cdef Run enrich(self, Run run, list record, Level level):
        cdef Run rich = Run()
        rich.tape = run.tape
        rich.primals = dual_slots(run.primals, <Slots>record[0], level)
        rich.inner = enriched_inner(run, <dict>record[1], level)
        rich.lifted = run.lifted
        rich.level = run.level
        rich.algebra = run.algebra
        return rich

    cdef Run lift(self, Run run, list operands):
        """Run the program again on elements whose coefficients are nodes of outer tapes. These tapes record it
        coefficient by coefficient."""
        cdef Run lifted = Run()
        cdef Py_ssize_t i, n_operands = len(self.operands_at)
        cdef Tape target = target_of(operands, [])
        cdef dict leaves
        if target is not None and self.algebra.stacked:     # a batch without nodes would be a constant
            operands = [v if (<Value>v).kind == NODE else target.place(<Value>v) for v in operands]
        leaves = self.leaves_of(operands[:n_operands])
        for i in range(len(self.leaf_slots)):       # elements too, so that this level handles them first
            leaves[self.leaf_slots[i]] = self.met(<Value>operands[n_operands + i])
        lifted.tape = run.tape
        lifted.inner = {}
        lifted.primals = reevaluate(run, leaves, lifted.inner)
        lifted.lifted = True
        lifted.level = run.level
        lifted.algebra = run.algebra
        return lifted

    cdef list results(self, Run run):
        cdef list found = []
        cdef Value v, t
        for slot, k in self.results_at:
            v = run.primals.get(slot)
            t = coefficient(v, self.level, k)
            found.append(left(self.level, k, zeros_like(v) if t is None else t))
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
            ct = adjoints.get(slot)
            if holds_batch(run.primals.get(slot), self.level):      # see lift
                ct = over_samples(ct, self.level)
            terms.append(ct)
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
        rich.samples = self.level
        rich.primals = dual_slots(run.primals, <Slots>record[0], level)
        rich.inner = enriched_inner(run, <dict>record[1], level)
        rich.lifted = run.lifted
        return rich

    cdef Run lift(self, Run run, list operands):
        """Run the program again on batches that hold nodes of outer tapes."""
        cdef Run lifted = Run()
        cdef Py_ssize_t i, n_inputs = len(self.input_slots)
        cdef dict leaves = {}
        for i in range(n_inputs):
            leaves[self.input_slots[i]] = make_batch(self.level, operands[i])
        for i in range(len(self.leaf_slots)):       # batches too, so that this level handles them first
            leaves[self.leaf_slots[i]] = make_batch(self.level, leave(self.level, operands[n_inputs + i]))
        lifted.tape = run.tape
        lifted.samples = self.level
        lifted.inner = {}
        lifted.primals = reevaluate(run, leaves, lifted.inner)
        lifted.lifted = True
        return lifted

    cdef list results(self, Run run):
        return [leave(self.level, run.primals.get(slot)) for slot in self.value_slots]
