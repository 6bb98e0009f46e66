"""Gradient calls: the engine's side of `grad` and `GradOperation`. pullback.pyx is the engine's side of `vjp`.

Design
------
`gradients` opens a level, lifts its inputs to leaves, runs the function once, closes the level and sweeps. It returns
values one level down. If an outer reverse level stands behind a leaf or a sensitivity, the whole call becomes one
instruction there (nested.pyx) and the tape is kept. Otherwise the tape is dropped at once.

`finally` closes each level before any sweep, so no error can leave one open.

The Python functions (GradOperation, grad, vjp ...) check their arguments and arrange the results. A part of a call
makes a list or dict only when it needs one, since calls nest.
"""
cimport numpy as cnp
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.string cimport memset

from ..arrays.array cimport NODE, Value
from ..tape.nested cimport SubGradient
from .inputs cimport apart
from .leaves cimport collect, collect_quietly, lift, match, replaced, split_aux
from .pytrees cimport arranged, holds_tensor, own, tensors_of
from ..primitives.opcodes cimport *
from ..values.rules cimport add, common_type, ones_like, typed, zeros_like
from ..tape.report cimport report
from ..tape.runs cimport Run, lift_tape
from ..tape.sweeps cimport CONSUME, DROP_SPENT, KEEP_ALL, accumulate, reach, sweep
from ..tape.nodes cimport without_closed, target_of
from ..tape.tape cimport Node, Slots, Tape, new_slots, new_tape, stripped
from ..tape.tape import observers
from ..primitives.execute cimport deferring, may_defer
from .calls cimport outermost_in_graph_mode, transform_called
from .handles cimport (TRANSFORMED, Moment, TensorBase, after_hooks, back_to, entering, heir, hooks_exist, hooks_of,
                       noting, now, read, value_in, wrap)
from .transformed import check_weights
from ..values.levels cimport (Level, array_of, current_level, pop_level, push_level, settle, show_leaving,
                              type_of)


# ------------------------------------------------------------------------------------------------------- gradients

cdef extern from "memory/shared.h":
    long long dg_read_shared(long long *counter) noexcept
    void dg_write_shared(long long *counter, long long n) noexcept

cdef list NOTHING = []              # stays empty
cdef tuple NO_LINKS = (NOTHING, NOTHING)
cdef long long TAPE_BACKWARD = 0


