"""Recordings: the recorded calls of one signature, and the program made of them.

Design
------
A function is recorded at its first two calls with one signature. After the first call a walk covers all objects that
the executed code can reach (reachability.pyx). It gives guards, or a reason to run such calls eagerly from then on,
with one warning for each function. The second call shows that the function does not change the guarded objects. The
program is confirmed if the guards hold before and after that call, the same code has run and both recordings are equal.
From then on it is replayed.

If a name stops the walk and the code has branches, the next recordings note single instructions. Then only names in
instructions that ran count.

A program is valid while its guards hold. Each run reads the captured tensors again. If Python has read the numbers of a
captured tensor, the tensor must still hold the same array. A pure function (`jit(f, pure=True)`) has no guards: its
user says that it needs none.
"""
cimport cython

import warnings
from time import perf_counter

from ..arrays.array cimport ARRAY, Array, Value, same_form, with_numbers, without_numbers
from ..arrays.shared cimport apart, is_shared
from .signature cimport Signature, template_of_results
from ..primitives.execute cimport start_tracing, stop_tracing
from .executed cimport Executed
from .guards cimport Guard, Guards, guard_in_words
from .keys cimport containers_of, function_key, same_function
from ..primitives.registry cimport EFFECTS
from ..compiler.plan cimport make_plan
from ..arrays.thread cimport thread_state
from ..compiler.program cimport FROM_CONSTANT, FROM_HANDLE, Program
from .deferred cimport DeferredValues
from ..transforms.containers cimport LEAF, kind_of
from .reachability cimport Reach, reachable_from
from .recorder cimport Recorder
from .replay cimport Recording, still_valid
from ..transforms.handles cimport (TensorBase, hooks_of, is_captured, is_plain, is_simply, kind_of_alias, put,
                                   value_in)

cdef extern from "memory/shared.h":
    long long dg_add_shared(long long *counter, long long n) noexcept
    void dg_write_shared(long long *counter, long long n) noexcept

cdef enum:
    MAX_FAILURES = 4                # recordings of one signature that differ from the one before
    TIMED_BYTES = 1 << 26           # guarded contents above this are compared once to time it
    PROGRAM_BYTES = 1 << 14         # bytes of a program and its plan
    STEP_BYTES = 1 << 11            # bytes of each step
    MAX_CHANGES = 8                 # changes of guarded objects, after few calls each, before a function runs eagerly

CHECK = None                        # called with each confirmed program and its plan


def plan_programs(bint on):
    """Choose if this thread runs programs by plans or interprets them step by step. Returns the former setting."""
    cdef bint former = thread_state().planning
    thread_state().planning = on
    return former


def check_programs(check):
    """Set a function (or None) that is called with each confirmed program and its plan or None. Returns the former
    one."""
    global CHECK
    former = CHECK
    CHECK = check
    return former


# -------------------------------------------------------------------------------------------------- specialisations

cdef class Specialisation:

    cdef int note_leaves(self, Signature g) except -1:
        """Note the leaves of the arguments."""
        cdef Array a
        cdef list leaves = []
        if g.kwargs or len(g.inputs) != len(g.tensors):
            return 0
        cdef Py_ssize_t i = 0
        for x in g.args:
            if isinstance(x, TensorBase):
                if not is_plain(x):
                    return 0
                a = <Array>g.arrays[i]
                i += 1
                leaves.append((without_numbers(a.typenum, a.ndim, a.shape), x if is_captured(x) else None,
                               kind_of_alias(<TensorBase>x)))
            elif kind_of(x) != LEAF:
                return 0
            else:
                leaves.append((x,))
        self.leaves = leaves
        return 0

    cdef list fitting(self, tuple args):
        """The arrays of the arguments if they certainly have this signature, decided without a key; else None."""
        cdef Py_ssize_t i, k
        cdef list arrays = []
        cdef tuple leaf
        cdef TensorBase t
        cdef Value v
        if self.leaves is None or len(args) != len(self.leaves) or len(args) > 16:
            return None
        for i in range(len(args)):
            x = args[i]
            leaf = <tuple>self.leaves[i]
            if not isinstance(x, TensorBase):
                if len(leaf) != 1 or x is not leaf[0]:
                    return None
                continue
            t = <TensorBase>x
            v = value_in(t)
            if len(leaf) != 3 or not is_simply(t, leaf[2]) or not is_plain(t):
                return None
            if v is None or v.kind != ARRAY or hooks_of(t) is not None:
                return None
            if leaf[1] is not t and (is_captured(t) or leaf[1] is not None):
                return None
            if not same_form(<Array>v, <Array>leaf[0]):
                return None
            for k in range(i):
                if args[k] is x:
                    return None
            arrays.append(with_numbers(<Array>v))
        return arrays


# ---------------------------------------------------------------------------------------------------- a recording

