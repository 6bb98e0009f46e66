"""Functions with a gradient rule of their own (a Cell's `bprop`).

Design
------
The function runs without a level that records it, since its rule stands for all of it. On the tape it is one
instruction, and the sweep calls the rule. The rule may not be the transpose of a derivative, so the tape is marked as
not exact (see runs.pyx). In forward mode the tangent is the transpose of the rule, which is linear in its cotangent.
Taylor coefficients follow degree by degree (`custom_forward`).

A function may keep values for its rule, in an attribute or a closure. Its inputs, and all that it computes from them,
are nodes of a light tape. While the rule runs, kept inputs and outputs stand for the inputs and outputs that the rule
is given. Other kept values are constants. A derivative of the rule would be wrong with them, so there they are an
error.

A hook on a gradient is the identity with a rule of its own. This rule may be nonlinear (it may clip), so it is refused
in forward mode.
"""
from ..values.algebra cimport derived, make
from ..arrays.array cimport ARRAY, BATCH, DUAL, NODE, Value, is_inexact
from ..values.batch cimport holds_batch, leave
from ..values.dual cimport coefficient
from .gradient cimport ALL_INPUTS, NOTHING, gradients, paired
from .leaves cimport check_result
from ..primitives.opcodes cimport *
from .containers cimport aligned_children, children_of, described
from .pytrees cimport Hole, Pairing, check_containers, emptied, noted_containers, refilled, tensors_in, tensors_of
from ..values.rules cimport to_shape_of, typed, zeros_like
from ..values.taylor cimport times
from ..tape.runs cimport CustomRule, raise_differentiated_twice, raise_reverse_only
from ..tape.closed_call cimport ClosedCall
from ..tape.nodes cimport (
    Environment, closed_values, enter_environment, highest, holds_node, leave_environment, lower_values,
    lowered_one_level, target_of, without_closed)
from ..tape.tape cimport Slots, Tape, new_detached_tape, new_slots, stripped
from .handles cimport (HAS_RULE, Moment, TensorBase, back_to, current_closed_call, entering, entering_op, give_hooks,
                       give_mark, note_operand, noting, now, read, rebound, renewed, value_in, wrap)
from ..values.levels cimport (Algebra, Batch, BatchLevel, Dual, Level, Node, called_rule, constant_of, current_level,
                              make_batch, pop_level, push_level, shape_of, type_of)


cdef class GivenGradients(Pairing):
    """The gradients at the holes of one input, in order; None where the rule gave none."""

    cdef int leaf(self, str name, object like, object given, bint named, object where, list found) except -1:
        if not isinstance(like, Hole):
            return 0
        if given is not None and not isinstance(given, TensorBase):
            raise TypeError(f"{name}.bprop: gradient {where} is {described(given)}; expected a Tensor, or None for "
                            f"zero")
        found.append(given)
        return 0

    cdef list children(self, object like, object given):
        return [None] * len(children_of(like)) if given is None else aligned_children(like, given, True)

    cdef object misfit(self, str name, object like, object given, object where):
        expected = f"a dict with the keys of the input, {list(like)}" if isinstance(like, dict) else \
            f"{described(like)}, the nesting of the input"
        return TypeError(f"{name}.bprop: gradient {where} is {described(given)}; expected {expected}, or None for "
                         f"zero")


cdef GivenGradients GIVEN_GRADIENTS = GivenGradients()


cdef list pulled_terms(str name, object backward, tuple template, list ins, object out, object dout, Tape within):
    """The gradients that the rule gives for the tensors among the inputs: tensors, or None for zero."""
    cdef list terms = [], outs = []
    cdef Py_ssize_t i
    cdef Environment environment
    cdef Moment before = now()
    args = refilled(template, iter([wrap(<Value>v) for v in ins]))
    tensors_in(out, outs)
    environment = environment_of(within, name, ins + [read(<TensorBase>t) for t in outs])
    try:
        result = called_rule(backward, (*args, out, dout), {})
    finally:
        leave_environment(environment)
    back_to(before)
    if isinstance(result, TensorBase):
        result = (result,)
    if not isinstance(result, (tuple, list)):
        raise TypeError(f"{name}.bprop: returned {described(result)}; expected one gradient (a Tensor) for each of the "
                        f"{len(template)} inputs")
    if len(result) < len(template):
        raise RuntimeError(f"{name}.bprop: returned {len(result)} gradients for {len(template)} inputs; expected one "
                           f"for each input")
    for i in range(len(template)):
        GIVEN_GRADIENTS.walk(name, template[i], result[i], False, str(i), terms)
    return [None if term is None else of_shape(name, <TensorBase>term, <Value>v) for term, v in zip(terms, ins)]


