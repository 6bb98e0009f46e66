"""Recorded functions: when a call is recorded, when it is replayed, and when it just runs.

Design
------
A function is recorded at its first two calls with arguments of a kind (types, shapes, nesting, values of what is no
tensor) and replayed from the third on (recordings.pyx). After many different values of one argument that is no tensor
it runs eagerly, and also if what it depends on changes again and again.

Only outermost calls are recorded: inside a recording, or while derivatives are being taken, a recorded function is an
ordinary one.

Programs are kept by function: identity for Cells; code, globals and closure for functions; what it differentiates and
how for gradient functions. Those of a Cell are held by the Cell, so that they end with it. The cache is bounded, in
functions and in bytes; the programs used longest ago go first.
"""
import types
import weakref
from collections import OrderedDict
from time import perf_counter

from .signature cimport ByIdentity, Given, given, value_key
from .dependence cimport dependence_on
from ..primitives.execute cimport tracing
from ..transforms.naming import found_at, place_of
from ..primitives.opcodes cimport OP_DRAW, OP_INSPECT
from ..compiler.program cimport FROM_HANDLE, interrupted
from .recordings cimport Function, Kind, Recording, apart, changed, checked, checking, current, go_eager, record, replay
from ..transforms.calls cimport CellCall
from ..transforms.handles cimport TensorBase
from ..transforms.transformed cimport Transformed
from ..values.levels cimport current_level

cdef enum:
    CACHE_SIZE = 256                # functions kept
    CACHE_BYTES = 1 << 29           # that their guards and constants may keep in memory
    KINDS_SIZE = 64                 # kinds of arguments kept of one function
    WORTH = 8                       # replays that pay for a recording
    DEPTH = 32                      # functions and tuples in the key of a function
    MISSES = 8                      # different values of arguments that are no tensors, before a function runs eagerly

# Key of a function -> Function, the one called last at the end; a weak reference where a Cell holds it.
FUNCTIONS = OrderedDict()
cdef Function NEWEST = None         # the one called last, unless it belongs to a Cell
cdef long long EPOCH = 0            # how often all programs were forgotten


cdef class Recorded:
    """A function under `jit`."""
    cdef public object __wrapped__
    cdef readonly bint pure
    cdef Function function          # what is known of it,
    cdef object known               # that is, of this

    cdef dict __dict__

    def __init__(self, fn, bint pure=False):
        self.__wrapped__ = fn
        self.pure = pure

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
        result = through(key, alive, name, self.__wrapped__, args, kwargs, None, self.pure)
        # A method is another object at each call, and what it closes over is known by its key alone.
        if isinstance(self.__wrapped__, (types.FunctionType, CellCall, Transformed)):
            self.function = known_as((self.pure, key), alive)
            self.known = None if self.function is None else self.__wrapped__
        return result

    def depends_on(self, *args):
        """What the last result for arguments of this kind depends on besides the arguments; None if that is not known
        (two calls have to show that the function does not change it itself), or if the function changes tensors or
        draws random numbers."""
        cdef Function function
        cdef Kind kind
        cdef Recording r
        cdef Given g = given(args, {})
        key, alive, _ = function_key(self.__wrapped__)
        function = known_as((self.pure, key), alive)
        if function is None or function.eager:
            return None
        kind = function.kinds.get(g.key())
        r = None if kind is None else kind.good
        if r is None or r.program.effects or any(
                [step[0] == OP_DRAW or step[0] == OP_INSPECT for step in r.program.steps]):
            return None
        return dependence_on(r.guards, r.fixed + [
            (handle, (<TensorBase>handle).value) for slot, handle in zip(r.program.kinds, r.program.sources)
            if slot == FROM_HANDLE])

    def __reduce__(self):
        place = place_of(self, self)
        if place is not None:
            return found_at, place              # the decorated function of a module or class
        return restored, (self.__wrapped__, self.pure, dict(vars(self)))

    def __copy__(self):
        return restored(self.__wrapped__, self.pure, vars(self))


def restored(fn, bint pure, dict attributes):
    """A recorded function that was copied or pickled; its programs stay behind."""
    r = Recorded(fn, pure)
    vars(r).update(attributes)
    return r


cdef Function new_function(object name, object alive):
    cdef Function function = Function()
    function.kinds = OrderedDict()
    function.epoch = EPOCH
    function.name = name
    function.alive = None if alive is None else weakref.ref(alive)
    return function


cdef Function known_as(object key, object alive):
    """The function known by a key, or None. A Cell has its own."""
    cdef Function function = None
    if alive is None:
        function = <Function>FUNCTIONS.get(key)
    elif (<CellCall>alive).programs is not None:
        function = <Function>(<CellCall>alive).programs.get(key)
    return None if function is None or function.epoch != EPOCH else function


