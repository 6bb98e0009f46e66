"""Recordings: what calls of one kind leave, and when a program is made of them.

Design
------
A function is recorded at its first two calls with arguments of a kind. After the first, a walk over all that the
executed code can reach (reachability.pyx) gives the guards, or a reason to run eagerly for ever, with one warning. The
second call shows that the function does not change itself what its guards watch: if they hold before and after it, if
the same code has run, and if both recordings are the same, the program is good and replayed from then on.

Where the walk is stopped by a name, and code has branches, the next calls are recorded instruction by instruction, and
only names that were used count.

A program is good while its guards hold. The tensors that it reads are read anew; where Python has looked at the numbers
of one, it must hold the same array. A pure function (`jit(f, pure=True)`) has no guards by its user's promise.
"""
import warnings
from collections import OrderedDict
from time import perf_counter

from ..arrays.array cimport ARRAY, Array, Value, has_form, shape_tuple
from .signature cimport Given, template_of
from ..primitives.execute cimport active_tracer, start_tracing, stop_tracing, tracing
from .executed cimport Executed
from .guards cimport Guard, Guards, described
from ..primitives.opcodes cimport OP_DRAW, OP_INSPECT
from ..compiler.plan cimport make_plan
from ..compiler.program cimport FROM_CONSTANT, FROM_HANDLE
from .deferred cimport Promises
from ..arrays.thread cimport thread_state
from ..transforms.containers cimport LEAF, kind_of
from .reachability cimport Reach, reach_of
from .recorder cimport Recorder
from ..transforms.handles cimport TensorBase, is_plain

cdef enum:
    FAILURES = 4                    # recordings of a kind that do not confirm the one before
    WEIGHED = 1 << 26               # bytes of contents from which on a look at them is timed
    CHANGES = 8                     # of what a function reaches, after few calls each, before it runs eagerly

cdef object CHECK = None            # called with each program that is to be replayed, and its plan
cdef object COMPARE = None          # runs a replay and the eager call, and compares them


def plan_programs(bint on):
    """Whether this thread plans programs and runs them by their plans, or interprets them step by step. Returns the
    former setting."""
    cdef bint former = thread_state().planning
    thread_state().planning = on
    return former


def check_replays(bint on):
    """Whether this thread runs the function beside every replay and compares the results. Returns the former
    setting."""
    cdef bint former = thread_state().checking
    thread_state().checking = on
    return former


def compare_replays_by(compare):
    """Set the function that runs a replay and the eager call: see `checked`."""
    global COMPARE
    COMPARE = compare


def check_programs(check):
    """Have a function called with each program that is to be replayed, and its plan (None where there is none); None
    for no such function. Returns the former one."""
    global CHECK
    former = CHECK
    CHECK = check
    return former


def unrepeatable(str why):
    """Something that a program cannot repeat is about to happen; if a recording is active, it ends."""
    if tracing():
        active_tracer().give_up(why)


# ----------------------------------------------------------------------------------------------------- what is kept

cdef class Kind:

    cdef int describe(self, Given g) except -1:
        """Note the leaves of the arguments."""
        cdef Array a
        cdef list leaves = []
        if g.kwargs or len(g.inputs) != len(g.tensors):
            return 0
        for x in g.args:
            if isinstance(x, TensorBase):
                if not is_plain(x):
                    return 0
                a = <Array>(<TensorBase>x).value
                leaves.append((a.typenum, shape_tuple(a), x if (<TensorBase>x).captured else None))
            elif kind_of(x) != LEAF:
                return 0
            else:
                leaves.append((x,))
        self.leaves = leaves
        return 0

    cdef bint fits(self, tuple args):
        """Whether arguments are seen to be of this kind without making a key. No means only: perhaps not."""
        cdef Py_ssize_t i, k
        cdef tuple leaf
        cdef TensorBase t
        if self.leaves is None or len(args) != len(self.leaves) or len(args) > 16:
            return False
        for i in range(len(args)):
            x = args[i]
            leaf = <tuple>self.leaves[i]
            if not isinstance(x, TensorBase):
                if len(leaf) != 1 or x is not leaf[0]:
                    return False
                continue
            t = <TensorBase>x
            if len(leaf) != 3 or not is_plain(t) or t.value is None or t.value.kind != ARRAY:
                return False
            if t.captured and leaf[2] is not t or leaf[2] is not None and leaf[2] is not t:
                return False
            if not has_form(<Array>t.value, leaf[0], leaf[1]):
                return False
            for k in range(i):
                if args[k] is x:
                    return False
        return True


cdef bint current(Recording r, list inputs) except -1:
    """Whether all that a program depends on is as it was."""
    cdef Py_ssize_t i
    cdef TensorBase t
    for handle, a in r.fixed:
        if (<TensorBase>handle).value is not a:
            return False
    if r.captured is not None:
        for i in range(len(inputs)):
            t = <TensorBase>inputs[i]
            if t.captured and id(t) in r.captured and r.shared.get(i) is not t:
                return False
        for i, handle in r.shared.items():
            if inputs[i] is not handle:
                return False
    return r.guards is None or r.guards.hold()


