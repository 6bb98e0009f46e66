"""Gradient calls and pullbacks: the engine's side of `grad`, `GradOperation` and `vjp`.

Design
------
`gradients` opens a level, lifts its inputs to leaves, runs the function once, closes the level and sweeps. What it
returns are values one level down. If an outer reverse level stands behind a leaf or a sensitivity, the whole call
becomes one instruction there (composite.pyx) and the tape is retained; otherwise the tape is dropped at once.

Levels are closed by `finally`, before any sweep, so nothing that raises can leave one open.

The faces (GradOperation, grad, vjp ...) check their arguments and arrange the results in Python. A call that nests is
made of small parts, so the lists and dicts that a part may not need are not made until it does.
"""
cimport numpy as cnp
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.string cimport memset

import numpy as np

from ..arrays.array cimport NODE, Value, copy_of
from ..tape.composite cimport SubGradient
from .leaves cimport collect, collect_quietly, lift, match, match_tangents, replaced, split_aux
from .pytrees cimport arranged, holds_tensor, in_place, tensors_of
from ..primitives.opcodes cimport *
from ..values.rules cimport add, common_type, ones_like, typed, zeros_like
from ..tape.report cimport report
from ..tape.runs cimport Run, lift_tape
from ..tape.sweeps cimport CONSUME, DROP_SPENT, KEEP_ALL, accumulate, reach, sweep, tangent_sweep
from ..tape.tape cimport Node, Slots, Tape, holds_node, new_slots, new_tape, settled, stripped, target_of
from ..tape.tape import observers
from .inputs import as_input
from .tensor cimport TensorBase, outermost_in_graph_mode, read, transform_called, wrap
from .tensor import watch_rebinding
from .transformed import check_weights
from ..values.levels cimport Level, array_of, current_level, pop_level, push_level, show_leaving, type_of


# ------------------------------------------------------------------------------------------------------- gradients

cdef list NOTHING = []              # stays empty
cdef bint TAPE_BACKWARD = False


def tape_backward(bint flag):
    """Treat every tape as if it held a rule that is not exact, to compare with the composite node. Returns the former
    setting."""
    global TAPE_BACKWARD
    former = TAPE_BACKWARD
    TAPE_BACKWARD = flag
    return former


cdef bint outer_reverse(Level level):
    while level is not None:
        if level.reverse:
            return True
        level = level.outer
    return False


def run_gradient(str name, fn, tuple args, dict kwargs, tuple positions, list parameters, sens, bint has_sens,
                 bint has_aux, bint want_value):
    """Gradients of the sum of a function's outputs (or of <sens, outputs>) at some positions.

    Returns (value, aux, gradients of inputs, gradients of parameters); value and aux are None where not asked for.
    """
    if outermost_in_graph_mode():
        def call(sens, *args, **kwargs):
            return gradients(name, fn, args, kwargs, AT_POSITIONS, positions, parameters, sens, has_sens, has_aux,
                             want_value)

        return transform_called(name, fn, (positions, has_sens, has_aux, want_value), parameters, call, (sens,) + args,
                                kwargs)
    return gradients(name, fn, args, kwargs, AT_POSITIONS, positions, parameters, sens, has_sens, has_aux, want_value)


def run_outermost(str name, fn, tuple settings, call, tuple args, dict kwargs):
    """What a transform of `fn` is called for: `call` itself, or recorded if this is an outermost call in Graph mode.

    `settings` is all that decides, beside `fn` and the arguments, what is computed.
    """
    if outermost_in_graph_mode():
        return transform_called(name, fn, settings, None, call, args, kwargs)
    return call(*args, **kwargs)


