"""Loops rolled up: the body of a loop as a program, and the loop as one instruction. Branches are treated alike.

Design
------
A loop of a recorded function is not written out. A few of its steps are executed, each on inputs of its own recording
(`BodyRecorder`), and give the program of a body. The instruction that repeats the body goes to the surrounding
recording.

Rolling happens below all transforms. The carry holds values of all open levels, and the inputs of the body are the
arrays in them. A step may return more structure than it was given: the first step gives a derivative to a value without
one. Then the carry gets zeros in its place (`grown`) and another step is executed, until both have one structure.
Arrays that a step reads from the surrounding recording are inputs that all steps share. Values that follow from these
arrays alone are computed once, outside.

The executed steps are the first steps of the loop, on real numbers. If one of them does something that a program
cannot repeat, the recording is given up and the loop goes on in Python. So no step runs more often than without a
recording: under a reverse level these steps are on the loop's tape (`tape`), which is dropped if there is a body. A
body may depend on an object that it changes itself (a counter). So guards of all objects that its code can reach must
hold after each further step, and the last two steps must give equal programs.

While a function is recorded, both branches of `cond` are executed, on inputs of their own recordings, and become one
instruction. It runs the program of the chosen branch; nothing of a branch is computed outside.
"""
cimport numpy as cnp
from cpython.object cimport PyObject

from ..arrays.array cimport Array, Value, contiguous, is_deferred, new_view, scalar, with_numbers
from ..compiler.repetitions cimport Body, Choice, Repetition, Reversal, choice, repetition
from ..compiler.program cimport Program
from ..primitives.execute cimport active_tracer, execute as run_primitive, run, start_tracing, stop_tracing
from ..primitives.opcodes cimport OP_TRANSPOSE
from ..primitives.registry cimport DRAWS, EFFECTS
from ..structural.loops cimport OP_CHOICE, OP_LOOP, OP_REVERSED_LOOP, OP_UNPACK
from ..tape.nodes cimport without_closed
from ..tape.tape cimport Tape
from ..transforms.handles cimport TensorBase, current_closed_call, read, wrap
from ..transforms.weak cimport weak_number
from ..values.levels cimport Level, array_of, forget_refusals, refusals
from .executed cimport USERS, Executed, trust_of
from .guards cimport Guards, guard_in_words
from .reachability cimport Reach, reachable_from
from .recorder cimport Recorder
from .structure import OnATape
from .structure cimport axes_of, entry_of, grown, restored, stack_of, structure


class NotRecorded(Exception):
    """A branch does something that a program cannot repeat. Raised before it happens."""


cdef enum:
    MOST_STEPS = 12             # to find the structure of the carry


# ---------------------------------------------------------------------------------------------- a body is recorded

cdef class BodyRecorder(Recorder):
    """The recording of one step."""
    cdef Recorder outer
    cdef list shared            # arrays of the recording around that the step reads
    cdef dict inside            # id of one of them -> (the array, its input)

    cdef bint knows(self, Array a) noexcept:
        return a.trace == self.trace or self.outer.knows(a)

    cdef bint is_around(self, Array a) noexcept:
        """True if an array belongs to a recording around this one."""
        return a.trace != self.trace and a.trace != 0 and self.outer.knows(a)

    cdef Array captured(self, Array a):
        """An array of the recordings around, as an input of the body."""
        found = self.inside.get(id(a))
        if found is not None:
            return <Array>(<tuple>found)[1]
        given = a
        if isinstance(self.outer, BodyRecorder) and a.trace != self.outer.trace:
            given = (<BodyRecorder>self.outer).captured(a)
        if is_deferred(a):
            self.outer.needed(a)
        alias = self.input(a)
        self.shared.append(given)
        self.inside[id(a)] = (a, alias)
        return alias

    cdef Array execute(self, int op, object params, PyObject **args, int n):
        cdef bint ours = False, around = False
        cdef Array a
        cdef int i
        if EFFECTS[op] == DRAWS:
            self.give_up("a loop of many steps draws random numbers")
            return run(op, params, args, n)
        for i in range(n):
            a = <Array>args[i]
            ours = ours or a.trace == self.trace
            around = around or self.is_around(a)
        if not around:
            return Recorder.execute(self, op, params, args, n)
        if not ours:                    # all steps share the result
            return self.outer.execute(op, params, args, n)
        return self.execute_inside(op, params, args, n)

    cdef Array execute_inside(self, int op, object params, PyObject **args, int n):
        """A step of the body, whose operands may belong to the recordings around."""
        cdef bytearray room = bytearray(max(n, 1) * sizeof(PyObject *))
        cdef PyObject **ins = <PyObject **><char *>room
        cdef list held = []
        cdef Array a
        cdef int i
        for i in range(n):
            a = <Array>args[i]
            if self.is_around(a):
                a = self.captured(a)
                held.append(a)
            ins[i] = <PyObject *>a
        return Recorder.execute(self, op, params, ins, n)

    cdef Array reference(self, object handle, Array a):
        return self.outer.reference(handle, a)

    cdef int needed(self, Array a) except -1:
        return self.outer.needed(a)

    cdef int asked(self, Array a, str what) except -1:
        if a.trace != self.trace:
            return self.outer.asked(a, what)
        return self.give_up(f"Python was given {what} of a tensor in a loop of many steps")

    cdef int frozen(self, object handle, Array a) except -1:
        return self.outer.frozen(handle, a)

    cdef int rebound(self, object handle) except -1:
        if (<TensorBase>handle).birth < self.start:
            self.give_up("a step of a loop gives a tensor outside a new value")
        return 0

    cdef int give_up(self, str why) except -1:
        if self.failed is None:
            self.failed = why
        stop_tracing(self)
        return self.outer.give_up(why)

    cdef int resume(self) except -1:
        return self.outer.resume()

    cdef int slot_in(self, Array a) except -1:
        """The slot of an array that leaves the step; an input or a constant if the step has not computed it."""
        return self.slot_of(self.captured(a) if self.is_around(a) else a)


