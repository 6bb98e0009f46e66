"""Calls that a derivative runs again, each as one instruction.

Design
------
A call with a small trace is not one of them. A loop of few steps is traced like other code, and its instructions are
written on the outer tapes (`spliced`). A tape that grows too large is made light, and the call is run again.

`Whole` is the instruction for such a call. Under a reverse level its first run uses a light tape, which keeps nothing
and only tells which values depend on an input. Its closed call (closed_call.pyx) finds the values that it reads from
outside. The instruction keeps the values of its operands, arguments and captured tensors alike. Its reverse rule is a
function of tensors that returns cotangents: the gradient of the function run again, or the sweep of a loop from
checkpoints. Its forward rule runs the function on duals. Rules take operands of any kind that a sweep holds, so higher
orders and batches need no other rules.
"""
from cpython.object cimport PyObject

from ..arrays.array cimport NODE, Array, Value, is_inexact, to_ndarray
from ..arrays.thread cimport thread_state
from ..tape.nested cimport dual_slots
from ..primitives.execute cimport active_tracer, given_to_python, tracing
from .gradient cimport AT_POSITIONS, NOTHING, gradients, outer_reverse
from .pytrees cimport (check_containers, emptied, in_place, noted_containers, own, refilled, tensors_in,
                       tensors_of as all_tensors)
from ..primitives.opcodes cimport OP_SUBTAPE
from ..tape.closed_call cimport (CAPTURED, GIVEN, ClosedCall, Moment, Trail, add_to_history, digest_t, follow, mixed,
                                 moment, numbered, put_back, random_state, set_random_state)
from ..tape.report cimport weight
from ..tape.runs cimport Run, SubTape, lift_tape
from ..tape.nodes cimport current_environment, target_of, veil, without_closed
from ..tape.tape cimport Node, Slots, Tape, new_light_tape, new_slots, new_tape, stripped
from .handles cimport (TensorBase, as_view, current_closed_call, give_mark, mark_of, noting, put_mark, read, rebound,
                       renewed, swap_closed_call, value_in, wrap)
from ..values.levels cimport (Level, array_of, called_rule, current_level, new_level, next_serial, part, pop_level,
                              push_level, shape_of)

import threading

from ..arrays.array import np


class Masks(threading.local):
    """The mask of the branches that run on this thread (loops/masks.py). A repeated run has the first run's mask."""
    now = None


MASKS = Masks()


cdef object fresh(object x):
    """A nest with new handles on the same values."""
    return in_place(x, [wrap(read(<TensorBase>t)) for t in all_tensors(x)])


cdef object all_renewed(object x):
    """A nest with new handles that have the marks of the old handles."""
    return in_place(x, [renewed(read(<TensorBase>t), <TensorBase>t) for t in all_tensors(x)])


