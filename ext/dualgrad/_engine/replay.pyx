"""Recorded functions: when a call is recorded, when it is replayed, and when it just runs.

Design
------
A function is recorded at its first two calls with arguments of a kind (types, shapes, nesting, values of what is no
tensor) and replayed from the third on, if both recordings are the same: counters, clocks and other sources of numbers
show in a difference, and then the function runs eagerly for ever, with one warning. It also does so if Python asked
for a number that depends on the arguments, and after many different values of one argument that is no tensor.

Only outermost calls are recorded: inside a recording, or while derivatives are being taken, a recorded function is an
ordinary one. A program is replayed only while the Cells it has called have the attributes they had, and while the
handles it reads hold arrays of the types and shapes they had; otherwise it is recorded anew.

Programs are kept by function: identity for Cells, code and closure for functions, what it differentiates and how for
gradient functions. The cache is bounded, the programs used longest ago go first.
"""
import types
import warnings
import weakref
from collections import OrderedDict
from time import perf_counter

from .array cimport ARRAY, Array, Value
from .execute cimport active_tracer, start_tracing, stop_tracing, tracing
from .plan cimport Plan, make_plan
from .program cimport Program
from .recorder cimport Recorder
from .tensor cimport CellCall, TensorBase, wrap
from .tensor import set_call_hook
from .values cimport current_level

cdef enum:
    CACHE_SIZE = 256                # functions kept
    KINDS_SIZE = 64                 # kinds of arguments kept of one function
    MISSES = 8                      # different values of arguments that are no tensors, before a function runs eagerly

cdef long long WRITES = 0           # attributes set on any Cell
FUNCTIONS = OrderedDict()           # key of a function -> Function
cdef list CALLED = None             # Cells called while recording
cdef bint PLANNING = True
cdef object CHECK = None            # called with each program that is to be replayed, and its plan


def plan_programs(bint on):
    """Whether programs are planned, or interpreted step by step. Returns the former setting."""
    global PLANNING
    former = PLANNING
    PLANNING = on
    return former


def note_write(CellCall cell not None):
    """An attribute of a Cell is being set."""
    global WRITES
    WRITES += 1
    cell.writes += 1


# ------------------------------------------------------------------------------------------------- one kind of call

cdef class Leaf:
    """Where a tensor stands in a nest of results: a slot, a handle from outside, or a constant."""
    cdef int output                 # position among the outputs; -1 for a handle, -2 for a constant
    cdef int argument               # number of the input that is returned as it came, or -1
    cdef object handle
    cdef Array constant


cdef class Kind:
    """Calls of one function with arguments of one kind."""
    cdef Program program            # of the last recording
    cdef Plan plan                  # of the confirmed program; None where it is interpreted
    cdef object template            # its results, with leaves for tensors
    cdef list cells                 # the Cells it called
    cdef list fixed                 # (handle, array) for captured tensors whose numbers Python looked at
    cdef list writes                # and how often their attributes had been set
    cdef long long checked          # WRITES when that was last compared
    cdef bint confirmed             # two recordings agreed
    cdef int attempts
    cdef int changes                # how often what it depends on had changed
    cdef double recording           # seconds of the last recording, the execution included
    cdef double planning            # and of making the plan


cdef class Function:
    """What is known of one function."""
    cdef object kinds               # key of the arguments -> Kind
    cdef bint eager                 # runs eagerly from now on,
    cdef object why                 # for this reason,
    cdef object line                # because of (file, line), or None
    cdef object name
    cdef object alive               # weak reference to the Cell, so that its identity is not taken over
    cdef int misses


cdef bint current(Kind kind):
    """Whether the Cells still have the attributes they had."""
    cdef int i
    for handle, a in kind.fixed:
        if (<TensorBase>handle).value is not a:
            return False
    if kind.checked == WRITES:
        return True
    for i in range(len(kind.cells)):
        if (<CellCall>kind.cells[i]).writes != <long long>kind.writes[i]:
            return False
    kind.checked = WRITES
    return True


cdef object flatten(object x, list tensors):
    """What is not a tensor in a nest of arguments, as a key; the tensors go to a list."""
    if isinstance(x, TensorBase):
        tensors.append(x)
        return TensorBase
    if isinstance(x, (tuple, list)):
        return (type(x), tuple([flatten(item, tensors) for item in x]))
    if isinstance(x, dict):
        return (dict, tuple([(key, flatten(item, tensors)) for key, item in x.items()]))
    if isinstance(x, (bool, int, float, complex, str, bytes)) or x is None:
        return (type(x), x)
    return ByIdentity(x)


