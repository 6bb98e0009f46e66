"""Sweeps over a tape, and the tape as seen by transforms of higher order.

Design
------
Three sweeps serve every order:

`sweep`          cotangents of all slots, last instruction first;
`tangent_sweep`  tangents of all slots, first instruction first;
`dual_sweep`     the tangents of the cotangents: the reverse sweep in the dual numbers, of which only the new part is
                 computed because the other is kept from the first sweep.

A gradient inside a gradient stands on the outer tape as one instruction, a `SubTape`; its rules are the last two
sweeps over the inner tape (composite.pyx). A tape that holds such instructions is swept the same way. For that a
`Run` is a tape together with primals and cotangents for its slots: those of the execution, or richer ones (duals of a
further level) for orders above two.

A rule of the user's (`bprop`) need not be the transpose of a derivative, so a tape that holds one is not exact: if an
outer derivative needs it, `lift_tape` copies its instructions to the outer tape (nothing is computed again) and the
ordinary sweep is run, and taped, on those values.
"""
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from libc.string cimport memset

from ..arrays.array cimport ARRAY, DG_DEBUG, DUAL, Array, Value, count
from ..values.dual cimport cotangent, moves_at, seeded, vjp_over
from ..values.batch cimport at_first, holds_batch, of_first, over_samples, shared_vjp
from ..primitives.elementwise cimport add_into
from ..primitives.execute cimport tracing
from ..primitives.registry cimport FAMILY_RULE, family_of, op_name, primitive_of
from ..primitives.opcodes cimport *
from ..values.rules cimport add, jvp, look_at, vjp, vjp_tangent, watched_jvp, zeros_like
from .tape cimport Entry, Slots, Tape, new_slots, resized, target_of
from ..values.levels cimport Dual, Level, bind_list, make_dual, new_level, part
from ..primitives.watch cimport Watch, active_watch

cdef extern from *:
    """
    #define DG_REFCNT(v) Py_REFCNT((PyObject *)(v))
    """
    Py_ssize_t DG_REFCNT(object v)


# --------------------------------------------------------------------------------------------------------- sweeps

cdef class Run:
    """A tape with primals and cotangents for its slots: those of the execution, or richer ones."""

    def __cinit__(self):
        if DG_DEBUG:
            count("Run", 1)

    def __dealloc__(self):
        if DG_DEBUG:
            count("Run", -1)


cdef class SubTape:
    """A transform run inside another, as one instruction of the outer tape. See composite.pyx."""

    cdef list pull(self, Run run, list cts):
        """Cotangents of the operands, from those of the results."""
        raise NotImplementedError

    cdef list push(self, Run run, list tangents, list record):
        """Tangents of the results, from those of the operands; what `enrich` needs is appended to `record`."""
        raise NotImplementedError

    cdef Run enrich(self, Run run, list record, Level level):
        """The run whose values are duals of a level, with the tangents that `push` found."""
        raise NotImplementedError

    cdef Run lift(self, Run run, list operands):
        """The run on values of outer tapes."""
        raise NotImplementedError

    cdef Run again(self, Run run, list operands):
        """The run on other operands, everything computed again."""
        return self.lift(run, operands)

    cdef list results(self, Run run):
        """The results of a run."""
        raise NotImplementedError


cdef class CustomRule:
    """A function with a reverse rule of its own, as an instruction."""

    cdef list pull(self, list ins, list outs, list cts):
        raise NotImplementedError


cdef int accumulate(Slots slots, Py_ssize_t i, Value term) except -1:
    """Add a cotangent to what a slot holds; in place where this sweep alone holds it."""
    cdef Value total
    if term is None:
        return 0
    if slots.p[i] is NULL:
        return slots.put(i, term)
    total = <Value>slots.p[i]
    if total.kind == ARRAY and term.kind == ARRAY:
        # two references: the slot's and ours
        if DG_REFCNT(total) == 2 and (<Array>total).owner and not tracing() and add_into(<Array>total, <Array>term):
            return 0
    return slots.put(i, add(total, term))


cdef char *reach(Tape tape, list slots) except NULL:
    """Marks of the slots that depend on the given ones; freed by the caller."""
    cdef Py_ssize_t e, k, r
    cdef Entry *entry
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


cdef PyObject **room(PyObject **block, Py_ssize_t n) except NULL:
    """Room for so many operands: a block, made anew or resized; the caller frees it."""
    return <PyObject **>resized(block, n * sizeof(PyObject *))


cdef object params_of(Entry *entry):
    return None if entry.params is NULL else <object>entry.params


