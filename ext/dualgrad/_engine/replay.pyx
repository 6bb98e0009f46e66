"""Recorded functions: when a call is recorded, when it is replayed, and when it just runs.

Design
------
A function is recorded at its first two calls with arguments of a kind (types, shapes, nesting, values of what is no
tensor) and replayed from the third on, if both recordings are the same: counters, clocks and other sources of numbers
show in a difference, and then the function runs eagerly for ever, with one warning. (A function that changes
variables it can reach is recorded three times.) It also does so if Python asked
for a number that depends on the arguments, and after many different values of one argument that is no tensor.

Only outermost calls are recorded: inside a recording, or while derivatives are being taken, a recorded function is an
ordinary one. A program is replayed only while the Cells it has called have the attributes they had, while the handles
it reads hold arrays of the types and shapes they had, and while no Parameter begins or ceases to be differentiated;
otherwise it is recorded anew.

What Python read on the way is part of a program too: globals, closures, attributes, lists, arrays. A survey
(surroundings.pyx) of all that the function can reach is compared before each replay.

Programs are kept by function: identity for Cells, code and closure for functions, what it differentiates and how for
gradient functions. The cache is bounded, the programs used longest ago go first.
"""
import types
import warnings
import weakref
from collections import OrderedDict
from time import perf_counter

from .array cimport ARRAY, Array, Value, has_form, shape_tuple
from .arguments cimport ByIdentity, Given, filled, given, same_template, value_key
from .execute cimport Tracer, active_tracer, start_tracing, stop_tracing, tracing
from .plan cimport Plan, make_plan
from .opcodes cimport OP_DRAW, OP_INSPECT
from .program cimport Program
from .promises cimport Promises
from .recorder cimport Recorder
from .surroundings cimport ATTRIBUTES, NOTHING, VALUES, Change, Places, Survey, places_of, survey, switched
from .tensor cimport CellCall, TensorBase
from .tensor import set_call_hook
from .values cimport current_level

cdef extern from *:
    """
    #include "dg_thread_local.h"
    static DG_THREAD_LOCAL int dg_planning = 1;             /* programs are planned by this thread */
    """
    bint dg_planning

cdef enum:
    CACHE_SIZE = 256                # functions kept
    KINDS_SIZE = 64                 # kinds of arguments kept of one function
    FAILURES = 3                    # recordings of a kind that do not confirm the one before
    WORTH = 8                       # replays that pay for a recording
    MISSES = 8                      # different values of arguments that are no tensors, before a function runs eagerly

cdef long long WRITES = 0           # attributes set on any Cell
FUNCTIONS = OrderedDict()           # key of a function -> Function, the one called last at the end
cdef Function NEWEST = None         # that one
cdef object CHECK = None            # called with each program that is to be replayed, and its plan


def plan_programs(bint on):
    """Whether this thread plans programs and runs them by their plans, or interprets them step by step. Returns the
    former setting."""
    global dg_planning
    cdef bint former = dg_planning
    dg_planning = on
    return former


def note_write(CellCall cell not None):
    """An attribute of a Cell is being set."""
    global WRITES
    cdef Tracer tracer = active_tracer()
    WRITES += 1
    cell.writes += 1
    if isinstance(tracer, Recorder):
        (<Recorder>tracer).wrote = True


# ------------------------------------------------------------------------------------------------- one kind of call

cdef class Recording:
    """What one call has left: a program, and all under which it is good. Not changed once it is made."""
    cdef Program program
    cdef Plan plan                  # None where the program is interpreted, or not confirmed
    cdef object template            # its results, with leaves for tensors
    cdef object call                # whose surroundings were looked at,
    cdef object start               # beginning here
    cdef Survey around              # the survey, if it can be used again; None where the recording is confirmed
    cdef Places places              # what it can reach
    cdef list cells                 # the Cells it called or can reach,
    cdef list writes                # and how often their attributes had been set
    cdef list switches              # (parameter, whether it is differentiated)
    cdef list fixed                 # (handle, array) for captured tensors whose numbers Python looked at
    cdef int agreed                 # recordings in a row that are the same
    cdef bint restless              # the function changes what it can read; then a third one has to agree
    cdef double seconds             # of the call
    cdef double planning            # of making the plan
    cdef long long checked          # WRITES and SWITCHED when these were last compared (a mere cache)