cdef tuple signature(tuple args, dict kwargs, list tensors):
    """The key of the arguments, or None if they cannot have one."""
    cdef list key
    cdef TensorBase t
    cdef Array a
    cdef int i
    key = [flatten(x, tensors) for x in args]
    for name in kwargs:
        key.append((name, flatten(kwargs[name], tensors)))
    seen = {}
    for x in tensors:
        t = <TensorBase>x
        if t.value is None or t.value.kind != ARRAY:
            return None
        a = <Array>t.value
        # the same handle at two places is one input
        key.append((a.typenum, tuple([a.shape[i] for i in range(a.ndim)]), id(t) if t.parameter else 0,
                    seen.setdefault(id(t), len(seen))))
    return tuple(key)


# ------------------------------------------------------------------------------------------------------- recording

cdef object template_of(Recorder recorder, object x, list tensors, list outputs):
    """A nest of results with leaves in place of tensors."""
    cdef Leaf leaf
    cdef TensorBase t
    cdef Array a
    if isinstance(x, TensorBase):
        t = <TensorBase>x
        leaf = Leaf()
        leaf.argument = -1
        for i, given in enumerate(tensors):
            if given is t:
                leaf.argument = i
                return leaf
        if t.birth < recorder.start:
            leaf.output = -1
            leaf.handle = t
            return leaf
        if type(t) is not type(wrap(None)) or t.value.kind != ARRAY:
            raise TypeError(f"a {type(t).__name__} is returned")
        a = <Array>t.value
        if a.trace == recorder.trace:
            leaf.output = len(outputs)
            outputs.append(a.slot)
        else:
            leaf.output = -2
            leaf.constant = a
        return leaf
    if isinstance(x, (tuple, list)):
        parts = [template_of(recorder, item, tensors, outputs) for item in x]
        if type(x) is tuple:
            return tuple(parts)
        if type(x) is list:
            return parts
        if hasattr(x, "_fields"):
            return type(x)(*parts)
        raise TypeError(f"a {type(x).__name__} is returned")
    if type(x) is dict:
        return {key: template_of(recorder, item, tensors, outputs) for key, item in x.items()}
    if isinstance(x, (bool, int, float, complex, str, bytes)) or x is None:
        return x
    raise TypeError(f"a {type(x).__name__} is returned")


cdef object filled(object x, list arrays, list tensors):
    """A nest of results."""
    cdef Leaf leaf
    if isinstance(x, Leaf):
        leaf = <Leaf>x
        if leaf.argument >= 0:
            return tensors[leaf.argument]
        if leaf.output >= 0:
            return wrap(<Array>arrays[leaf.output])
        return leaf.handle if leaf.output == -1 else wrap(leaf.constant)
    if type(x) is tuple:
        return tuple([filled(item, arrays, tensors) for item in x])
    if type(x) is list:
        return [filled(item, arrays, tensors) for item in x]
    if type(x) is dict:
        return {key: filled(item, arrays, tensors) for key, item in x.items()}
    if isinstance(x, tuple):
        return type(x)(*[filled(item, arrays, tensors) for item in x])
    return x


cdef bint same_template(object x, object y):
    cdef Leaf a, b
    if type(x) is not type(y):
        return False
    if isinstance(x, Leaf):
        a = <Leaf>x
        b = <Leaf>y
        return a.output == b.output and a.argument == b.argument and a.handle is b.handle and (
            a.output != -2 or a.constant is b.constant
            or a.constant.numpy().tobytes() == b.constant.numpy().tobytes())
    if isinstance(x, (tuple, list)):
        return len(x) == len(y) and all([same_template(p, q) for p, q in zip(x, y)])
    if isinstance(x, dict):
        return list(x) == list(y) and all([same_template(x[key], y[key]) for key in x])
    return x == y or x != x and y != y