cdef Function kept(object key, object alive, object name, bint pure):
    """The function known by a key, or a new one."""
    cdef Function function = known_as(key, alive)
    if function is not None:
        if function is not NEWEST and key in FUNCTIONS:
            FUNCTIONS.move_to_end(key)
        return function
    function = new_function(name, alive)
    function.pure = pure
    if alive is None:
        FUNCTIONS[key] = function
    else:
        if (<CellCall>alive).programs is None:
            (<CellCall>alive).programs = {}
        (<CellCall>alive).programs[key] = function
        FUNCTIONS[key] = weakref.ref(function)
    shrink()
    return function


cdef int shrink() except -1:
    """Forget the functions used longest ago, above the bounds of the cache. Who holds one of them keeps it."""
    cdef Function function
    cdef Py_ssize_t total = 0
    for function in functions():
        total += function.bytes
    while FUNCTIONS and (len(FUNCTIONS) > CACHE_SIZE or (total > CACHE_BYTES and len(FUNCTIONS) > 1)):
        _, found = FUNCTIONS.popitem(last=False)
        function = found() if isinstance(found, weakref.ref) else found
        total -= 0 if function is None else function.bytes
    return 0


cdef object through(object key, object alive, object name, object call, tuple args, dict kwargs, object fn=None,
                    bint pure=False):
    """A call of a recorded function, known by a key."""
    global NEWEST
    cdef Function function = kept((pure, key), alive, name, pure)
    cdef Py_ssize_t before = function.bytes
    if alive is None:
        NEWEST = function
    result = called(function, call, args, kwargs, fn)
    if function.bytes > before:
        shrink()
    return result


cdef object replay_latest(Function function, object call, tuple args):
    """Replay the program of the last call if this one is seen to be of its kind; NotImplemented if not, or if what the
    program depends on has changed. `call`: the function whose guards are compared; a Cell is known by
    identity, None stands for any that goes by the key of the function."""
    cdef Kind kind = function.latest
    cdef Recording good
    if kind is None or function.epoch != EPOCH or checking():
        return NotImplemented
    good = kind.good
    if good is None or (call is not None and good.call is not call and function.alive is None) \
            or not kind.fits(args):
        return NotImplemented
    inputs = [x for x in args if isinstance(x, TensorBase)]
    if not current(good, inputs):
        return NotImplemented
    interrupted()                               # what came before does not count
    try:
        result = replay(good, inputs)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        if interrupted() or drawing(good):
            raise
        return NotImplemented                   # and is replayed in vain once more
    if result is not NotImplemented:
        kind.replays += 1
    return result


cdef bint drawing(Recording r) except -1:
    """Whether a program draws random numbers, so that it cannot be begun again."""
    return any([step[0] == OP_DRAW for step in r.program.steps])


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
        if current(good, g.inputs) and apart(good, g):
            if checking():
                return checked(function, good, g.inputs, call, args, kwargs)
            interrupted()                       # what came before does not count
            try:
                result = replay(good, g.inputs)
            except (ArithmeticError, LookupError, TypeError, ValueError):
                if interrupted() or drawing(good):
                    raise
                return call(*args, **kwargs)    # the function may catch it, or tell more of it
            if result is not NotImplemented:
                kind.replays += 1
                function.latest = kind
                return result
        change = changed(good.guards)
        kind.good = None
        kind.failures = 0
        if kind.replays < WORTH:
            kind.changes += 1
        if kind.changes > MISSES:
            go_eager(function, f"{change or 'a tensor that it reads'} has changed {MISSES} times, after few calls "
                     f"each; pass it as an argument", None)
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
        self.function.pure = True

    def __reduce__(self):
        return Repeated, (self.function.name, self.fn)

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
        tensors.add(tuple([part[:2] + part[3:] for part in key if isinstance(part, tuple) and len(part) == 4]))
        once += kind.good is None
    return len(tensors) == 1 and once > MISSES // 2


def call_recorded(key, alive, name, call, tuple args, dict kwargs, fn=None):
    """Call a function, recorded if this is an outermost call. `fn`: the user's function, where `call` is compiled code
    around it; nobody can see what that closes over."""
    if tracing() or current_level() is not None:
        return call(*args, **kwargs)
    return through(key, alive, name, call, args, kwargs, fn)


def function_key(fn):
    """What a function is known by: (key, object whose life it depends on, name)."""
    return key_of_function(fn, [], 0)