cdef class BranchRecorder(BodyRecorder):
    """The recording of one of two branches. Nothing of it is computed outside, where it would always run."""

    cdef Array execute(self, int op, object params, PyObject **args, int n):
        if EFFECTS[op] == DRAWS:
            self.give_up("a branch of cond draws random numbers")
            raise NotRecorded
        return self.execute_inside(op, params, args, n)

    cdef int asked(self, Array a, str what) except -1:
        if a.trace != self.trace:
            return self.outer.asked(a, what)
        return self.give_up(f"Python was given {what} of a tensor in a branch of cond")

    cdef int rebound(self, object handle) except -1:
        if (<TensorBase>handle).birth < self.start:
            self.give_up("a branch of cond gives a tensor outside a new value")
        return 0


cdef BodyRecorder new_body(Recorder outer, BodyRecorder made=None):
    made = BodyRecorder() if made is None else made
    made.outer = outer
    made.shared = []
    made.inside = {}
    return made


# ----------------------------------------------------------------------------------------------------- rolling up

cdef list values_of(list tensors):
    return [None if t is None else without_closed(read(<TensorBase>t)) for t in tensors]


cdef list wrapped(list values):
    return [None if v is None else wrap(<Value>v) for v in values]


cdef list structures(list values, list arrays, Level traced=None):
    return [structure(v, arrays, traced) for v in values]


cdef list all_restored(list found, object arrays, list former=None):
    arrays = iter(arrays)
    return [restored(each, arrays, None if former is None else former[i]) for i, each in enumerate(found)]


cdef Array on_arrays(int op, object params, list arrays):
    """A primitive on arrays, recorded by the active recording."""
    cdef bytearray room = bytearray(max(len(arrays), 1) * sizeof(PyObject *))
    cdef PyObject **args = <PyObject **><char *>room
    cdef int i
    for i in range(len(arrays)):
        args[i] = <PyObject *>arrays[i]
    return run_primitive(op, params, args, len(arrays))


cdef Array with_axis_at(Array a, int source, int target):
    cdef list order = list(range(a.ndim))
    if source == target:
        return a
    order.insert(target, order.pop(source))
    return on_arrays(OP_TRANSPOSE, tuple(order), [a])


