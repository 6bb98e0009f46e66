"""Recorded functions: the decision to record, replay or execute a call.

Design
------
A function is recorded at its first two calls with one signature (types, shapes, pytree structure, values of arguments
that are not tensors). It is replayed from the third call on (recordings.pyx). Calls of a signature run eagerly if no
program can stand for them, or if its guards fail again and again. If many signatures have programs that do not pay, new
signatures wait (accounts.pyx).

Only outermost calls are recorded. Inside a recording or a derivative, a recorded function is an ordinary function.

Programs are kept by function. The key of a Cell is its identity. The key of a function has its code, globals and
closure, and the key of a gradient function has its function and settings. A Cell holds its own programs, so that they
are freed with it. The cache is bounded in functions and in bytes, and drops the least recently used functions first.

Threads share functions. The state of a function is read and changed in its critical section, which does nothing under
the GIL; user code runs outside.
"""
cimport cython

import types
import weakref
from collections import OrderedDict
from time import perf_counter

from ..arrays.array import install
from .signature cimport ByIdentity, Signature, signature_of
from .dependence cimport dependence_on
from .keys cimport function_key, same_function
from ..arrays.thread cimport is_outermost
from ..transforms.naming import found_at, place_of
from ..primitives.registry cimport EFFECTS
from ..compiler.plan cimport is_on_numbers
from ..compiler.program cimport FROM_HANDLE
from .accounts cimport (book_eager, book_recorded, book_replayed, call_failed, is_skipped, lose_program,
                        may_be_recorded, number_of, specialisation_for, waits, why_waiting)
from .recordings cimport Function, Specialisation, change_in_words, go_eager, record_call
from .replay cimport (FAILED, Recording, arguments_not_reached, checked_replay, replays_are_checked, still_valid,
                      stands_for, try_replay)
from ..transforms.calls cimport CellCall
from ..transforms.handles cimport TensorBase, value_in
from ..transforms.transformed cimport Transformed
from .travel cimport arrive, departing

cdef extern from "memory/shared.h":
    long long dg_add_shared(long long *counter, long long n) noexcept
    long long dg_read_shared(long long *counter) noexcept
    void *dg_read_pointer(void **place) noexcept
    void dg_write_pointer(void **place, void *value) noexcept
    ctypedef struct dg_shared_lock:
        pass
    void dg_hold(dg_shared_lock *lock) noexcept
    void dg_release(dg_shared_lock *lock) noexcept

cdef enum:
    CACHE_SIZE = 256                # functions
    CACHE_BYTES = 1 << 29           # that guards and constants keep
    WORTH = 8                       # replays after which a change does not count
    DEPTH = 32                      # nested functions and tuples in the key of a function
    OTHERS = 32                     # calls by the program of another function, before a function gets its own
    MOST_APART = 64                 # functions of one key that have programs of their own
    MISSES = 8                      # changes after fewer replays, before calls run eagerly

# Key of a function -> Function, the last one called at the end; a weak reference if a Cell holds it.
FUNCTIONS = OrderedDict()
cdef dg_shared_lock HELD            # held to read or change FUNCTIONS; nothing is freed then, no user code runs
cdef void *NEWEST = NULL            # address of the function called last, unless a Cell holds it; maybe freed
cdef long long EPOCH = 0            # how often all programs were forgotten
cdef object APART = object()        # in place of a result: the function must have programs of its own