cdef tuple gradients(str name, object fn, tuple args, dict kwargs, Which which, tuple positions, list parameters,
                     object sens, bint has_sens, bint has_aux, bint want_value):
    cdef Tape tape = new_tape(name)
    cdef list call_args
    cdef list slots = []                # leaves whose gradients are wanted, inputs first
    cdef list originals = []            # the inputs they came from
    cdef list seed_slots = [], seeds = [], out_slots = [], out_seeds = None
    cdef list parameter_at = [] if parameters else NOTHING
    cdef Py_ssize_t i, n_inputs
    cdef object out, aux = None
    cdef bint by_name = False           # keyword inputs are differentiated too
    if which == AT_POSITIONS:
        call_args = list(args)
        for p in positions:
            originals.append(call_args[p])
            call_args[p] = lift(tape, call_args[p], slots)
    else:
        call_args = []
        for x in args:
            if (which == ALL_INPUTS or not originals) and holds_tensor(x):
                originals.append(x)
                x = lift(tape, x, slots)
            call_args.append(x)
        by_name = len(kwargs) > 0 and (which == ALL_INPUTS or not originals)
    if by_name:
        kwargs = dict(kwargs)
        for key in list(kwargs):
            if holds_tensor(kwargs[key]):
                originals.append(kwargs[key])
                kwargs[key] = lift(tape, kwargs[key], slots)
                if which == FIRST_INPUT:
                    break
    n_inputs = len(slots)
    if parameters:
        tape.wanted = {id(p): p for p in parameters if p.requires_grad}

    push_level(tape)
    try:
        out = fn(*call_args, **kwargs) if kwargs else fn(*call_args)
        if has_aux:
            out, aux = split_aux(name, out)
        collect(tape, out, out_slots)
        if has_sens:
            out_seeds = []
            match(name, out, sens, "", out_seeds)
    except ValueError as error:
        show_leaving(error)
        raise
    finally:
        pop_level(tape)

    for i in range(len(out_slots)):
        if out_slots[i] >= 0:
            seed_slots.append(out_slots[i])
            seeds.append(out_seeds[i] if has_sens else ones_like(<Value>tape.values.get(out_slots[i])))
    find_parameters(tape, parameters, parameter_at, slots)
    return finish(tape, slots, n_inputs, originals, parameters, parameter_at, seed_slots, seeds,
                  out if want_value else None, aux)


cdef int find_parameters(Tape tape, list parameters, list parameter_at, list slots) except -1:
    """The leaves at which each parameter was read (None: not at all), added to the slots whose gradients are wanted."""
    for p in parameters:
        found = None if tape.parameter_slots is None else tape.parameter_slots.get(id(p))
        parameter_at.append(found)
        if found is not None:
            slots.extend(found)
    return 0


cdef class GradientFunction:
    """What GradOperation makes: a function of the inputs of `fn` that returns gradients."""
    cdef readonly object fn
    cdef bint get_all
    cdef bint by_list
    cdef bint sens_param
    cdef object parameters_of           # for a list left out: finds the parameters at each call
    cdef list parameters
    cdef bint single

    def __init__(self, fn, bint get_all, bint by_list, bint sens_param, list parameters, bint single, parameters_of):
        self.fn = fn
        self.get_all = get_all
        self.by_list = by_list
        self.sens_param = sens_param
        self.parameters = parameters
        self.single = single
        self.parameters_of = parameters_of

    def __call__(self, *args, **kwargs):
        if outermost_in_graph_mode():
            settings = self.get_all, self.by_list, self.sens_param, self.single
            return transform_called("GradOperation", self.fn, settings, self.parameters,
                                    lambda *a, **k: self.compute(a, k), args, kwargs)
        return self.compute(args, kwargs)

    def compute(self, tuple args, dict kwargs):
        """The gradients, not recorded by themselves."""
        cdef object sens = None
        cdef tuple result
        cdef list inputs, parameters
        cdef Which which
        if self.sens_param:
            if "sens" in kwargs:
                sens = kwargs.pop("sens")
            elif len(args):
                sens = args[len(args) - 1]
                args = args[:len(args) - 1]
            else:
                raise TypeError("GradOperation: the sensitivity is missing; with sens_param=True it is the last "
                                "argument, or the keyword sens")
        if not self.by_list:
            which = ALL_INPUTS if self.get_all else FIRST_INPUT
            result = gradients("GradOperation", self.fn, args, kwargs, which, None, NOTHING, sens, self.sens_param,
                               False, False)
            inputs = <list>result[2]
            if self.get_all:
                return tuple(inputs)
            return inputs[0] if inputs else ()
        parameters = self.parameters if self.parameters is not None else self.parameters_of(self.fn)
        which = ALL_INPUTS if self.get_all else AT_POSITIONS
        result = gradients("GradOperation", self.fn, args, kwargs, which, (), parameters, sens, self.sens_param, False,
                           False)
        found = (<list>result[3])[0] if self.single else tuple(<list>result[3])
        return (tuple(<list>result[2]), found) if self.get_all else found

    def __copy__(self):
        return GradientFunction(self.fn, self.get_all, self.by_list, self.sens_param, self.parameters, self.single,
                                self.parameters_of)

    def __reduce__(self):
        check_weights("GradOperation", self.fn, self.parameters or ())
        return GradientFunction, (self.fn, self.get_all, self.by_list, self.sens_param, self.parameters, self.single,
                                  self.parameters_of)

    def __repr__(self):
        return f"<gradient of {self.fn!r}>"