cdef tuple key_of_function(object fn, list met, int depth):
    """`met`: the functions and tuples in the key so far; one that is met again (a function may close over itself) is
    known by its place among them. What lies deep inside is known by identity, so that keys stay small."""
    if isinstance(fn, CellCall):
        return ("cell", id(fn)), fn, type(fn).__name__
    if depth > DEPTH or len(met) > DEPTH:
        return ("object", ByIdentity(fn)), None, type(fn).__name__
    if isinstance(fn, Transformed):
        return key_of_function((<Transformed>fn).fn, met, depth)
    if isinstance(fn, types.FunctionType):
        again = place_among(met, fn)
        if again is not None:
            return again, None, fn.__qualname__
        held = [key_of_value(cell.cell_contents, met, depth) if filled_cell(cell) else None
                for cell in fn.__closure__ or ()]
        held += [key_of_value(value, met, depth) for value in fn.__defaults__ or ()]
        held += [(name, key_of_value(value, met, depth)) for name, value in (fn.__kwdefaults__ or {}).items()]
        attributes = ByIdentity(fn) if fn.__dict__ else None
        return ("function", ByIdentity(fn.__code__), ByIdentity(fn.__globals__), attributes, fn.__name__,
                fn.__qualname__, value_key(fn.__doc__), value_key(fn.__module__), tuple(held)), None, fn.__qualname__
    if isinstance(fn, types.MethodType):
        inner = key_of_function(fn.__func__, met, depth + 1)
        return ("method", inner[0], key_of_value(fn.__self__, met, depth)), None, inner[2]
    return ("object", ByIdentity(fn)), None, type(fn).__name__


cdef bint filled_cell(object cell):
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


cdef object key_of_value(object x, list met, int depth):
    """A value a function closes over, as part of its key: by value where it cannot change, else by identity."""
    key = value_key(x)
    if key is not None:
        return key
    if isinstance(x, (types.FunctionType, Transformed)):
        return key_of_function(x, met, depth + 1)[0]
    if type(x) is tuple and depth <= DEPTH and len(met) <= DEPTH:
        again = place_among(met, x)
        return tuple([key_of_value(item, met, depth + 1) for item in x]) if again is None else again
    return ByIdentity(x)


cdef tuple place_among(list met, object x):
    """Where something was met before; None if it was not, but now is."""
    for i, other in enumerate(met):
        if other is x:
            return "again", i
    met.append(x)
    return None


def cell_called(CellCall cell, tuple args, dict kwargs):
    """A Cell is called in Graph mode, or while recording."""
    cdef Function function = <Function>cell.known
    if tracing() or current_level() is not None:
        return cell.construct(*args, **kwargs)
    if function is not None and function.pure == cell.pure and not kwargs:
        result = replay_latest(function, None, args)
        if result is not NotImplemented:
            return result
    key = "cell", id(cell)
    result = through(key, cell, type(cell).__name__, cell.construct, args, kwargs, None, cell.pure)
    cell.known = known_as((cell.pure, key), cell)
    return result


def transform_called(str name, fn, tuple settings, parameters, call, tuple args, dict kwargs):
    """A transform of a function is called in Graph mode, as an outermost call."""
    key, alive, label = function_key(fn)
    weights = None if parameters is None else tuple([ByIdentity(p) for p in parameters])
    return call_recorded((name, settings, weights, key), alive, f"{name} of {label}", call, args, kwargs, fn)


cdef list functions():
    """The functions that are known now."""
    found = [f() if isinstance(f, weakref.ref) else f for f in list(FUNCTIONS.values())]
    return [f for f in found if f is not None]


def programs():
    """The programs recorded so far: (name of the function, whether it is replayed, its text)."""
    found = []
    cdef Function function
    cdef Kind kind
    for function in functions():
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
    global NEWEST, EPOCH
    FUNCTIONS.clear()
    NEWEST = None
    EPOCH += 1


def recorded_call(fn, tuple args, dict kwargs, bint pure=False):
    """What is known of a call: its program with the arrays it would read now, or why it runs eagerly."""
    cdef Function function
    cdef Kind kind
    cdef Recording good
    cdef Given g = given(args, kwargs)
    key, alive, name = function_key(fn)
    found = {"name": name, "eager": None, "line": None, "program": None, "plan": None}
    function = known_as((pure, key), alive)
    if function is None:
        return found
    found.update(eager=function.why, line=function.line)
    kind_key = g.key()
    if function.eager or kind_key is None:
        return found
    kind = function.kinds.get(kind_key)
    good = None if kind is None else kind.good
    if good is not None and current(good, g.inputs):
        found.update(program=good.program, plan=good.plan, recording=good.seconds, planning=good.planning,
                     inputs=g.arrays(), guards=guards_of(good))
    return found


cdef tuple guards_of(Recording r):
    """The number of guarded places, of those that are compared by content, the bytes of these, and the nanoseconds
    that a look at all of them takes."""
    if r.guards is None:
        return 0, 0, 0, 0.0
    start = perf_counter()
    for _ in range(100):
        r.guards.hold()
    return (len(r.guards.quick) + len(r.guards.slow), len(r.guards.slow), r.guards.bytes,
            (perf_counter() - start) * 1e7)


def why_eager(key, alive=None):
    """Why the function known by a key runs eagerly from now on; None if it does not."""
    cdef Function function = known_as((False, key), alive)
    return None if function is None else function.why


def known_functions():
    """The functions met so far: (name, why it runs eagerly or None, (file, line) or None, steps of its programs)."""
    cdef Function function
    cdef Kind kind
    found = []
    for function in functions():
        steps = [len(kind.good.program) for kind in function.kinds.values() if kind.good is not None]
        found.append((function.name, function.why, function.line, steps))
    return found