cdef Environment environment_of(Tape within, str name, list values):
    """Enter the environment of a rule, whose function has these inputs and outputs now."""
    cdef Slots slots = new_slots(len(values))
    cdef Py_ssize_t i
    cdef object missing = None
    for i in range(len(values)):
        slots.put(i, <Value>values[i])
        if missing is None and is_differentiated(<Value>values[i]):
            missing = RuntimeError(f"{name}: the rule uses a value that the function computed and kept, and a "
                                   f"derivative of the rule is being taken, in which that would count as a constant; "
                                   f"compute it from the inputs in the rule, or return it from the function")
    return enter_environment(closed_values(within, slots, missing))


cdef bint is_differentiated(Value v):
    """True if an open level takes derivatives of a value."""
    cdef Dual d
    if v.kind == NODE:
        return without_closed(v).kind == NODE or is_differentiated((<Node>v).primal)
    d = dual_in(v)
    return d is not None and (d.level.open or is_differentiated(<Value>d.parts[0]))


cdef TensorBase of_shape(str name, TensorBase term, Value like):
    """A gradient with the shape of its input, summed over the axes along which the input broadcasts to it."""
    cdef Value v = read(term)
    cdef tuple given = shape_of(v), expected = shape_of(like)
    if given == expected:
        return term
    if not broadcasts(expected, given):
        raise ValueError(f"{name}.bprop: a gradient has shape {given}; expected the shape of its input, {expected}, or "
                         f"one that this broadcasts to")
    return wrap(to_shape_of(v, like))


cdef bint broadcasts(tuple small, tuple large) except -1:
    """True if one shape broadcasts to another."""
    cdef Py_ssize_t i, extra = len(large) - len(small)
    if extra < 0:
        return False
    for i in range(len(small)):
        if small[i] != 1 and small[i] != large[extra + i]:
            return False
    return True


cdef class CellRule(CustomRule):
    """A function with a reverse rule written by the user, at one call."""
    cdef object backward
    cdef tuple template             # the arguments of the call, with holes for tensors
    cdef object out_template
    cdef bint none_for_zero         # an output without a cotangent is given as None, not as zeros
    cdef Tape within                # the light tape on which the function ran

    def __init__(self, str name, backward, tuple template, out_template, bint reverse_only, within):
        self.none_for_zero = getattr(backward, "none_for_zero", False)
        self.name = name
        self.reverse_only = reverse_only
        self.backward = backward
        self.template = template
        self.out_template = out_template
        self.within = within

    cdef list pull(self, list ins, list outs, list cts):
        cdef list terms = []
        cdef Py_ssize_t i
        cdef Value v
        cdef BatchLevel level
        out = refilled(self.out_template, iter([wrap(<Value>o) for o in outs]))
        dout = refilled(self.out_template, iter([wrap(<Value>ct) if ct is not None else None if self.none_for_zero
                                                 else wrap(zeros_like(<Value>o)) for o, ct in zip(outs, cts)]))
        for i, term in enumerate(pulled_terms(self.name, self.backward, self.template, ins, out, dout, self.within)):
            if term is None:
                terms.append(None)
                continue
            v = read(<TensorBase>term)
            level = foreign_batch(v, ins + outs + cts)
            if level is not None:
                raise RuntimeError(f"{self.name}: the rule returned a gradient that differs between the samples of "
                                   f"{level.name}, but neither inputs nor outputs of the function do; pass the tensor "
                                   f"that {level.name} maps to the function, instead of reading it in the rule alone")
            terms.append(typed(v, type_of(<Value>ins[i])) if is_inexact(type_of(<Value>ins[i])) else v)
        return terms