cdef class Inside:
    """The inputs of a call beside its arguments, found in its first run: captured tensors and the random state."""
    cdef str name
    cdef list handles
    cdef list changed               # outside handles that got new values in the first run
    cdef list found                 # the numbers of all results of the first run
    cdef Moment start               # the history at the start of the first run
    cdef Trail trail
    cdef list given                 # marks of the arguments
    cdef list marks                 # marks of the captured tensors
    cdef digest_t noted             # a digest of the executed operations
    cdef object mask                # the mask of the branches around it
    cdef object state

    @property
    def draws(self):
        """True if the first run drew random numbers."""
        return self.state is not None

    def run(self, list captured, fn, *args):
        """fn(*args) with the given captured tensors and the current random state. Nothing outside changes."""
        return self.entered(self.closed_with(captured), fn, args, None)

    cdef object entered(self, ClosedCall closed, fn, args, list marks):
        former = MASKS.now
        MASKS.now = self.mask
        try:
            return entered_call(closed, fn, fresh(args), marks)
        finally:
            MASKS.now = former

    def noted_run(self, list captured, fn, *args):
        """(run(captured, fn, *args), a digest of the executed operations)."""
        cdef ClosedCall closed = self.closed_with(captured)
        out = self.entered(closed, fn, args, None)
        return out, executed(closed, out, [])

    def run_whole(self, list captured, fn, *args):
        """The tensors that fn(*args) returns, then the values for the outside tensors that the first run changed."""
        cdef ClosedCall closed = self.closed_with(captured)
        cdef list results = []
        closed.history = self.start.history
        closed.made = self.start.made
        closed.trail = self.trail
        out = self.entered(closed, fn, args, self.given)
        tensors_in(out, results)
        for handle in self.changed:
            results.append(wrap(<Value>closed.table[id(handle)]))
        if not recording():
            self.compare(results, executed(closed, out, self.changed), fn, closed)
        return results

    cdef ClosedCall closed_with(self, list captured):
        cdef ClosedCall closed
        cdef list values = [read(<TensorBase>t) for t in captured]
        cdef Py_ssize_t i
        closed = new_closed_call(self.name, False)
        closed.again = True
        for i in range(len(values)):
            closed.table[id(self.handles[i])] = values[i]
            closed.marks[id(self.handles[i])] = self.marks[i]
        return closed

    cdef int compare(self, list results, digest_t noted, fn, ClosedCall closed) except -1:
        """Raise if the run differs from the first one: the function then depends on more than its inputs."""
        cdef Py_ssize_t i
        if len(results) == len(self.found) and noted == self.noted:
            for i in range(len(results)):
                if not same_numbers(array_of(read(<TensorBase>results[i])), <Array>self.found[i]):
                    break
            else:
                return 0
        raise RuntimeError(f"{self.name}: the function {function_in_words(fn)} gave another result when it was run "
                           f"again to be differentiated, or computed it in another way{place_in_words(closed)}, so the "
                           f"gradient would be that of another function; what it computes has to follow from its "
                           f"inputs (draw random numbers with dualgrad, not NumPy, inside of it, and change no "
                           f"attribute or variable that it reads), or call it without {self.name}")

    def repeat(self, fn, *args):
        """fn(*args) with the random numbers of the first run. The current random state is restored afterwards."""
        cdef ClosedCall closed = current_closed_call()
        cdef Moment before = moment(closed)
        now = None if self.state is None else random_state()
        if now is not None:
            set_random_state(self.state)
        try:
            return called_rule(fn, args, {})
        finally:
            put_back(closed, before)
            if now is not None:
                set_random_state(now)


cdef bint same_numbers(Array a, Array b):
    """True if two arrays are equal up to rounding. The two runs may use different programs, and programs of large
    arrays round products and sums in another way than single steps."""
    if a is b:
        return True
    x, y = to_ndarray(a), to_ndarray(b)
    if not is_inexact(a.typenum) or x.shape != y.shape or x.dtype != y.dtype:
        return np.array_equal(x, y)
    if np.array_equal(x, y, equal_nan=True):
        return True
    size = np.abs(y)
    return np.allclose(x, y, rtol=0.0, equal_nan=True,
                       atol=2.0**10 * np.finfo(y.dtype).eps * size.max(where=np.isfinite(size), initial=0.0))


cdef ClosedCall new_closed_call(str name, bint reverse):
    cdef ClosedCall closed = ClosedCall.__new__(ClosedCall)
    closed.level = new_light_tape(name) if reverse else new_level(name)
    closed.tracer = thread_state().tracer
    closed.table = {}
    closed.marks = {}
    closed.history = 1
    closed.differs_at = -1
    closed.handles = []
    closed.values = []
    closed.effects = {}
    return closed


cdef object entered_call(ClosedCall closed, object fn, object args, list marks):
    """fn(*args) in a closed call. The tensors of the result hold their inside values. `marks` are the marks of the
    arguments, by default numbers."""
    closed.outer = current_closed_call()
    closed.environment = current_environment()
    number_arguments(all_tensors(args), marks)
    push_level(closed.level)
    swap_closed_call(closed)
    try:
        return all_renewed(fn(*args))
    finally:
        swap_closed_call(closed.outer)
        pop_level(closed.level)


cdef digest_t first_mark(ClosedCall closed, Py_ssize_t i) except? 0:
    """The mark of captured tensor i, before the call gave it a new value."""
    cdef digest_t mark = 0 if closed.outer is None else mark_of(<TensorBase>closed.handles[i], closed.outer)
    return mark if mark else numbered(CAPTURED, i)