cdef class Recorded:
    """A function under `jit`."""
    cdef public object __wrapped__
    cdef readonly bint pure
    cdef Function function          # its programs, if `known` is still __wrapped__
    cdef object known
    cdef long long others           # calls by the program of another function with the same key

    cdef dict __dict__

    def __init__(self, fn, bint pure=False):
        self.__wrapped__ = fn
        self.pure = pure

    def __get__(self, instance, owner):
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args, **kwargs):
        cdef Function function = None
        if not is_outermost():
            return self.__wrapped__(*args, **kwargs)
        with cython.critical_section(self):
            known = self.known
            if known is self.__wrapped__ and not kwargs:
                function = self.function
        if function is not None:
            result = replay_latest(function, known, None, known, args)
            if result is not NotImplemented:
                return known(*args) if result is FAILED else result
        found = self.key()
        result = call_by_key(found, self.__wrapped__, args, kwargs, None, self.pure)
        # A method is a new object at each call; its state is compared by its key only.
        if type(self.__wrapped__) is types.FunctionType or isinstance(self.__wrapped__, (CellCall, Transformed)):
            function = known_as((self.pure, found[0]), found[1])
            with cython.critical_section(self):
                self.function = function
                self.known = None if function is None else self.__wrapped__
            if function is not None and belongs_to_another(function, self.__wrapped__):
                dg_add_shared(&self.others, 1)
        return result

    cdef tuple key(self):
        """`function_key` of the function. Equal functions share programs, but the guards belong to one of them: each
        call compares the keys of the rest. A function that is called often gets its own programs."""
        found = function_key(self.__wrapped__)
        return own_key(self.__wrapped__, found) if dg_read_shared(&self.others) >= OTHERS else found

    cdef Function known_programs(self):
        """The state of the function in the cache, or None."""
        key, alive, _, _ = self.key()
        return programs_known(key, alive, self.__wrapped__, self.pure)

    def depends_on(self, *args):
        """The dependence of the last result for this signature on more than the arguments. None if no program is
        confirmed, or if the function changes tensors or draws random numbers."""
        cdef Function function
        cdef Recording r
        cdef Signature g = signature_of(args, {})
        function = self.known_programs()
        if function is None:
            return None
        r = confirmed_for(function, g.key())
        if r is None or not same_function(r.call, self.__wrapped__) or r.program.effects or any(
                [EFFECTS[<int>step[0]] for step in r.program.steps]):
            return None
        return dependence_on(r.guards, r.fixed + [
            (handle, value_in(<TensorBase>handle)) for slot, handle in zip(r.program.kinds, r.program.sources)
            if slot == FROM_HANDLE])

    def recordings(self):
        """The recordings that may go along to another process: (recording, functions that must go by value). They
        belong into the pickle of the function."""
        function = self.known_programs()
        return [] if function is None else departing(function, self.__wrapped__)

    def take(self, tuple recordings):
        """Keep recordings that came along, if everything is as it was."""
        found = self.key()
        arrive(function_for_key((self.pure, found[0]), found[1], found[2], self.pure), self.__wrapped__, found[3],
               recordings)

    def __reduce__(self):
        place = place_of(self, self)
        if place is not None:
            return found_at, place              # the decorated function of a module or class
        attributes = dict(vars(self))
        own = attributes.get("__annotate__")    # from Python 3.14 on; a local function, which no name finds
        if own is not None and own is getattr(self.__wrapped__, "__annotate__", None):
            del attributes["__annotate__"]
        return restored, (self.__wrapped__, self.pure, attributes)

    def __copy__(self):
        return restored(self.__wrapped__, self.pure, vars(self))


def restored(fn, bint pure, dict attributes):
    """A recorded function that was copied or pickled, without its programs."""
    r = Recorded(fn, pure)
    if getattr(fn, "__annotate__", None) is not None:
        r.__annotate__ = fn.__annotate__
    vars(r).update(attributes)
    return r


cdef bint belongs_to_another(Function function, object call):
    """True if the program that was replayed last was recorded from another function."""
    cdef Recording confirmed = latest_of(function)
    return confirmed is not None and function.alive is None and not same_function(confirmed.call, call)


cdef Recording latest_of(Function function):
    """The program that was replayed last, or None."""
    cdef Recording confirmed
    with cython.critical_section(function):
        confirmed = None if function.latest is None else function.latest.confirmed
    return confirmed


