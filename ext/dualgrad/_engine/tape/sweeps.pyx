"""Sweeps over a tape.

Design
------
Three sweeps serve every order:

`sweep`          cotangents of all slots, last instruction first;
`tangent_sweep`  tangents of all slots, first instruction first;
`dual_sweep`     the tangents of the cotangents: the reverse sweep in the dual numbers. It computes only the tangents,
                 because the first sweep kept the cotangents.

`walk` goes over the instructions, and a `Visitor` (`Cotangents`, `Tangents` or `CotangentTangents`) handles each one.
Its `term` is a primitive's contribution to one operand. `term_of` adds the check for numbers that are not finite, so
visitors do not contain it.
"""
cimport cython
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from libc.string cimport memset

from ..arrays.array cimport ARRAY, Array, Value
from ..values.dual cimport vjp_over
from ..values.batch cimport holds_batch, shared_vjp
from ..primitives.elementwise cimport add_into
from ..primitives.execute cimport tracing
from ..primitives.registry cimport FAMILY_RULE, family_of, primitive_of
from ..primitives.opcodes cimport *
from ..values.rules cimport add, jvp, look_at, vjp, vjp_tangent, zeros_like
from .runs cimport (CustomRule, Run, SubTape, differ, elements_of, for_samples, functionals_of, inner_run_of, moves_in,
                    operands_of, params_of, results_in, shared_terms)
from .nodes cimport Environment, closed_values, enter_environment, leave_environment
from .tape cimport TapeEntry, Slots, Tape, resized
from ..values.levels cimport make_dual, new_level, part
from ..primitives.watch cimport Watch, active_watch

cdef extern from "memory/shared.h":
    bint dg_held_at_most(PyObject *x, Py_ssize_t n) noexcept


# ----------------------------------------------------------------------------------------------------- the three sweeps

cdef int sweep(Run run, Slots adjoints, const char *needed, After after) except -1:
    """Cotangents of the `needed` slots, from the cotangents already in `adjoints`.

    KEEP_ALL keeps all cotangents. DROP_SPENT drops cotangents of results after their use. CONSUME also drops primals
    and inner tapes after their last use, for a tape that is swept only once.
    """
    cdef Cotangents visitor = Cotangents.__new__(Cotangents)
    visitor.adjoints = adjoints
    visitor.needed = needed
    visitor.after = after
    return walk(visitor, run, True)


cdef int tangent_sweep(Run run, Slots dots, dict records) except -1:
    """Tangents of all slots, from the tangents of the leaves already in `dots`. `records` receives, for each inner
    transform that moved, the data to sweep it one order higher."""
    cdef Tangents visitor = Tangents.__new__(Tangents)
    visitor.dots = dots
    visitor.records = records
    return walk(visitor, run, False)


cdef int dual_sweep(Run run, Slots dots, Slots adjoint_dots, dict records, const char *needed, After after) except -1:
    """Tangents of the cotangents of the `needed` slots. They follow from the tangents of slots (`dots`), the kept
    cotangents (`run.adjoints`) and the seeds' tangents already in `adjoint_dots`. Unless `after` is KEEP_ALL, tangents
    of results are dropped after their use."""
    cdef CotangentTangents visitor = CotangentTangents.__new__(CotangentTangents)
    visitor.adjoints = run.adjoints
    visitor.dots = dots
    visitor.adjoint_dots = adjoint_dots
    visitor.records = records
    visitor.needed = needed
    visitor.after = after
    return walk(visitor, run, True)


