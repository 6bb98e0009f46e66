"""Recordings: what calls of one kind leave, and when a program is made of them.

Design
------
A function is recorded at its first two calls with arguments of a kind. If both recordings are the same, their program
is good and replayed from then on. Counters, clocks and other sources of numbers show in a difference, and then the
function runs eagerly for ever, with one warning. (A function that changes variables it can reach is recorded three
times.) It also does so if Python asked for a number that depends on the arguments.

A program is good only while the Cells it has called have the attributes they had, while the handles it reads hold
arrays of the types and shapes they had, and while no Parameter begins or ceases to be differentiated. What Python read
on the way is part of a program too: globals, closures, attributes, lists, arrays. A survey (surroundings.pyx) of all
that the function can reach is compared before each replay.
"""
import warnings
from collections import OrderedDict
from time import perf_counter

from .array cimport ARRAY, Array, Value, has_form, shape_tuple
from .arguments cimport Given, filled, same_template
from .execute cimport Tracer, active_tracer, start_tracing, stop_tracing, tracing
from .opcodes cimport OP_DRAW, OP_INSPECT
from .plan cimport make_plan
from .promises cimport Promises
from .recorder cimport Recorder
from .surroundings cimport ATTRIBUTES, NOTHING, VALUES, Change, places_of, survey, switched
from .tensor cimport CellCall, TensorBase

cdef extern from *:
    """
    #include "dg_thread_local.h"
    static DG_THREAD_LOCAL int dg_planning = 1;             /* programs are planned by this thread */
    """
    bint dg_planning

cdef enum:
    FAILURES = 3                    # recordings of a kind that do not confirm the one before

cdef long long WRITES = 0           # attributes set on any Cell
cdef object CHECK = None            # called with each program that is to be replayed, and its plan


def plan_programs(bint on):
    """Whether this thread plans programs and runs them by their plans, or interprets them step by step. Returns the
    former setting."""
    global dg_planning
    cdef bint former = dg_planning
    dg_planning = on
    return former


def check_programs(check):
    """Have a function called with each program that is to be replayed, and its plan (None where there is none); None
    for no such function. Returns the former one."""
    global CHECK
    former = CHECK
    CHECK = check
    return former


def note_write(CellCall cell not None):
    """An attribute of a Cell is being set."""
    global WRITES
    cdef Tracer tracer = active_tracer()
    WRITES += 1
    cell.writes += 1
    if isinstance(tracer, Recorder):
        (<Recorder>tracer).wrote = True


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
                a = <Array>(<TensorBase>x).value
                leaves.append((a.typenum, shape_tuple(a)))
            elif isinstance(x, (tuple, list, dict)):
                return 0
            else:
                leaves.append((x,))
        self.leaves = leaves
        return 0

    cdef bint fits(self, tuple args):
        """Whether arguments are seen to be of this kind without making a key. No means only: perhaps not."""
        cdef Py_ssize_t i, k
        cdef tuple leaf
        if self.leaves is None or len(args) != len(self.leaves):
            return False
        for i in range(len(args)):
            x = args[i]
            leaf = <tuple>self.leaves[i]
            if not isinstance(x, TensorBase):
                if len(leaf) != 1 or x is not leaf[0]:
                    return False
                continue
            if len(leaf) != 2 or (<TensorBase>x).parameter or (<TensorBase>x).value is None \
                    or (<TensorBase>x).value.kind != ARRAY:
                return False
            if not has_form(<Array>(<TensorBase>x).value, leaf[0], leaf[1]):
                return False
            for k in range(i):
                if args[k] is x:
                    return False
        return True


cdef bint current(Recording r) except -1:
    """Whether all that a program depends on is as it was."""
    cdef int i
    cdef long long now = WRITES + switched()
    for handle, a in r.fixed:
        if (<TensorBase>handle).value is not a:
            return False
    if not r.places.hold():
        return False
    if r.checked == now:
        return True
    for i in range(len(r.cells)):
        if (<CellCall>r.cells[i]).writes != <long long>r.writes[i]:
            return False
    for parameter, flag in r.switches:
        if parameter.requires_grad is not flag:
            return False
    r.checked = now
    return True


# ---------------------------------------------------------------------------------------------------- a recording