cdef tuple links_of(Tape tape):
    """The leaves that stand for outer values, and those values."""
    cdef list leaf_slots = [], links = []
    cdef Py_ssize_t i
    for i in range(len(tape.leaf_slots)):
        if tape.leaf_links[i] is not None:
            leaf_slots.append(tape.leaf_slots[i])
            links.append(tape.leaf_links[i])
    return leaf_slots, links


cdef int release(Tape tape, list outer) except -1:
    """A closed tape that stays alive: of what it depends on the claims are remembered, not values or levels, so that
    tapes never refer to each other in a circle."""
    tape.claim().outer = [(<Node>link).level.claim() for link in outer if (<Value>link).kind == NODE]
    tape.leaf_links = [None] * len(tape.leaf_links)
    tape.linked = None
    tape.parameter_leaves = None
    return 0


cdef bint pull_back(Tape tape, list slots, list leaf_slots, list links, list seed_slots, list seeds, list value_slots,
                    list gradients, dict exported, bint once) except -1:
    """Sweep a closed tape (once: for the only time). `gradients` receives those of `slots` (None for zero), `exported`
    the values that leave the call. If an outer value stands behind it, the call goes on that value's tape; returns
    whether it did."""
    cdef Py_ssize_t n = tape.values.n, i
    cdef Run run = Run()
    cdef Slots adjoints = new_slots(n)
    cdef bint retain = len(links) > 0
    cdef char *needed
    cdef Value v
    run.tape = tape
    run.primals = tape.values
    for i in range(len(seeds)):
        v = settled(<Value>seeds[i])
        seeds[i] = v
        retain = retain or v.kind == NODE
    if (not tape.exact or TAPE_BACKWARD) and outer_reverse(current_level()):
        gradients.extend(taped_sweep(run, slots, leaf_slots, links, seed_slots, seeds, value_slots, exported))
        return retain
    if not retain:
        for slot in value_slots:
            exported[slot] = tape.values.get(slot)
    for i in range(len(seeds)):
        if type_of(<Value>seeds[i]) != cnp.NPY_BOOL:        # a truth value has no slope, also as an output
            accumulate(adjoints, seed_slots[i], stripped(<Value>seeds[i]))
    if len(slots) == len(tape.leaf_slots):
        needed = <char *>PyMem_RawMalloc(n + 1)
        if needed is NULL:
            raise MemoryError()
        memset(needed, 1, n + 1)
    else:
        needed = reach(tape, slots)
    try:
        sweep(run, adjoints, needed, KEEP_ALL if retain else CONSUME if once else DROP_SPENT)
    finally:
        PyMem_RawFree(needed)
    run.adjoints = adjoints
    for slot in slots:
        gradients.append(adjoints.get(slot))
    if retain:
        compose(run, slots, gradients, leaf_slots, links, seed_slots, seeds, value_slots, exported)
    return retain


cdef tuple finish(Tape tape, list slots, Py_ssize_t n_inputs, list originals, list parameters, list parameter_at,
                  list seed_slots, list seeds, object out, object aux):
    """Sweep the tape of a call that has returned, and arrange its results."""
    cdef list leaf_slots, links, gradients = [], value_slots = NOTHING, inputs = [], weights = NOTHING
    cdef list reports = NOTHING
    cdef dict exported = None
    cdef bint retain
    leaf_slots, links = links_of(tape)
    if out is not None or aux is not None:
        value_slots = []
        exported = {}
        if out is not None:
            collect_quietly(tape, out, value_slots)
        if aux is not None:
            collect_quietly(tape, aux, value_slots)
    if observers:
        reports = [report(tape) for _ in observers]
    retain = pull_back(tape, slots, leaf_slots, links, seed_slots, seeds, value_slots, gradients, exported, True)
    fill_zeros(tape, slots, gradients)
    value = None if out is None else replaced(tape, out, exported)
    aux = None if aux is None else replaced(tape, aux, exported)
    found = iter([wrap(<Value>g) for g in gradients[:n_inputs]])
    for x in originals:
        inputs.append(arranged(x, found))
    if parameters:
        weights = of_parameters(parameters, parameter_at, gradients, n_inputs)
    if reports:
        for observer, summary in zip(observers, reports):
            observer(summary)
    if retain:
        release(tape, links)
    else:
        tape.clear()
    return value, aux, inputs, weights


