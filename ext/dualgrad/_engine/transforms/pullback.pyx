"""Pullbacks: the engine's side of `vjp`.

A pullback keeps the tape of a call and sweeps it for each cotangent it is given. It is pickled as the call.
"""
from ..arrays.array import np
from ..arrays.array cimport NODE, Value, copy_of
from .leaves cimport collect, collect_quietly, lift, match, match_tangents, replaced, split_aux
from .pytrees cimport holds_tensor, in_place, tensors_of
from ..primitives.execute cimport deferring, may_defer
from ..values.rules cimport zeros_like
from ..tape.runs cimport CustomRule, Run, raise_reverse_only, reverse_only_rule
from ..tape.sweeps cimport tangent_sweep
from ..tape.nodes cimport holds_node, without_closed
from ..tape.tape cimport Node, Slots, Tape, new_slots, new_tape
from .gradient cimport (ALL_INPUTS, NOTHING, call_hooks, fill_zeros, find_parameters, gradients, links_of, of_inputs,
                        of_parameters, paired, pull_back, release)
from .inputs import as_input
from .handles cimport TRANSFORMED, Moment, TensorBase, back_to, entering, no_hooks, noting, now, value_in, wrap
from .handles import watch_rebinding
from .transformed import check_weights
from ..tape.closed_call cimport digest_t
from ..values.levels cimport pop_level, push_level, settle, show_leaving


cdef class Pullback:
    """The pullback of a function at a point: from cotangents of the output to cotangents of inputs (and parameters)."""
    cdef str name
    cdef Tape tape
    cdef object out                 # the output, for its nesting, shapes and types
    cdef list out_slots, slots, leaf_slots, links, originals, parameters, parameter_at
    cdef Py_ssize_t n_inputs
    cdef object arrange
    cdef tuple made_of              # the arguments of `run_vjp`
    cdef digest_t mark              # the history of the closed call it was made in, see closed_call.pyx

    def __init__(self):
        raise TypeError("Pullback: is made by vjp, at a point")

    def __reduce__(self):
        """A pullback is pickled as the call that made it, if the call still gives the same value and derivative."""
        cdef Pullback again
        for link in self.links:
            if without_closed(<Node>link).kind == NODE:
                raise TypeError(f"{self.name}: a pullback inside of a derivative cannot be pickled; its outer "
                                f"derivative would be lost")
        check_weights(self.name, self.made_of[1], self.made_of[3])
        value, again = without_effects(self.made_of)
        if not same_bits(value, self.out) or not same_bits(again.pulled(*probes(value)), self.pulled(*probes(value))):
            raise ValueError(f"{self.name}: the function gives another value or derivative now than when the pullback "
                             f"was made, so the pullback cannot be pickled")
        return pullback_of, self.made_of

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self                     # nothing in it changes

    def __call__(self, *cotangents):
        if may_defer():
            return deferring(self, cotangents, {})
        cdef list seeds = [], seed_slots = [], given = [], terms = []
        cdef Py_ssize_t i
        cdef Moment before
        cts = as_input(self.name, "the cotangent", cotangents[0] if len(cotangents) == 1 else cotangents)
        if len(cotangents) == 1 and isinstance(self.out, (tuple, list)) and isinstance(cts, TensorBase):
            cts = (cts,)
        match(self.name, self.out, cts, "", given)
        for i in range(len(self.out_slots)):
            if self.out_slots[i] >= 0:
                seed_slots.append(self.out_slots[i])
                seeds.append(given[i])
        before = self.entered("call")
        self.sweep_from(seed_slots, seeds, terms)
        back_to(before)
        return self.arrange(tuple(of_inputs(self.originals, terms)),
                            of_parameters(self.parameters, self.parameter_at, terms, self.n_inputs))

    cdef Moment entered(self, object how) except *:
        """Note in the surrounding closed call which pullback is called, and return the history."""
        if noting() is not None:
            entering((TRANSFORMED, self.name, how, self.mark))
        return now()

    cdef int sweep_from(self, list seed_slots, list seeds, list terms) except -1:
        """Cotangents of the leaves, inputs first."""
        cdef list leaf_slots = [], links = []
        cdef Py_ssize_t i
        for i in range(len(self.links)):
            if without_closed(<Node>self.links[i]).kind == NODE:
                leaf_slots.append(self.leaf_slots[i])
                links.append(self.links[i])
        pull_back(self.tape, self.slots, leaf_slots, links, seed_slots, seeds, [], terms, {}, False)
        call_hooks(self.originals, self.parameters, self.parameter_at, terms, self.n_inputs)
        return fill_zeros(self.tape, self.slots, terms)

    def rows(self, Py_ssize_t i, TensorBase cotangent not None):
        """Cotangents of all input tensors, from a cotangent of the i-th output tensor alone."""
        cdef list terms = [], given = [], outs = tensors_of(self.out)
        cdef Moment before
        if not 0 <= i < len(outs):
            raise IndexError(f"{self.name}: the output has {len(outs)} tensors, got number {i}")
        match(self.name, outs[i], cotangent, "", given)
        before = self.entered(i)
        if self.out_slots[i] >= 0:
            self.sweep_from([self.out_slots[i]], given, terms)
        else:
            self.sweep_from([], [], terms)
        back_to(before)
        return tuple([wrap(<Value>g) for g in terms])

    def push(self, tuple tangents):
        """The tangent of the output, from tangents of the inputs: a forward sweep over the tape.

        If an outer derivative is waiting, or a rule is not exact, it is the transpose of the pullback. The pullback is
        linear in the cotangents, so this is the gradient of <pull(c), tangents> by c.
        """
        cdef list along = [], outs = tensors_of(self.out), moved = []
        cdef Slots dots
        cdef Run run
        cdef Value v
        cdef Py_ssize_t i
        cdef Moment before
        cdef bint plain = self.tape.exact
        cdef CustomRule rule = None if plain else reverse_only_rule(self.tape)
        if rule is not None:
            raise_reverse_only(self.name, rule.name)
        for x in tensors_of(tuple(self.originals)):
            no_hooks(self.name, <TensorBase>x)
        match_tangents(self.name, tuple(self.originals), tangents, "", along)
        before = self.entered("push")
        for v in along + self.links:
            plain = plain and not holds_node(without_closed(v))
        if not plain:
            cotangents = tuple([wrap(zeros_like(value_in(<TensorBase>t))) for t in outs])
            sens = [wrap(<Value>v) for v in along]
            moved = gradients(self.name, lambda *cts: paired(self.pulled(*cts), sens), cotangents, {}, ALL_INPUTS, None,
                              NOTHING, sens, True, False, False)[2]
            back_to(before)
            return in_place(self.out, [wrap(value_in(<TensorBase>t)) for t in moved])
        dots = new_slots(self.tape.values.n)
        run = Run()
        run.tape = self.tape
        run.primals = self.tape.values
        for i in range(self.n_inputs):
            dots.put(self.slots[i], <Value>along[i])
        tangent_sweep(run, dots, {})
        back_to(before)
        for i in range(len(outs)):
            v = None if self.out_slots[i] < 0 else dots.get(self.out_slots[i])
            moved.append(wrap(zeros_like(value_in(<TensorBase>outs[i])) if v is None else v))
        return in_place(self.out, moved)

    def pulled(self, *cotangents):
        """Cotangents of all input tensors, from cotangents of all output tensors."""
        cdef list terms = [], seeds = [], seed_slots = [], given = []
        cdef Py_ssize_t i
        match(self.name, tuple(tensors_of(self.out)), cotangents, "", given)
        for i in range(len(self.out_slots)):
            if self.out_slots[i] >= 0:
                seed_slots.append(self.out_slots[i])
                seeds.append(given[i])
        self.sweep_from(seed_slots, seeds, terms)
        return [wrap(<Value>g) for g in terms]