cdef BatchLevel foreign_batch(Value v, list known):
    """A finished vmap whose samples are in a value, but in no known one; None without."""
    cdef BatchLevel found
    cdef Value k
    while v is not None and v.kind != ARRAY:
        if v.kind == DUAL:
            for k in (<Dual>v).parts[1:]:
                found = foreign_batch(k, known)
                if found is not None:
                    return found
            v = <Value>(<Dual>v).parts[0]
        elif v.kind == NODE:
            v = (<Node>v).primal
        elif (<Batch>v).level.open or any_holds(known, (<Batch>v).level):
            v = (<Batch>v).value
        else:
            return (<Batch>v).level
    return None


cdef bint any_holds(list values, BatchLevel level) except -1:
    """True if a value contains a batch of a level."""
    for v in values:
        if holds_batch(<Value>v, level):
            return True
    return False


cdef Dual dual_in(Value v):
    """The latest dual in a value, looking into batches; None without a dual."""
    while v.kind == BATCH:
        v = (<Batch>v).value
    return <Dual>v if v.kind == DUAL else None


def call_custom(forward, backward, tuple args, dict kwargs, str name, bint reverse_only=False):
    """forward(*args), differentiated by backward(*args, out, dout) -> one gradient for each input.

    A `reverse_only` rule is not a linear map of dout, and is refused in forward mode.
    """
    cdef list by_name = []
    tensors_in(kwargs, by_name)
    for t in by_name:
        if (<TensorBase>t).parameter or read(<TensorBase>t).kind != ARRAY:
            raise TypeError(f"{name}: a tensor that is differentiated was passed by keyword to a Cell with its own "
                            f"bprop, which is given positional inputs only; pass it by position")
    if noting() is None:
        return called(forward, backward, args, kwargs, name, reverse_only, new_detached_tape(name))
    entering_op(HAS_RULE)
    for t in tensors_of(args):
        note_operand(t)
    out = called(forward, backward, args, kwargs, name, reverse_only, new_detached_tape(name))
    entering((name, backward))                  # after the call, which may keep numbers for its rule
    for t in tensors_of(out):
        give_mark(<TensorBase>t)
    return out


cdef object called(object forward, object backward, tuple args, dict kwargs, str name, bint reverse_only, Tape within):
    """`call_custom` on checked arguments; `within` is the light tape on which the function runs."""
    cdef Level top = None
    cdef Algebra algebra = None
    cdef Dual d
    cdef Value v
    cdef Tape tape
    cdef Environment environment
    cdef bint reverse = False
    cdef Moment before
    cdef list values = [], tensors = [], found = []
    tensors_in(args, tensors)
    for t in tensors:
        v = without_closed(read(<TensorBase>t))
        values.append(v)
        if v.kind == NODE:
            reverse = True
        elif not reverse:
            d = dual_in(v)
            if d is None or not d.level.open:
                continue
            if top is None or d.level.serial > top.serial or (d.level is top and d.algebra.top > algebra.top):
                top = d.level
                algebra = d.algebra
    if reverse:
        top = highest(values)
    elif top is None:
        for v in values:
            if v.kind == BATCH and holds_node(v):
                raise_differentiated_twice((<Batch>v).level.name)
        return detached_call(forward, args, kwargs, within)
    # one level down: the same call on the primals of the highest level
    depend(within, top)
    template = emptied(args)
    primals = [stripped(<Value>v) if reverse else coefficient(<Value>v, top, 0) for v in values]
    environment = enter_environment(lower_values(top, None))
    try:
        below = [renewed(<Value>v, <TensorBase>t) for v, t in zip(primals, tensors)]
        out = called(forward, backward, refilled(template, iter(below)), kwargs, name, reverse_only, within)
    finally:
        leave_environment(environment)
    check_result(name, out)
    tensors_in(out, found)
    if not reverse:
        if reverse_only:
            raise_reverse_only(top.name, name)
        before = now()
        out = custom_forward(backward, template, values, out, found, top, algebra, name, within)
        back_to(before)
        return out
    results = [stripped(read(<TensorBase>t)) for t in found]
    tape = target_of(values, results)           # a captured sample makes results differ between samples
    rule = CellRule(name, backward, template, emptied(out), reverse_only, within)
    found = tape.write(OP_CUSTOM, rule, values, results)
    return refilled(rule.out_template, iter([wrap(<Value>v) for v in found]))