cdef int fill_zeros(Tape tape, list slots, list gradients) except -1:
    cdef Py_ssize_t i
    for i in range(len(slots)):
        if gradients[i] is None:
            gradients[i] = zeros_like(<Value>tape.values.get(slots[i]))
    return 0


cdef list of_parameters(list parameters, list parameter_at, list gradients, Py_ssize_t i):
    """Gradients of parameters, each the sum over the leaves it was read at; zeros for those not read."""
    cdef list weights = []
    cdef Value v
    for p, found in zip(parameters, parameter_at):
        if found is None:
            weights.append(wrap(zeros_like(array_of((<TensorBase>p).value))))
            continue
        v = None
        for _ in found:
            v = add(v, <Value>gradients[i])
            i += 1
        weights.append(wrap(v))
    return weights


cdef int compose(Run run, list slots, list gradients, list leaf_slots, list links, list seed_slots, list seeds,
                 list value_slots, dict exported) except -1:
    """The call as one instruction on the highest tape among its links and sensitivities."""
    cdef Tape tape = run.tape
    cdef Tape target
    cdef SubGradient sub = SubGradient.__new__(SubGradient)
    cdef list operands = list(links), values, results
    cdef Value v
    cdef Py_ssize_t i
    sub.name = tape.name
    sub.run = run
    sub.leaf_slots = leaf_slots
    sub.seed_slots = seed_slots
    sub.seed_operands = []
    run.seeds = seeds
    for i in range(len(seeds)):
        v = <Value>seeds[i]
        if v.kind == NODE:
            sub.seed_operands.append(i)
            operands.append(v)
            seeds[i] = stripped(v)
    sub.value_slots = value_slots
    sub.gradient_slots = [slots[i] for i in range(len(slots)) if gradients[i] is not None]
    values = [tape.values.get(slot) for slot in value_slots]
    target = target_of(operands, values + gradients)
    results = target.write(OP_SUBTAPE, sub, operands, values + [g for g in gradients if g is not None])
    exported.update(zip(value_slots, results))
    results = results[len(values):]
    for i in range(len(slots)):
        if gradients[i] is not None:
            gradients[i] = results.pop(0)
    return 0


cdef list taped_sweep(Run run, list slots, list leaf_slots, list links, list seed_slots, list seeds, list value_slots,
                      dict exported):
    """Gradients as values of outer tapes, for a tape whose rules are not all exact."""
    cdef Tape tape = run.tape
    cdef Run lifted = Run()
    cdef Slots adjoints = new_slots(tape.values.n)
    cdef Py_ssize_t i
    cdef char *needed
    lifted.tape = tape
    lifted.inner = {}
    lifted.primals = lift_tape(run, {leaf_slots[i]: links[i] for i in range(len(links))}, lifted.inner)
    for i in range(len(seeds)):
        accumulate(adjoints, seed_slots[i], <Value>seeds[i])
    needed = reach(tape, slots)
    try:
        sweep(lifted, adjoints, needed, DROP_SPENT)
    finally:
        PyMem_RawFree(needed)
    for slot in value_slots:
        exported[slot] = lifted.primals.get(slot)
    return [adjoints.get(slot) for slot in slots]


# -------------------------------------------------------------------------------------------------------- pullbacks