cdef int number_arguments(list given, list marks) except -1:
    """Give tensors the marks of arguments."""
    cdef Py_ssize_t i
    for i in range(len(given)):
        (<TensorBase>given[i]).mark = numbered(GIVEN, i) if marks is None else <digest_t>marks[i]
    return 0


cdef digest_t executed(ClosedCall closed, object out, list changed) except? 0:
    """A digest of a closed call's operations, and of the tensors that it returned or left in outside handles."""
    cdef digest_t found = closed.history
    for t in all_tensors(out):
        found = mixed(found, (<TensorBase>t).mark)
    for handle in changed:
        found = mixed(found, <digest_t>closed.marks[id(handle)])
    return found


cpdef object function_in_words(object fn):
    """The name of a user's function, and its place in the source."""
    fn = getattr(fn, "__wrapped__", fn)
    code = getattr(getattr(fn, "__func__", fn), "__code__", None) or getattr(getattr(type(fn), "construct", None),
                                                                             "__code__", None)
    name = getattr(fn, "__qualname__", type(fn).__name__)
    return name if code is None else f"{name} ({code.co_filename}, line {code.co_firstlineno})"


cdef object place_in_words(ClosedCall closed):
    """A text on where a run differs from the first one."""
    found = " (other numbers, primitives, tensors, stops or rules"
    if closed.differs_at >= 0 and closed.differs is not None:
        found += f"; first at {closed.differs[0]}, line {closed.differs[1]}"
    return found + ")"


cdef class Whole(SubTape):
    """A call that a derivative runs again. Operands: the arguments and captured tensors that are nodes. Results: the
    tensors that left the call and depend on them."""
    cdef Inside inside
    cdef list active                # indices of the operands among all arguments and captured tensors
    cdef list outputs               # indices of the instruction's results among all results
    cdef object forward             # forward(inside, tensors) -> results
    cdef object backward            # backward(inside, tensors, wanted, cotangents, first) -> cotangents

    cdef list rerun(self, Slots primals):
        cdef list values = [primals.get(i) for i in range(primals.n)], found
        cdef Level level = veil(values)
        found = self.inside.repeat(self.forward, self.inside, [wrap(<Value>v) for v in values])
        return [part(without_closed(read(<TensorBase>found[i])), level, 0) for i in self.outputs]

    cdef list pull(self, Run run, list cts):
        cdef list given = [None] * (max(self.outputs) + 1)
        cdef Py_ssize_t n = run.primals.n
        cdef list values = [run.primals.get(i) for i in range(n)] + cts
        cdef Level level = veil(values)
        for i, ct in zip(self.outputs, values[n:]):
            given[i] = None if ct is None else wrap(<Value>ct)
        found = self.inside.repeat(self.backward, self.inside, [wrap(<Value>v) for v in values[:n]], self.active,
                                   given, run is self.run)
        return [None if t is None else part(read(<TensorBase>t), level, 0) for t in found]

    cdef list push(self, Run run, list tangents, list record):
        cdef Level level = new_level(self.name)
        cdef Slots dots = new_slots(run.primals.n)
        cdef Slots primals
        cdef Py_ssize_t i
        for i in range(len(self.active)):
            if tangents[i] is not None:
                dots.put(self.active[i], <Value>tangents[i])
        primals = dual_slots(run.primals, dots, level)
        record.append(dots)
        return [part(<Value>v, level, 1) for v in self.rerun(primals)]

    cdef Run enrich(self, Run run, list record, Level level):
        cdef Run rich = Run()
        rich.tape = run.tape
        rich.primals = dual_slots(run.primals, <Slots>record[0], level)
        return rich

    cdef Run lift(self, Run run, list operands):
        cdef Run lifted = Run()
        cdef Py_ssize_t i
        lifted.tape = run.tape
        lifted.primals = new_slots(run.primals.n)
        for i in range(run.primals.n):
            lifted.primals.put(i, run.primals.get(i))
        for i in range(len(self.active)):
            lifted.primals.put(self.active[i], <Value>operands[i])
        return lifted

    cdef list results(self, Run run):
        return self.rerun(run.primals)


