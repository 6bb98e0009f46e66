"""Forward calls: the engine's side of `jvp`.

Design
------
Inputs become dual numbers of a level, the function runs once, the parts of its results are read. Under an open reverse
level the call gets a tape of its own, whose leaves are those duals, and becomes one instruction of the outer tape
(composite.pyx): nodes stay outermost.
"""
from cpython.mem cimport PyMem_RawFree

from .array cimport NODE, Value
from .composite cimport SubForward
from .gradient cimport ALL_INPUTS, NOTHING, gradients, links_of, outer_reverse, release
from .nests cimport collect_quietly, rebuilt, replaced, split_aux
from .opcodes cimport *
from .rules cimport zeros_like
from .sweeps cimport DROP_SPENT, Run, accumulate, lift_tape, reach, report, sweep
from .tape cimport Node, Slots, Tape, new_slots, new_tape, settled, stripped, target_of
from .tape import observers
from .tensor cimport TensorBase, read, wrap
from .values cimport (Level, current_level, make_dual, new_level, part, pop_level, push_level, same_shape_of,
                      type_of)


cdef object lift_forward(Tape tape, Level level, str name, object x, object t, str where, list inputs, list links):
    cdef Value v, d
    cdef Node node
    if isinstance(x, TensorBase):
        if not isinstance(t, TensorBase):
            raise TypeError(f"{name}: the tangent{where} is a {type(t).__name__}; expected a Tensor of shape {x.shape} "
                            f"and type {x.dtype}")
        v = settled(read(<TensorBase>x))
        d = settled(read(<TensorBase>t))
        if not same_shape_of(v, d):
            raise ValueError(f"{name}: the tangent{where} has shape {t.shape}; expected the shape of its input, "
                             f"{x.shape}")
        if type_of(v) != type_of(d):
            raise TypeError(f"{name}: the tangent{where} has type {t.dtype}; expected the type of its input, {x.dtype}")
        if tape is None:
            return wrap(make_dual(level, v, d))
        node = tape.leaf(make_dual(level, stripped(v), stripped(d)), None)
        inputs.append(node.slot)
        links.append(v)
        links.append(d)
        return wrap(node)
    if isinstance(x, (tuple, list)):
        if not isinstance(t, (tuple, list)) or len(x) != len(t):
            raise ValueError(f"{name}: the tangents{where} do not have the nesting of the inputs")
        return rebuilt(x, [lift_forward(tape, level, name, a, b, f"{where}[{i}]", inputs, links)
                           for i, (a, b) in enumerate(zip(x, t))])
    if isinstance(x, dict):
        return {key: lift_forward(tape, level, name, x[key], t[key], f"{where}[{key!r}]", inputs, links) for key in x}
    return x


cdef object forward_parts(object out, Level level, int k):
    """Value (k = 0) or tangent (k = 1) of an output, in its nesting."""
    cdef Value v
    if isinstance(out, TensorBase):
        v = settled(read(<TensorBase>out))
        if k == 0:
            return wrap(part(v, level, 0))
        return wrap(zeros_like(v) if part(v, level, 1) is None else part(v, level, 1))
    if isinstance(out, (tuple, list)):
        return rebuilt(out, [forward_parts(item, level, k) for item in out])
    if isinstance(out, dict):
        return {key: forward_parts(item, level, k) for key, item in out.items()}
    return out


def run_jvp(str name, fn, tuple primals, tuple tangents, bint has_aux):
    """(output, tangent of the output, aux) of a function along a direction."""
    cdef Level level = new_level(name)
    cdef Tape tape = new_tape(name) if outer_reverse(current_level()) else None
    cdef list inputs = [], links = []
    cdef Level opened = level if tape is None else tape
    cdef object out, aux = None
    if len(primals) != len(tangents):
        raise ValueError(f"{name}: {len(primals)} inputs but {len(tangents)} tangents; expected one tangent for each "
                         "input")
    args = [lift_forward(tape, level, name, primals[i], tangents[i], f" of input {i}", inputs, links)
            for i in range(len(primals))]
    push_level(opened)
    try:
        out = fn(*args)
        if has_aux:
            out, aux = split_aux(name, out)
    finally:
        pop_level(opened)
    if tape is not None:
        return finish_forward(tape, level, inputs, links, out, aux)
    value = forward_parts(out, level, 0)
    tangent = forward_parts(out, level, 1)
    aux = None if aux is None else forward_parts(aux, level, 0)
    return value, tangent, aux


