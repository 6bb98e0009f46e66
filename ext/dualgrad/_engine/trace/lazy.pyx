"""Eager calls on large arrays: their results are deferred, and computed as a program of one call.

Design
------
An outermost call of a transform or Cell runs eagerly until it makes a large array (primitives/execute.pyx). From then
on its primitives are recorded, and large results are deferred (deferred.pyx). When the call ends, the deferred results
that an object still holds become the results of a program. The program is planned and run: tile by tile, on threads,
without intermediate arrays. Nothing is replayed, so nothing needs guards, and every array that is not deferred is an
input. Python that reads a number gets it at once.

Calls in a loop record the same program each time. The last programs are kept with their plans. A program that equals
one of them, numbers of constants included, runs by its plan. A new program is planned if that takes less time than it
saves. Otherwise its steps are executed one by one, and it is planned when it comes a second time.

A call with few large results of elementwise steps, none of them very large, saves nothing: they stay in cache, and
matrix products take as long anyway. Its next calls compute each array at once.
"""
cimport cython
from cpython.object cimport PyObject

from threading import RLock
from weakref import WeakValueDictionary

from ..arrays.array cimport (HOOKS, MAX_DIMS, Array, copy_of, is_deferred, item_size, new_view, to_ndarray, uniform,
                             with_numbers)
from ..compiler.plan cimport Plan, make_plan
from ..compiler.program cimport FROM_CONSTANT, FROM_INPUT, FROM_STEP, Program, same_numbers
from ..primitives.opcodes cimport OP_RESHAPE, OP_TRANSPOSE
from ..primitives.execute import saves_nothing
from ..primitives.execute cimport run, start_tracing, stop_tracing
from ..arrays.thread cimport thread_state
from ..primitives.registry cimport PRIMITIVES
from .deferred cimport DeferredValues, compute_now
from .recorder cimport Recorder

cdef extern from "memory/shared.h":
    long long dg_add_shared(long long *counter, long long n) noexcept
    long long dg_read_shared(long long *counter) noexcept

cdef enum:
    KEPT_PLANS = 16
    MOST_STEPS = 1 << 15        # that are recorded before they are computed
    MOST_HELD = 1 << 28         # bytes of arrays that are computed and kept before the call ends
    WORTH_STEPS = 8             # elementwise steps with large results that are worth recording
    WORTH_BYTES = 1 << 22       # bytes of their results, if the steps are fewer
    BYTES_OF_A_STEP = 200_000   # bytes of arrays made one by one in the time that it takes to plan a step

cdef list PLANS = []            # (program, plan or None, True if it saves time), the last used one first
cdef object PLANNED = object()  # held without GIL while the list is copied or written


cdef object RUNNING = WeakValueDictionary()     # trace -> LazyCall: Python may read a number in another thread