cdef Recording confirmed_for(Function function, object key):
    """The program of a function for the arguments with a key, or None."""
    cdef Specialisation special
    cdef Recording confirmed
    with cython.critical_section(function):
        special = function.specialisations.get(key)
        confirmed = None if special is None else special.confirmed
    return confirmed


cdef list recordings_of(Function function):
    """(True if it is replayed, the recording) for each signature of a function with a recording."""
    cdef Specialisation special
    with cython.critical_section(function):
        found = [(special.confirmed is not None, special.last if special.confirmed is None else special.confirmed)
                 for special in function.specialisations.values()]
    return [pair for pair in found if pair[1] is not None]


cdef Function new_function(object name, object alive):
    cdef Function function = Function()
    function.specialisations = {}
    function.waiting = {}
    function.holding = {}
    function.nearby = {}
    function.forms = {}
    function.epoch = dg_read_shared(&EPOCH)
    function.name = name
    function.alive = None if alive is None else weakref.ref(alive)
    return function


cdef object kept_as(object key):
    """The entry of FUNCTIONS under a key, or None."""
    dg_hold(&HELD)
    try:
        return FUNCTIONS.get(key)
    finally:
        dg_release(&HELD)


cdef int keep(object key, object kept) except -1:
    """Put an entry into FUNCTIONS, at the end if its key is new. None moves the present entry to the end."""
    former = None
    dg_hold(&HELD)
    try:
        former = FUNCTIONS.get(key)
        if kept is not None:
            FUNCTIONS[key] = kept
        elif former is not None:
            FUNCTIONS.move_to_end(key)
    finally:
        dg_release(&HELD)
    return 0


cdef tuple drop_oldest(Py_ssize_t more_than):
    """Remove and return the oldest entry of FUNCTIONS if it has more than `more_than` entries; else None."""
    dg_hold(&HELD)
    try:
        return FUNCTIONS.popitem(last=False) if len(FUNCTIONS) > more_than else None
    finally:
        dg_release(&HELD)


cdef list entries():
    """The entries of FUNCTIONS in their order."""
    dg_hold(&HELD)
    try:
        return list(FUNCTIONS.items())
    finally:
        dg_release(&HELD)


cdef Function known_as(object key, object alive):
    """The Function of a key, or None. A Cell holds its own."""
    cdef Function function = None
    if alive is None:
        function = <Function>kept_as(key)
    else:
        with cython.critical_section(alive):
            if (<CellCall>alive).programs is not None:
                function = <Function>(<CellCall>alive).programs.get(key)
    return None if function is None or function.epoch != dg_read_shared(&EPOCH) else function


cdef Function function_for_key(object key, object alive, object name, bint pure):
    """The Function of a key, or a new one."""
    cdef Function function = known_as(key, alive)
    if function is not None:
        if <void *>function is not dg_read_pointer(&NEWEST):
            keep(key, None)
        return function
    function = new_function(name, alive)
    function.pure = pure
    if alive is None:
        kept = function
    else:
        kept = weakref.ref(function)
        with cython.critical_section(alive):
            if (<CellCall>alive).programs is None:
                (<CellCall>alive).programs = {}
            (<CellCall>alive).programs[key] = function
    keep(key, kept)
    shrink()
    return function


cdef int shrink() except -1:
    """Drop the least recently used functions above the bounds of the cache; other references keep them alive."""
    cdef Function function
    cdef long long total = 0
    for function in functions():
        total += dg_read_shared(&function.bytes)
    while True:
        dropped = drop_oldest(1 if total > CACHE_BYTES else CACHE_SIZE)
        if dropped is None:
            break
        _, found = dropped
        function = found() if isinstance(found, weakref.ref) else found
        total -= 0 if function is None else dg_read_shared(&function.bytes)
    return 0