cdef object record_call(Function function, Specialisation special, object call, Signature g, object fn):
    """Call and record a function. The recording goes to `special`, as `last` or `confirmed`."""
    cdef Recorder recorder = Recorder()
    cdef Recording made = Recording(), former
    cdef bint held
    cdef str change
    with cython.critical_section(function):
        former = special.last
        held = former is not None and former.guards is not None and still_valid(former, g.inputs)
        change = None if held or former is None else change_in_words(former.guards)
    if not function.pure:
        made.executed = Executed()
        made.executed.traced = function.traced
    made.call = call if fn is None else fn
    key = None if function.pure else function_key(made.call)[0]
    start = perf_counter()
    result = run_and_record(recorder, made, former, call, g)
    made.seconds = perf_counter() - start
    if recorder.failed is None and g.changed():
        recorder.failed = "a list or dict that it was given is changed"
    with cython.critical_section(function):
        judge(function, special, made, former, held, change, key, recorder, g)
    return result


cdef int judge(Function function, Specialisation special, Recording made, Recording former, bint held, str change,
               object key, Recorder recorder, Signature g) except -1:
    """Keep a recording as `last` or `confirmed`, or run such calls eagerly from now on.

    `held`: the guards of the former recording held before the call. Otherwise `change` tells the change. `key`: the key
    of the function before the call.
    """
    special.recordings += 1
    special.pair += made.seconds + (0 if former is not None and made.plan is former.plan else made.planning)
    if recorder.failed is not None:
        return go_eager(function, special, recorder.failed, recorder.line)
    if not function.pure and not find_guards(function, special, made, former if held else None, key, recorder, g):
        return 0
    made.fixed = recorder.fixed
    if made.agreed >= 2 and (function.pure or made.guarded):
        if made.guards is not None and made.guards.bytes > TIMED_BYTES and seconds_to_check(made.guards) > made.seconds:
            return go_eager(function, special, f"to see whether the {made.guards.bytes} bytes that it can reach have "
                            f"changed takes longer than the call; hold such data in Tensors", None)
        return accept(function, special, made)
    special.last = made
    if former is None:
        return 0
    if not held and former.guards is not None:      # a guarded object changed between the calls
        special.changes += 1
        if special.changes > MAX_CHANGES:
            go_eager(function, special, f"{change or 'a tensor'} has changed {MAX_CHANGES} times, after few calls "
                     f"each; pass it as an argument", None)
        return 0
    special.failures += 1
    if special.failures >= MAX_FAILURES:
        go_eager(function, special, "recordings of it differ, so something else than its arguments decides what it "
                 "does", None)
    return 0


cdef double seconds_to_check(Guards guards) except -1:
    """The seconds for a comparison of all guards."""
    start = perf_counter()
    guards.hold()
    return perf_counter() - start


cdef str change_in_words(Guards guards):
    """The first guarded place that has changed, in words; None if none has."""
    cdef Guard broken = None if guards is None else guards.broken()
    return None if broken is None else guard_in_words(broken)


cdef object run_and_record(Recorder recorder, Recording made, Recording former, object call, Signature g):
    """Call and record. Puts the program and the template of the results into `made`."""
    if thread_state().planning:
        recorder.deferred = DeferredValues()
    for t, a in zip(g.inputs, g.arrays):
        recorder.argument(t, a)
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
                made.template = template_of_results(g, recorder, result)
            except TypeError as error:
                recorder.give_up(str(error))
        if recorder.failed is None:
            made.program = recorder.program
            made.program.outputs.extend(made.template.outputs)
            compare_recordings(made, former)
            compute_deferred_results(recorder, made, g)
    finally:
        stop_tracing(recorder)
        recorder.resume()
        recorder.evaluate_deferred()
    return result


cdef bint find_guards(Function function, Specialisation special, Recording made, Recording former, object key,
                      Recorder recorder, Signature g) except -1:
    """Find the guards of a recording, or share the guards of the former one (None if they did not hold). False: the
    recording cannot be used, and such calls may run eagerly from now on.

    The former recording may belong to another function with the same key. Its guards watch the objects that both share,
    and the key covers the rest. Then the function gets guards for itself.
    """
    cdef Reach reach
    cdef Guard broken
    cdef list handles
    cdef tuple now = function_key(made.call)
    cdef bint same = former is not None and same_function(made.call, former.call)
    if former is not None and made.executed.same_as(former.executed):
        broken = former.guards.broken()
        if broken is not None:
            go_eager(function, special, f"it changes {guard_in_words(broken)}, which is there before the call; return "
                     f"the value instead", None)
            return False
        made.guarded = same or now[0] == key
    if made.guarded and same:
        made.guards = former.guards
        made.captured = former.captured
        made.shared = former.shared
        made.reached = former.reached
        made.parts = former.parts
        made.elsewhere = former.elsewhere
        return True
    handles = [source for slot, source in zip(recorder.program.kinds, recorder.program.sources) if slot == FROM_HANDLE]
    made.parts = now[3]
    try:
        reach = reachable_from(made.call, g.others + handles, made.executed, True, containers_of(made.parts))
    except Exception as error:
        go_eager(function, special, f"an object that it can reach raises {type(error).__name__} when it is looked at",
                 None)
        return False
    if reach.why is None and g.containers and reach.compares:
        made.reached = frozenset([id(x) for x in reach.seen.values() if kind_of(x) != LEAF])
        if g.any_container_in(made.reached):
            reach.refuse("it compares by identity, and an argument is a list, dict or record that it reaches otherwise "
                         "too")
    if reach.why is None and made.template.made:
        for x in made.template.made:
            if id(x) in reach.seen or any([x is y for y, _, _ in g.containers]):
                reach.refuse(f"it returns a {type(x).__name__} that was there before")
    if reach.why is not None and not function.traced and reach.has_branches():
        function.traced = True          # the name that stopped the walk may be in code that did not run
        return False
    if reach.why is not None:
        special.failures += 1
        if special.failures >= MAX_FAILURES or not made.executed.imported:   # a module is imported once
            go_eager(function, special, reach.why, None)
        return False
    for _, a in recorder.fixed:
        if is_shared(<Array>a):         # Python may find something else there at its next read
            reach.guards.content((<Array>a).base, "the memory that a NumPy array shares with a tensor")
    reach.guards.gather_words()
    made.guards = reach.guards
    made.elsewhere = reach.elsewhere
    made.captured = reach.tensors
    made.shared = {i: t for i, t in enumerate(g.inputs) if id(t) in reach.tensors}
    return True


