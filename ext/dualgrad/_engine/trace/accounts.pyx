"""Accounts: the decision which calls of a function to record, by the cost and the gain of programs.

Design
------
A recording pays if its program is replayed often, which cannot be known beforehand. So a function has credit. A new
signature is recorded at once for the first CREDIT programs, and up to MOST_CREDIT programs while they have cost less
than CREDIT_SECONDS together. A program leaves the account when its replays have paid for it. A program that is dropped
before stays a debt.

A function without credit records a signature that has paid beforehand. Since the signature's last program, its calls
must have run eagerly for as long as a program costs, and at least LEAST times.

So the time for recordings is bounded for any sequence of calls. Each program is of one of three kinds. A program paid
beforehand took no longer than the eager calls before it, and each eager call counts once. A program off the account
took no longer than its replays would have taken eagerly. All other programs are at most as many as the credit allows.
So in the long run calls and recordings take at most twice the time of eager calls.

A signature whose arguments differ by a number, text or object is often the only one with its value. After MISSES such
values without a program, such signatures have no credit.

Nothing grows without bound. Programs of a function that keep more than MOST_BYTES are dropped, the least recently used
first. Signatures without a program are forgotten beyond WAITING, or beyond HOLDING if their keys keep objects alive. A
signature that comes again starts anew and has to pay again.
"""
from cpython.object cimport PyObject
from cpython.type cimport PyType_Check

from ..arrays.array import np
from ..arrays.array cimport ARRAY, Array, Value
from ..transforms.containers cimport LEAF, kind_of
from ..transforms.handles cimport TensorBase, is_plain, value_in
from .signature cimport ByIdentity

cdef extern from "memory/shared.h":
    long long dg_add_shared(long long *counter, long long n) noexcept
    long long dg_read_shared(long long *counter) noexcept

cdef enum:
    CREDIT = 64                     # programs
    MOST_CREDIT = 1024
    LEAST = 8                       # eager calls that pay for a program
    PAYS = 64                       # replays that pay for a program
    MISSES = 8                      # values without a program, before such signatures have no credit
    WAITING = 4096                  # signatures without a program that are remembered
    HOLDING = 64                    # remembered signatures without a program that keep objects alive
    FORMS = 4096
    MOST_ARGUMENTS = 16
    IDLE = 256                      # eager calls since the last recording, before most unknown calls are skipped
    LOOKS = 8                       # one in LOOKS calls is looked at
    MOST_BYTES = 1 << 29            # of the programs of one function

cdef double CREDIT_SECONDS = 1.0
cdef unsigned long long FACTOR = 0x100000001B3      # odd: no bit is lost

cdef object VALUES = frozenset([float, complex, bool, int, str, bytes, type(None)])


cdef Specialisation specialisation_for(Function function, tuple key, Signature g):
    """The state of the calls with a signature."""
    cdef Specialisation special = function.specialisations.pop(key, None)
    if special is not None:
        function.specialisations[key] = special
        return special
    special = function.waiting.pop(key, None)
    if special is None:
        special = Specialisation()
        special.key = key
        special.note_leaves(g)
        special.near = None if special.leaves is None else number_of(g.args)
        form = form_of(key)
        special.form = None if form == key else form
        special.holds = any([not PyType_Check(x) for x in g.others])
        count_form(function, special, 1)
        if special.holds:
            hold(function, special)
        if special.near not in function.nearby:
            put_nearby(function, special)
    rest(function, special)
    return special


cdef int rest(Function function, Specialisation special) except -1:
    """Put a signature among those without a program."""
    if len(function.waiting) >= WAITING:
        forget(function, next(iter(function.waiting)))
    function.waiting[special.key] = special
    return 0


cdef int rest_again(Function function, Specialisation special) except -1:
    if function.specialisations.pop(special.key, None) is not None:
        rest(function, special)
    return 0


cdef int hold(Function function, Specialisation special) except -1:
    """Note a signature without a program whose key keeps objects alive; forget the oldest of too many."""
    if len(function.holding) >= HOLDING:
        forget(function, next(iter(function.holding)))
    function.holding[special.key] = special
    return 0