cdef class Rolled:
    """A loop that was rolled up, or the steps that were executed instead."""
    cdef str name
    cdef object step                # step(carry, entries, number of the entry) -> (carry, made, truth or None)
    cdef Py_ssize_t n
    cdef bint reverse
    cdef bint counts                # the body is given the number of the step
    cdef Recorder outer
    cdef list start                 # the first carry, grown
    cdef list stacked               # arrays with the entries for the steps along their first axis
    cdef list before                # arrays in the carry of the loop that this one reverses
    cdef list entry                 # structures of the inputs of a step beside the carry
    cdef list carried               # structures of the carry
    cdef list made                  # structures of the results of a step beside the carry
    cdef Body body
    cdef list shared
    cdef object truth               # an array, true if there is a first step; or None
    cdef readonly Py_ssize_t done   # steps that were executed
    cdef readonly bint impure       # a step changes an object that the next one depends on
    cdef readonly bint misled       # a step may have seen that its number is not an int
    cdef list last                  # the carry after these steps
    cdef object guards
    cdef Tape tape                  # the tape that the executed steps are written on, or None
    cdef object pick                # pick(k): the tensors of entry k on this tape

    @property
    def succeeded(self):
        """True if the loop has a body."""
        return self.body is not None

    def is_pure(self):
        """True unless an object that the body depends on is known to have changed since the first step."""
        return not self.impure and (self.guards is None or (<Guards>self.guards).broken() is None)

    cdef int find_body(self, object reached) except -1:
        """Execute steps until two in a row have the same structure and give the same program."""
        cdef list now = self.start
        cdef BodyRecorder former = None, made
        while self.done < MOST_STEPS:
            made = self.execute_step(now, reached)
            if made is None:
                return 0
            after = structures(self.last, [], self.tape)
            if after == self.carried and structures(self.start, [], self.tape) == after:
                if former is not None:
                    return self.accept(former, made)
                former = made
            else:
                former = None
                self.start = [None if v is None and w is None else grown(<Value>v, <Value>w)
                              for v, w in zip(self.start, self.last)]
            now = self.last
        self.outer.give_up(f"{self.name}: what is carried has another structure after each step")
        return 0

    cdef int accept(self, BodyRecorder former, BodyRecorder made) except -1:
        """Compare the programs of two steps, and make the body if they are equal."""
        cdef Body body = self.body_of(made)
        if not body.same_as(self.body_of(former)) or slots_of(made.shared) != slots_of(former.shared):
            self.outer.give_up(f"{self.name}: two of its steps compute different things")
            return 0
        self.body = body
        self.shared = made.shared
        return 0

    cdef Body body_of(self, BodyRecorder recorder):
        cdef Body body = Body()
        body.program = recorder.program
        body.carried = axes_count(self.carried)
        body.entries = axes_count(self.entry) + 1
        body.made = axes_count(self.made)
        body.proceeds = self.truth is not None
        return body

    cdef BodyRecorder execute_step(self, list carry, object reached):
        """One step, recorded; None if it cannot be repeated."""
        cdef BodyRecorder recorder = new_body(self.outer)
        cdef Executed executed = Executed()
        cdef Py_ssize_t k = self.n - 1 - self.done if self.reverse else self.done
        cdef list arrays = [], picked = None
        self.carried = structures(carry, arrays, self.tape)
        if self.n >= 0 and self.done >= self.n:
            k = 0
        inside = [recorder.input(with_numbers(a)) for a in arrays]
        given = [recorder.input(with_numbers(a)) for a in self.before]
        given += [recorder.input(entry_at(<Array>a, k)) for a in self.stacked]
        number = recorder.input(scalar(cnp.NPY_INT64, <double>k))
        stop_tracing(self.outer)
        if self.tape is not None:
            picked = values_of(self.pick(k))
        start_tracing(recorder)
        try:
            if self.guards is None and reached is not None:
                executed.traced = True
                executed.start()
            try:
                after, made, truth = self.step(wrapped(all_restored(self.carried, inside, carry)),
                                               wrapped(all_restored(self.entry, given, picked)),
                                               weak_number(k, number, max(abs(self.n), 1)))
            finally:
                if self.guards is None and reached is not None:
                    executed.stop()
            self.done += 1
            if recorder.failed is not None:
                return None
            self.note(recorder, carry, values_of(after), values_of(made), truth)
        finally:
            stop_tracing(recorder)
            if self.outer.failed is None:
                start_tracing(self.outer)
        if recorder.failed is not None or reached is None:
            return None if recorder.failed is not None else recorder
        return recorder if self.still_pure(reached, executed) else None

    cdef int note(self, BodyRecorder recorder, list before, list after, list made, object truth) except -1:
        """Make the values that a step leaves the outputs of its program."""
        cdef list arrays = []
        cdef Program p = recorder.program
        self.last = [None if v is None and w is None else grown(<Value>v, <Value>w) for v, w in zip(after, before)]
        structures(self.last, arrays, self.tape)
        self.made = structures(made, arrays, self.tape)
        if truth is not None:
            arrays.append(array_of(read(<TensorBase>truth)))
        p.outputs.extend([recorder.slot_in(<Array>a) for a in arrays])
        p.prepare()
        return 0

    cdef bint still_pure(self, object reached, Executed executed) except -1:
        """True if the body has changed nothing that it depends on."""
        cdef Reach reach
        if self.guards is None:
            reach = reachable_from(reached[0], list(reached[1:]), executed, True)
            if reach.why is not None:
                self.outer.give_up(reach.why)
                return False
            self.guards = reach.guards
            self.misled = self.counts and self.asks_for_types(executed)
            return not self.misled
        broken = (<Guards>self.guards).broken()
        if broken is None:
            return True
        self.impure = True
        self.outer.give_up(f"{self.name}: a step changes {guard_in_words(broken)}, on which the next one depends")
        return False

    cdef bint asks_for_types(self, Executed executed) except -1:
        """True if users' code calls `type`, which distinguishes the number of a step from an int."""
        for found in executed.codes.values():
            code, around = found[0], found[1]
            if "type" in code.co_names and trust_of(<dict>around) == USERS:
                self.outer.give_up(f"{self.name}: {code.co_name} calls type(), but the number of a step is no int; use "
                                   f"isinstance")
                return True
        return False

    # instructions made of a body

    def result(self):
        """(tensors of the last carry, stacked tensors, number of steps), by one instruction."""
        cdef Repetition loop = self.repeated(0)
        cdef list args = self.operands() + ([] if self.truth is None else [self.truth])
        cdef Array packed = on_arrays(OP_LOOP, loop, args)
        carry, made = self.unpacked(loop, packed)
        count = (<long long *>(packed.data + <Py_ssize_t>loop.results[len(loop.results) - 1][2]))[0]
        return wrapped(carry), wrapped(made), count

    def reversed_by(self, Rolled back, states, schedule):
        """(cotangents of the carry, stacked cotangents), by one instruction: this loop backwards."""
        cdef list first = [], args
        cdef Repetition forward = self.repeated(0), backward
        cdef int seed
        forward = repetition(self.only_carrying(), forward.n, forward.reverse, forward.stacked, forward.shared)
        structures(back.start, first)
        args = self.operands() + ([] if self.truth is None else [self.truth])
        seed = len(args)
        backward = back.repeated(seed)
        args += first + back.stacked + back.shared
        packed = on_arrays(OP_REVERSED_LOOP, Reversal(forward, backward, states, schedule, seed), args)
        carry, made = back.unpacked(backward, packed)
        return wrapped(carry), wrapped(made)

    cdef Body only_carrying(self):
        """The body without the results of a step beside the carry."""
        cdef Body body = Body()
        cdef Program p = self.body.program.with_steps(self.body.program.steps)
        p.outputs = p.outputs[:self.body.carried] + p.outputs[self.body.carried + self.body.made:]
        p.prepare()
        body.program = p
        body.carried = self.body.carried
        body.entries = self.body.entries
        body.proceeds = self.body.proceeds
        return body

    cdef list operands(self):
        cdef list first = []
        structures(self.start, first)
        return first + self.stacked + self.shared

    cdef Repetition repeated(self, int at):
        """The loop, with its first operand at a place."""
        cdef int k = at + self.body.carried, n = len(self.stacked)
        return repetition(self.body, self.n, self.reverse, tuple(range(k, k + n)) + (None,),
                          tuple(range(k + n, k + n + len(self.shared))))

    cdef tuple unpacked(self, Repetition loop, Array packed):
        cdef list parts = [on_arrays(OP_UNPACK, result, [packed]) for result in loop.results[:len(loop.results) - 1]]
        cdef list stacks, axes = [axis for each in self.made for axis in axes_of(each, 0)]
        stacks = [with_axis_at(<Array>a, 0, axis) for a, axis in zip(parts[self.body.carried:], axes)]
        return (all_restored(self.carried, parts[:self.body.carried]),
                all_restored([stack_of(each, self.n, 0) for each in self.made], stacks))