cdef class Pullback:
    """The pullback of a function at a point: cotangents of the output to those of inputs (and parameters)."""
    cdef str name
    cdef Tape tape
    cdef object out                 # the output, for its nesting, shapes and types
    cdef list out_slots, slots, leaf_slots, links, originals, parameters, parameter_at
    cdef Py_ssize_t n_inputs
    cdef object arrange
    cdef tuple made_of              # the arguments of `run_vjp`

    def __init__(self):
        raise TypeError("Pullback: is made by vjp, at a point")

    def __reduce__(self):
        """A pullback is pickled as the call that made it, if that gives the same value and derivative now."""
        cdef Pullback again
        for link in self.links:
            if settled(<Node>link).kind == NODE:
                raise TypeError(f"{self.name}: a pullback inside of a derivative cannot be pickled; its outer "
                                f"derivative would be lost")
        check_weights(self.name, self.made_of[1], self.made_of[3])
        value, again = without_effects(self.made_of)
        if not same_bits(value, self.out) or not same_bits(again.pulled(*probes(value)), self.pulled(*probes(value))):
            raise ValueError(f"{self.name}: the function gives another value or derivative now than when the pullback "
                             f"was made, so the pullback cannot be pickled")
        return made_again, self.made_of

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self                     # nothing in it changes

    def __call__(self, *cotangents):
        cdef list seeds = [], seed_slots = [], given = [], gradients = [], inputs = []
        cdef Py_ssize_t i
        cts = as_input(self.name, "the cotangent", cotangents[0] if len(cotangents) == 1 else cotangents)
        if len(cotangents) == 1 and isinstance(self.out, (tuple, list)) and isinstance(cts, TensorBase):
            cts = (cts,)
        match(self.name, self.out, cts, "", given)
        for i in range(len(self.out_slots)):
            if self.out_slots[i] >= 0:
                seed_slots.append(self.out_slots[i])
                seeds.append(given[i])
        self.gradients(seed_slots, seeds, gradients)
        found = iter([wrap(<Value>g) for g in gradients[:self.n_inputs]])
        for x in self.originals:
            inputs.append(arranged(x, found))
        return self.arrange(tuple(inputs), of_parameters(self.parameters, self.parameter_at, gradients, self.n_inputs))

    cdef int gradients(self, list seed_slots, list seeds, list gradients) except -1:
        """Cotangents of the leaves, inputs first."""
        cdef list leaf_slots = [], links = []
        cdef Py_ssize_t i
        for i in range(len(self.links)):
            if settled(<Node>self.links[i]).kind == NODE:
                leaf_slots.append(self.leaf_slots[i])
                links.append(self.links[i])
        pull_back(self.tape, self.slots, leaf_slots, links, seed_slots, seeds, [], gradients, {}, False)
        return fill_zeros(self.tape, self.slots, gradients)

    def rows(self, Py_ssize_t i, TensorBase cotangent not None):
        """Cotangents of all tensors of the inputs, from that of the i-th tensor of the output alone."""
        cdef list gradients = [], given = [], outs = tensors_of(self.out)
        if not 0 <= i < len(outs):
            raise IndexError(f"{self.name}: the output has {len(outs)} tensors, got number {i}")
        match(self.name, outs[i], cotangent, "", given)
        if self.out_slots[i] >= 0:
            self.gradients([self.out_slots[i]], given, gradients)
        else:
            self.gradients([], [], gradients)
        return tuple([wrap(<Value>g) for g in gradients])

    def push(self, tuple tangents):
        """The tangent of the output, from those of the inputs: a forward sweep over the tape.

        Where an outer derivative is waiting, or a rule is not exact, it is instead the transpose of the pullback, which
        is linear in the cotangents: the gradient of <pull(c), tangents> by c.
        """
        cdef list along = [], outs = tensors_of(self.out), moved = []
        cdef Slots dots
        cdef Run run
        cdef Value v
        cdef Py_ssize_t i
        cdef bint plain = self.tape.exact
        match_tangents(self.name, tuple(self.originals), tangents, "", along)
        for v in along + self.links:
            plain = plain and not holds_node(settled(v))
        if not plain:
            cotangents = tuple([wrap(zeros_like((<TensorBase>t).value)) for t in outs])
            sens = [wrap(<Value>v) for v in along]
            moved = gradients(self.name, lambda *cts: paired(self.pulled(*cts), sens), cotangents, {}, ALL_INPUTS, None,
                              NOTHING, sens, True, False, False)[2]
            return in_place(self.out, moved)
        dots = new_slots(self.tape.values.n)
        run = Run()
        run.tape = self.tape
        run.primals = self.tape.values
        for i in range(self.n_inputs):
            dots.put(self.slots[i], <Value>along[i])
        tangent_sweep(run, dots, {})
        for i in range(len(outs)):
            v = None if self.out_slots[i] < 0 else dots.get(self.out_slots[i])
            moved.append(wrap(zeros_like((<TensorBase>outs[i]).value) if v is None else v))
        return in_place(self.out, moved)

    def pulled(self, *cotangents):
        """Cotangents of all tensors of the inputs, from those of all tensors of the output."""
        cdef list gradients = [], seeds = [], seed_slots = [], given = []
        cdef Py_ssize_t i
        match(self.name, tuple(tensors_of(self.out)), cotangents, "", given)
        for i in range(len(self.out_slots)):
            if self.out_slots[i] >= 0:
                seed_slots.append(self.out_slots[i])
                seeds.append(given[i])
        self.gradients(seed_slots, seeds, gradients)
        return [wrap(<Value>g) for g in gradients]


