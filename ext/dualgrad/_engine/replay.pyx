"""Recorded functions: when a call is recorded, when it is replayed, and when it just runs.

Design
------
A function is recorded at its first two calls with arguments of a kind (types, shapes, nesting, values of what is no
tensor) and replayed from the third on (recordings.pyx). After many different values of one argument that is no tensor
it runs eagerly, and also if what it depends on changes again and again.

Only outermost calls are recorded: inside a recording, or while derivatives are being taken, a recorded function is an
ordinary one.

Programs are kept by function: identity for Cells, code and closure for functions, what it differentiates and how for
gradient functions. The cache is bounded, the programs used longest ago go first.
"""
import types
import weakref
from collections import OrderedDict

from .arguments cimport ByIdentity, Given, given, value_key
from .execute cimport Tracer, active_tracer, tracing
from .recorder cimport Recorder
from .recordings cimport Function, Kind, Recording, current, go_eager, record, replay
from .tensor cimport CellCall, TensorBase
from .tensor import set_call_hook
from .values cimport current_level

cdef enum:
    CACHE_SIZE = 256                # functions kept
    KINDS_SIZE = 64                 # kinds of arguments kept of one function
    WORTH = 8                       # replays that pay for a recording
    MISSES = 8                      # different values of arguments that are no tensors, before a function runs eagerly

FUNCTIONS = OrderedDict()           # key of a function -> Function, the one called last at the end
cdef Function NEWEST = None         # that one


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
    cdef Function newest = NEWEST           # other threads may call others meanwhile
    if isinstance(tracer, Recorder):
        (<Recorder>tracer).cells.append(cell)
    if tracer is not None or current_level() is not None:
        return cell.construct(*args, **kwargs)
    if newest is not None and newest.alive is not None and newest.alive() is cell and not kwargs:
        result = replay_latest(newest, None, args)
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