cdef list operands_of(Tape tape, Entry *entry, Slots primals):
    cdef Py_ssize_t k
    return [tape.operand(primals, tape.refs[entry.first_in + k]) for k in range(entry.n_in)]


cdef list results_in(Entry *entry, Slots slots):
    cdef Py_ssize_t k
    return [slots.get(entry.slot + k) for k in range(entry.n_out)]


cdef Run inner_run_of(Run run, Py_ssize_t e, SubTape sub):
    """The run of the transform at an instruction that belongs to this run."""
    if run.inner is not None:
        found = run.inner.get(e)
        if found is not None:
            return <Run>found
    return sub.run


cdef int spread(Tape tape, Entry *entry, Slots adjoints, const char *needed, list terms) except -1:
    """Accumulate the cotangents an instruction returned for its operands."""
    cdef Py_ssize_t k, r
    for k in range(entry.n_in):
        r = tape.refs[entry.first_in + k]
        if r >= 0 and needed[r]:
            accumulate(adjoints, r, <Value>terms[k])
    return 0


cdef bint differ(Run run, Entry *entry, list cts):
    """Whether a result of an instruction of a vmap that has a cotangent differs from sample to sample."""
    cdef Py_ssize_t k
    for k in range(entry.n_out):
        if cts[k] is not None and holds_batch(<Value>run.primals.p[entry.slot + k], run.samples):
            return True
    return False


cdef list for_samples(Run run, Entry *entry, list cts):
    """Cotangents of the results of an instruction of a vmap, those that have been added up given to one sample."""
    cdef Py_ssize_t k
    return [cts[k] if holds_batch(<Value>run.primals.p[entry.slot + k], run.samples)
            else at_first(<Value>cts[k], run.samples) for k in range(entry.n_out)]


cdef list shared_terms(Run run, Entry *entry, bint batched, list terms):
    """Cotangents an instruction of a vmap returned, those of what all samples share added up over them. If no result
    depends on the sample, that has been done."""
    cdef Py_ssize_t k, r
    cdef Value v
    terms = list(terms)
    for k in range(entry.n_in):
        r = run.tape.refs[entry.first_in + k]
        if r >= 0 and not holds_batch(<Value>run.primals.p[r], run.samples):
            v = <Value>terms[k]
            terms[k] = over_samples(v, run.samples) if batched else of_first(v, run.samples)
    return terms


cdef bint moves_in(Run run, Entry *entry):
    """Whether an operand or a result of an instruction moves in the algebra of a run."""
    cdef Py_ssize_t k, r
    if run.level is None:
        return False
    for k in range(entry.n_in):
        r = run.tape.refs[entry.first_in + k]
        if r >= 0 and moves_at(<Value>run.primals.p[r], run.level):
            return True
    return False


cdef list elements_of(Run run, Entry *entry, list cts):
    """Cotangents of the results of an instruction that gives those of all its operands together, as elements."""
    cdef Py_ssize_t k
    return [seeded(run.level, run.algebra, [ct]) if ct is not None
            and not moves_at(<Value>run.primals.p[entry.slot + k], run.level) else ct for k, ct in enumerate(cts)]


cdef list functionals_of(Run run, Entry *entry, list terms):
    """The cotangents it returned: of what does not move, only their functional."""
    cdef Py_ssize_t k, r
    for k in range(entry.n_in):
        r = run.tape.refs[entry.first_in + k]
        if r >= 0 and terms[k] is not None and not moves_at(<Value>run.primals.p[r], run.level):
            terms[k] = cotangent(run.level, run.algebra, <Value>terms[k], 0)
    return terms


cdef list pulled_by_rule(Tape tape, Entry *entry, Slots primals, const char *needed, Value ct, Watch watch):
    """Cotangents of all operands at once, where a function gives them together."""
    cdef Py_ssize_t k, r
    cdef int n = entry.n_in
    cdef bytearray wanted = bytearray(n)
    cdef bytearray room = bytearray(n * sizeof(PyObject *))
    cdef PyObject **ins = <PyObject **><char *>room
    for k in range(n):
        r = tape.refs[entry.first_in + k]
        wanted[k] = r >= 0 and needed[r] != 0
        ins[k] = primals.p[r] if r >= 0 else tape.constants.p[-1 - r]
    if watch is None:
        return primitive_of(entry.op).pull(params_of(entry), ins, n, <Value>primals.p[entry.slot], ct, wanted)
    watch.quiet += 1
    try:
        terms = primitive_of(entry.op).pull(params_of(entry), ins, n, <Value>primals.p[entry.slot], ct, wanted)
    finally:
        watch.quiet -= 1
    for term in terms:
        look_at(watch, entry.op, watch.order(), <Value>term, ins, n)
    return terms


