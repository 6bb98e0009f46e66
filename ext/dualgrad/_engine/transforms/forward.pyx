"""Forward calls: the engine's side of `jvp`, and of all transforms that read coefficients of an algebra.

Design
------
Inputs become elements of an algebra at a level (`jvp`: dual numbers). The function runs once, and the coefficients of
its results are read. Under an open reverse level the call gets a tape of its own, whose leaves are those elements. The
call becomes one instruction of the outer tape (nested.pyx), so nodes stay outermost.
"""
from cpython.mem cimport PyMem_RawFree

from ..arrays.array cimport ARRAY, NODE, Array, Value
from ..arrays.shared cimport apart
from ..tape.nested cimport SubForward
from ..values.dual cimport entered, left
from .gradient cimport ALL_INPUTS, NOTHING, gradients, links_of, outer_reverse, paired, release, remember_outer
from .leaves cimport check_result, collect_quietly, match_tangents, replaced, split_aux
from .pytrees cimport in_place, tensors_of
from ..primitives.execute cimport deferring, may_defer
from ..primitives.opcodes cimport *
from ..values.rules cimport zeros_like
from ..tape.report cimport report
from ..tape.runs cimport Run, lift_tape
from ..tape.sweeps cimport DROP_SPENT, accumulate, reach, sweep
from ..tape.nodes cimport without_closed, target_of
from ..tape.tape cimport Node, Slots, Tape, new_slots, new_tape, stripped
from ..tape.tape import observers
from .handles cimport (TRANSFORMED, Moment, TensorBase, back_to, entering, heir, no_hooks, note_operand, noting, now,
                       read, relate, wrap)
from ..values.algebra cimport make
from ..values.levels cimport (DUAL_NUMBERS, Algebra, Level, current_level, make_dual, new_batch_level, new_level, part,
                              pop_level, push_level, settle, shape_of, show_leaving)


cdef Value given(TensorBase x):
    """The value of an argument, in memory that no user writes to."""
    cdef Value v = without_closed(read(x))
    return apart(<Array>v) if v.kind == ARRAY else v


cdef object lift_forward(Tape tape, Level level, TensorBase x, Value d, list inputs, list links):
    """A tensor as a dual number with its tangent."""
    cdef Value v = given(x)
    cdef Node node
    no_hooks(level.name, x)
    if tape is None:
        return heir(x, make_dual(level, v, d))
    node = tape.leaf(make_dual(level, stripped(v), stripped(d)), None)
    inputs.append((node.slot, 0))
    inputs.append((node.slot, 1))
    links.append(v)
    links.append(d)
    return heir(x, node)


cdef object lifted_input(Tape tape, Level level, str name, object x, object t, str where, list inputs, list links):
    """The same nest with dual numbers for its tensors."""
    cdef list tangents = []
    match_tangents(name, x, t, where, tangents)
    return in_place(x, [lift_forward(tape, level, <TensorBase>a, <Value>d, inputs, links)
                        for a, d in zip(tensors_of(x), tangents)])


cdef object forward_part(TensorBase t, Level level, int k):
    """The value (k = 0) or tangent (k = 1) of a tensor."""
    cdef Value v = without_closed(read(t))
    if k == 0:
        return heir(t, part(v, level, 0))
    return heir(t, zeros_like(v) if part(v, level, 1) is None else part(v, level, 1))


cdef object values_of(object out, Level level):
    """An output with only the values of its tensors."""
    cdef list before = tensors_of(out), after = [forward_part(<TensorBase>t, level, 0) for t in before]
    relate(before, after)
    return in_place(out, after)


cdef int note_results(object out) except -1:
    """Note the tensors that a function returns in the surrounding closed call."""
    if noting() is not None:
        for t in tensors_of(out):
            note_operand(t)
    return 0


def run_jvp(str name, fn, tuple primals, tuple tangents, bint has_aux):
    """(output, tangent of the output, aux) of a function along a direction."""
    if may_defer():
        return deferring(run_jvp, (name, fn, primals, tangents, has_aux), {})
    cdef Level level = new_level(name)
    cdef Tape tape = new_tape(name) if outer_reverse(current_level()) else None
    cdef list inputs = [], links = [], outputs = []
    cdef Level opened = level if tape is None else tape
    cdef Moment before
    cdef object out, aux = None
    if noting() is not None:
        entering((TRANSFORMED, name, has_aux))
    if len(primals) != len(tangents):
        raise ValueError(f"{name}: {len(primals)} inputs but {len(tangents)} tangents; expected one tangent for each "
                         "input")
    args = [lifted_input(tape, level, name, primals[i], tangents[i], f" of input {i}", inputs, links)
            for i in range(len(primals))]
    push_level(opened)
    try:
        out = fn(*args)
        settle(opened)
        if has_aux:
            out, aux = split_aux(name, out)
        check_result(name, out)
        note_results(out)
    except ValueError as error:
        show_leaving(error)
        raise
    finally:
        pop_level(opened)
    before = now()
    if tape is not None:
        values = {}
        moved = {}
        collect_quietly(tape, out, outputs)
        if aux is not None:
            collect_quietly(tape, aux, outputs)
        for (slot, k), v in compose_forward(tape, level, DUAL_NUMBERS, inputs, links,
                                            [(slot, k) for slot in outputs for k in (0, 1)]).items():
            (moved if k else values)[slot] = v
        back_to(before)
        return (replaced(tape, out, values),
                in_place(out, [zeroed(tape, <TensorBase>t, moved) for t in tensors_of(out)]),
                None if aux is None else replaced(tape, aux, values))
    return (values_of(out, level), in_place(out, [forward_part(<TensorBase>t, level, 1) for t in tensors_of(out)]),
            None if aux is None else values_of(aux, level))


