"""Runs: a tape with values for its slots, and instructions that have a tape or a rule of their own.

Design
------
A gradient inside a gradient is one instruction of the outer tape, a `SubTape`. Its rules are sweeps over the inner tape
(nested.pyx). A tape with such instructions is swept the same way. So a `Run` is a tape together with primals and
cotangents for its slots. They come from the execution, or are richer (duals of a further level) for orders above two.

A user's rule (`bprop`) may not be the transpose of a derivative, so a tape with such a rule is not exact. If an outer
derivative needs the tape, `lift_tape` copies its instructions to the outer tape and computes nothing again. The
ordinary sweep then runs on these values and is taped.
"""
from ..arrays.array cimport DG_DEBUG, Value, count
from ..primitives.opcodes cimport OP_CUSTOM, OP_SUBTAPE
from ..values.batch cimport at_first, holds_batch, of_first, over_samples
from ..values.dual cimport cotangent, moves_at, seeded
from ..values.levels cimport Level, bind_list
from .nodes cimport target_of
from .tape cimport TapeEntry, Slots, Tape, new_slots


cdef class Run:
    """A tape with primals and cotangents for its slots: from the execution, or richer ones."""

    def __cinit__(self):
        if DG_DEBUG:
            count("Run", 1)

    def __dealloc__(self):
        if DG_DEBUG:
            count("Run", -1)


cdef class SubTape:
    """A transform run inside another, as one instruction of the outer tape. See nested.pyx."""

    cdef list pull(self, Run run, list cts):
        """Cotangents of the operands, from cotangents of the results."""
        raise NotImplementedError

    cdef list push(self, Run run, list tangents, list record):
        """Tangents of the results, from tangents of the operands. Appends to `record` the data that `enrich` needs."""
        raise NotImplementedError

    cdef Run enrich(self, Run run, list record, Level level):
        """The run whose values are duals of a level, with the tangents that `push` found."""
        raise NotImplementedError

    cdef Run lift(self, Run run, list operands):
        """The run on values of outer tapes."""
        raise NotImplementedError

    cdef Run again(self, Run run, list operands):
        """The run on other operands, computed again."""
        return self.lift(run, operands)

    cdef list results(self, Run run):
        """The results of a run."""
        raise NotImplementedError


cdef class CustomRule:
    """A function with a reverse rule of its own, as an instruction."""

    cdef list pull(self, list ins, list outs, list cts):
        raise NotImplementedError


cdef CustomRule reverse_only_rule(Tape tape):
    """A rule that cannot be transposed, on a tape or on a tape inside it; None without one."""
    cdef list waiting = [tape]
    cdef Tape at
    cdef object params
    cdef Py_ssize_t e
    while waiting:
        at = <Tape>waiting.pop()
        for e in range(at.n_entries):
            params = params_of(&at.entries[e])
            if isinstance(params, CustomRule) and (<CustomRule>params).reverse_only:
                return <CustomRule>params
            if isinstance(params, SubTape) and (<SubTape>params).run is not None:
                waiting.append((<SubTape>params).run.tape)
    return None


cdef int raise_reverse_only(str name, str rule) except -1:
    """Raise for a forward derivative that meets a rule for gradients."""
    raise NotImplementedError(f"{rule}: works on gradients, and {name} takes a derivative in forward mode, where none "
                              f"passes; take it in reverse mode (grad, vjp, jacrev), or remove the hook")


cdef int raise_differentiated_twice(str name) except -1:
    """Raise for a user's rule inside a transform that the second derivative runs again."""
    raise NotImplementedError(f"{name}: a Cell with its own bprop was called inside {name}, in a function that is "
                              f"differentiated twice, and its rule cannot be differentiated there; call the Cell "
                              f"outside of {name}, or use a gradient in its place")


# ------------------------------------------------------------------------------------------------ operands and results

cdef list operands_of(Tape tape, TapeEntry *entry, Slots primals):
    cdef Py_ssize_t k
    return [tape.operand(primals, tape.refs[entry.first_in + k]) for k in range(entry.n_in)]


cdef list results_in(TapeEntry *entry, Slots slots):
    cdef Py_ssize_t k
    return [slots.get(entry.slot + k) for k in range(entry.n_out)]


cdef Run inner_run_of(Run run, Py_ssize_t e, SubTape sub):
    """This run's own run of the transform at an instruction."""
    if run.inner is not None:
        found = run.inner.get(e)
        if found is not None:
            return <Run>found
    return sub.run