cdef class Kind:
    """Calls of one function with arguments of one kind."""
    # For each argument (type, shape), or the value of what is no tensor; None where there is more to a kind than that:
    # nests, parameters, keywords, one tensor twice.
    cdef list leaves
    cdef Recording last             # of the call before, to be confirmed by the next
    cdef Recording good             # two recordings agreed on it
    cdef int failures               # recordings that did not confirm the one before
    cdef int replays                # since it was confirmed
    cdef int changes                # how often what it depends on had changed after few replays

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


cdef class Function:
    """What is known of one function."""
    cdef object kinds               # key of the arguments -> Kind
    cdef Kind latest                # of the last call that was replayed: tried first
    cdef bint eager                 # runs eagerly from now on,
    cdef object why                 # for this reason,
    cdef object line                # because of (file, line), or None
    cdef object name
    cdef object alive               # weak reference to the Cell, so that its identity is not taken over
    cdef int misses


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


# ------------------------------------------------------------------------------------------------------- recording

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


# ------------------------------------------------------------------------------------------------------------ calls

cdef class Recorded:
    """A function under `jit`."""
    cdef public object __wrapped__
    cdef Function function          # what is known of it,
    cdef object known               # that is, of this

    cdef dict __dict__

    def __init__(self, fn):
        self.__wrapped__ = fn

    def __get__(self, instance, owner):
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args, **kwargs):
        if tracing() or current_level() is not None:
            return self.__wrapped__(*args, **kwargs)
        if self.known is self.__wrapped__ and not kwargs:
            result = replay_latest(self.function, self.known, args)
            if result is not NotImplemented:
                return result
        key, alive, name = function_key(self.__wrapped__)
        result = through(key, alive, name, self.__wrapped__, args, kwargs)
        # A method is another object at each call, and what it closes over is known by its key alone.
        if isinstance(self.__wrapped__, (types.FunctionType, CellCall)):
            self.function = FUNCTIONS.get(key)
            self.known = None if self.function is None else self.__wrapped__
        return result


cdef Function new_function(object name, object alive):
    cdef Function function = Function()
    function.kinds = OrderedDict()
    function.name = name
    function.alive = None if alive is None else weakref.ref(alive)
    return function


cdef object through(object key, object alive, object name, object call, tuple args, dict kwargs, object fn=None):
    """A call of a recorded function, known by a key."""
    global NEWEST
    cdef Function function = FUNCTIONS.get(key)
    if function is None or (function.alive is not None and function.alive() is None):
        function = new_function(name, alive)
        FUNCTIONS[key] = function
        if len(FUNCTIONS) > CACHE_SIZE:
            FUNCTIONS.popitem(last=False)
    elif function is not NEWEST:
        FUNCTIONS.move_to_end(key)
    NEWEST = function
    return called(function, call, args, kwargs, fn)


cdef object replay_latest(Function function, object call, tuple args):
    """Replay the program of the last call if this one is seen to be of its kind; NotImplemented if not, or if what the
    program depends on has changed. `call`: the function whose surroundings were to be looked at; a Cell is known by
    identity, None stands for any that goes by the key of the function."""
    cdef Kind kind = function.latest
    cdef Recording good
    if kind is None:
        return NotImplemented
    good = kind.good
    if good is None or (call is not None and good.call is not call and function.alive is None) \
            or not kind.fits(args) or not current(good):
        return NotImplemented
    result = replay(good, [x for x in args if isinstance(x, TensorBase)])
    if result is not NotImplemented:
        kind.replays += 1
    return result