def whole(str name, first, forward, backward, tuple args, bint effects, bint traced=False):
    """first(*args), as one instruction of the tape.

    `first` returns a nest of tensors. `forward(inside, tensors)` returns the list of these tensors again, and
    `backward` is their pullback. Both take a list of the tensors in `args` and of the captured tensors (see Whole).
    With `effects`, new values of outside tensors follow the results; otherwise they are an error. With `traced`, the
    call's trace may be kept instead, see `too_long`.
    """
    cdef ClosedCall outer = noting()
    cdef ClosedCall closed = new_closed_call(name, outer_reverse(current_level()))
    cdef Whole node
    cdef Inside inside = Inside()
    cdef Run run
    cdef Tape target = None
    cdef Value v
    cdef Py_ssize_t i
    cdef list outside = [], values, found = [], changed, operands, outputs, marks = None, inner, slots
    if outer is not None and effects:   # a block continues the outer history, as if it were not a closed call
        put_back(closed, moment(outer))
        marks = [mark_of(<TensorBase>t, outer) for t in all_tensors(args)]
    inside.start = moment(closed)
    closed.at = inside.start.at = 0
    if effects:
        inside.trail = closed.trail = Trail()
    if traced and closed.level.reverse and is_kept(current_level()) and (<Tape>closed.level).lines is None:
        (<Tape>closed.level).light = False
    inner = inner_tensors(closed, args, outside)
    given = refilled(emptied(args), iter(inner))
    before = bindings(inner)
    noted = noted_containers(given)
    out = entered_call(closed, first, given, marks)
    check_bindings(name, before)
    check_containers(name, noted)
    changed = list(closed.effects.values())
    if changed and not effects:
        raise RuntimeError(f"{name}: the function gives a new value to {described(changed[0])}, which was made "
                           f"outside; it is run again to be differentiated, so return the value instead (as a part of "
                           f"what is carried along)")
    tensors_in(out, found)
    values = [v if v.kind == NODE and (<Node>v).level is closed.level else without_closed(v)
              for v in [value_in(<TensorBase>t) for t in found]]
    values += [<Value>closed.table[id(handle)] for handle in changed]
    outputs = [i for i in range(len(values)) if (<Value>values[i]).kind == NODE
               and (<Node>values[i]).level is closed.level]
    slots = [(<Node>v).slot if (<Value>v).kind == NODE else -1
             for v in [value for _, value in before] + [closed.table[id(handle)] for handle in closed.handles]]
    outside += closed.values
    operands = [v for v in outside if (<Value>v).kind == NODE]
    if outputs and not (<Tape>closed.level).light:
        spliced(<Tape>closed.level, slots, outside, outputs, values)
    elif outputs:
        inside.name = name
        inside.mask = MASKS.now
        inside.handles = closed.handles
        inside.marks = [first_mark(closed, i) for i in range(len(closed.handles))]
        inside.given = marks
        inside.state = closed.state
        inside.changed = changed
        inside.noted = executed(closed, out, changed)
        inside.found = [array_of(<Value>v) for v in values] if effects else None
        node = Whole.__new__(Whole)
        node.name = name
        node.inside = inside
        node.forward = forward
        node.backward = backward
        node.outputs = outputs
        node.active = [i for i in range(len(outside)) if (<Value>outside[i]).kind == NODE]
        run = Run()
        run.tape = new_tape(name)
        run.primals = new_slots(len(outside))
        for i in range(len(outside)):
            run.primals.put(i, stripped(<Value>outside[i]))
        node.run = run
        results = [stripped(<Value>values[i]) for i in outputs]
        target = target_of(operands, results)
        results = target.write(OP_SUBTAPE, node, operands, results)
        target.exact = target.exact and (<Tape>closed.level).exact
        for i, v in zip(outputs, results):
            values[i] = v
    if closed.level.reverse:
        (<Level>closed.level).claim().outer = [(<Node>v).level.claim() for v in operands]
    if outer is not None:
        if not effects:
            add_to_history(outer, closed.steps)
        elif outer.history != closed.history:
            outer.history = closed.history
            if outer.trail is not None:
                follow(outer)
        outer.made = closed.made if effects else 0
    for i in range(len(changed)):
        rebound(<TensorBase>changed[i], <Value>values[len(found) + i])
        if outer is not None:
            outer.made = closed.made
            put_mark(<TensorBase>changed[i], outer, <digest_t>closed.marks[id(changed[i])])
    inner = [wrap(<Value>v) for v in values[:len(found)]]
    if outer is not None and effects:
        outer.made = closed.made
        for t, former in zip(inner, found):
            (<TensorBase>t).mark = (<TensorBase>former).mark
    return refilled(emptied(out), iter(inner))