cdef int sweep(Run run, Slots adjoints, const char *needed, After after) except -1:
    """Cotangents of the slots that are `needed`, from those already in `adjoints`.

    What is left after: KEEP_ALL keeps all cotangents; DROP_SPENT drops those of results once they are spent; and
    CONSUME also the primals and inner tapes of instructions that are done with, for a tape that is swept only once.
    """
    cdef Tape tape = run.tape
    cdef Slots primals = run.primals
    cdef Entry *entry
    cdef Py_ssize_t e, k, r
    cdef int n
    cdef PyObject *few[8]
    cdef PyObject **ins = few
    cdef PyObject **many = NULL
    cdef PyObject *spent
    cdef Value ct, out
    cdef object params
    cdef list cts, terms
    cdef bint moving, batched = False
    cdef Watch watch = begin(tape, "reverse")
    cdef Py_ssize_t depth = 0 if watch is None else len(watch.sweeps)
    cdef object line = None if watch is None else watch.line
    try:
        for e in range(tape.n_entries - 1, -1, -1):
            entry = &tape.entries[e]
            n = entry.n_in
            if watch is not None:
                watch.line = None if entry.op == OP_CUSTOM else tape.lines[e]
            if entry.n_out == 1:
                if adjoints.p[entry.slot] is NULL:
                    continue
            else:
                for k in range(entry.n_out):
                    if adjoints.p[entry.slot + k] is not NULL:
                        break
                else:
                    continue
            if (entry.op == OP_SUBTAPE or entry.op == OP_CUSTOM
                    or (entry.op >= N_OPS and family_of(entry.op) == FAMILY_RULE)):
                moving = moves_in(run, entry)
                cts = results_in(entry, adjoints)
                if run.samples is not None:
                    batched = differ(run, entry, cts)
                    if batched:
                        cts = for_samples(run, entry, cts)
                if moving:
                    cts = elements_of(run, entry, cts)
                if entry.op == OP_SUBTAPE:
                    sub = <SubTape>entry.params
                    inner = inner_run_of(run, e, <SubTape>sub)
                    terms = (<SubTape>sub).pull(<Run>inner, cts)
                elif entry.op == OP_CUSTOM:
                    terms = (<CustomRule>entry.params).pull(operands_of(tape, entry, primals),
                                                            results_in(entry, primals), cts)
                else:
                    terms = pulled_by_rule(tape, entry, primals, needed, <Value>cts[0], watch)
                if run.samples is not None:
                    terms = shared_terms(run, entry, batched, terms)
                spread(tape, entry, adjoints, needed, functionals_of(run, entry, terms) if moving else terms)
            else:
                ct = <Value>adjoints.p[entry.slot]
                out = <Value>primals.p[entry.slot]
                params = params_of(entry)
                if n > 8:
                    many = room(many, n)
                    ins = many
                else:
                    ins = few
                for k in range(n):
                    r = tape.refs[entry.first_in + k]
                    ins[k] = primals.p[r] if r >= 0 else tape.constants.p[-1 - r]
                for k in range(n):
                    r = tape.refs[entry.first_in + k]
                    if r >= 0 and needed[r]:
                        accumulate(adjoints, r, vjp_in(run, entry.op, params, ins, n, out, k, ct) if watch is None
                                   else watched_vjp(watch, run, entry.op, params, ins, n, out, k, ct))
                ct = None
            if after != KEEP_ALL:
                out = None
                for k in range(entry.n_out):
                    adjoints.drop(entry.slot + k)
                    if after == CONSUME:
                        primals.drop(entry.slot + k)
                if after == CONSUME and entry.op == OP_SUBTAPE:
                    sub = inner = None
                    spent = entry.params
                    entry.params = NULL         # first: what it holds may be collected right now
                    Py_XDECREF(spent)
    finally:
        PyMem_RawFree(many)
        if watch is not None:
            end(watch, depth, line)
    return 0


cdef Watch begin(Tape tape, str name):
    """The watch over a sweep that begins, or None. A tape is watched if it was made under a watch."""
    cdef Watch watch = active_watch() if tape.lines is not None else None
    if watch is not None:
        watch.sweeps.append("" if watch.joins else name)
        watch.joins = False
    return watch