cdef int walk(Visitor visitor, Run run, bint backwards) except -1:
    """Visit the instructions of a tape, forwards or backwards."""
    cdef Tape tape = run.tape
    cdef TapeEntry *entry
    cdef Py_ssize_t i, e, n = tape.n_entries
    cdef Watch watch = begin(tape, "reverse" if backwards else "forward")
    cdef Py_ssize_t depth = 0 if watch is None else len(watch.sweeps)
    cdef object line = None if watch is None else watch.line
    visitor.run = run
    visitor.tape = tape
    visitor.primals = run.primals
    visitor.watch = watch
    try:
        for i in range(n):
            e = n - 1 - i if backwards else i
            entry = &tape.entries[e]
            if watch is not None:
                watch.line = None if entry.op == OP_CUSTOM else tape.lines[e]
            if visitor.reached(entry):
                visitor.visit(e, entry)
                if visitor.after != KEEP_ALL:
                    visitor.spend(e, entry)
    finally:
        PyMem_RawFree(visitor.many)
        if watch is not None:
            end(watch, depth, line)
    return 0


@cython.no_gc
@cython.freelist(8)             # works while all visitors have the same fields
cdef class Visitor:
    """The action of a sweep at an instruction. It lives as long as the sweep, and nothing refers to it."""

    cdef bint reached(self, TapeEntry *entry) except -1:
        """True if there is something to do at an instruction."""
        raise NotImplementedError

    cdef int visit(self, Py_ssize_t e, TapeEntry *entry) except -1:
        """Handle an instruction."""
        raise NotImplementedError

    cdef Value term(self, TapeEntry *entry, int k):
        """The contribution of a primitive to operand k, or, for tangents, to its result. The operands are in `ins`."""
        raise NotImplementedError

    cdef int spend(self, Py_ssize_t e, TapeEntry *entry) except -1:
        """Drop values that no later instruction of the sweep needs."""
        return 0


cdef inline Value term_of(Visitor visitor, TapeEntry *entry, int k):
    """`term`, checked if the sweep is watched."""
    return visitor.term(entry, k) if visitor.watch is None else watched_term(visitor, entry, k)


cdef int pull_each(Visitor visitor, TapeEntry *entry, Slots into) except -1:
    """Add the contribution of a primitive to each needed operand."""
    cdef Py_ssize_t *refs = visitor.tape.refs + entry.first_in
    cdef const char *needed = visitor.needed
    cdef int k
    for k in range(entry.n_in):
        if refs[k] >= 0 and needed[refs[k]]:
            accumulate(into, refs[k], term_of(visitor, entry, k))
    return 0


cdef int spread(Visitor visitor, TapeEntry *entry, Slots into, list terms) except -1:
    """Add the contributions of an instruction to its needed operands."""
    cdef Py_ssize_t k, r
    for k in range(entry.n_in):
        r = visitor.tape.refs[entry.first_in + k]
        if r >= 0 and visitor.needed[r]:
            accumulate(into, r, <Value>terms[k])
    return 0


cdef inline int make_room(Visitor visitor, int n) except -1:
    """Room for the operands of an instruction, and for their tangents."""
    if n > FEW:
        visitor.many = <PyObject **>resized(visitor.many, 2 * n * sizeof(PyObject *))
        visitor.ins = visitor.many
    else:
        visitor.ins = visitor.few
    visitor.in_dots = visitor.ins + n
    return 0


cdef inline int take_operands(Visitor visitor, TapeEntry *entry) except -1:
    """Load the operands of an instruction into `ins`, which has room for them."""
    cdef Py_ssize_t *refs = visitor.tape.refs + entry.first_in
    cdef PyObject **primals = visitor.primals.p
    cdef PyObject **constants = visitor.tape.constants.p
    cdef PyObject **ins = visitor.ins
    cdef int k
    for k in range(entry.n_in):
        ins[k] = primals[refs[k]] if refs[k] >= 0 else constants[-1 - refs[k]]
    return 0


cdef inline bint take_tangents(Visitor visitor, TapeEntry *entry, Slots dots) except -1:
    """Load the tangents of an instruction's operands into `in_dots`. True if there is one."""
    cdef Py_ssize_t *refs = visitor.tape.refs + entry.first_in
    cdef PyObject **in_dots = visitor.in_dots
    cdef int k
    cdef bint moves = False
    for k in range(entry.n_in):
        in_dots[k] = dots.p[refs[k]] if refs[k] >= 0 else NULL
        moves = moves or in_dots[k] is not NULL
    return moves