# -------------------------------------------------------------------------------------------- traces that are kept

cdef bint is_kept(Level level) except -1:
    """True if all open tapes keep their instructions."""
    while level is not None:
        if level.reverse and (<Tape>level).light:
            return False
        level = level.outer
    return True


def too_long(Py_ssize_t most):
    """True if the current closed call will be run again: it keeps no trace, or it dropped a trace of more than `most`
    bytes."""
    cdef ClosedCall closed = current_closed_call()
    cdef Tape tape
    if closed is None or not closed.level.reverse or (<Tape>closed.level).light:
        return True
    tape = <Tape>closed.level
    if tape.linked is not None:             # it reads outer nodes, so it must stay a tape
        return False
    closed.weight += weight(tape, closed.weighed[0], closed.weighed[1])
    closed.weighed[0] = tape.values.n
    closed.weighed[1] = tape.n_entries
    if closed.weight <= most:
        return False
    tape.light = True
    tape.free_entries()
    tape.values.clear()
    return True


cdef int spliced(Tape tape, list slots, list outside, list outputs, list values) except -1:
    """Write a tape's instructions on the tapes of the values behind its leaves. Puts the results in `values`."""
    cdef Run run = Run()
    cdef Slots lifted
    cdef dict leaves = dict(zip(tape.leaf_slots, tape.leaf_links))
    cdef Value v
    cdef Py_ssize_t i
    for i in range(len(outside)):
        if slots[i] >= 0:
            leaves[slots[i]] = outside[i]
    run.tape = tape
    run.primals = tape.values
    lifted = lift_tape(run, leaves, None)
    for i in outputs:
        values[i] = lifted.get((<Node>values[i]).slot)
    if not tape.exact:
        for v in leaves.values():
            (<Tape>(<Node>v).level).exact = False
    tape.clear()
    return 0


def bindings(nest):
    """The current values of the tensors in a nest, for `check_bindings`."""
    return [(t, value_in(<TensorBase>t)) for t in all_tensors(nest)]


def check_bindings(str name, list before):
    """Raise if a function has given one of its arguments a new value."""
    for t, value in before:
        if value_in(<TensorBase>t) is not value:
            raise RuntimeError(f"{name}: the function changes one of its arguments in place; work on a copy (+x)")


def own_containers(nest):
    """A nest with its own lists and dicts and the same tensors."""
    return own(nest)


# ------------------------------------------------------------------------------------- results that share elements

cdef object WHOLE = ("index", ...)      # how an array is taken as a whole
NOT_KNOWN = ("it shares elements with an array, in a way that is not known where the call is one instruction: make a "
             "copy of the result (x.copy()), before the array is written into")


def shared_with(out, list given, long long start):
    """What each tensor of a result shares elements with: None, or a tuple. The function began after `start`.

    It holds a tensor, or the number of one of the given tensors or (below 0) of a result; how its elements are taken,
    and the reason to refuse writes.
    """
    cdef TensorBase t
    cdef list found = [], tensors = all_tensors(out)
    cdef dict places = {id(t): -1 - k for k, t in enumerate(tensors) if (<TensorBase>t).birth >= start}
    places.update({id(t): k for k, t in enumerate(given)})
    for i in range(len(tensors)):
        t = <TensorBase>tensors[i]
        if t.alias is None or not t.alias.array or not len(shape_of(value_in(t))):
            found.append(None)
        elif t.alias.source is not None:
            source = t.alias.source
            found.append((places.get(id(source), source), t.alias.how, t.alias.refused))
        elif places.get(id(t), -1 - i) != -1 - i:               # an argument, or a result that occurs again
            found.append((places[id(t)], WHOLE, t.alias.refused))
        else:
            found.append((t, WHOLE, t.alias.refused))
    return found


def either(list one, list other):
    """What the results of a choice between two branches share elements with: a way that differs is not known."""
    cdef list found = []
    for a, b in zip(one, other):
        if a is None or b is None or not same_place(a[0], b[0]) or a[1:] != b[1:]:
            first = a if b is None or a is not None else b
            a = None if first is None else (first[0], None, None)
        found.append(a)
    return found