cdef int axes_count(list found) except -1:
    return sum([len(axes_of(each, 0)) for each in found])


cdef list slots_of(list arrays):
    return [(<Array>a).slot for a in arrays]


cdef Array entry_at(Array a, Py_ssize_t k):
    """Entry k of an array."""
    a = with_numbers(a)
    return new_view(a, a.ndim - 1, a.shape + 1, a.strides + 1, a.data + k * a.strides[0])


def roll(str name, step, list carry, list stacked, Py_ssize_t n, bint reverse, truth=None, reached=None,
         Rolled before=None, bint counts=False, pick=None):
    """Roll up a loop: find the program of a step.

    `step(carry, entries, k)` is given tensors and the number of the entry. It returns (carry, tensors to be stacked,
    truth value for a further step or None). `n` is the number of steps. It is -1 if the step decides; then `truth`
    tells if there is a first step. `reached` has functions from which everything is reached that the step depends on.
    It is None if a former walk found that the step changes nothing. Entries of `carry` may be None: zero, of an unknown
    form. `before` is the loop that this one reverses; its carry comes first among the entries of a step. `counts`:
    users' code is given k. `pick`: returns the tensors of an entry, if the steps may be on the tape of the closed call.
    """
    cdef Rolled r = Rolled()
    cdef list arrays
    r.name = name
    r.step = step
    r.n = n
    r.reverse = reverse
    r.counts = counts
    r.outer = <Recorder>active_tracer()
    r.stacked = []
    r.before = []
    r.entry = []
    if pick is not None and current_closed_call().level.reverse and not (<Tape>current_closed_call().level).light:
        r.tape = <Tape>current_closed_call().level
        r.pick = pick
    if before is not None:
        r.entry = structures(before.start, r.before)
    r.truth = None if truth is None else array_of(read(<TensorBase>truth))
    try:
        r.start = values_of(carry)
        for t in stacked:
            arrays = []
            each = structure(without_closed(read(<TensorBase>t)), arrays, r.tape)
            r.entry.append(entry_of(each, 0))
            r.stacked += [with_axis_at(<Array>a, axis, 0) for a, axis in zip(arrays, axes_of(each, 0))]
        r.find_body(reached)
    except OnATape as error:
        r.outer.give_up(f"{name}: {error}")
    return r