cdef int end(Watch watch, Py_ssize_t depth, object line) except -1:
    """A sweep is over; the one around it goes on at its line."""
    del watch.sweeps[depth - 1:]
    watch.line = line
    return 0


cdef inline Value vjp_in(Run run, int op, object params, PyObject **ins, int n, Value out, int i, Value ct):
    """`vjp`, on elements of an algebra where the run is over one; added up over samples for what these share."""
    if run.level is not None:
        return vjp_over(run.level, run.algebra, op, params, ins, n, out, i, ct)
    if run.samples is not None and not holds_batch(<Value>ins[i], run.samples):
        return shared_vjp(op, params, ins, n, out, i, ct, run.samples)
    return vjp(op, params, ins, n, out, i, ct)


cdef Value watched_vjp(Watch watch, Run run, int op, object params, PyObject **ins, int n, Value out, int i, Value ct):
    """`vjp_in`, its result looked at."""
    cdef Value term
    watch.quiet += 1
    try:
        term = vjp_in(run, op, params, ins, n, out, i, ct)
    finally:
        watch.quiet -= 1
    look_at(watch, op, watch.order(), term, ins, n)
    return term


cdef Value watched_tangent(Watch watch, int op, object params, PyObject **ins, int n, Value out, int i, Value ct,
                           Value ct_dot, PyObject **in_dots, Value out_dot, Level level):
    """`vjp_tangent`, its result looked at."""
    cdef Value term
    watch.quiet += 1
    try:
        term = vjp_tangent(op, params, ins, n, out, i, ct, ct_dot, in_dots, out_dot, level)
    finally:
        watch.quiet -= 1
    look_at(watch, op, watch.order(), term, ins, n)
    return term


cdef int tangent_sweep(Run run, Slots dots, dict records) except -1:
    """Tangents of all slots, from those of the leaves already in `dots`. `records` receives, for each inner
    transform that moved, what is needed to sweep it again one order higher."""
    cdef Tape tape = run.tape
    cdef Slots primals = run.primals
    cdef Entry *entry
    cdef Py_ssize_t e, k, r
    cdef int n
    cdef PyObject *few[8]
    cdef PyObject *few_dots[8]
    cdef PyObject **ins
    cdef PyObject **in_dots
    cdef PyObject **many = NULL
    cdef bint moves
    cdef Value dot
    cdef list results, record
    cdef Watch watch = begin(tape, "forward")
    cdef Py_ssize_t depth = 0 if watch is None else len(watch.sweeps)
    cdef object line = None if watch is None else watch.line
    try:
        for e in range(tape.n_entries):
            entry = &tape.entries[e]
            n = entry.n_in
            if watch is not None:
                watch.line = tape.lines[e]
            ins = few
            in_dots = few_dots
            if n > 8:
                many = room(many, 2 * n)
                ins = many
                in_dots = many + n
            moves = False
            for k in range(n):
                r = tape.refs[entry.first_in + k]
                in_dots[k] = dots.p[r] if r >= 0 else NULL
                moves = moves or in_dots[k] is not NULL
            if not moves:
                continue
            if entry.op == OP_SUBTAPE:
                record = []
                sub = <SubTape>entry.params
                inner = inner_run_of(run, e, <SubTape>sub)
                results = (<SubTape>sub).push(<Run>inner,
                                              [None if in_dots[k] is NULL else <Value>in_dots[k] for k in range(n)],
                                              record)
                records[e] = record
                for k in range(entry.n_out):
                    dots.put(entry.slot + k, <Value>results[k])
                continue
            if entry.op == OP_CUSTOM:
                raise RuntimeError("a tape with a custom rule reached a tangent sweep")
            for k in range(n):
                r = tape.refs[entry.first_in + k]
                ins[k] = primals.p[r] if r >= 0 else tape.constants.p[-1 - r]
            dot = (jvp(entry.op, params_of(entry), ins, n, <Value>primals.p[entry.slot], in_dots) if watch is None
                   else watched_jvp(entry.op, params_of(entry), ins, n, <Value>primals.p[entry.slot], in_dots, 0))
            dots.put(entry.slot, dot)
    finally:
        PyMem_RawFree(many)
        if watch is not None:
            end(watch, depth, line)
    return 0