cdef bint apart(Recording r, Given g) except -1:
    """Whether no list, dict or record among the arguments is one that the function reaches otherwise, as far as it
    matters."""
    return r.reached is None or not g.among(r.reached)


# ---------------------------------------------------------------------------------------------------- a recording

cdef object record(Function function, Kind kind, object call, Given g, object fn):
    """Call while recording; what is found goes to `kind`."""
    cdef Recorder recorder = Recorder()
    cdef Recording made = Recording(), former = kind.last
    cdef bint held = former is not None and former.guards is not None and current(former, g.inputs)
    cdef str change = None if held or former is None else changed(former.guards)
    if not function.pure:
        made.executed = Executed()
        made.executed.traced = function.traced
    made.call = call
    start = perf_counter()
    result = run(recorder, made, former, call, g)
    made.seconds = perf_counter() - start
    if recorder.failed is None and g.changed():
        recorder.failed = "a list or dict that it was given is changed"
    if recorder.failed is not None:
        go_eager(function, recorder.failed, recorder.line)
        return result
    if not function.pure and not guard(function, kind, made, former if held else None, call if fn is None else fn,
                                       recorder, g):
        return result
    made.fixed = recorder.fixed
    if made.agreed >= 2 and (function.pure or made.guarded):
        if made.guards is not None and made.guards.bytes > WEIGHED and look_at(made.guards) > made.seconds:
            go_eager(function, f"to see whether the {made.guards.bytes} bytes that it can reach have changed takes "
                     f"longer than the call; hold such data in Tensors", None)
            return result
        confirmed(function, kind, made)
        return result
    kind.last = made
    if former is None:
        return result
    if not held and former.guards is not None:      # what it can reach has changed between the calls
        kind.changes += 1
        if kind.changes > CHANGES:
            go_eager(function, f"{change or 'a tensor'} has changed {CHANGES} times, after few calls each; pass it as "
                     f"an argument", None)
        return result
    kind.failures += 1
    if kind.failures >= FAILURES:
        go_eager(function, "recordings of it differ, so something else than its arguments decides what it does", None)
    return result


cdef double look_at(Guards guards) except -1:
    """The seconds that a look at all guards takes."""
    start = perf_counter()
    guards.hold()
    return perf_counter() - start


cdef str changed(Guards guards):
    """What has changed, in words; None if nothing has."""
    cdef Guard broken = None if guards is None else guards.broken()
    return None if broken is None else described(broken)


cdef object run(Recorder recorder, Recording made, Recording former, object call, Given g):
    """The call, written down: its program and the template of its results go to `made`."""
    if thread_state().planning:
        recorder.promises = Promises()
    for t in g.inputs:
        recorder.argument(t)
    recorder.pause()
    start_tracing(recorder)
    try:
        if made.executed is not None:
            made.executed.start()
        try:
            result = call(*g.args, **g.kwargs)
        finally:
            if made.executed is not None:
                made.executed.stop()
        if recorder.failed is None:
            recorder.finish()
        if recorder.failed is None:
            try:
                made.template = template_of(g, recorder, result)
            except TypeError as error:
                recorder.give_up(str(error))
        if recorder.failed is None:
            made.program = recorder.program
            made.program.outputs.extend(made.template.outputs)
            confirm(made, former)
            fulfil(recorder, made, g)
    finally:
        stop_tracing(recorder)
        recorder.resume()
        recorder.settle()
    return result


cdef bint guard(Function function, Kind kind, Recording made, Recording former, object start, Recorder recorder,
                Given g) except -1:
    """Find the guards of a recording, or let it share those of the one before (None where they did not hold). False:
    the function runs eagerly from now on, or this recording is of no use."""
    cdef Reach reach
    cdef Guard broken
    cdef list handles
    if former is not None and made.executed.same_as(former.executed):
        broken = former.guards.broken()
        if broken is not None:
            go_eager(function, f"it changes {described(broken)}, which is there before the call; return the value "
                     f"instead", None)
            return False
        made.guards = former.guards
        made.captured = former.captured
        made.shared = former.shared
        made.reached = former.reached
        made.guarded = True
        return True
    handles = [source for slot, source in zip(recorder.program.kinds, recorder.program.sources) if slot == FROM_HANDLE]
    reach = reach_of(start, g.others + handles, made.executed, True)
    if reach.why is None and g.containers and reach.compares:
        made.reached = frozenset([id(x) for x in reach.seen.values() if kind_of(x) != LEAF])
        if g.among(made.reached):
            reach.refuse("it compares by identity, and an argument is a list, dict or record that it reaches otherwise "
                         "too")
    if reach.why is None and made.template.made:
        for x in made.template.made:
            if id(x) in reach.seen or any([x is y for y, _, _ in g.containers]):
                reach.refuse(f"it returns a {type(x).__name__} that was there before")
    if reach.why is not None and not function.traced and reach.branches():
        function.traced = True          # what stands in the way may be named by code that has not run
        return False
    if reach.why is not None:
        kind.failures += 1
        if kind.failures >= FAILURES or not made.executed.imported:   # a module is imported once
            go_eager(function, reach.why, None)
        return False
    made.guards = reach.guards
    made.captured = reach.tensors
    made.shared = {i: t for i, t in enumerate(g.inputs) if id(t) in reach.tensors}
    return True