cdef object called(Function function, object call, tuple args, dict kwargs, object fn=None):
    """A call of a recorded function; `fn` is what the call is compiled code around, if it is."""
    cdef Kind kind
    cdef Recording good
    cdef Given g
    cdef tuple kind_key
    if function.eager:
        return call(*args, **kwargs)
    if not kwargs:
        result = replay_latest(function, None, args)
        if result is not NotImplemented:
            return result
    g = given(args, kwargs)
    kind_key = g.key()
    if kind_key is None:
        return call(*args, **kwargs)
    kind = function.kinds.get(kind_key)
    if kind is None:
        kind = Kind()
        kind.describe(g)
        function.kinds[kind_key] = kind
        function.misses += 1
        if function.misses > MISSES and only_numbers_differ(function.kinds):
            go_eager(function, f"an argument that is no tensor was different at each of {MISSES} calls, and a "
                     f"program is recorded for one value; pass a Tensor instead of a number", None)
            return call(*args, **kwargs)
        if len(function.kinds) > KINDS_SIZE:
            function.kinds.popitem(last=False)
        return record(function, kind, call, g, fn)
    if kind_key in function.kinds:              # another thread may have dropped it meanwhile
        function.kinds.move_to_end(kind_key)
    good = kind.good
    if good is not None:
        if current(good):
            result = replay(good, g.inputs)
            if result is not NotImplemented:
                kind.replays += 1
                function.latest = kind
                return result
        kind.good = None
        kind.failures = 0
        if kind.replays < WORTH:
            kind.changes += 1
        if kind.changes > MISSES:
            go_eager(function, f"a tensor, an attribute, or something else that it reads from outside of its arguments "
                     f"has changed {MISSES} times, after few calls each; pass it as an argument", None)
            return call(*args, **kwargs)
    return record(function, kind, call, g, fn)


cdef class Repeated:
    """A function that depends on nothing but its arguments and what it was made of, and is called often: from the third
    call on it is recorded, in every mode. Its program is its own, and is freed with it."""
    cdef object fn
    cdef Function function
    cdef int calls

    def __init__(self, str name, fn):
        self.fn = fn
        self.function = new_function(name, None)

    def __call__(self, *args):
        if tracing() or current_level() is not None:
            return self.fn(*args)
        self.calls = min(self.calls + 1, 3)
        if self.calls < 3:
            return self.fn(*args)
        return called(self.function, self.fn, args, {})


cdef bint only_numbers_differ(object kinds):
    """Whether the kinds of arguments seen so far have the same tensors and were mostly met once."""
    tensors = set()
    cdef Kind kind
    once = 0
    for key, kind in kinds.items():
        tensors.add(tuple([part for part in key if isinstance(part, tuple) and len(part) == 4]))
        once += kind.good is None
    return len(tensors) == 1 and once > MISSES // 2


def unrepeatable(str why):
    """Something that a program cannot repeat is about to happen; if a recording is active, it ends."""
    if tracing():
        active_tracer().give_up(why)


def call_recorded(key, alive, name, call, tuple args, dict kwargs, fn=None):
    """Call a function, recorded if this is an outermost call. `fn`: the user's function, where `call` is compiled code
    around it; nobody can see what that closes over."""
    if tracing() or current_level() is not None:
        return call(*args, **kwargs)
    return through(key, alive, name, call, args, kwargs, fn)


def function_key(fn, inside=()):
    """What a function is known by: (key, object whose life it depends on, name). `inside`: the functions whose closures
    lead here; one that closes over itself is known by its place among them."""
    if isinstance(fn, CellCall):
        return ("cell", id(fn)), fn, type(fn).__name__
    if isinstance(fn, types.FunctionType):
        for i, outer in enumerate(inside):
            if outer is fn:
                return ("function", i), None, fn.__qualname__
        inside = inside + (fn,)
        held = [key_of_value(cell.cell_contents, inside) if filled_cell(cell) else None
                for cell in fn.__closure__ or ()]
        held += [key_of_value(value, inside) for value in fn.__defaults__ or ()]
        held += [key_of_value(value, inside) for value in (fn.__kwdefaults__ or {}).values()]
        return ("function", ByIdentity(fn.__code__), tuple(held)), None, fn.__qualname__
    if isinstance(fn, types.MethodType):
        inner = function_key(fn.__func__, inside)
        return ("method", inner[0], key_of_value(fn.__self__, inside)), None, inner[2]
    return ("object", ByIdentity(fn)), None, type(fn).__name__