# ------------------------------------------------ instructions that return the cotangents of all their operands at once

cdef bint differ(Run run, TapeEntry *entry, list cts):
    """True if an instruction of a vmap has a result that differs between samples and has a cotangent."""
    cdef Py_ssize_t k
    for k in range(entry.n_out):
        if cts[k] is not None and holds_batch(<Value>run.primals.p[entry.slot + k], run.samples):
            return True
    return False


cdef list for_samples(Run run, TapeEntry *entry, list cts):
    """Cotangents of the results of a vmap instruction. A cotangent summed over the samples goes to one sample."""
    cdef Py_ssize_t k
    return [cts[k] if holds_batch(<Value>run.primals.p[entry.slot + k], run.samples)
            else at_first(<Value>cts[k], run.samples) for k in range(entry.n_out)]


cdef list shared_terms(Run run, TapeEntry *entry, bint batched, list terms):
    """The cotangents that a vmap instruction returned, summed over the samples for shared operands. If no result
    depends on the sample, they are summed already."""
    cdef Py_ssize_t k, r
    cdef Value v
    terms = list(terms)
    for k in range(entry.n_in):
        r = run.tape.refs[entry.first_in + k]
        if r >= 0 and not holds_batch(<Value>run.primals.p[r], run.samples):
            v = <Value>terms[k]
            terms[k] = over_samples(v, run.samples) if batched else of_first(v, run.samples)
    return terms


cdef bint moves_in(Run run, TapeEntry *entry):
    """True if an operand or a result of an instruction moves in the algebra of a run."""
    cdef Py_ssize_t k, r
    if run.level is None:
        return False
    for k in range(entry.n_in):
        r = run.tape.refs[entry.first_in + k]
        if r >= 0 and moves_at(<Value>run.primals.p[r], run.level):
            return True
    return False


cdef list elements_of(Run run, TapeEntry *entry, list cts):
    """The cotangents of an instruction's results as elements, for a rule that returns all cotangents at once."""
    cdef Py_ssize_t k
    return [seeded(run.level, run.algebra, [ct]) if ct is not None
            and not moves_at(<Value>run.primals.p[entry.slot + k], run.level) else ct for k, ct in enumerate(cts)]


cdef list functionals_of(Run run, TapeEntry *entry, list terms):
    """The cotangents that an instruction returned, reduced to their functional for operands that do not move."""
    cdef Py_ssize_t k, r
    for k in range(entry.n_in):
        r = run.tape.refs[entry.first_in + k]
        if r >= 0 and terms[k] is not None and not moves_at(<Value>run.primals.p[r], run.level):
            terms[k] = cotangent(run.level, run.algebra, <Value>terms[k], 0)
    return terms


# ------------------------------------------------------------------------------------------- other values, same program

cdef Slots lift_tape(Run run, dict leaf_values, dict inner):
    """The slots of a tape as values of outer tapes. Copies the instructions to these tapes and keeps their results.

    `leaf_values` maps leaf slots to outer values. `inner` receives lifted runs of inner transforms, unless it is None.
    """
    cdef Tape tape = run.tape
    cdef Tape target
    cdef Slots lifted = new_slots(tape.values.n)
    cdef TapeEntry *entry
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
        if entry.op == OP_SUBTAPE and inner is not None:
            sub = <SubTape>entry.params
            inner[e] = (<SubTape>sub).lift(inner_run_of(run, e, <SubTape>sub), operands)
    return lifted


cdef Slots reevaluate(Run run, dict leaf_values, dict inner):
    """Run a tape's program again on other leaves; return the slots. `inner` receives runs of inner transforms."""
    cdef Tape tape = run.tape
    cdef Slots values = new_slots(tape.values.n)
    cdef TapeEntry *entry
    cdef Py_ssize_t e
    for slot in tape.leaf_slots:
        values.put(slot, leaf_values.get(slot, run.primals.get(slot)))
    for e in range(tape.n_entries):
        entry = &tape.entries[e]
        if entry.op == OP_CUSTOM:
            raise_differentiated_twice(tape.name)
        if entry.op == OP_SUBTAPE:
            sub = <SubTape>entry.params
            inner[e] = (<SubTape>sub).again(inner_run_of(run, e, <SubTape>sub), operands_of(tape, entry, values))
            for k, v in enumerate((<SubTape>sub).results(<Run>inner[e])):
                values.put(entry.slot + k, v)
            continue
        values.put(entry.slot, bind_list(entry.op, params_of(entry), operands_of(tape, entry, values)))
    return values