cdef object call_by_key(tuple found, object call, tuple args, dict kwargs, object fn=None, bint pure=False):
    """Call the recorded function of a key, see `function_key`."""
    cdef Function function = function_for_key((pure, found[0]), found[1], found[2], pure)
    cdef long long before = dg_read_shared(&function.bytes)
    if found[1] is None:
        dg_write_pointer(&NEWEST, <void *>function)
    result = replay_or_record(function, call, args, kwargs, fn, found[3])
    if result is APART:
        found = own_key(call if fn is None else fn, found)
        if known_as((pure, found[0]), found[1]) is None and dg_add_shared(&function.apart, 1) >= MOST_APART:
            return call(*args, **kwargs)
        return call_by_key(found, call, args, kwargs, fn, pure)
    if dg_read_shared(&function.bytes) > before:
        shrink()
    return result


cdef tuple own_key(object fn, tuple found):
    """The key of a function that does not share its programs."""
    fn = (ByIdentity(fn.__self__), ByIdentity(fn.__func__)) if type(fn) is types.MethodType else ByIdentity(fn)
    return ("own", fn, found[0]), *found[1:]


cdef Function programs_known(object key, object alive, object fn, bint pure):
    """The state of a function, or None."""
    own = known_as((pure, own_key(fn, (key,))[0]), alive)
    return known_as((pure, key), alive) if own is None else own


cdef object replay_latest(Function function, object fn, list parts, object call, tuple args):
    """Replay the program of the last replay, if this call surely has its signature and its guards hold; else
    NotImplemented. FAILED if the call must be eager.

    `fn` is the function that is called. `parts` are given if its key has been compared, see `stands_for`. `call` is the
    eager call, None for the construct of a Cell.
    """
    cdef Specialisation special
    cdef Recording confirmed
    if function.epoch != dg_read_shared(&EPOCH):
        return NotImplemented
    with cython.critical_section(function):
        special = function.latest
        arrays = None if special is None else special.fitting(args)
        if arrays is None:
            number = number_of(args) if function.nearby else None
            special = None if number is None else function.nearby.get(number)
            if special is None:
                if number is None or call is None or parts is not None:     # the key of the function is compared
                    return NotImplemented
                return FAILED if is_skipped(function) else NotImplemented
            arrays = special.fitting(args)
        if arrays is None:
            return NotImplemented
        if special.eager:
            return FAILED
        confirmed = special.confirmed
        if confirmed is None:
            return FAILED if waits(function, special) else NotImplemented
        if confirmed.call is not fn and not stands_for(confirmed, fn, parts):
            return NotImplemented
        inputs = [x for x in args if isinstance(x, TensorBase)]
        if not still_valid(confirmed, inputs):
            return NotImplemented
        function.latest = special
    if replays_are_checked():
        call = fn.construct if call is None else call
        return checked_replay(function.name, confirmed, inputs, arrays, call, args, {})
    result = try_replay(confirmed, inputs, arrays)
    if result is not NotImplemented and result is not FAILED:
        dg_add_shared(&special.replays, 1)
        if special.debts:
            with cython.critical_section(function):
                book_replayed(function, special)
    return result


cdef object replay_or_record(Function function, object call, tuple args, dict kwargs, object fn=None, list parts=None):
    """Replay, record or execute a call. APART if the key belongs to another function, whose programs cannot serve.
    `fn`: the user's function, if `call` is compiled code around it. `parts`: the parts of its key."""
    cdef Specialisation special
    cdef Recording confirmed
    cdef Signature g
    cdef tuple key
    cdef object start = call if fn is None else fn
    cdef bint valid, apart, recorded
    if not kwargs:
        result = replay_latest(function, start, parts, call, args)
        if result is not NotImplemented:
            return call(*args) if result is FAILED else result
    g = signature_of(args, kwargs)
    try:
        key = g.key()
    except Exception:                           # code of a container's class
        key = None
    if key is None:
        return call(*args, **kwargs)
    with cython.critical_section(function):
        special = specialisation_for(function, key, g)
        confirmed = special.last if special.confirmed is None else special.confirmed
        apart = confirmed is not None and not stands_for(confirmed, start, parts)
        confirmed = special.confirmed
        valid = confirmed is not None and not apart and still_valid(confirmed, g.inputs) \
            and arguments_not_reached(confirmed, g)
    if apart:
        return APART
    if confirmed is not None:
        if valid:
            result = checked_replay(function.name, confirmed, g.inputs, g.arrays, call, args, kwargs) \
                if replays_are_checked() else try_replay(confirmed, g.inputs, g.arrays)
            if result is FAILED:
                return call(*args, **kwargs)
            if result is not NotImplemented:
                dg_add_shared(&special.replays, 1)
                with cython.critical_section(function):
                    function.latest = special
                    book_replayed(function, special)
                return result
        with cython.critical_section(function):
            drop(function, special, confirmed)
    with cython.critical_section(function):
        recorded = may_be_recorded(function, special)
    try:
        if not recorded:
            return eager_call(function, special, call, args, kwargs)
        result = record_call(function, special, call, g, fn)
    except BaseException:
        with cython.critical_section(function):
            call_failed(function, special)
        raise
    with cython.critical_section(function):
        book_recorded(function, special)
    return result