cdef int dual_sweep(Run run, Slots dots, Slots adjoint_dots, dict records, const char *needed, After after) except -1:
    """Tangents of the cotangents of `needed` slots, from the tangents of slots (`dots`), the kept cotangents
    (`run.adjoints`) and the tangents of the seeds already in `adjoint_dots`. Unless all are to be kept, tangents of
    results are dropped as soon as they are spent."""
    cdef Tape tape = run.tape
    cdef Slots primals = run.primals
    cdef Slots adjoints = run.adjoints
    cdef Level level = None         # of the duals that slopes of partials are found with
    cdef Entry *entry
    cdef Py_ssize_t e, k, r
    cdef int n
    cdef PyObject *few[8]
    cdef PyObject *few_dots[8]
    cdef PyObject **ins
    cdef PyObject **in_dots
    cdef PyObject **many = NULL
    cdef Value ct, ct_dot, out_dot
    cdef bint moves
    cdef list terms
    cdef Watch watch = begin(tape, "reverse")
    cdef Py_ssize_t depth = 0 if watch is None else len(watch.sweeps)
    cdef object line = None if watch is None else watch.line
    try:
        for e in range(tape.n_entries - 1, -1, -1):
            entry = &tape.entries[e]
            n = entry.n_in
            if watch is not None:
                watch.line = tape.lines[e]
            if level is None and entry.op != OP_MUL and entry.op != OP_ADD:
                level = new_level("a gradient inside a gradient")
                level.watched = False       # not a transform of the user's
            if entry.op == OP_SUBTAPE:
                sub = <SubTape>entry.params
                terms = dual_pull(<SubTape>sub, inner_run_of(run, e, <SubTape>sub), entry, adjoints, adjoint_dots,
                                  records.get(e), level)
                if terms is not None:
                    spread(tape, entry, adjoint_dots, needed, terms)
                if after != KEEP_ALL:
                    records.pop(e, None)
                    for k in range(entry.n_out):
                        dots.drop(entry.slot + k)
                        adjoint_dots.drop(entry.slot + k)
                continue
            ct = adjoints.get(entry.slot)
            ct_dot = adjoint_dots.get(entry.slot)
            if ct is None and ct_dot is None:
                continue
            ins = few
            in_dots = few_dots
            if n > 8:
                many = room(many, 2 * n)
                ins = many
                in_dots = many + n
            moves = ct_dot is not None
            for k in range(n):
                r = tape.refs[entry.first_in + k]
                ins[k] = primals.p[r] if r >= 0 else tape.constants.p[-1 - r]
                in_dots[k] = dots.p[r] if r >= 0 else NULL
                moves = moves or in_dots[k] is not NULL
            if not moves:
                continue
            out_dot = dots.get(entry.slot)
            for k in range(n):
                r = tape.refs[entry.first_in + k]
                if r >= 0 and needed[r]:
                    accumulate(adjoint_dots, r, vjp_tangent(entry.op, params_of(entry), ins, n,
                                                            <Value>primals.p[entry.slot], k, ct, ct_dot, in_dots,
                                                            out_dot, level) if watch is None
                               else watched_tangent(watch, entry.op, params_of(entry), ins, n,
                                                    <Value>primals.p[entry.slot], k, ct, ct_dot, in_dots, out_dot,
                                                    level))
            if after != KEEP_ALL:
                ct_dot = out_dot = None
                dots.drop(entry.slot)
                adjoint_dots.drop(entry.slot)
    finally:
        PyMem_RawFree(many)
        if watch is not None:
            end(watch, depth, line)
    return 0


cdef list dual_pull(SubTape sub, Run inner, Entry *entry, Slots adjoints, Slots adjoint_dots, list record, Level level):
    """The tangent of an inner transform's pull: its pull in the dual numbers, of which the new part is read."""
    cdef list cts, terms
    cdef Py_ssize_t k
    cdef bint any_ct = False, any_dot = False
    for k in range(entry.n_out):
        any_ct = any_ct or adjoints.p[entry.slot + k] is not NULL
        any_dot = any_dot or adjoint_dots.p[entry.slot + k] is not NULL
    if record is None:                  # the transform did not move: its pull is linear in the cotangents
        return sub.pull(inner, results_in(entry, adjoint_dots)) if any_dot else None
    if not any_ct and not any_dot:
        return None
    inner = sub.enrich(inner, record, level)
    cts = []
    for k in range(entry.n_out):
        ct = adjoints.get(entry.slot + k)
        dot = adjoint_dots.get(entry.slot + k)
        if ct is None and dot is not None:
            ct = zeros_like(<Value>dot)
        cts.append(None if ct is None else make_dual(level, <Value>ct, <Value>dot))
    terms = sub.pull(inner, cts)
    return [part(<Value>term, level, 1) for term in terms]


# ----------------------------------------------------------------------------------------------------- lifted tapes