def run_forward(str name, Algebra algebra, fn, list inputs):
    """fn on elements with given coefficients, and the coefficients of its tensor results.

    For each argument of fn, `inputs` holds a list of tensors: one for each block of the algebra, None for zero. The
    coefficient of a block of several elements has them along a first axis. The results have the same form: a list for
    each tensor that fn returns, or one list if it returns one tensor.
    """
    if may_defer():
        return deferring(run_forward, (name, algebra, fn, inputs), {})
    cdef list stacks = None
    cdef Moment before
    cdef list args = [], operands = [], links = [], outputs = [], found = []
    cdef Level level, opened
    cdef Tape tape
    cdef Node node
    cdef Value v
    cdef int k
    if noting() is not None:
        entering((TRANSFORMED, name, algebra.name))
    if algebra.stacked:                 # their batches are inside the elements: earlier levels
        stacks = []
        for k in range(algebra.dim):
            batch = None
            if algebra.sizes[k] > 1:
                batch = new_batch_level(name)
                batch.size = algebra.sizes[k]
            stacks.append(batch)
        stacks += stacks                # functionals have the same stacks
    level = new_level(name)
    level.stacks = stacks
    tape = new_tape(name) if outer_reverse(current_level()) else None
    opened = level if tape is None else tape
    for i, parts in enumerate(inputs):
        no_hooks(name, <TensorBase>parts[0])
        for t in parts:
            note_operand(t)
        values = checked_coefficients(name, algebra, i, parts)
        if tape is None:
            args.append(heir(parts[0], make(level, algebra, [entered(level, k, <Value>v)
                                                             for k, v in enumerate(values)])))
            continue
        node = tape.leaf(make(level, algebra, [None if v is None else entered(level, k, stripped(<Value>v))
                                               for k, v in enumerate(values)]), None)
        for k, v in enumerate(values):
            if v is not None:
                operands.append((node.slot, k))
                links.append(v)
        args.append(heir(parts[0], node))
    push_level(opened)
    try:
        out = fn(*args)
        settle(opened)
        check_result(name, out)
        note_results(out)
    except ValueError as error:
        show_leaving(error)
        raise
    finally:
        pop_level(opened)
    before = now()
    single = isinstance(out, TensorBase)
    exported = {}
    if tape is not None:
        collect_quietly(tape, out, outputs)
        exported = compose_forward(tape, level, algebra, operands, links,
                                   [(slot, k) for slot in outputs for k in range(algebra.dim)
                                    if k == 0 or part(tape.values.get(slot), level, k) is not None])
    back_to(before)
    for t in tensors_of(out):
        v = read(<TensorBase>t) if tape is not None else without_closed(read(<TensorBase>t))
        if v.kind == NODE and (<Node>v).level is tape:
            coefficients = [exported.get(((<Node>v).slot, k)) for k in range(algebra.dim)]
        else:
            v = without_closed(v)
            coefficients = [left(level, k, part(v, level, k)) for k in range(algebra.dim)]
        found.append([None if c is None else heir(t, <Value>c) for c in coefficients])
    return found[0] if single else found


cdef list checked_coefficients(str name, Algebra algebra, object i, list parts):
    """The coefficients of an input as values."""
    cdef list values = [None if t is None else given(<TensorBase>t) for t in parts]
    cdef tuple shape = shape_of(<Value>values[0])
    if len(parts) != algebra.dim:
        raise ValueError(f"{name}: input {i} has {len(parts)} coefficients; expected one for each of the {algebra.dim} "
                         f"blocks of {algebra!r}, None for zero")
    for k in range(1, algebra.dim):
        expected = shape if algebra.sizes[k] == 1 else (algebra.sizes[k],) + shape
        if values[k] is not None and shape_of(<Value>values[k]) != expected:
            raise ValueError(f"{name}: coefficient {k} of input {i} has shape {shape_of(<Value>values[k])}; expected "
                             f"{expected}")
    return values


cdef Value element_part(Value element, Level level, int k):
    """Coefficient k of a value; zeros where it is missing."""
    cdef Value v = part(element, level, k)
    return zeros_like(element) if v is None else v