cdef object record(Function function, Kind kind, object call, tuple args, dict kwargs, list tensors):
    """Call while recording; what is found goes to `kind`."""
    cdef Recorder recorder = Recorder()
    cdef TensorBase t
    cdef Program program = recorder.program
    cdef list originals = [], aliases = [], cells, outputs = []
    cdef long long writes = WRITES
    cdef dict number = {}
    global CALLED
    for x in tensors:
        t = <TensorBase>x
        originals.append(t.value)
        if id(t) not in number:
            number[id(t)] = len(number)
            t.value = recorder.input(<Array>t.value)
        aliases.append(t.value)
    former = CALLED
    CALLED = cells = cells_in((call, args, kwargs))
    start = perf_counter()
    start_tracing(recorder)
    try:
        result = call(*args, **kwargs)
        if recorder.failed is None:
            recorder.finish()
            try:
                template = template_of(recorder, result, tensors, outputs)
            except TypeError as error:
                recorder.give_up(str(error))
    finally:
        CALLED = former
        stop_tracing(recorder)
        for x, original, alias in zip(reversed(tensors), reversed(originals), reversed(aliases)):
            if (<TensorBase>x).value is alias:
                (<TensorBase>x).value = <Value>original
    if recorder.failed is None and writes != WRITES:
        recorder.failed = "an attribute of a Cell is set"
    if recorder.failed is not None:
        go_eager(function, recorder.failed, recorder.line)
        return result
    program.outputs.extend(outputs)
    for i, (handle, slot) in enumerate(program.effects):
        if id(handle) in number:
            program.effects[i] = (number[id(handle)], slot)
    kind.attempts += 1
    kind.recording = perf_counter() - start
    if (kind.program is not None and not kind.confirmed and program.same_as(kind.program)
            and same_template(template, kind.template)):
        start = perf_counter()
        program.prepare()
        kind.plan = make_plan(program) if PLANNING else None
        kind.planning = perf_counter() - start
        kind.confirmed = True
        if CHECK is not None:
            CHECK(program, kind.plan)
    elif kind.attempts > 3:
        go_eager(function, "two recordings of it differ, so something else than its arguments decides what it does",
                 None)
    kind.program = program
    kind.template = template
    kind.cells = list(dict.fromkeys(cells))
    kind.writes = [(<CellCall>cell).writes for cell in kind.cells]
    kind.checked = WRITES
    kind.fixed = recorder.fixed
    return result


cdef list cells_in(object x):
    """Cells in a nest of arguments, and those a function closes over or belongs to."""
    found = []
    if isinstance(x, CellCall):
        found.append(x)
    elif isinstance(x, (tuple, list)):
        for item in x:
            found += cells_in(item)
    elif isinstance(x, dict):
        found += cells_in(list(x.values()))
    elif isinstance(x, types.FunctionType):
        for cell in x.__closure__ or ():
            if filled_cell(cell) and cell.cell_contents is not x:
                contents = cell.cell_contents
                found += cells_in(contents) if isinstance(contents, (CellCall, types.MethodType)) else []
    elif isinstance(x, types.MethodType):
        found += cells_in(x.__self__)
    return found


cdef int go_eager(Function function, str why, object line) except -1:
    """Run a function eagerly from now on, and say so once."""
    function.eager = True
    function.why = why
    function.line = line
    function.kinds = None
    where = f" ({line[0]}, line {line[1]})" if line is not None else ""
    warnings.warn(f"{function.name} runs eagerly: {why}{where}", UserWarning, stacklevel=2)
    return 0


cdef object replay(Kind kind, list tensors):
    """The results of a confirmed program; NotImplemented if what it reads has changed."""
    cdef list inputs = [], arrays
    cdef set seen = set()
    cdef Program program = kind.program
    cdef Py_ssize_t i, n = len(program.outputs)
    for x in tensors:
        if id(x) not in seen:
            seen.add(id(x))
            inputs.append((<TensorBase>x).value)
    arrays = program.run(inputs) if kind.plan is None else kind.plan.run(inputs)
    if arrays is None:
        return NotImplemented
    if program.effects:
        distinct = list(dict.fromkeys(tensors))
        for i in range(len(program.effects)):
            handle = program.effects[i][0]
            if isinstance(handle, int):
                handle = distinct[handle]
            (<TensorBase>handle).value = <Value>arrays[n + i]
    return filled(kind.template, arrays, tensors)


# ------------------------------------------------------------------------------------------------------------ calls