def pullback_of(*call):
    """Restore a pullback that was pickled."""
    return run_vjp(*call)[1]


cdef tuple without_effects(tuple call):
    """The value and the pullback of a call. Its changes of tensors are undone."""
    cdef dict before = {}
    former = watch_rebinding(lambda handle: before.setdefault(id(handle), (handle, handle._detached())))
    try:
        return run_vjp(*call)[:2]
    finally:
        watch_rebinding(former)
        for handle, value in before.values():
            handle._rebind(value)


cdef bint same_bits(object a, object b) except -1:
    """True if the tensors of two nests have the same types, shapes and numbers."""
    cdef list first = tensors_of(a), second = tensors_of(b)
    if len(first) != len(second):
        return False
    for x, y in zip(first, second):
        x, y = x.asnumpy(), y.asnumpy()
        if x.dtype != y.dtype or x.shape != y.shape or x.tobytes() != y.tobytes():
            return False
    return True


cdef list probes(object nest):
    """A cotangent for each tensor of a nest, in a direction without symmetries."""
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
    """(value, pullback, aux). `arrange` makes the pullback's result from gradients of inputs and of parameters."""
    if may_defer():
        return deferring(run_vjp, (name, fn, args, parameters, has_aux, arrange), {})
    cdef Tape tape = new_tape(name)
    cdef Pullback pull = Pullback.__new__(Pullback)
    cdef list call_args = [], value_slots = []
    cdef dict exported = {}
    cdef object out, aux = None
    cdef Moment before
    if noting() is not None:
        entering((TRANSFORMED, name, has_aux, tuple([(getattr(p, "name", None), p.requires_grad) for p in parameters])))
        pull.mark = now().history
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
        settle(tape)
        if has_aux:
            out, aux = split_aux(name, out)
        collect(tape, out, pull.out_slots)
    except ValueError as error:
        show_leaving(error)
        raise
    finally:
        pop_level(tape)
    before = now()
    find_parameters(tape, parameters, pull.parameter_at, pull.slots)
    pull.leaf_slots, pull.links = links_of(tape)
    collect_quietly(tape, out, value_slots)
    if aux is not None:
        collect_quietly(tape, aux, value_slots)
    pull_back(tape, [], pull.leaf_slots, pull.links, [], [], value_slots, [], exported, False)
    back_to(before)
    value = replaced(tape, out, exported)
    aux = None if aux is None else replaced(tape, aux, exported)
    pull.out = value
    release(tape)
    return value, pull, aux