cdef Slots lift_tape(Run run, dict leaf_values, dict inner):
    """The slots of a tape as values of outer tapes: its instructions are copied there, their results kept.

    `leaf_values` maps leaf slots to outer values. `inner` receives lifted runs of inner transforms.
    """
    cdef Tape tape = run.tape
    cdef Tape target
    cdef Slots lifted = new_slots(tape.values.n)
    cdef Entry *entry
    cdef Py_ssize_t e, k
    cdef list operands
    cdef Value v
    for k in range(tape.values.n):
        lifted.put(k, <Value>run.primals.p[k])
    for slot, v in leaf_values.items():
        lifted.put(slot, v)
    for e in range(tape.n_entries):
        entry = &tape.entries[e]
        operands = operands_of(tape, entry, lifted)
        results = results_in(entry, run.primals)
        target = target_of(operands, results)
        if target is None:
            continue
        results = target.write(entry.op, params_of(entry), operands, results)
        for k in range(entry.n_out):
            lifted.put(entry.slot + k, <Value>results[k])
        if entry.op == OP_SUBTAPE:
            sub = <SubTape>entry.params
            inner[e] = (<SubTape>sub).lift(inner_run_of(run, e, <SubTape>sub), operands)
    return lifted


cdef Slots replay(Run run, dict leaf_values, dict inner):
    """The slots of a tape when its program is run again on other leaves. `inner` receives the runs of inner transforms.
    """
    cdef Tape tape = run.tape
    cdef Slots values = new_slots(tape.values.n)
    cdef Entry *entry
    cdef Py_ssize_t e
    for slot in tape.leaf_slots:
        values.put(slot, leaf_values.get(slot, run.primals.get(slot)))
    for e in range(tape.n_entries):
        entry = &tape.entries[e]
        if entry.op == OP_CUSTOM:
            raise NotImplementedError(f"{tape.name}: a Cell with its own bprop was called inside {tape.name}, in a "
                                      f"function that is differentiated twice, and its rule cannot be differentiated "
                                      f"there; call the Cell outside of {tape.name}, or use a gradient in its place")
        if entry.op == OP_SUBTAPE:
            sub = <SubTape>entry.params
            inner[e] = (<SubTape>sub).again(inner_run_of(run, e, <SubTape>sub), operands_of(tape, entry, values))
            for k, v in enumerate((<SubTape>sub).results(<Run>inner[e])):
                values.put(entry.slot + k, v)
            continue
        values.put(entry.slot, bind_list(entry.op, params_of(entry), operands_of(tape, entry, values)))
    return values


# -------------------------------------------------------------------------------------------------------- reports

cdef dict report(Tape self):
    """Counts of leaves, instructions (by primitive), and bytes of the arrays kept, inner tapes included."""
    cdef Py_ssize_t i
    cdef dict by_primitive = {}
    cdef set seen = set()
    cdef Py_ssize_t nbytes = 0
    cdef list tapes = [self]
    cdef Tape tape
    cdef Run run
    for i in range(self.n_entries):
        name = op_name(self.entries[i].op)
        by_primitive[name] = by_primitive.get(name, 0) + 1
    while tapes:
        tape = tapes.pop()
        nbytes += bytes_of(tape.values, seen) + bytes_of(tape.constants, seen)
        for i in range(tape.n_entries):
            if tape.entries[i].op == OP_SUBTAPE:
                run = (<SubTape>tape.entries[i].params).run
                tapes.append(run.tape)
                if run.adjoints is not None:
                    nbytes += bytes_of(run.adjoints, seen)
    return {"transform": self.name, "level": self.serial, "leaves": len(self.leaf_slots),
            "instructions": self.n_entries, "by_primitive": by_primitive, "bytes": nbytes}


cdef Py_ssize_t bytes_of(Slots slots, set seen) except -1:
    """Bytes of the distinct arrays in some slots."""
    cdef Py_ssize_t i, total = 0
    cdef Array a
    cdef list stack
    cdef Value v
    for i in range(slots.n):
        if slots.p[i] is NULL:
            continue
        stack = [<Value>slots.p[i]]
        while stack:
            v = stack.pop()
            if v is None:
                continue
            if v.kind == DUAL:
                stack.extend((<Dual>v).parts)
            elif v.kind == ARRAY:
                a = <Array>v
                if <size_t>a.data not in seen:
                    seen.add(<size_t>a.data)
                    total += a.size * a.itemsize if a.data is not <char *>a.inline_data else 0
    return total