cdef class Recorded:
    """A function under `jit`. The kind of its last call is tried first, without making a key."""
    cdef public object __wrapped__
    cdef object function            # the plain Python function to look at, or None
    cdef Function known
    cdef Kind kind
    cdef list leaves                # for each argument (type, shape), or the value of what is no tensor
    cdef list closed_over           # contents of the closure, as they were

    cdef dict __dict__

    def __init__(self, fn):
        self.__wrapped__ = fn
        self.function = fn if isinstance(fn, types.FunctionType) else None

    def __get__(self, instance, owner):
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args, **kwargs):
        cdef list tensors
        if tracing() or current_level() is not None:
            return self.__wrapped__(*args, **kwargs)
        if self.kind is not None and not kwargs and self.kind.confirmed and self.same(args):
            if current(self.kind):
                tensors = [x for x in args if isinstance(x, TensorBase)]
                result = replay(self.kind, tensors)
                if result is not NotImplemented:
                    return result
        key, alive, name = function_key(self.__wrapped__)
        result = through(key, alive, name, self.__wrapped__, args, kwargs)
        self.remember(key, args, kwargs)
        return result

    cdef bint same(self, tuple args):
        """Whether the arguments, and what the function closes over, are as at the call that is remembered."""
        cdef Py_ssize_t i, k
        cdef Array a
        cdef tuple leaf
        if len(args) != len(self.leaves):
            return False
        for i in range(len(args)):
            x = args[i]
            leaf = <tuple>self.leaves[i]
            if leaf is None:
                return False
            if not isinstance(x, TensorBase):
                if len(leaf) != 1 or x is not leaf[0]:
                    return False
                continue
            if len(leaf) != 2 or (<TensorBase>x).parameter or (<TensorBase>x).value is None \
                    or (<TensorBase>x).value.kind != ARRAY:
                return False
            a = <Array>(<TensorBase>x).value
            if a.typenum != <int>leaf[0] or not has_shape(a, <tuple>leaf[1]):
                return False
            for k in range(i):
                if args[k] is x:
                    return False
        if self.closed_over is not None:
            cells = self.function.__closure__
            for i in range(len(self.closed_over)):
                if cells[i].cell_contents is not self.closed_over[i]:
                    return False
        return True

    cdef int remember(self, object key, tuple args, dict kwargs) except -1:
        """Take note of a call that can be replayed."""
        cdef Function known
        cdef Array a
        cdef list leaves = []
        self.kind = None
        known = FUNCTIONS.get(key)
        if (known is None or known.eager or kwargs or self.function is None or self.function.__defaults__
                or self.function.__kwdefaults__):
            return 0
        for x in args:
            if isinstance(x, TensorBase):
                if (<TensorBase>x).parameter or (<TensorBase>x).value.kind != ARRAY:
                    return 0
                a = <Array>(<TensorBase>x).value
                leaves.append((a.typenum, tuple([a.shape[i] for i in range(a.ndim)])))
            elif isinstance(x, (tuple, list, dict)):
                return 0
            else:
                leaves.append((x,))
        self.kind = known.kinds.get(signature(args, kwargs, []))
        self.leaves = leaves
        self.closed_over = None
        if self.function.__closure__:
            if not all([filled_cell(cell) for cell in self.function.__closure__]):
                self.kind = None
                return 0
            self.closed_over = [cell.cell_contents for cell in self.function.__closure__]
        return 0


cdef bint has_shape(Array a, tuple shape):
    cdef int i
    if a.ndim != len(shape):
        return False
    for i in range(a.ndim):
        if a.shape[i] != <Py_ssize_t>shape[i]:
            return False
    return True


cdef Function new_function(object name, object alive):
    cdef Function function = Function()
    function.kinds = OrderedDict()
    function.name = name
    function.alive = None if alive is None else weakref.ref(alive)
    return function


cdef object through(object key, object alive, object name, object call, tuple args, dict kwargs):
    """A call of a recorded function, known by a key."""
    cdef Function function = FUNCTIONS.get(key)
    if function is None or (function.alive is not None and function.alive() is None):
        function = new_function(name, alive)
        FUNCTIONS[key] = function
        if len(FUNCTIONS) > CACHE_SIZE:
            FUNCTIONS.popitem(last=False)
    return called(function, call, args, kwargs)