cdef dict compose_forward(Tape tape, Level level, Algebra algebra, list inputs, list links, list outputs):
    """A forward call under a reverse level, as one instruction of the outer tape: its results, by (slot, k).

    `inputs` and `outputs` are the (slot, k) of coefficients, `links` the values the inputs stand for.
    """
    cdef SubForward sub = SubForward.__new__(SubForward)
    cdef Run run = Run()
    cdef list operands, leaf_slots, leaf_links, missing, values
    cdef Tape target
    cdef Value v
    cdef dict exported = {}
    sub.name = tape.name
    sub.level = level
    sub.algebra = algebra
    run.tape = tape
    run.primals = tape.values
    run.level = level
    run.algebra = algebra
    leaf_slots, leaf_links = links_of(tape)
    operands = links + leaf_links
    remember_outer(tape, operands)
    target = target_of(operands, [tape.values.get(slot) for slot, _ in outputs])
    if target is not None and not tape.exact:
        if algebra is not DUAL_NUMBERS:
            raise NotImplementedError(f"{tape.name}: called inside a gradient, of a function that calls a Cell with "
                                      f"its own bprop, whose rule need not be a derivative; use grad, jvp or vjp there")
        transposed(run, level, inputs, links, leaf_slots, leaf_links, outputs, exported)
    missing = [place for place in outputs if place not in exported]
    values = [left(level, k, element_part(tape.values.get(slot), level, k)) for slot, k in missing]
    if target is not None and tape.exact:
        sub.run = run
        sub.operands_at = inputs
        sub.leaf_slots = leaf_slots
        sub.wanted = list(leaf_slots)
        for (slot, _), v in zip(inputs, links):
            if v.kind == NODE and slot not in sub.wanted:
                sub.wanted.append(slot)
        sub.results_at = outputs
        values = target.write(OP_SUBTAPE, sub, operands, values)
    elif target is not None:
        values = [target.place(<Value>v) for v in values]
    exported.update(zip(missing, values))
    for observer in observers:
        observer(report(tape))
    release(tape)
    return exported


cdef int transposed(Run run, Level level, list operands, list links, list leaf_slots, list leaf_links, list outputs,
                    dict exported) except -1:
    """A forward call whose tape holds a rule that is not exact, as values of outer tapes.

    The tape is lifted on the primals alone. The reverse sweep is linear in the cotangents, and its transpose gives the
    tangent. This is the gradient of <sweep(c), v> by c, where v are the tangents of the inputs.
    """
    cdef Tape tape = run.tape
    cdef Run primal = Run(), lifted = Run()
    cdef list inputs = [slot for slot, k in operands if k == 0], slots = [slot for slot, k in outputs if k == 0]
    cdef Py_ssize_t i
    cdef dict leaves = {}
    if tape.holds_subtapes:
        raise NotImplementedError(f"{tape.name}: called inside a gradient, of a function that takes a derivative and "
                                  f"calls a Cell with its own bprop; use a gradient instead of {tape.name} there")
    primal.tape = tape
    primal.primals = new_slots(tape.values.n)
    for i in range(tape.values.n):
        primal.primals.put(i, part(tape.values.get(i), level, 0))
    for i in range(len(inputs)):
        leaves[inputs[i]] = links[2 * i]
    for i in range(len(leaf_slots)):
        leaves[leaf_slots[i]] = leaf_links[i]
    lifted.tape = tape
    lifted.primals = lift_tape(primal, leaves, None)

    def pulled(*cotangents):
        cdef Slots adjoints = new_slots(tape.values.n)
        cdef char *needed = reach(tape, inputs)
        try:
            for slot, c in zip(slots, cotangents):
                accumulate(adjoints, slot, read(<TensorBase>c))
            sweep(lifted, adjoints, needed, DROP_SPENT)
        finally:
            PyMem_RawFree(needed)
        return paired([wrap(zeros_like(primal.primals.get(slot)) if adjoints.get(slot) is None
                            else adjoints.get(slot)) for slot in inputs], along)

    along = [wrap(<Value>links[2 * i + 1]) for i in range(len(inputs))]
    zeros = tuple([wrap(zeros_like(primal.primals.get(slot))) for slot in slots])
    moved = gradients(tape.name, pulled, zeros, {}, ALL_INPUTS, None, NOTHING, along, True, False, False)[2]
    for slot, t in zip(slots, moved):
        exported[slot, 0] = lifted.primals.get(slot)
        exported[slot, 1] = read(<TensorBase>t)
    return 0


cdef object zeroed(Tape tape, TensorBase t, dict tangents):
    """The tangent of an output's tensor; zeros if it does not depend on the inputs."""
    cdef Value v = read(t)
    if v.kind == NODE and (<Node>v).level is tape:
        return wrap(<Value>tangents[(<Node>v).slot])
    return wrap(zeros_like(v))