cdef object eager_call(Function function, Specialisation special, object call, tuple args, dict kwargs):
    """Run a call that is not recorded now; it pays for later recordings."""
    if special.eager:
        return call(*args, **kwargs)
    start = perf_counter()
    result = call(*args, **kwargs)
    with cython.critical_section(function):
        book_eager(function, special, perf_counter() - start)
    return result


cdef int drop(Function function, Specialisation special, Recording confirmed) except -1:
    """Drop a program whose guards do not hold. If they fail again and again, such calls run eagerly from now on."""
    if special.confirmed is not confirmed:          # another thread has done that
        return 0
    change = change_in_words(confirmed.guards)
    lose_program(function, special)
    special.failures = 0
    if dg_read_shared(&special.replays) < WORTH:
        special.changes += 1
    if special.changes > MISSES:
        go_eager(function, special, f"{change or 'a tensor that it reads'} has changed {MISSES} times, after few calls "
                 f"each; pass it as an argument", None)
    return 0


cdef class Repeated:
    """A pure function that is called often: it is recorded from the third call on, in every mode. It holds its own
    program, which is freed with it. A function that cannot be recorded is called directly."""
    cdef object fn
    cdef Function function
    cdef long long calls            # the first calls, which are not recorded: at most two

    def __init__(self, str name, fn):
        self.fn = fn
        self.function = new_function(name, None)
        self.function.pure = self.function.quiet = True

    def __reduce__(self):
        return Repeated, (self.function.name, self.fn)

    def __call__(self, *args):
        if not is_outermost():
            return self.fn(*args)
        if dg_read_shared(&self.calls) < 2:
            dg_add_shared(&self.calls, 1)
            return self.fn(*args)
        return replay_or_record(self.function, self.fn, args, {})

    @property
    def on_numbers(self):
        """True if its last call replayed a program on single numbers, which takes less time than the call."""
        cdef Recording confirmed = latest_of(self.function)
        return confirmed is not None and is_on_numbers(confirmed.plan)


def call_recorded(key, alive, name, call, tuple args, dict kwargs, fn=None, list parts=None):
    """Call a function, recorded if this is an outermost call. `fn`: the user's function, if `call` is compiled code
    around it, whose variables the walk cannot see. `parts`: the parts of its key."""
    if not is_outermost():
        return call(*args, **kwargs)
    return call_by_key((key, alive, name, parts), call, args, kwargs, fn)


def cell_called(CellCall cell, tuple args, dict kwargs):
    """Call a Cell in Graph mode, or while recording."""
    cdef Function function
    if not is_outermost():
        return cell.construct(*args, **kwargs)
    with cython.critical_section(cell):
        function = <Function>cell.known
    if function is not None and function.pure == cell._pure and not kwargs:
        result = replay_latest(function, cell, None, None, args)
        if result is not NotImplemented:
            return cell.construct(*args) if result is FAILED else result
    found = function_key(cell)
    result = call_by_key(found, cell.construct, args, kwargs, cell, cell._pure)
    function = known_as((cell._pure, found[0]), cell)
    with cython.critical_section(cell):
        cell.known = function
    return result