cdef int accumulate(Slots slots, Py_ssize_t i, Value term) except -1:
    """Add a cotangent to a slot; in place if only this sweep holds the slot's value."""
    cdef Value total
    if term is None:
        return 0
    if slots.p[i] is NULL:
        return slots.put(i, term)
    total = <Value>slots.p[i]
    if total.kind == ARRAY and term.kind == ARRAY:
        # two references: the slot's and ours
        if (dg_held_at_most(<PyObject *>total, 2) and (<Array>total).owner and not tracing()
                and add_into(<Array>total, <Array>term)):
            return 0
    return slots.put(i, add(total, term))


cdef char *reach(Tape tape, list slots) except NULL:
    """Marks of the slots that depend on the given slots. The caller frees them."""
    cdef Py_ssize_t e, k, r
    cdef TapeEntry *entry
    cdef char *mark = <char *>PyMem_RawMalloc(tape.values.n + 1)
    if mark is NULL:
        raise MemoryError()
    memset(mark, 0, tape.values.n + 1)
    for r in slots:
        mark[r] = 1
    for e in range(tape.n_entries):
        entry = &tape.entries[e]
        for k in range(entry.n_in):
            r = tape.refs[entry.first_in + k]
            if r >= 0 and mark[r]:
                memset(mark + entry.slot, 1, entry.n_out)
                break
    return mark


# ----------------------------------------------------------------------------------------------------------- cotangents

@cython.final
@cython.no_gc
cdef class Cotangents(Visitor):
    """The reverse sweep."""

    cdef bint reached(self, TapeEntry *entry) except -1:
        cdef Py_ssize_t k
        for k in range(entry.slot, entry.slot + entry.n_out):
            if self.adjoints.p[k] is not NULL:
                return True
        return False

    cdef int visit(self, Py_ssize_t e, TapeEntry *entry) except -1:
        if entry.op >= OP_SUBTAPE and gives_all(entry.op):
            return self.pull_all(e, entry)
        make_room(self, entry.n_in)
        take_operands(self, entry)
        return pull_each(self, entry, self.adjoints)

    cdef Value term(self, TapeEntry *entry, int k):
        """The cotangent of operand k, over the run's algebra if it has one. For an operand that all samples share, it
        is summed over the samples."""
        cdef Run run = self.run
        cdef Value out = <Value>self.primals.p[entry.slot]
        cdef Value ct = <Value>self.adjoints.p[entry.slot]
        cdef object params = params_of(entry)
        if run.level is not None:
            return vjp_over(run.level, run.algebra, entry.op, params, self.ins, entry.n_in, out, k, ct)
        if run.samples is not None and not holds_batch(<Value>self.ins[k], run.samples):
            return shared_vjp(entry.op, params, self.ins, entry.n_in, out, k, ct, run.samples)
        return vjp(entry.op, params, self.ins, entry.n_in, out, k, ct)

    cdef int pull_all(self, Py_ssize_t e, TapeEntry *entry) except -1:
        """The cotangents of all operands of an instruction that returns them at once."""
        cdef Run run = self.run
        cdef bint moving = moves_in(run, entry), batched = False
        cdef list cts = results_in(entry, self.adjoints)
        cdef list terms
        if run.samples is not None:
            batched = differ(run, entry, cts)
            if batched:
                cts = for_samples(run, entry, cts)
        if moving:
            cts = elements_of(run, entry, cts)
        if entry.op == OP_SUBTAPE:
            sub = <SubTape>entry.params
            terms = (<SubTape>sub).pull(inner_run_of(run, e, <SubTape>sub), cts)
        elif entry.op == OP_CUSTOM:
            terms = self.by_custom_rule(entry, cts)
        else:
            terms = self.by_rule(entry, <Value>cts[0])
        if run.samples is not None:
            terms = shared_terms(run, entry, batched, terms)
        return spread(self, entry, self.adjoints, functionals_of(run, entry, terms) if moving else terms)

    cdef list by_custom_rule(self, TapeEntry *entry, list cts):
        """Call a user's rule, which may have kept nodes of this tape."""
        cdef Environment environment = enter_environment(closed_values(self.tape, self.primals, None))
        try:
            return (<CustomRule>entry.params).pull(operands_of(self.tape, entry, self.primals),
                                                   results_in(entry, self.primals), cts)
        finally:
            leave_environment(environment)

    cdef list by_rule(self, TapeEntry *entry, Value ct):
        """Call the rule of a primitive that was added at run time, a function of all operands."""
        cdef Py_ssize_t k, r
        cdef int n = entry.n_in
        cdef bytearray wanted = bytearray(n)
        cdef Watch watch = self.watch
        make_room(self, n)
        take_operands(self, entry)
        for k in range(n):
            r = self.tape.refs[entry.first_in + k]
            wanted[k] = r >= 0 and self.needed[r] != 0
        if watch is not None:
            watch.quiet += 1
        try:
            terms = primitive_of(entry.op).pull(params_of(entry), self.ins, n, <Value>self.primals.p[entry.slot], ct,
                                                wanted)
        finally:
            if watch is not None:
                watch.quiet -= 1
        if watch is not None:
            for term in terms:
                look_at(watch, entry.op, watch.order(), <Value>term, self.ins, n)
        return terms

    cdef int spend(self, Py_ssize_t e, TapeEntry *entry) except -1:
        cdef Py_ssize_t k
        cdef PyObject *spent
        for k in range(entry.slot, entry.slot + entry.n_out):
            self.adjoints.drop(k)
            if self.after == CONSUME:
                self.primals.drop(k)
        if self.after == CONSUME and entry.op == OP_SUBTAPE:
            spent = entry.params
            entry.params = NULL             # cleared first: the release may start a collection
            Py_XDECREF(spent)
        return 0