def tape_backward(bint flag):
    """Treat every tape as if it held a rule that is not exact, to compare with the composite node. Returns the former
    setting."""
    cdef bint former = dg_read_shared(&TAPE_BACKWARD)
    dg_write_shared(&TAPE_BACKWARD, flag)
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

    Returns (value, aux, gradients of inputs, gradients of parameters); value and aux are None if they are not wanted.
    """
    if outermost_in_graph_mode():
        return recorded_gradient(name, fn, args, kwargs, positions, parameters, sens, has_sens, has_aux, want_value)
    if may_defer():
        return deferring(run_gradient, (name, fn, args, kwargs, positions, parameters, sens, has_sens, has_aux,
                                        want_value), {})
    return gradients(name, fn, args, kwargs, AT_POSITIONS, positions, parameters, sens, has_sens, has_aux, want_value)


cdef object recorded_gradient(str name, fn, tuple args, dict kwargs, tuple positions, list parameters, sens,
                              bint has_sens, bint has_aux, bint want_value):
    """`run_gradient` as a program of its own."""
    def call(sens, *args, **kwargs):
        return gradients(name, fn, args, kwargs, AT_POSITIONS, positions, parameters, sens, has_sens, has_aux,
                         want_value)

    return transform_called(name, fn, (positions, has_sens, has_aux, want_value), parameters, call, (sens,) + args,
                            kwargs)


def run_outermost(str name, fn, tuple settings, call, tuple args, dict kwargs):
    """Run `call` for a transform of `fn`, recorded if this is an outermost call in Graph mode.

    Beside `fn` and the arguments, the computation depends only on `settings`.
    """
    if outermost_in_graph_mode():
        return transform_called(name, fn, settings, None, call, args, kwargs)
    return deferring(call, args, kwargs) if may_defer() else call(*args, **kwargs)


cdef tuple gradients(str name, object fn, tuple args, dict kwargs, Which which, tuple positions, list parameters,
                     object sens, bint has_sens, bint has_aux, bint want_value):
    cdef Tape tape = new_tape(name)
    cdef list slots = []                # leaves whose gradients are wanted, inputs first
    cdef list originals = []            # the inputs they came from
    cdef list out_slots = [], seeds = []
    cdef list parameter_at = [] if parameters else NOTHING
    cdef Py_ssize_t n_inputs, n_constants
    cdef object out, aux = None
    cdef bint by_name = False           # keyword inputs are differentiated too
    if noting() is not None:
        entering((TRANSFORMED, name, which, positions, has_sens, has_aux, want_value,
                  tuple([(getattr(p, "name", None), p.requires_grad) for p in parameters])))
    if which == AT_POSITIONS:
        args = with_leaves_at(tape, args, positions, slots, originals)
    else:
        args = with_leaves(tape, args, which, slots, originals)
        by_name = len(kwargs) > 0 and (which == ALL_INPUTS or not originals)
    if by_name:
        kwargs = dict(kwargs)
        for key in list(kwargs):
            if holds_tensor(kwargs[key]):
                originals.append(own(kwargs[key]))
                kwargs[key] = lift(tape, kwargs[key], slots)
                if which == FIRST_INPUT:
                    break
    n_inputs = len(slots)
    if parameters:
        tape.wanted = {id(p): p for p in parameters if p.requires_grad}

    push_level(tape)
    try:
        out = fn(*args, **kwargs) if kwargs else fn(*args)
        settle(tape)
        if has_aux:
            out, aux = split_aux(name, out)
        n_constants = collect(tape, out, out_slots)
        if has_sens:
            match(name, out, sens, "", seeds)
    except ValueError as error:
        show_leaving(error)
        raise
    finally:
        pop_level(tape)

    if n_constants:
        leave_out_constants(out_slots, seeds)
    if not has_sens:
        seeds = [ones_like(tape.values.get(slot)) for slot in out_slots]
    find_parameters(tape, parameters, parameter_at, slots)
    return finish(tape, slots, n_inputs, originals, parameters, parameter_at, out_slots, seeds,
                  out if want_value else None, aux)


cdef tuple with_leaves_at(Tape tape, tuple args, tuple positions, list slots, list originals):
    """The arguments, with leaves of the tape at some positions."""
    cdef list lifted_args = list(args)
    for p in positions:
        originals.append(lifted_args[p])
        lifted_args[p] = lift(tape, lifted_args[p], slots)
    return tuple(lifted_args)


cdef tuple with_leaves(Tape tape, tuple args, Which which, list slots, list originals):
    """The arguments, with leaves of the tape in place of all that hold tensors, or of the first one."""
    cdef tuple lifted_args = PyTuple_New(len(args))
    cdef Py_ssize_t i
    for i in range(len(args)):
        x = args[i]
        if (which == ALL_INPUTS or not originals) and holds_tensor(x):
            originals.append(own(x))
            x = lift(tape, x, slots)
        Py_INCREF(x)
        PyTuple_SET_ITEM(lifted_args, i, x)
    return lifted_args


cdef int leave_out_constants(list out_slots, list seeds) except -1:
    """Leave out the outputs that are constants of the tape, and their seeds."""
    cdef list kept = [i for i in range(len(out_slots)) if out_slots[i] >= 0]
    if seeds:
        seeds[:] = [seeds[i] for i in kept]
    out_slots[:] = [out_slots[i] for i in kept]
    return 0


cdef int find_parameters(Tape tape, list parameters, list parameter_at, list slots) except -1:
    """Find the leaves at which each parameter was read (None: not read), and add them to `slots`."""
    for p in parameters:
        found = None if tape.parameter_slots is None else tape.parameter_slots.get(id(p))
        parameter_at.append(found)
        if found is not None:
            slots.extend(found)
    return 0


cdef class GradientFunction:
    """The result of GradOperation: a function of the inputs of `fn` that returns gradients."""
    cdef readonly object fn
    cdef bint get_all
    cdef bint by_list
    cdef bint sens_param
    cdef object parameters_of           # without a list: finds the parameters at each call
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
            return self.recorded(args, kwargs)
        return deferring(self, args, kwargs) if may_defer() else self.compute(args, kwargs)

    cdef object recorded(self, tuple args, dict kwargs):
        """The gradients, as a program of their own."""
        settings = self.get_all, self.by_list, self.sens_param, self.single
        return transform_called("GradOperation", self.fn, settings, self.parameters,
                                lambda *a, **k: self.compute(a, k), args, kwargs)

    cdef object compute(self, tuple args, dict kwargs):
        """The gradients, without a recording of their own."""
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
        args, kwargs = apart("GradOperation", args, args, kwargs)
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
    cdef Py_ssize_t i, linked = 0, n = len(tape.leaf_slots)
    cdef list kept
    for i in range(n):
        linked += tape.leaf_links[i] is not None
    if linked == 0:
        return NO_LINKS
    if linked == n:
        return tape.leaf_slots, tape.leaf_links
    kept = [i for i in range(n) if tape.leaf_links[i] is not None]
    return [tape.leaf_slots[i] for i in kept], [tape.leaf_links[i] for i in kept]


cdef int remember_outer(Tape tape, list outer) except -1:
    """Note the levels that a closed tape depends on, before rules or hooks run, which may have kept its values. The
    tape keeps the claims of these levels, so that tapes never refer to each other in a circle."""
    tape.claim().outer = [(<Node>link).level.claim() for link in outer if (<Value>link).kind == NODE]
    return 0


cdef int release(Tape tape) except -1:
    """Drop the references to outer values of a closed tape that stays alive."""
    tape.leaf_links = None
    tape.linked = None
    tape.parameter_leaves = None
    return 0


cdef bint pull_back(Tape tape, list slots, list leaf_slots, list links, list seed_slots, list seeds, list value_slots,
                    list gradients, dict exported, bint once) except -1:
    """Sweep a closed tape; with `once`, for the only time.

    `gradients` receives the gradients of `slots` (None for zero), and `exported` the values that leave the call. If an
    outer value stands behind the call, the call is written on the tape of that value. Returns True in that case.
    """
    cdef Py_ssize_t n = tape.values.n, i
    cdef Run run = Run()
    cdef Slots adjoints = new_slots(n)
    cdef bint retain = len(links) > 0
    cdef char *needed
    cdef Value v
    if links:
        remember_outer(tape, links)
    run.tape = tape
    run.primals = tape.values
    for i in range(len(seeds)):
        v = without_closed(<Value>seeds[i])
        seeds[i] = v
        retain = retain or v.kind == NODE
    if (not tape.exact or dg_read_shared(&TAPE_BACKWARD)) and outer_reverse(current_level()):
        gradients.extend(taped_sweep(run, slots, leaf_slots, links, seed_slots, seeds, value_slots, exported))
        return retain
    if not retain:
        for slot in value_slots:
            exported[slot] = tape.values.get(slot)
    for i in range(len(seeds)):
        if type_of(<Value>seeds[i]) != cnp.NPY_BOOL:        # a bool has no derivative, also as an output
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
        compose_gradient(run, slots, gradients, leaf_slots, links, seed_slots, seeds, value_slots, exported)
    return retain


cdef tuple finish(Tape tape, list slots, Py_ssize_t n_inputs, list originals, list parameters, list parameter_at,
                  list seed_slots, list seeds, object out, object aux):
    """Sweep the tape of a call that has returned, and arrange its results."""
    cdef list leaf_slots, links, gradients = [], value_slots = NOTHING, inputs, weights = NOTHING, reports = NOTHING
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
    cdef Moment before = now()
    if observers:
        reports = [report(tape) for _ in observers]
    retain = pull_back(tape, slots, leaf_slots, links, seed_slots, seeds, value_slots, gradients, exported, True)
    call_hooks(originals, parameters, parameter_at, gradients, n_inputs)
    fill_zeros(tape, slots, gradients)
    back_to(before)
    value = None if out is None else replaced(tape, out, exported)
    aux = None if aux is None else replaced(tape, aux, exported)
    inputs = of_inputs(originals, gradients)
    if parameters:
        weights = of_parameters(parameters, parameter_at, gradients, n_inputs)
    if reports:
        for observer, summary in zip(observers, reports):
            observer(summary)
    if retain:
        release(tape)
    else:
        tape.clear()
    return value, aux, inputs, weights


cdef int call_hooks(list originals, list parameters, list parameter_at, list gradients, Py_ssize_t i) except -1:
    """Let the hooks of inputs and parameters change their gradients. Hooks do not see zero gradients (None)."""
    cdef Py_ssize_t k = 0, j
    cdef Value v
    if not hooks_exist():
        return 0
    for x in originals:
        for t in (x,) if isinstance(x, TensorBase) else tensors_of(x):
            if hooks_of(<TensorBase>t) is not None and gradients[k] is not None:
                gradients[k] = after_hooks(<TensorBase>t, <Value>gradients[k])
            k += 1
    for p, found in zip(parameters, parameter_at):
        if found is None:
            continue
        if hooks_of(<TensorBase>p) is not None:
            v = None
            for j in range(i, i + len(found)):
                if gradients[j] is not None:
                    v = add(v, <Value>gradients[j])
                    gradients[j] = None
            if v is not None:
                gradients[i] = after_hooks(<TensorBase>p, v)
        i += len(found)
    return 0


cdef int fill_zeros(Tape tape, list slots, list gradients) except -1:
    cdef Py_ssize_t i
    for i in range(len(slots)):
        if gradients[i] is None:
            gradients[i] = zeros_like(<Value>tape.values.get(slots[i]))
    return 0


cdef list of_inputs(list originals, list gradients):
    """The first gradients, each in the nesting of its input."""
    cdef list inputs = []
    cdef Py_ssize_t i = 0, n
    for x in originals:
        if isinstance(x, TensorBase):
            inputs.append(heir(x, <Value>gradients[i]))
            i += 1
        else:
            tensors = tensors_of(x)
            n = len(tensors)
            inputs.append(arranged(x, iter([heir(t, <Value>g) for t, g in zip(tensors, gradients[i:i + n])])))
            i += n
    return inputs


cdef list of_parameters(list parameters, list parameter_at, list gradients, Py_ssize_t i):
    """Gradients of parameters, each the sum over the parameter's leaves; zeros for parameters that were not read."""
    cdef list weights = []
    cdef Value v
    for p, found in zip(parameters, parameter_at):
        if found is None:
            weights.append(wrap(zeros_like(array_of(value_in(<TensorBase>p)))))
            continue
        v = None
        for _ in found:
            v = add(v, <Value>gradients[i])
            i += 1
        weights.append(wrap(v))
    return weights


cdef int compose_gradient(Run run, list slots, list gradients, list leaf_slots, list links, list seed_slots, list seeds,
                          list value_slots, dict exported) except -1:
    """The call as one instruction on the highest tape among its links and sensitivities."""
    cdef Tape tape = run.tape
    cdef Tape target
    cdef SubGradient sub = SubGradient.__new__(SubGradient)
    cdef list operands = list(links), results = [tape.values.get(slot) for slot in value_slots]
    cdef Value v
    cdef Py_ssize_t i, n_values = len(value_slots)
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
    sub.gradient_slots = []
    for i in range(len(slots)):
        if gradients[i] is not None:
            sub.gradient_slots.append(slots[i])
            results.append(gradients[i])
    target = target_of(operands, results)
    results = target.write(OP_SUBTAPE, sub, operands, results)
    for i in range(n_values):
        exported[value_slots[i]] = results[i]
    for i in range(len(slots)):
        if gradients[i] is not None:
            gradients[i] = results[n_values]
            n_values += 1
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


cdef list paired(list outputs, list along):
    """Cast each output and its factor in `along` to a common type, in place. Types differ only for integers."""
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