def rolls():
    """True if a recording is active in which loops are rolled up."""
    tracer = active_tracer()
    return type(tracer) is Recorder or isinstance(tracer, BodyRecorder)


def written_down(TensorBase t not None):
    """True if a tensor is part of a recording that will be repeated."""
    tracer = active_tracer()
    return rolls() and (<Recorder>tracer).knows(array_of(read(t)))


def truth_of(TensorBase t not None):
    """(True if any truth value of a one-element tensor holds, True if it has many), for the loop itself."""
    cdef Array a = with_numbers(array_of(read(t)))
    cdef Py_ssize_t i
    a = contiguous(a)
    return any([a.data[i] != 0 for i in range(a.size)]), a.size > 1


# -------------------------------------------------------------------------------------------------------- branches

def choose(str name, TensorBase truth not None, branches):
    """The results of one of two functions without arguments, by one instruction; None if a program cannot contain it.

    Each function returns a list of tensors, in which None is zero. Both functions are called. If that fails, the chosen
    one has to run alone, so what both were refused does not count.
    """
    cdef list noted = refusals(), found = None
    try:
        found = choice_of(name, truth, branches)
    finally:
        if found is None:
            forget_refusals(noted)
    return found


cdef list choice_of(str name, TensorBase truth, object branches):
    cdef Recorder outer = <Recorder>active_tracer()
    cdef BodyRecorder made
    cdef list recorders = [], results = [], found = [], args = [array_of(read(truth))], operands = []
    cdef list arrays
    try:
        for branch in branches:
            made = new_body(outer, BranchRecorder())
            recorders.append(made)
            stop_tracing(outer)
            start_tracing(made)
            try:
                results.append(values_of(branch()))
            finally:
                stop_tracing(made)
                if outer.failed is None:
                    start_tracing(outer)
            if made.failed is not None:
                return None
        if len(results[0]) != len(results[1]):
            outer.give_up(f"{name}: the branches return different things")
            return None
        for k in range(2):
            made = recorders[k]
            stop_tracing(outer)
            start_tracing(made)
            try:
                values = [None if v is None and w is None else grown(<Value>v, <Value>w)
                          for v, w in zip(results[k], results[1 - k])]
                arrays = []
                found.append(structures(values, arrays))
                made.program.outputs.extend([made.slot_in(<Array>a) for a in arrays])
                made.program.prepare()
            finally:
                stop_tracing(made)
                if outer.failed is None:
                    start_tracing(outer)
    except OnATape as error:
        outer.give_up(f"{name}: {error}")
        return None
    if found[0] != found[1]:
        outer.give_up(f"{name}: the branches return different things")
        return None
    for made in recorders:
        operands.append(tuple(range(len(args), len(args) + len(made.shared))))
        args += made.shared
    taken, other = [branch_of(<BodyRecorder>each, len(arrays)) for each in recorders]
    return chosen_by(choice(taken, other, operands[0], operands[1]), args, found[0])


cdef Body branch_of(BodyRecorder recorder, int made):
    cdef Body body = Body()
    body.program = recorder.program
    body.made = made
    return body


cdef list chosen_by(Choice c, list args, list found):
    """The tensors of the results."""
    packed = on_arrays(OP_CHOICE, c, args)
    return wrapped(all_restored(found, [on_arrays(OP_UNPACK, result, [packed]) for result in c.results]))