cdef bint gives_all(int op) noexcept:
    """True if an instruction returns the cotangents of all operands at once."""
    return op == OP_SUBTAPE or op == OP_CUSTOM or (op >= N_OPS and family_of(op) == FAMILY_RULE)


# ------------------------------------------------------------------------------------------------------------- tangents

@cython.final
@cython.no_gc
cdef class Tangents(Visitor):
    """The forward sweep."""

    cdef bint reached(self, TapeEntry *entry) except -1:
        make_room(self, entry.n_in)
        return take_tangents(self, entry, self.dots)

    cdef int visit(self, Py_ssize_t e, TapeEntry *entry) except -1:
        if entry.op == OP_SUBTAPE:
            return self.push_all(e, entry)
        if entry.op == OP_CUSTOM:
            raise RuntimeError("a tape with a custom rule reached a tangent sweep")
        take_operands(self, entry)
        return self.dots.put(entry.slot, term_of(self, entry, 0))

    cdef Value term(self, TapeEntry *entry, int k):
        return jvp(entry.op, params_of(entry), self.ins, entry.n_in, <Value>self.primals.p[entry.slot], self.in_dots)

    cdef int push_all(self, Py_ssize_t e, TapeEntry *entry) except -1:
        """The tangents of all results of an inner transform."""
        cdef Py_ssize_t k
        cdef list record = []
        cdef list tangents = [None if self.in_dots[k] is NULL else <Value>self.in_dots[k] for k in range(entry.n_in)]
        sub = <SubTape>entry.params
        tangents = (<SubTape>sub).push(inner_run_of(self.run, e, <SubTape>sub), tangents, record)
        self.records[e] = record
        for k in range(entry.n_out):
            self.dots.put(entry.slot + k, <Value>tangents[k])
        return 0


# ----------------------------------------------------------------------------------------------- tangents of cotangents