cdef bint same_place(a, b):
    return a is b or type(a) is int and type(b) is int and a == b


def share(out, list shared, list given, long long start):
    """Make the new tensors of a result views of what they share elements with (see `shared_with`). Tensors that were
    made since `start` stand for nothing outside."""
    cdef TensorBase t, source
    cdef list tensors = all_tensors(out)
    for new, one in zip(tensors, shared):
        if one is None:
            continue
        t = <TensorBase>new
        place, how, refused = one
        source = <TensorBase>(place if type(place) is not int else given[place] if place >= 0 else tensors[-1 - place])
        if source is t or type(place) is not int and source.birth >= start:
            continue
        if source.alias is None or not source.alias.array:
            continue
        if source.alias.source is not None or type(place) is int and source.alias.layout is not None \
                and not source.alias.layout.flags.c_contiguous:
            how = None                              # the function was given an array in C order, which was no view
            source = source if source.alias.source is None else source.alias.source
        if how is None:
            as_view(t, source, ("unknown", shape_of(value_in(t)), NOT_KNOWN), None, NOT_KNOWN)
        else:
            as_view(t, source, how, None, refused)
    return out


def branch(str name, fn, tuple operands):
    """(fn(*operands) on new handles, what it shares elements with); raises if it changes one of them."""
    cdef long long start = next_serial()
    cdef tuple given = all_renewed(operands)
    cdef list before = bindings(given), noted = noted_containers(given)
    out = fn(*given)
    check_bindings(name, before)
    check_containers(name, noted)
    return out, shared_with(out, all_tensors(given), start)


cdef list inner_tensors(ClosedCall closed, tuple args, list outside):
    """The tensors in the arguments as the first run of a closed call sees them. Appends their outside values to
    `outside`."""
    cdef list given = [], inner = []
    cdef Value v
    tensors_in(args, given)
    for t in given:
        v = without_closed(read(<TensorBase>t))
        outside.append(v)
        inner.append(wrap((<Tape>closed.level).place(stripped(v)) if closed.level.reverse and v.kind == NODE else v))
    return inner


def explored(str name, fn, tuple args):
    """(inside, captured tensors, result) of fn(*args), to find the tensors that fn reads. Only the shapes of the result
    are of use."""
    cdef ClosedCall closed = new_closed_call(name, outer_reverse(current_level()))
    cdef ClosedCall outer = noting()
    cdef Inside inside = Inside()
    cdef list given = inner_tensors(closed, args, [])
    cdef Py_ssize_t i
    out = entered_call(closed, fn, refilled(emptied(args), iter(given)), None)
    if closed.effects:
        raise RuntimeError(f"{name}: the function gives a new value to {described(list(closed.effects.values())[0])}, "
                           f"which was made outside; it is run many times, so compute that value elsewhere")
    if closed.state is not None:
        raise RuntimeError(f"{name}: the function draws random numbers, so it is another one at each run; draw them "
                           f"outside of it")
    inside.name = name
    inside.mask = MASKS.now
    inside.handles = closed.handles
    inside.marks = [numbered(CAPTURED, i) for i in range(len(closed.handles))]
    inside.changed = []
    if outer is not None:
        outer.history = mixed(outer.history, executed(closed, out, []))
        outer.made = 0
    return inside, [renewed(<Value>v, <TensorBase>t) for v, t in zip(closed.values, closed.handles)], out


cdef object described(object handle):
    name = getattr(handle, "name", None)
    return f"the Parameter {name!r}" if (<TensorBase>handle).parameter and name else \
        f"a tensor of shape {shape_of(value_in(<TensorBase>handle))}"


def pulled_back(str name, fn, list tensors, tuple positions, tuple cotangents):
    """The cotangents of the tensors at `positions`, from cotangents of all results of fn(*tensors)."""
    return gradients(name, fn, tuple(tensors), {}, AT_POSITIONS, positions, NOTHING, cotangents, True, False,
                     False)[2]


def tensors_of(nest):
    """The tensors in a nest, in order."""
    return all_tensors(nest)


def template_of(nest):
    """The nest without its tensors."""
    return emptied(nest)