def transform_called(str name, fn, tuple settings, parameters, call, tuple args, dict kwargs):
    """Call a transform of a function as an outermost call in Graph mode."""
    key, alive, label, parts = function_key(fn)
    weights = None if parameters is None else tuple([ByIdentity(p) for p in parameters])
    return call_recorded((name, settings, weights, key), alive, f"{name} of {label}", call, args, kwargs, fn, parts)


cdef list functions():
    """The functions in the cache."""
    found = [f() if isinstance(f, weakref.ref) else f for _, f in entries()]
    return [f for f in found if f is not None]


def programs():
    """The programs recorded so far: (name of the function, True if replayed, listing). (name, False, "eager") follows
    for a function with calls that run eagerly."""
    found = []
    cdef Function function
    for function in functions():
        for replayed, r in recordings_of(function):
            found.append((function.name, replayed, str((<Recording>r).program) + (
                "" if (<Recording>r).plan is None else "\n" + str((<Recording>r).plan))))
        if function.why is not None:
            found.append((function.name, False, "eager"))
    return found


def forget_programs():
    """Empty the cache, and drop the programs that functions and Cells hold."""
    while drop_oldest(0) is not None:
        pass
    dg_write_pointer(&NEWEST, NULL)
    dg_add_shared(&EPOCH, 1)


def recorded_call(fn, tuple args, dict kwargs, bint pure=False):
    """The program of a call with the arrays that it would read now, or the reason why the call runs eagerly."""
    cdef Function function
    cdef Recording confirmed
    cdef Signature g = signature_of(args, kwargs)
    key, alive, name, parts = function_key(fn)
    found = {"name": name, "eager": None, "line": None, "program": None, "plan": None}
    function = programs_known(key, alive, fn, pure)
    key = None if function is None else g.key()
    if key is None:
        return found
    confirmed = confirmed_for(function, key)
    if confirmed is None:
        found["eager"], found["line"] = reason_for(function, key)
        return found
    with cython.critical_section(function):
        valid = stands_for(confirmed, fn, parts) and still_valid(confirmed, g.inputs)
    if valid:
        found.update(program=confirmed.program, plan=confirmed.plan, recording=confirmed.seconds,
                     planning=confirmed.planning, inputs=g.arrays, guards=guards_of(confirmed))
    return found


cdef tuple guards_of(Recording r):
    """(guards, guards without a word, bytes of compared contents, nanoseconds to compare all)."""
    if r.guards is None:
        return 0, 0, 0, 0.0
    start = perf_counter()
    for _ in range(100):
        r.guards.hold()
    return (len(r.guards.quick) + len(r.guards.slow), len(r.guards.slow), r.guards.bytes,
            (perf_counter() - start) * 1e7)


cdef tuple reason_for(Function function, object key):
    """(the reason why calls with a key run eagerly, its line) or (None, None)."""
    cdef Specialisation special
    with cython.critical_section(function):
        special = function.specialisations.get(key)
        if special is None:
            special = function.waiting.get(key)
        if special is None:
            return None, None
        return (special.why, special.line) if special.eager else (why_waiting(function, special), None)


def why_eager(key, alive, tuple args, dict kwargs):
    """The reason why calls of the function of a key with these arguments run eagerly; None if they do not."""
    cdef Function function = known_as((False, key), alive)
    return None if function is None else reason_for(function, signature_of(args, kwargs).key())[0]


def known_functions():
    """The functions in the cache: (name, the reason why some calls run eagerly or None, (file, line) or None, steps of
    its programs)."""
    cdef Function function
    found = []
    for function in functions():
        steps = [len((<Recording>r).program) for replayed, r in recordings_of(function) if replayed]
        found.append((function.name, function.why, function.line, steps))
    return found


install(cell_called=cell_called, transform_called=transform_called)