cdef object called(Function function, object call, tuple args, dict kwargs):
    """A call of a recorded function."""
    cdef Kind kind
    cdef list tensors = []
    cdef tuple kind_key
    if function.eager:
        return call(*args, **kwargs)
    kind_key = signature(args, kwargs, tensors)
    if kind_key is None:
        return call(*args, **kwargs)
    kind = function.kinds.get(kind_key)
    if kind is None:
        kind = Kind()
        function.kinds[kind_key] = kind
        function.misses += 1
        if function.misses > MISSES and only_numbers_differ(function.kinds):
            go_eager(function, f"an argument that is no tensor was different at each of {MISSES} calls, and a "
                     f"program is recorded for one value; pass a Tensor instead of a number", None)
            return call(*args, **kwargs)
        if len(function.kinds) > KINDS_SIZE:
            function.kinds.popitem(last=False)
    elif kind.confirmed:
        if current(kind):
            result = replay(kind, tensors)
            if result is not NotImplemented:
                return result
        kind.confirmed = False
        kind.program = None
        kind.attempts = 0
        kind.changes += 1
        if kind.changes > MISSES:
            go_eager(function, f"a tensor, or an attribute of a Cell, that it depends on has changed {MISSES} times "
                     f"between calls", None)
            return call(*args, **kwargs)
    return record(function, kind, call, args, kwargs, tensors)


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
        once += not kind.confirmed
    return len(tensors) == 1 and once > MISSES // 2


def unrepeatable(str why):
    """Something that a program cannot repeat is about to happen; if a recording is active, it ends."""
    if tracing():
        active_tracer().give_up(why)


def call_recorded(key, alive, name, call, tuple args, dict kwargs):
    """Call a function, recorded if this is an outermost call."""
    if tracing() or current_level() is not None:
        return call(*args, **kwargs)
    return through(key, alive, name, call, args, kwargs)


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
        return ("function", fn.__code__, tuple(held)), None, fn.__qualname__
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


class ByIdentity:
    """A key that is equal to another only if both hold the same object, which it keeps alive."""
    __slots__ = ("held",)

    def __init__(self, held):
        self.held = held

    def __hash__(self):
        return id(self.held)

    def __eq__(self, other):
        return isinstance(other, ByIdentity) and self.held is other.held


cdef object key_of_value(object x, tuple inside):
    """A value a function closes over, as part of its key: by value where it cannot change, else by identity."""
    if isinstance(x, (bool, int, float, complex, str, bytes)) or x is None:
        return type(x), x
    if isinstance(x, types.FunctionType):
        return function_key(x, inside)[0]
    if type(x) is tuple:
        return tuple([key_of_value(item, inside) for item in x])
    return ByIdentity(x)


def _cell_called(cell, args, kwargs):
    """A Cell is called in Graph mode, or while recording."""
    if tracing():
        if CALLED is not None:
            CALLED.append(cell)
        return cell.construct(*args, **kwargs)
    if current_level() is not None:
        return cell.construct(*args, **kwargs)
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
            found.append((function.name, kind.confirmed, str(kind.program)
                          + ("" if kind.plan is None else "\n" + str(kind.plan))))
    return found


def forget_programs():
    """Empty the cache."""
    FUNCTIONS.clear()


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
    cdef list tensors = []
    key, _, name = function_key(fn)
    found = {"name": name, "eager": None, "line": None, "program": None, "plan": None}
    function = FUNCTIONS.get(key)
    if function is None:
        return found
    found.update(eager=function.why, line=function.line)
    kind_key = signature(args, kwargs, tensors)
    if function.eager or kind_key is None:
        return found
    kind = function.kinds.get(kind_key)
    if kind is not None and kind.confirmed and current(kind):
        found.update(program=kind.program, plan=kind.plan, recording=kind.recording, planning=kind.planning,
                     inputs=[(<TensorBase>x).value for x in dict.fromkeys(tensors)])
    return found


def run_program(Program program not None, list inputs):
    """The arrays that leave a program, by its plain interpreter; None if a handle has changed its type or shape."""
    return program.run(inputs)


def known_functions():
    """The functions met so far: (name, why it runs eagerly or None, (file, line) or None, steps of its programs)."""
    cdef Function function
    cdef Kind kind
    found = []
    for function in FUNCTIONS.values():
        kinds = () if function.kinds is None else function.kinds.values()
        steps = [len(kind.program) for kind in kinds if kind.confirmed]
        found.append((function.name, function.why, function.line, steps))
    return found