cdef class LazyCall(Recorder):
    """A recorder of an eager call, which defers large results."""
    cdef list given             # the arrays of the inputs
    cdef dict aliases           # id of an array -> (the array, the input that stands for it)
    cdef object lock            # held while deferred values are computed
    cdef bint ended             # its program has been run
    cdef Py_ssize_t first       # bytes of its first large array
    cdef object __weakref__

    def __cinit__(self):
        self.lock = RLock()
        RUNNING[self.trace] = self
        self.deferred = DeferredValues()
        self.deferred.done = {}
        self.given = []
        self.aliases = {}

    cdef bint repeats(self) noexcept:
        return False

    cdef Array known(self, Array a):
        """An array as an input of the program. Unit vectors stay unchanged, because products with them select. Memory
        of a user's NumPy array is compared again, since Python may have changed it."""
        if a.trace == self.trace or a.basis:
            return a
        with_numbers(a)
        found = self.aliases.get(id(a))
        if found is not None and (not borrowed(a) or same_numbers(<Array>(<tuple>found)[1], a)):
            return <Array>(<tuple>found)[1]
        return self.new_input(a, unshared(a)) if a.contiguous else self.turned(a)

    cdef Array turned(self, Array a):
        """An array with permuted axes, as a step on a contiguous input, so that plans copy no more than they must. Any
        other array is an input."""
        cdef Py_ssize_t[MAX_DIMS] shape
        cdef Py_ssize_t[MAX_DIMS] strides
        cdef list order = sorted(range(a.ndim), key=lambda axis: -a.strides[<int>axis]), back = [0] * a.ndim
        cdef Array numbers = unshared(a), packed, alias
        cdef int i
        for i in range(a.ndim):
            shape[i] = numbers.shape[<int>order[i]]
            strides[i] = numbers.strides[<int>order[i]]
            back[<int>order[i]] = i
        packed = new_view(numbers, a.ndim, shape, strides, numbers.data)
        if numbers is not a or not packed.contiguous:
            return self.new_input(a, numbers)
        packed = self.new_input(packed, packed)
        alias = self.tagged(a, self.program.new_slot(FROM_STEP, len(self.program.steps), a))
        self.program.steps.append((OP_TRANSPOSE, tuple(back), (packed.slot,), alias.slot))
        self.aliases[id(a)] = (a, alias)
        return alias

    cdef Array unit_vectors(self, int op, Array a):
        """Unit vectors as a constant of the program, so that steps on them are recorded. A reshape or transpose of unit
        vectors gives unit vectors, so it is executed."""
        if op == OP_RESHAPE or op == OP_TRANSPOSE:
            return a
        found = self.aliases.get(id(a))
        if found is None:
            found = self.aliases[id(a)] = a, self.tagged(a, self.program.new_slot(FROM_CONSTANT, a, a))
        return <Array>(<tuple>found)[1]

    cdef Array new_input(self, Array a, Array numbers):
        cdef Array alias = new_view(numbers, a.ndim, numbers.shape, numbers.strides, numbers.data)
        alias.trace = self.trace
        alias.slot = self.program.new_slot(FROM_INPUT, len(self.given), a)
        self.program.inputs.append(alias.slot)
        self.given.append(alias)
        self.aliases[id(a)] = (a, alias)
        return alias

    cdef int slot_of(self, Array a) except -1:
        return Recorder.slot_of(self, unshared(a))

    cdef Array reference(self, object handle, Array a):
        return self.known(a)

    cdef Array execute(self, int op, object params, PyObject **args, int n):
        cdef bytearray room = bytearray(max(n, 1) * sizeof(PyObject *))
        cdef PyObject **ins = <PyObject **><char *>room
        cdef list held = []
        cdef Array a
        cdef int i
        if self.ended or len(self.program.steps) >= MOST_STEPS or dg_read_shared(&self.deferred.held) >= MOST_HELD:
            stop_tracing(self)          # the next large array begins another program
            self.evaluate_deferred()
            return run(op, params, args, n)
        for i in range(n):
            a = <Array>args[i]
            if a.trace != self.trace and a.size > 1 and not uniform(a):
                a = self.unit_vectors(op, a) if a.basis else self.known(a)
                held.append(a)
            ins[i] = <PyObject *>a
        return Recorder.execute(self, op, params, ins, n)

    cdef Array computed(self, Array out, int slot):
        """A result that was computed at once becomes an input."""
        dg_add_shared(&self.deferred.held, out.size * out.itemsize)
        return self.new_input(out, out)

    cdef int needed(self, Array a) except -1:
        with self.lock:
            return self.deferred.evaluate(a)

    cdef int asked(self, Array a, str what) except -1:
        return self.needed(a) if is_deferred(a) else 0

    cdef int frozen(self, object handle, Array a) except -1:
        return 0

    cdef int rebound(self, object handle) except -1:
        return 0

    cdef int give_up(self, str why) except -1:
        return 0

    cdef int evaluate_deferred(self) except -1:
        """Compute the deferred values that an object outside of this module holds, as one program."""
        cdef list slots
        self.kept = []
        self.negated = {}
        with self.lock:
            slots = self.deferred.slots_held()
            if slots:
                self.compute(slots)
            self.deferred.evaluate_all()
            self.ended = True
        return 0

    cdef int compute(self, list slots) except -1:
        cdef Program program = self.program
        cdef Plan plan
        for slot, a in self.deferred.done.items():      # Python has read it, or a value that depends on it
            program.kinds[slot] = FROM_INPUT
            program.sources[slot] = len(self.given)
            program.inputs.append(slot)
            self.given.append(a)
        if self.deferred.done:
            program.steps = [step for step in program.steps if step[3] not in self.deferred.done]
        program.outputs = slots
        plan, worth_it = plan_of(program, self.deferred.nbytes >= BYTES_OF_A_STEP * len(program.steps))
        if not worth_it:
            saves_nothing(self.first)
        arrays = None if plan is None else plan.run(self.given)
        if arrays is not None:
            self.deferred.fill_in(slots, arrays, plan)
        return 0


cdef Array unshared(Array a):
    """An array, copied if its memory is borrowed: that may change before the array is read or compared."""
    return copy_of(to_ndarray(a)) if borrowed(a) else a


cdef bint borrowed(Array a):
    """True if a NumPy array, which a user may have, owns the memory of an array."""
    return not (a.owner or a.basis or isinstance(a.base, Array))


cdef bint saves_time(Program program) except -1:
    """True if a program has large results that fusion keeps out of memory."""
    cdef Py_ssize_t nbytes, total = 0, large = thread_state().deferred
    cdef int count = 0, op
    for op, _, _, out in program.steps:
        if PRIMITIVES[op] is NULL:
            nbytes = item_size(program.typenums[out])
            for extent in program.shapes[out]:
                nbytes *= extent
            if nbytes >= large:
                count += 1
                total += nbytes
    return count >= WORTH_STEPS or total >= WORTH_BYTES


cdef tuple plan_of(Program program, bint worth_it):
    """(plan, True if it saves time) of a program. The plan of an equal program is used again. A new program gets a plan
    if `worth_it`, or when it comes again; else None: its steps are executed one by one."""
    cdef list plans
    with cython.critical_section(PLANNED):
        plans = PLANS[:]                # another thread may put others there
    for known in plans:
        if program.same_as(<Program>(<tuple>known)[0]):
            break
    else:
        known = None
    former = known
    if known is None or known[1] is None:
        known = (program, make_plan(program) if worth_it or known is not None else None, saves_time(program))
    if not plans or known is not plans[0]:
        kept = [known, *[each for each in plans if each is not former][:KEPT_PLANS - 1]]
        with cython.critical_section(PLANNED):
            PLANS[:] = kept
    return (<tuple>known)[1:]


cdef Array begin(Array a):
    """Defer the results of an eager call from now on, after its first large array."""
    cdef LazyCall call = LazyCall()
    call.first = a.size * a.itemsize
    start_tracing(call)
    return call.known(a)


cdef int compute_in(Array a) except -1:
    """Compute a deferred array of which a number is read, maybe in another thread."""
    call = RUNNING.get(a.trace)
    return compute_now(a) if call is None else (<LazyCall>call).needed(a)


HOOKS.compute = compute_in
HOOKS.defer = begin