cdef bint filled_cell(object cell):
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


cdef object key_of_value(object x, tuple inside):
    """A value a function closes over, as part of its key: by value where it cannot change, else by identity."""
    key = value_key(x)
    if key is not None:
        return key
    if isinstance(x, types.FunctionType):
        return function_key(x, inside)[0]
    if type(x) is tuple:
        return tuple([key_of_value(item, inside) for item in x])
    return ByIdentity(x)


def _cell_called(cell, args, kwargs):
    """A Cell is called in Graph mode, or while recording."""
    cdef Tracer tracer = active_tracer()
    if isinstance(tracer, Recorder):
        (<Recorder>tracer).cells.append(cell)
    if tracer is not None or current_level() is not None:
        return cell.construct(*args, **kwargs)
    if NEWEST is not None and NEWEST.alive is not None and NEWEST.alive() is cell and not kwargs:
        result = replay_latest(NEWEST, None, args)
        if result is not NotImplemented:
            return result
    return through(("cell", id(cell)), cell, type(cell).__name__, cell.construct, args, kwargs)


set_call_hook(_cell_called)


def programs():
    """The programs recorded so far: (name of the function, whether it is replayed, its text)."""
    found = []
    cdef Function function
    cdef Kind kind
    for function in FUNCTIONS.values():
        if function.eager:
            found.append((function.name, False, "eager"))
            continue
        for kind in function.kinds.values():
            r = kind.last if kind.good is None else kind.good
            if r is not None:
                found.append((function.name, kind.good is not None, str(r.program)
                              + ("" if r.plan is None else "\n" + str(r.plan))))
    return found


def forget_programs():
    """Empty the cache; functions that remember a program forget it too."""
    global NEWEST
    cdef Function function
    cdef Kind kind
    for function in FUNCTIONS.values():
        for kind in (function.kinds or {}).values():
            kind.last = kind.good = None
    FUNCTIONS.clear()
    NEWEST = None


def check_programs(check):
    """Have a function called with each program that is to be replayed, and its plan (None where there is none); None
    for no such function. Returns the former one."""
    global CHECK
    former = CHECK
    CHECK = check
    return former


def recorded_call(fn, tuple args, dict kwargs):
    """What is known of a call: its program with the arrays it would read now, or why it runs eagerly."""
    cdef Function function
    cdef Kind kind
    cdef Recording good
    cdef Given g = given(args, kwargs)
    key, _, name = function_key(fn)
    found = {"name": name, "eager": None, "line": None, "program": None, "plan": None}
    function = FUNCTIONS.get(key)
    if function is None:
        return found
    found.update(eager=function.why, line=function.line)
    kind_key = g.key()
    if function.eager or kind_key is None:
        return found
    kind = function.kinds.get(kind_key)
    good = None if kind is None else kind.good
    if good is not None and current(good):
        found.update(program=good.program, plan=good.plan, recording=good.seconds, planning=good.planning,
                     inputs=g.arrays())
    return found


def run_program(Program program not None, list inputs):
    """The arrays that leave a program, by its plain interpreter; None if a handle has changed its type or shape."""
    return program.run(inputs)


def why_eager(key):
    """Why the function known by a key runs eagerly from now on; None if it does not."""
    cdef Function function = FUNCTIONS.get(key)
    return None if function is None else function.why


def known_functions():
    """The functions met so far: (name, why it runs eagerly or None, (file, line) or None, steps of its programs)."""
    cdef Function function
    cdef Kind kind
    found = []
    for function in FUNCTIONS.values():
        steps = [len(kind.good.program) for kind in function.kinds.values() if kind.good is not None]
        found.append((function.name, function.why, function.line, steps))
    return found