cdef int compare_recordings(Recording made, Recording former) except -1:
    """Compare a recording with the former one; an equal one shares its plan."""
    made.agreed = 1
    if former is not None and made.program.same_as(former.program) and made.template.same_as(former.template):
        made.agreed = former.agreed + 1
        made.plan = former.plan
        made.planning = former.planning
    return 0


cdef int accept(Function function, Specialisation special, Recording made) except -1:
    """Accept the program of two equal recordings. From now on it is replayed."""
    made.program.prepare()
    if made.plan is None and thread_state().planning:
        start = perf_counter()
        made.plan = make_plan(made.program)
        made.planning = perf_counter() - start
        special.pair += made.planning
    check = CHECK
    if check is not None:
        check(made.program, made.plan)
    made.executed = None
    special.bytes = bytes_kept(made)
    dg_add_shared(&function.bytes, special.bytes)
    dg_write_shared(&special.replays, 0)
    special.last = None
    special.confirmed = made
    return 0


cdef Py_ssize_t bytes_kept(Recording r) except -1:
    """Estimate the bytes that a recording keeps: copies for its guards, constants, the program and the plan."""
    cdef Py_ssize_t total = PROGRAM_BYTES + STEP_BYTES * len(r.program.steps)
    cdef Array a
    total += 0 if r.guards is None else r.guards.bytes
    for kind, source in zip(r.program.kinds, r.program.sources):
        if kind == FROM_CONSTANT:
            a = <Array>source
            total += a.size * a.itemsize
    return total


cdef int compute_deferred_results(Recorder recorder, Recording made, Signature g) except -1:
    """Run the program to compute the deferred results. A program that draws or inspects must not do so twice; its
    results are computed one by one when the recording ends."""
    cdef Program p = made.program
    cdef list slots = p.outputs + [slot for _, slot in p.effects], changed = []
    cdef TensorBase t
    cdef object arrays
    if recorder.deferred is None or not any([slot in recorder.deferred.waiting for slot in slots]):
        return 0
    for step in p.steps:
        if EFFECTS[<int>step[0]]:
            return 0
    if made.plan is None:
        start = perf_counter()
        made.plan = make_plan(p)
        made.planning = perf_counter() - start
    for key in recorder.effects:                # the program reads the arrays that handles held before
        if key in recorder.handles:
            t, former, _ = recorder.handles[key]
            changed.append((t, value_in(t)))
            put(t, <Value>former)
    try:
        arrays = made.plan.run(g.arrays)
    finally:
        for t, now in changed:
            put(<TensorBase>t, <Value>now)
    if arrays is not None:
        recorder.deferred.fill_in(slots, [apart(<Array>a) for a in arrays], made.plan)
    return 0


cdef int go_eager(Function function, Specialisation special, str why, object line) except -1:
    """Run the calls of a signature eagerly from now on, and warn once for each function."""
    if special.eager:
        return 0
    special.eager = True
    special.why = why
    special.line = line
    special.last = special.confirmed = None
    return warn(function, why, line)


cdef int warn(Function function, str why, object line) except -1:
    """Warn that some calls run eagerly, unless a warning has been given before."""
    if function.why is not None:
        return 0
    function.why = why
    function.line = line
    if function.quiet:
        return 0
    where = f" ({line[0]}, line {line[1]})" if line is not None else ""
    remedy = ("; choose with ops.where or dualgrad.cond, repeat with dualgrad.while_loop" if "the truth value" in why
              else "; go on with the tensor instead of its numbers" if "the numbers" in why else "")
    warnings.warn(f"{function.name} runs eagerly: {why}{where}{remedy}", UserWarning, stacklevel=2)
    return 0