cdef list paired(list outputs, list along):
    """Outputs that are linear in what is differentiated, each brought to one type with what it is going to be
    multiplied by, which differ for integers alone; that is changed in place."""
    cdef Py_ssize_t k
    cdef int typenum
    cdef Value v, t
    for k in range(len(outputs)):
        v = read(<TensorBase>outputs[k])
        t = read(<TensorBase>along[k])
        if type_of(v) != type_of(t):
            typenum = common_type(type_of(v), type_of(t))
            outputs[k] = wrap(typed(v, typenum))
            along[k] = wrap(typed(t, typenum))
    return outputs


def made_again(*call):
    """A pullback that was pickled."""
    return run_vjp(*call)[1]


cdef tuple without_effects(tuple call):
    """The value and the pullback of a call, whose changes of tensors are undone."""
    cdef dict before = {}
    former = watch_rebinding(lambda handle: before.setdefault(id(handle), (handle, handle._detached())))
    try:
        return run_vjp(*call)[:2]
    finally:
        watch_rebinding(former)
        for handle, value in before.values():
            handle._rebind(value)


cdef bint same_bits(object a, object b) except -1:
    """Whether the tensors of two nests have the same types, shapes and numbers."""
    cdef list first = tensors_of(a), second = tensors_of(b)
    if len(first) != len(second):
        return False
    for x, y in zip(first, second):
        x, y = x.asnumpy(), y.asnumpy()
        if x.dtype != y.dtype or x.shape != y.shape or x.tobytes() != y.tobytes():
            return False
    return True


cdef list probes(object nest):
    """A cotangent for each tensor of a nest, in a direction that nothing else singles out."""
    cdef list found = []
    for x in tensors_of(nest):
        a = x.asnumpy()
        numbers = np.cos(np.arange(1.0, a.size + 1)).reshape(a.shape)
        if a.dtype.kind == "c":
            numbers = numbers + 1j * np.sin(3 * numbers)
        elif a.dtype.kind not in "f":
            numbers = np.arange(a.size).reshape(a.shape) % 2
        found.append(wrap(copy_of(numbers.astype(a.dtype))))
    return found


def run_vjp(str name, fn, tuple args, list parameters, bint has_aux, arrange):
    """(value, pullback, aux); `arrange` puts the pullback's results together, gradients of inputs and parameters."""
    cdef Tape tape = new_tape(name)
    cdef Pullback pull = Pullback.__new__(Pullback)
    cdef list call_args = [], value_slots = []
    cdef dict exported = {}
    cdef object out, aux = None
    pull.name = name
    pull.tape = tape
    pull.slots = []
    pull.originals = []
    pull.out_slots = []
    pull.parameters = parameters
    pull.parameter_at = []
    pull.arrange = arrange
    pull.made_of = (name, fn, args, parameters, has_aux, arrange)
    for x in args:
        if holds_tensor(x):
            pull.originals.append(x)
            x = lift(tape, x, pull.slots)
        call_args.append(x)
    pull.n_inputs = len(pull.slots)
    if parameters:
        tape.wanted = {id(p): p for p in parameters if p.requires_grad}
    push_level(tape)
    try:
        out = fn(*call_args)
        if has_aux:
            out, aux = split_aux(name, out)
        collect(tape, out, pull.out_slots)
    except ValueError as error:
        show_leaving(error)
        raise
    finally:
        pop_level(tape)
    find_parameters(tape, parameters, pull.parameter_at, pull.slots)
    pull.leaf_slots, pull.links = links_of(tape)
    collect_quietly(tape, out, value_slots)
    if aux is not None:
        collect_quietly(tape, aux, value_slots)
    pull_back(tape, [], pull.leaf_slots, pull.links, [], [], value_slots, [], exported, False)
    value = replaced(tape, out, exported)
    aux = None if aux is None else replaced(tape, aux, exported)
    pull.out = value
    release(tape, pull.links)
    return value, pull, aux