cdef int forget(Function function, tuple key) except -1:
    """Forget a signature and its program."""
    cdef Specialisation special = function.waiting.pop(key, None)
    if special is None:
        special = function.specialisations.pop(key, None)
    function.holding.pop(key, None)
    if special is None:
        return 0
    if special.near is not None and function.nearby.get(special.near) is special:
        del function.nearby[special.near]
    dg_add_shared(&function.bytes, -special.bytes)
    return 0


cdef object number_of(tuple args):
    """A number by which arguments find their signature without a key, which takes longer than many calls. Arguments of
    one signature have one number. None for arguments that need a key: pytrees, or one tensor twice."""
    cdef unsigned long long h = 0
    cdef Value v
    cdef int i, k
    if len(args) > MOST_ARGUMENTS:
        return None
    for k in range(len(args)):
        x = args[k]
        if not isinstance(x, TensorBase):
            if type(x) in VALUES:
                h = (h ^ <unsigned long long>hash(x)) * FACTOR
            elif kind_of(x) == LEAF and not issubclass(type(x), np.generic):
                h = (h ^ <unsigned long long><size_t><PyObject *>x) * FACTOR
            else:
                return None
            continue
        v = value_in(<TensorBase>x)
        if v is None or v.kind != ARRAY or not is_plain(x):
            return None
        for i in range(k):
            if args[i] is x:
                return None
        h = (h ^ <unsigned long long>(<Array>v).typenum) * FACTOR
        for i in range((<Array>v).ndim):
            h = (h ^ <unsigned long long>(<Array>v).shape[i]) * FACTOR
        h = (h ^ 0x55) * FACTOR
    return h


cdef int put_nearby(Function function, Specialisation special) except -1:
    """Let the arguments of a signature lead to it."""
    if special.near is not None:
        function.nearby[special.near] = special
    return 0


cdef bint is_skipped(Function function) noexcept:
    """True if a call with unknown arguments runs eagerly without a look at its signature. So do most of these calls if
    none has been recorded for long."""
    if function.idle < IDLE:
        return False
    function.skips += 1
    return function.skips % LOOKS != 0


cdef bint waits(Function function, Specialisation special) except -1:
    """True if a call of a signature without a program certainly runs eagerly. It is booked with the mean time of such
    calls. False for some calls, to time them again."""
    cdef double seconds
    if special.recordings % 2 or special.calls % LOOKS == 0 or may_get_credit(function, special):
        return False
    seconds = special.waited / special.calls
    if special.calls + 1 >= LEAST and special.waited + seconds >= function.cost:
        return False
    special.calls += 1
    special.waited += seconds
    return True


cdef bint may_get_credit(Function function, Specialisation special) except -1:
    return not values_differ(function, special) and (
        function.debt < CREDIT or function.debt < MOST_CREDIT and function.spent < CREDIT_SECONDS)


cdef int count_form(Function function, Specialisation special, int n) except -1:
    if special.form is None:
        return 0
    function.forms[special.form] = max(0, function.forms.pop(special.form, 0) + n)
    if len(function.forms) > FORMS:
        del function.forms[next(iter(function.forms))]
    return 0


cdef bint values_differ(Function function, Specialisation special) except -1:
    """True if many signatures without a program differ from this one only by a number, text or object."""
    return special.form is not None and function.forms.get(special.form, 0) > MISSES


cdef bint may_be_recorded(Function function, Specialisation special) except -1:
    """True if the next call is recorded. A recording on credit goes on the account."""
    if special.eager:
        rest_again(function, special)
        return False
    if special.recordings % 2:                      # the second of two
        return True
    if has_credit(function, special):
        special.on_credit = True
        special.debts += 1
        function.debt += 1
    elif special.calls >= LEAST and special.waited >= function.cost:
        special.on_credit = False
    else:
        rest_again(function, special)
        return False
    function.idle = 0
    special.pair = special.waited = 0.0
    special.calls = 0
    function.waiting.pop(special.key, None)
    function.specialisations[special.key] = special
    return True