def hook_tensor(TensorBase t not None, hooks, str name):
    """Give a tensor hooks: `hooks` is called with the gradient by it, and returns the gradient to use.

    The hooks of a result of an open reverse level go on its tape, as the identity with a rule of its own. Transforms
    call the hooks of parameters, and of other tensors that are their inputs.
    """
    cdef Value v
    cdef Moment before = now()
    check_hookable(t, name)
    if not t.parameter:
        v = without_closed(read(t))
        if v.kind == NODE:
            if is_read(<Node>v):
                raise RuntimeError(f"{name}: the tensor was used before, and what was computed from it then would pass "
                                   f"the hook by; register the hook right after the tensor is made")
            seen = call_custom(unchanged, lambda x, out, dout: (hooks(dout),), (t,), {}, name, True)
            rebound(t, read(<TensorBase>seen))
        elif dual_in(v) is not None:
            raise_reverse_only(dual_in(v).level.name, name)
    give_hooks(t, hooks)
    back_to(before)                 # these operations depend on how much is differentiated
    entering_op(HAS_RULE)
    give_mark(t)


def check_hookable(TensorBase t not None, str name):
    """Raise for a tensor that is older than the running loop or block, whose body may run again."""
    cdef ClosedCall closed = current_closed_call()
    if closed is not None and t.birth < closed.level.serial and (closed.level.reverse or closed.again
                                                                 or not t.parameter):
        raise RuntimeError(f"{name}: the tensor is older than the loop or block that is being executed, which would "
                           f"forget the hook; register it outside, or on a tensor made inside")


def closed_levels():
    """The levels of the running closed calls, for `runs_again`."""
    cdef ClosedCall closed = current_closed_call()
    found = []
    while closed is not None:
        found.append(closed.level)
        closed = closed.outer
    return found


def runs_again(list levels):
    """True if a derivative runs one of these closed calls again."""
    cdef Level level
    for level in levels:
        if level.reverse and not level.open and (<Tape>level).light:
            return True
    return False


def noted(*what):
    """Note a change in Python that rules depend on. Closed calls compare it between their runs, too."""
    entering(what)


def on_tape(TensorBase t not None):
    """True if a tensor is a node of an open reverse level."""
    return without_closed(read(t)).kind == NODE


def unchanged(x):
    """The forward function of a hook."""
    return x


cdef bint is_read(Node node) except -1:
    """True if an instruction, or a leaf of a later level, reads a node."""
    cdef Tape tape = <Tape>node.level
    cdef Level level = current_level()
    cdef Py_ssize_t i
    for i in range(tape.n_refs):
        if tape.refs[i] == node.slot:
            return True
    while level is not None and level is not tape:
        if level.reverse and (<Tape>level).leaf_links is not None:
            for link in (<Tape>level).leaf_links:
                if link is node:
                    return True
        level = level.outer
    return False


cdef int depend(Tape within, Level level) except -1:
    """Note that values of a function, which is about to run, depend on a level."""
    if within.claim().outer is None:
        within.claim().outer = []
    within.claim().outer.append(level.claim())
    return 0


cdef object detached_call(object forward, tuple args, dict kwargs, Tape within):
    """Call the forward function itself. Its rule stands for all of it, so no outer level sees its operations."""
    cdef Level outer = current_level()
    cdef list found = [], noted = []
    cdef Py_ssize_t n = 0
    if within.own_claim is not None:            # it is differentiated
        args, n = inputs_within(within, args)
        noted = noted_containers(args)
    push_level(within)
    within.outer = None
    try:
        out = forward(*args, **kwargs)
    finally:
        within.outer = outer
        pop_level(within)
    check_containers(within.name, noted)
    tensors_in(out, found)
    return refilled(emptied(out), iter(outputs_of(within, found, n)))


cdef tuple inputs_within(Tape within, tuple args):
    """The arguments of a function as nodes, and the number of their tensors. Its outputs take the next slots."""
    cdef list tensors = []
    cdef Value v
    cdef Node node
    cdef Py_ssize_t i
    tensors_in(args, tensors)
    for i in range(len(tensors)):
        v = read(<TensorBase>tensors[i])
        if is_inexact(type_of(v)):
            node = within.place(v)
            node.slot = i
            tensors[i] = renewed(node, <TensorBase>tensors[i])
    return refilled(emptied(args), iter(tensors)), len(tensors)