@cython.final
@cython.no_gc
cdef class CotangentTangents(Visitor):
    """The reverse sweep in the dual numbers; it computes only the tangents."""

    cdef bint reached(self, TapeEntry *entry) except -1:
        cdef bint moves
        if entry.op == OP_SUBTAPE:
            return True
        moves = self.adjoint_dots.p[entry.slot] is not NULL
        if not moves and self.adjoints.p[entry.slot] is NULL:
            return False
        make_room(self, entry.n_in)
        return take_tangents(self, entry, self.dots) or moves

    cdef int visit(self, Py_ssize_t e, TapeEntry *entry) except -1:
        if self.level is None and entry.op != OP_MUL and entry.op != OP_ADD:
            self.level = new_level("a gradient inside a gradient")
            self.level.watched = False      # not a transform of the user's
        if entry.op == OP_SUBTAPE:
            terms = self.pull_all(e, entry)
            return 0 if terms is None else spread(self, entry, self.adjoint_dots, <list>terms)
        take_operands(self, entry)
        return pull_each(self, entry, self.adjoint_dots)

    cdef Value term(self, TapeEntry *entry, int k):
        return vjp_tangent(entry.op, params_of(entry), self.ins, entry.n_in, <Value>self.primals.p[entry.slot], k,
                           self.adjoints.get(entry.slot), self.adjoint_dots.get(entry.slot), self.in_dots,
                           self.dots.get(entry.slot), self.level)

    cdef list pull_all(self, Py_ssize_t e, TapeEntry *entry):
        """The tangent of an inner transform's pull: the tangent part of its pull in the dual numbers."""
        cdef SubTape sub = <SubTape>entry.params
        cdef Run inner = inner_run_of(self.run, e, sub)
        cdef list cts = results_in(entry, self.adjoints), ct_dots = results_in(entry, self.adjoint_dots), terms
        cdef list record = self.records.get(e)
        cdef bint any_dot = any_of(ct_dots)
        cdef Py_ssize_t k
        if record is None:              # the transform did not move: its pull is linear in the cotangents
            return sub.pull(inner, ct_dots) if any_dot else None
        if not any_dot and not any_of(cts):
            return None
        for k in range(entry.n_out):
            if cts[k] is None and ct_dots[k] is not None:
                cts[k] = zeros_like(<Value>ct_dots[k])
            if cts[k] is not None:
                cts[k] = make_dual(self.level, <Value>cts[k], <Value>ct_dots[k])
        terms = sub.pull(sub.enrich(inner, record, self.level), cts)
        return [part(<Value>term, self.level, 1) for term in terms]

    cdef int spend(self, Py_ssize_t e, TapeEntry *entry) except -1:
        cdef Py_ssize_t k
        if entry.op == OP_SUBTAPE:
            self.records.pop(e, None)
        for k in range(entry.slot, entry.slot + entry.n_out):
            self.dots.drop(k)
            self.adjoint_dots.drop(k)
        return 0


cdef bint any_of(list values):
    """True if a list holds anything but None."""
    for v in values:
        if v is not None:
            return True
    return False


# ------------------------------------------------------------------------------------------------------------ the watch

cdef Watch begin(Tape tape, str name):
    """The watch over a sweep that begins, or None. A tape is watched if it was made under a watch."""
    cdef Watch watch = active_watch() if tape.lines is not None else None
    if watch is not None:
        watch.sweeps.append("" if watch.joins else name)
        watch.joins = False
    return watch


cdef int end(Watch watch, Py_ssize_t depth, object line) except -1:
    """End the watch of a sweep; the surrounding sweep continues at its line."""
    del watch.sweeps[depth - 1:]
    watch.line = line
    return 0


cdef Value watched_term(Visitor visitor, TapeEntry *entry, int k):
    """`term` with a check of its result. Values that the rule computes on the way are not checked."""
    cdef Watch watch = visitor.watch
    cdef Value term
    watch.quiet += 1
    try:
        term = visitor.term(entry, k)
    finally:
        watch.quiet -= 1
    look_at(watch, entry.op, watch.order(), term, visitor.ins, entry.n_in)
    return term