cdef bint has_credit(Function function, Specialisation special) except -1:
    if values_differ(function, special):
        warn(function, f"an argument that is no tensor was different at each of {MISSES} calls, and a program is "
             f"recorded for one value; pass a Tensor instead of a number", None)
        return False
    return may_get_credit(function, special)


cdef int book_eager(Function function, Specialisation special, double seconds) except -1:
    """Book an eager call that might have been recorded."""
    function.idle += 1
    special.calls += 1
    special.waited += seconds
    function.pace = seconds if function.pace == 0 else function.pace + (seconds - function.pace) / 16
    return 0


cdef int call_failed(Function function, Specialisation special) except -1:
    """Book a call that raised an error: forget its signature, unless it has a program."""
    if special.confirmed is not None:
        return 0
    function.debt -= special.debts
    function.spent -= special.spent
    count_form(function, special, -1)
    return forget(function, special.key)


cdef int book_recorded(Function function, Specialisation special) except -1:
    """Book a recorded call that was the last of two, or the only one."""
    cdef bint ended = special.eager or special.confirmed is not None
    if not ended and special.recordings % 2:
        return 0
    if special.on_credit:
        special.spent += special.pair
        function.spent += special.pair
        special.on_credit = False
    function.cost = special.pair if function.cost == 0 else function.cost + (special.pair - function.cost) / 4
    if special.confirmed is not None:
        special.recordings = 0
        count_form(function, special, -1)
        function.holding.pop(special.key, None)
        put_nearby(function, special)
        drop_programs(function)
    elif special.eager:
        rest_again(function, special)
        put_nearby(function, special)
    return 0


cdef int drop_programs(Function function) except -1:
    """Drop the oldest programs that were not replayed lately, while there are too many bytes."""
    cdef Specialisation special
    while dg_read_shared(&function.bytes) > MOST_BYTES and len(function.specialisations) > 1:
        key, special = next(iter(function.specialisations.items()))
        if dg_read_shared(&special.replays) > special.seen:
            special.seen = dg_read_shared(&special.replays)
            function.specialisations[key] = function.specialisations.pop(key)
        else:
            forget(function, key)
    return 0


cdef int book_replayed(Function function, Specialisation special) except -1:
    """Book a replay. Takes the program off the account if its replays have paid for it."""
    cdef long long replays
    if special.debts == 0 or function.pace == 0:    # no eager call was timed yet
        return 0
    replays = dg_read_shared(&special.replays)
    if replays < PAYS or replays * function.pace < special.spent:
        return 0
    function.debt -= special.debts
    function.spent -= special.spent
    special.debts = 0
    special.spent = 0
    return 0


cdef int lose_program(Function function, Specialisation special) except -1:
    """Book the loss of a program whose guards do not hold."""
    book_replayed(function, special)
    dg_add_shared(&function.bytes, -special.bytes)
    special.bytes = 0
    special.confirmed = None
    special.recordings = 0
    count_form(function, special, 1)
    if special.holds:
        hold(function, special)
    return 0


cdef str why_waiting(Function function, Specialisation special):
    """The reason why a call runs eagerly for now, or None."""
    if special.recordings % 2 or special.confirmed is not None:
        return None
    if values_differ(function, special):
        return (f"more than {MISSES} calls differed by an argument that is no tensor, and a program is recorded for "
                f"one value, once it has come often; pass a Tensor instead of a number")
    if special.calls:
        return (f"{function.debt} programs for other arguments were not replayed often, so one for these is recorded "
                f"once they have come often")
    return None


# ----------------------------------------------------------------------------------------------------------- forms

cdef object form_of(object key):
    """A key with types in place of numbers, texts and objects."""
    if isinstance(key, ByIdentity):
        return type((<ByIdentity>key).held)
    if type(key) is not tuple:
        return key
    if len(<tuple>key) > 1 and PyType_Check((<tuple>key)[0]):
        kind = (<tuple>key)[0]
        if kind in VALUES or issubclass(kind, np.generic):
            return kind
    return tuple([form_of(part) for part in <tuple>key])