cdef list outputs_of(Tape within, list found, Py_ssize_t n):
    """The outputs as constants. The nodes of outputs that the function computed get slots, from n on."""
    cdef Value v
    cdef Py_ssize_t j
    cdef list outputs = []
    for j in range(len(found)):
        v = read(<TensorBase>found[j])
        if v.kind == NODE and (<Node>v).level is within and (<Node>v).slot < 0:
            (<Node>v).slot = n + j
        outputs.append(wrap(constant_of(v)))
    return outputs

cdef object custom_forward(object backward, tuple template, list values, object out, list found, Level top,
                           Algebra algebra, str name, Tape within):
    """The forward derivative of a function that has only a reverse rule: the transpose of the rule, which is linear in
    its cotangent.

    Let D multiply each coefficient by its degree. Then D y = J(x) D x, which gives the coefficients of y at each
    degree. J needs only lower coefficients of x and y, so a rule may call its own function.
    """
    cdef list results = [[value_in(<TensorBase>o)] + [None] * (algebra.dim - 1) for o in found]
    cdef list ins, tangents, moved
    cdef Algebra below, quotient
    cdef Value t
    cdef int degree, i
    out_template = emptied(out)
    if not algebra.graded:
        raise NotImplementedError(f"{name}: a Cell with its own bprop inside {top.name}, whose algebra {algebra.name} "
                                  f"has no degrees; take derivatives there by grad or jvp")
    for degree in range(1, algebra.top + 1):
        below = algebra.truncated(degree - 1)
        quotient = algebra.truncated(degree)
        ins = [lowered_one_level(<Value>v, top, below) for v in values]
        tangents = [moving(<Value>v, top, quotient) for v in values]
        outs = [wrap(gathered_outputs(top, below, parts)) for parts in results]
        moved = transposed_rule(backward, template, ins, refilled(out_template, iter(outs)), outs, tangents, name,
                                within, lower_values(top, below))
        for parts, m in zip(results, moved):
            for i in algebra.of_degree[degree]:
                t = m if algebra.dim == 2 else coefficient(<Value>m, top, i)
                (<list>parts)[i] = times(t, 1.0 / degree)
    return refilled(out_template, iter([wrap(gathered_outputs(top, algebra, <list>parts)) for parts in results]))


cdef list transposed_rule(object backward, tuple template, list ins, object out, list outs, list tangents, str name,
                          Tape within, Environment lower):
    """The tangents of the outputs: the gradient of the rule by its cotangents, along the tangents of the inputs.
    `lower` is the environment of the rule."""
    out_template = emptied(out)

    def pulled(*douts):
        enter_environment(lower)
        try:
            terms = pulled_terms(name, backward, template, ins, out, refilled(out_template, iter(douts)), within)
        finally:
            leave_environment(lower)
        return paired([wrap(zeros_like(<Value>v)) if term is None else term for term, v in zip(terms, ins)], along)

    zeros = tuple([wrap(zeros_like(value_in(<TensorBase>o))) for o in outs])
    along = [wrap(<Value>t) for t in tangents]
    moved = gradients(name, pulled, zeros, {}, ALL_INPUTS, None, NOTHING, along, True, False, False)[2]
    return [value_in(<TensorBase>m) for m in moved]


cdef Value moving(Value v, Level level, Algebra quotient):
    """D of a value, zeros where it does not move; of a dual number, its tangent."""
    cdef Value found
    if v.kind == BATCH:
        return make_batch((<Batch>v).level, moving((<Batch>v).value, level, quotient))
    found = derived(v, level, quotient)
    if found is None:
        return zeros_like(v)
    return found if quotient.dim > 2 else coefficient(found, level, 1)


cdef Value gathered_outputs(Level level, Algebra algebra, list parts):
    """The dual with these coefficients. Batches of later levels stay around it."""
    cdef BatchLevel batch = None
    for p in parts:
        if p is not None and (<Value>p).kind == BATCH and (<Batch>p).level.serial > level.serial:
            if batch is None or (<Batch>p).level.serial > batch.serial:
                batch = (<Batch>p).level
    if batch is None:
        return make(level, algebra, parts)
    return make_batch(batch, gathered_outputs(level, algebra, [leave(batch, <Value>p) for p in parts]))