cdef tuple finish_forward(Tape tape, Level level, list inputs, list links, object out, object aux):
    """A forward call under a reverse level, as one instruction of the outer tape."""
    cdef SubForward sub = SubForward.__new__(SubForward)
    cdef Run run = Run()
    cdef list operands, leaf_slots, leaf_links, slots = []
    cdef Tape target
    cdef Value v, dual
    cdef dict values = {}, tangents = {}
    sub.name = tape.name
    sub.level = level
    run.tape = tape
    run.primals = tape.values
    leaf_slots, leaf_links = links_of(tape)
    operands = links + leaf_links
    collect_quietly(tape, out, slots)
    if aux is not None:
        collect_quietly(tape, aux, slots)
    target = target_of(operands, [tape.values.get(slot) for slot in slots])
    if target is not None and not tape.exact:
        transposed(run, level, inputs, links, leaf_slots, leaf_links, slots, values, tangents)
    elif target is not None:
        sub.run = run
        sub.input_slots = inputs
        sub.leaf_slots = leaf_slots
        sub.value_slots = slots
        target.append_list(OP_SUBTAPE, sub, operands, 2 * len(slots))
    for slot in slots:
        if slot in values:
            continue
        dual = tape.values.get(slot)
        v = part(dual, level, 0)
        values[slot] = v if target is None else target.place(v)
        v = part(dual, level, 1)
        if v is None:
            v = zeros_like(dual)
        tangents[slot] = v if target is None else target.place(v)
    value = replaced(tape, out, values)
    tangent = zeroed(tape, out, tangents)
    aux = None if aux is None else replaced(tape, aux, values)
    for observer in observers:
        observer(report(tape))
    release(tape, operands)
    return value, tangent, aux


cdef int transposed(Run run, Level level, list inputs, list links, list leaf_slots, list leaf_links, list slots,
                    dict values, dict tangents) except -1:
    """A forward call whose tape holds a rule that is not exact, as values of outer tapes.

    The tape is lifted on the primals alone. The tangent is then the transpose of its reverse sweep, which is linear in
    the cotangents: the gradient of <sweep(c), v> by c, where v are the tangents of the inputs.
    """
    cdef Tape tape = run.tape
    cdef Run primal = Run(), lifted = Run()
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
        return tuple([wrap(zeros_like(primal.primals.get(slot)) if adjoints.get(slot) is None else adjoints.get(slot))
                      for slot in inputs])

    along = tuple([wrap(<Value>links[2 * i + 1]) for i in range(len(inputs))])
    zeros = tuple([wrap(zeros_like(primal.primals.get(slot))) for slot in slots])
    moved = gradients(tape.name, pulled, zeros, {}, ALL_INPUTS, None, NOTHING, along, True, False, False)[2]
    for slot, t in zip(slots, moved):
        values[slot] = lifted.primals.get(slot)
        tangents[slot] = read(<TensorBase>t)
    return 0


cdef object zeroed(Tape tape, object out, dict tangents):
    """Tangents of an output; zeros where it does not depend on the inputs."""
    cdef Value v
    if isinstance(out, TensorBase):
        v = read(<TensorBase>out)
        if v.kind == NODE and (<Node>v).level is tape:
            return wrap(<Value>tangents[(<Node>v).slot])
        return wrap(zeros_like(v))
    if isinstance(out, (tuple, list)):
        return rebuilt(out, [zeroed(tape, item, tangents) for item in out])
    if isinstance(out, dict):
        return {key: zeroed(tape, item, tangents) for key, item in out.items()}
    return out