cdef int confirm(Recording made, Recording former) except -1:
    """Compare a recording with the one before; a plan is made once."""
    made.agreed = 1
    if former is not None and made.program.same_as(former.program) and made.template.same_as(former.template):
        made.agreed = former.agreed + 1
        made.plan = former.plan
        made.planning = former.planning
    return 0


cdef int confirmed(Function function, Kind kind, Recording made) except -1:
    """Two recordings have agreed: from now on the program is replayed."""
    made.program.prepare()
    if made.plan is None and thread_state().planning:
        start = perf_counter()
        made.plan = make_plan(made.program)
        made.planning = perf_counter() - start
    if CHECK is not None:
        CHECK(made.program, made.plan)
    made.executed = None
    function.bytes += bytes_of(made)
    kind.replays = 0
    kind.last = None
    kind.good = made
    return 0


cdef Py_ssize_t bytes_of(Recording r) except -1:
    """What a recording keeps in memory: what its guards compare, and constants."""
    cdef Py_ssize_t total = 0 if r.guards is None else r.guards.bytes
    cdef Array a
    for kind, source in zip(r.program.kinds, r.program.sources):
        if kind == FROM_CONSTANT:
            a = <Array>source
            total += a.size * a.itemsize
    return total


cdef int fulfil(Recorder recorder, Recording made, Given g) except -1:
    """Run the program for the results that were put off. What draws or looks at numbers has done so already; then they
    are computed one by one when the recording ends."""
    cdef Program p = made.program
    cdef list slots = p.outputs + [slot for _, slot in p.effects], changed = []
    cdef TensorBase t
    cdef object arrays
    if recorder.promises is None or not any([slot in recorder.promises.waiting for slot in slots]):
        return 0
    for step in p.steps:
        if step[0] == OP_DRAW or step[0] == OP_INSPECT:
            return 0
    if made.plan is None:
        start = perf_counter()
        made.plan = make_plan(p)
        made.planning = perf_counter() - start
    for key in recorder.effects:                # the program reads what handles held before
        if key in recorder.handles:
            t, former, _ = recorder.handles[key]
            changed.append((t, t.value))
            t.value = <Value>former
    try:
        arrays = made.plan.run(g.arrays())
    finally:
        for t, now in changed:
            t.value = <Value>now
    if arrays is not None:
        recorder.promises.fulfil(slots, arrays)
    return 0


cdef int go_eager(Function function, str why, object line) except -1:
    """Run a function eagerly from now on, and say so once."""
    if function.eager:
        return 0
    function.eager = True
    function.why = why
    function.line = line
    function.kinds = OrderedDict()
    function.latest = None
    function.bytes = 0
    where = f" ({line[0]}, line {line[1]})" if line is not None else ""
    warnings.warn(f"{function.name} runs eagerly: {why}{where}", UserWarning, stacklevel=2)
    return 0


# ---------------------------------------------------------------------------------------------------------- replays

cdef object replay(Recording r, list inputs):
    """The results of a confirmed program; NotImplemented if what it reads has changed."""
    cdef list arrays
    cdef TensorBase t
    cdef Program program = r.program
    cdef Py_ssize_t i, n = len(program.outputs)
    arrays = [t.value for t in inputs]
    arrays = r.plan.run(arrays) if thread_state().planning and r.plan is not None else program.run(arrays)
    if arrays is None:
        return NotImplemented
    for i in range(len(program.effects)):
        handle = program.effects[i][0]
        t = <TensorBase>(inputs[<int>handle] if isinstance(handle, int) else handle)
        t.value = <Value>arrays[n + i]
    return r.template.filled(arrays, inputs)


cdef bint checking() noexcept:
    return thread_state().checking


cdef object checked(Function function, Recording r, list inputs, object call, tuple args, dict kwargs):
    """A replay beside the eager call: COMPARE gets the name of the function, both as functions without arguments, and
    the tensors that the program changes."""
    handles = [inputs[h] if isinstance(h, int) else h for h, _ in r.program.effects]
    return COMPARE(function.name, lambda: call(*args, **kwargs), lambda: replay(r, inputs), handles,
                   r.plan if thread_state().planning else None)