def filled(template, tensors):
    """The nest of a template, with tensors put in its holes."""
    return refilled(template, iter(tensors))


def new_trail():
    """A new trail for a step, for `watched`."""
    return Trail()


def written_out(fn, *args):
    """fn(*args), a loop that is not a closed call. Its steps enter the surrounding history as if it were one."""
    cdef ClosedCall closed = current_closed_call()
    cdef Moment before
    cdef digest_t steps, usual
    cdef Trail trail
    if closed is None:
        return fn(*args)
    before = moment(closed)
    steps, usual, trail = closed.steps, closed.usual, closed.trail
    closed.steps = closed.usual = 0
    closed.trail = None
    try:
        out = fn(*args)
    finally:
        put_back(closed, before)
        steps, closed.steps = closed.steps, steps
        closed.usual, closed.trail = usual, trail
    add_to_history(closed, steps)
    for t in all_tensors(out):
        give_mark(<TensorBase>t)
    return out


def watched(fn, trail, *args):
    """Run a step of a closed call, and compare it with a trail of the first run.

    Returns (fn(*args), a digest of its operations, True in a later run, a text on where it differs from the trail).
    """
    cdef ClosedCall closed = current_closed_call()
    cdef Moment before
    cdef Trail former
    cdef digest_t found
    cdef PyObject *tracer
    cdef list given
    cdef bint shared = False            # a tensor is given twice or comes from outside
    if closed is None:
        return fn(*args), 0, False, ""
    given = all_tensors(args)
    number_step(closed, given, &shared)
    if shared:
        given = [wrap(read(<TensorBase>t)) for t in given]
        args = in_place(args, given)
        number_step(closed, given, &shared)
    tracer = closed.tracer
    closed.tracer = thread_state().tracer       # the tracer of a rolled-up loop
    before = moment(closed)
    former, closed.trail = closed.trail, trail
    closed.history = 1
    closed.made = closed.at = 0
    closed.differs_at = -1
    try:
        out = fn(*args)
        found = closed.history
        for t in all_tensors(out):
            found = mixed(found, mark_of(<TensorBase>t, closed))
        where = place_in_words(closed)
    finally:
        closed.tracer = tracer
        closed.trail = former
        put_back(closed, before)
    if not closed.usual:
        closed.usual = closed.steps = found
    elif found != closed.usual:                 # equal steps count once: a rolled-up loop may execute any number
        closed.steps = mixed(closed.steps, found)
    return out, found, closed.again, where


cdef int number_step(ClosedCall closed, list given, bint *shared) except -1:
    """Mark the tensors that a step is given by number. `shared` becomes True if one is given twice or comes from
    outside."""
    cdef Py_ssize_t i
    cdef TensorBase t
    for i in range(len(given)):
        t = <TensorBase>given[i]
        if t.birth < closed.level.serial:
            shared[0] = True
        else:
            t.mark = numbered(GIVEN, i)
    for i in range(len(given)):
        shared[0] = shared[0] or (<TensorBase>given[i]).mark != numbered(GIVEN, i)
    return 0


def kept(TensorBase t not None):
    """A tensor of a closed call's first run, without the level of the closed call."""
    return wrap(stripped(read(t)))


def primal(TensorBase t not None):
    """The numbers of a tensor, for all samples, as an array."""
    cdef Array a = array_of(read(t))
    given_to_python(a, "the numbers")
    return to_ndarray(a)


def is_batched(TensorBase t not None):
    """True if a tensor without axes holds a number for each sample of a `vmap`."""
    cdef Value v = read(t)
    return array_of(v).ndim > len(shape_of(v))


def serial():
    """A number for `made_since`."""
    return next_serial()


def made_since(long long start, nest):
    """A nest, with new handles on its values if one of its tensors is older than `start`, a number of `serial`."""
    for t in all_tensors(nest):
        if (<TensorBase>t).birth < start:
            return share(all_renewed(nest), shared_with(nest, [], start), [], next_serial())
    return nest


def under_reverse():
    """True if a reverse level is open."""
    return outer_reverse(current_level())


def drawn():
    """True if the current closed call has drawn random numbers in its first run."""
    return current_closed_call() is not None and current_closed_call().state is not None


def recording():
    """True if a program is being recorded that will be repeated."""
    return tracing() and active_tracer().repeats()