cdef object record(Function function, Kind kind, object call, Given g, object fn):
    """Call while recording; what is found goes to `kind`."""
    cdef Recorder recorder = Recorder()
    cdef Recording made = Recording(), former
    cdef Survey around = surroundings_of(function, kind.last, call if fn is None else fn, g.others)
    cdef Change change
    cdef list outputs = []
    cdef bint other_entries = False
    cdef long long switches = switched()
    if around.endless:
        go_eager(function, "it can reach too many objects to see whether one of them changes; pass it what it needs "
                 "as arguments", None)
        return call(*g.args, **g.kwargs)
    made.checked = WRITES + switches
    if dg_planning:
        recorder.promises = Promises()
    args, kwargs = g.substitutes(recorder)
    recorder.cells = list(around.cells)
    start = perf_counter()
    recorder.pause()
    start_tracing(recorder)
    try:
        result = call(*args, **kwargs)
        if recorder.failed is None:
            recorder.finish()
            finish_inputs(recorder, g)
            try:
                made.template = g.template(recorder, result, outputs)
            except TypeError as error:
                recorder.give_up(str(error))
        if recorder.failed is None:
            made.program = recorder.program
            made.program.outputs.extend(outputs)
            former = kind.last                  # of this thread or another
            confirm(made, former)
            fulfil(recorder, made, g)
    finally:
        stop_tracing(recorder)
        recorder.resume()
        recorder.settle()
        other_entries = g.put_back()
    result = g.original(result)
    if recorder.failed is None and recorder.wrote:
        recorder.failed = "an attribute of a Cell is set"
    if recorder.failed is None and switches != switched():
        recorder.failed = "requires_grad of a Parameter is set"
    if recorder.failed is None and other_entries:
        recorder.failed = "a list or dict that it was given is changed"
    if recorder.failed is not None:
        go_eager(function, recorder.failed, recorder.line)
        return result
    made.seconds = perf_counter() - start
    change = around.settle()
    if change == ATTRIBUTES:
        kind.last = None
        kind.failures += 1
        if kind.failures == FAILURES:
            go_eager(function, f"it sets the attribute {around.attributes[0]!r} of an object from outside; return the "
                     f"value instead", None)
        return result
    made.call = call
    made.start = call if fn is None else fn
    made.around = around if change == NOTHING and not around.shadows else None
    made.places = places_of(around.looks)
    made.cells = list(dict.fromkeys(recorder.cells))
    made.writes = [(<CellCall>cell).writes for cell in made.cells]
    made.switches = around.switches
    made.fixed = recorder.fixed
    made.restless = made.restless or change == VALUES
    if made.agreed == (3 if made.restless else 2):
        start = perf_counter()
        made.program.prepare()
        if made.plan is None and dg_planning:
            made.plan = make_plan(made.program)
            made.planning = perf_counter() - start
        if CHECK is not None:
            CHECK(made.program, made.plan)
        kind.replays = 0
        kind.last = None
        made.around = None
        kind.good = made
        return result
    kind.last = made
    if made.agreed == 1 and former is not None:
        kind.failures += 1
        if kind.failures == FAILURES:
            go_eager(function, "two recordings of it differ, so something else than its arguments decides what it "
                     "does", None)
    return result


cdef Survey surroundings_of(Function function, Recording last, object start, list others):
    """What a call can reach: the same as at the recording before, if nothing there has changed."""
    if last is not None and last.around is not None and (last.start is start or function.alive is not None) \
            and current(last):
        return last.around
    return survey(start, others)


cdef int confirm(Recording made, Recording former) except -1:
    """Compare a recording with the one before; a plan is made once."""
    made.agreed = 1
    if former is not None and made.program.same_as(former.program) and same_template(made.template, former.template):
        made.restless = former.restless
        made.agreed = former.agreed + 1
        made.plan = former.plan
        made.planning = former.planning
    return 0


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


cdef int finish_inputs(Recorder recorder, Given g) except -1:
    """Write down what the arguments were given in place."""
    cdef TensorBase t
    cdef Py_ssize_t i
    for i in range(len(g.fresh)):
        t = <TensorBase>g.fresh[i]
        if t.value is g.marked[i]:
            continue
        if t.value.kind != ARRAY:
            recorder.give_up("an argument holds a value of a derivative that is still being taken")
            return 0
        recorder.program.effects.append((i, recorder.slot_of(<Array>t.value)))
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
    where = f" ({line[0]}, line {line[1]})" if line is not None else ""
    warnings.warn(f"{function.name} runs eagerly: {why}{where}", UserWarning, stacklevel=2)
    return 0


cdef object replay(Recording r, list inputs):
    """The results of a confirmed program; NotImplemented if what it reads has changed."""
    cdef list arrays
    cdef TensorBase t
    cdef Program program = r.program
    cdef Py_ssize_t i, n = len(program.outputs)
    arrays = [t.value for t in inputs]
    arrays = r.plan.run(arrays) if dg_planning and r.plan is not None else program.run(arrays)
    if arrays is None:
        return NotImplemented
    for i in range(len(program.effects)):
        handle = program.effects[i][0]
        t = <TensorBase>(inputs[<int>handle] if isinstance(handle, int) else handle)
        t.value = <Value>arrays[n + i]
    return filled(r.template, arrays, inputs)
