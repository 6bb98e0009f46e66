"""Recording: a program is written while a function is executed.

Design
------
Each primitive on arrays goes through `Recorder.execute`, which executes it and appends a step. Levels, tapes and duals
only determine which primitives follow; a replay does not need them. So nested derivatives of any kind are recorded as a
plain program on arrays.

An array of the recording has its mark (`trace`) and a slot. Other arrays are constants: a primitive on constants only
is executed and not recorded. Handles made outside (Parameters, captured tensors) have slots that each run reads again.

The same primitive on the same slots is one step. Its result is kept while there is room, and then not computed again.
So k nested derivatives, with 2^k components, become a program of the components that differ.

An absorbing product with ones only removes the sign of zeros. It is a step, but another absorbing product reads its
operand instead, since the sign of a zero does not matter there.

Large results may be deferred (deferred.pyx): then a function is recorded without executing it.

The recording gives up if Python reads a number that depends on the arguments, or does anything else that a program
cannot repeat. The execution then goes on without it.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject

from libc.string cimport memset

from ..arrays.array cimport (ARRAY, MAX_DIMS, Array, Value, contiguous, first_number, is_complex, is_deferred, new_view,
                             shape_tuple, uniform, with_numbers)
from ..arrays.shared cimport apart, is_shared
from ..primitives.execute cimport run, stop_tracing
from ..primitives.opcodes cimport *
from ..primitives.registry cimport DRAWS, EFFECTS, broadcast_shape, is_elementwise
from ..compiler.program cimport FROM_CONSTANT, FROM_HANDLE, FROM_INPUT, FROM_STEP, Program, same_numbers
from ..compiler.tables cimport NO_KEY, SlotMap, StepIndex, tuple_of
from ..transforms.handles cimport TensorBase, dg_value_in, has_view_in, value_in
from ..values.levels cimport next_serial
from ..primitives.watch cimport user_line

cdef extern from "memory/shared.h":
    long long dg_add_shared(long long *counter, long long n) noexcept

cdef extern from "Python.h":
    bint PyGC_Disable()
    bint PyGC_Enable()

cdef long long TRACES = 0           # recordings so far
cdef enum:
    KEPT_BYTES = 1 << 22            # of results kept, so that equal steps need not compute them
    FEW = 8                         # operands of most steps
    HASHED_BYTES = 1 << 20          # bytes of the largest constant that is hashed whole


cdef Array without_repeats(Array a):
    """An array from outside, copied if rows share memory: they may differ at the next run, so the recording must not
    treat them as one."""
    cdef int k
    for k in range(a.ndim):
        if a.strides[k] == 0 and a.shape[k] > 1:
            return contiguous(a)
    return a


cdef class Recorder(Tracer):

    def __cinit__(self):
        self.trace = <int>dg_add_shared(&TRACES, 1)
        self.start = next_serial()
        self.program = Program()
        self.handles = {}
        self.constants = {}
        self.index = StepIndex()
        self.kept = []
        self.effects = {}
        self.negated = {}
        self.absorbed = SlotMap()
        self.held = []
        self.positions = {}
        self.fixed = []
        self.room = KEPT_BYTES

    cdef Array tagged(self, Array a, int slot):
        """A view of an array with the mark of this recording and a slot."""
        cdef Array alias = new_view(a, a.ndim, a.shape, a.strides, a.data)
        alias.trace = self.trace
        alias.slot = slot
        return alias

    cdef Array input(self, Array a):
        """Make an array the next input."""
        cdef int slot = self.program.new_slot(FROM_INPUT, len(self.program.inputs), a)
        self.program.inputs.append(slot)
        return self.tagged(without_repeats(a), slot)

    cdef int argument(self, object handle, Array a) except -1:
        """Make the array of an argument the next input; the function may capture the same tensor."""
        self.positions[id(handle)] = len(self.program.inputs)
        self.handles[id(handle)] = (handle, a, self.input(apart(a)))
        return 0

    cdef Array reference(self, object handle, Array a):
        cdef TensorBase t = <TensorBase>handle
        cdef Array alias
        if a.trace == self.trace or t.birth >= self.start:
            return a
        found = self.effects.get(id(t))
        if found is not None:           # a value that the function put there is a constant: each run puts it there
            expect_held(self, a, <tuple>found)
            return with_numbers(a)
        found = self.handles.get(id(t))
        if found is not None and found[1] is a:
            return <Array>found[2] if unwritten(self, <tuple>found) else apart(a)
        alias = self.tagged(without_repeats(apart(with_numbers(a))), self.program.new_slot(FROM_HANDLE, t, a))
        self.handles[id(t)] = (t, a, alias)
        return alias

    cdef int asked(self, Array a, str what) except -1:
        """Python reads an array. If it depends on handles only, the program is valid while these are unchanged."""
        cdef set needed = {a.slot}
        cdef list found = []
        if is_deferred(a):
            self.needed(a)
        for op, _, ins, out in reversed(self.program.steps):
            if out in needed:
                if EFFECTS[<int>op] == DRAWS:
                    return self.give_up(f"Python was given {what} of a tensor that depends on random numbers")
                needed.update(ins)
        for slot in needed:
            if self.program.kinds[slot] == FROM_INPUT:
                return self.give_up(f"Python was given {what} of a tensor that depends on the arguments")
            if self.program.kinds[slot] == FROM_HANDLE:
                found.append(self.program.sources[slot])
        for handle in found:
            if id(handle) in self.effects:
                return self.give_up(f"Python was given {what} of a tensor that the function itself has changed")
            self.fixed.append((handle, self.handles[id(handle)][1]))
        return 0

    cdef int frozen(self, object handle, Array a) except -1:
        if a.trace == self.trace:               # part of the program: see asked
            return 0
        if (<TensorBase>handle).birth < self.start:
            self.fixed.append((handle, a))
        return 0

    cdef int rebound(self, object handle) except -1:
        if (<TensorBase>handle).birth >= self.start:
            return 0
        if dg_value_in(<TensorBase>handle) is None:
            self.effects.pop(id(handle), None)  # a view: a new value of its source is an effect
        else:
            self.effects[id(handle)] = handle, value_in(<TensorBase>handle)
        return 0

    cdef int give_up(self, str why) except -1:
        if self.failed is None:
            self.failed = why
            self.line = user_line()
        stop_tracing(self)
        self.resume()
        return self.evaluate_deferred()

    cdef int pause(self) except -1:
        """Collect no garbage while recording: a program is many small objects, none of them garbage."""
        self.paused = PyGC_Disable()
        return 0

    cdef int resume(self) except -1:
        if self.paused:
            self.paused = False
            PyGC_Enable()
        return 0

    cdef int needed(self, Array a) except -1:
        return self.deferred.evaluate(a)

    cdef int evaluate_deferred(self) except -1:
        if self.deferred is not None and self.deferred.waiting:
            self.kept = []
            self.negated = {}
            self.deferred.evaluate_all()
        return 0

    cdef int slot_of(self, Array a) except -1:
        """The slot of an array; equal constants share one."""
        cdef Array c
        cdef Py_ssize_t nbytes = a.size * a.itemsize
        if a.trace == self.trace:
            return a.slot
        slot = self.constants.get(id(a))
        if slot is None:
            if uniform(a):
                contents = (a.typenum, shape_tuple(a), a.data[:a.itemsize])
                slot = self.constants.get(contents)
            else:
                c = contiguous(a)
                contents = (a.typenum, shape_tuple(a), digest(c.data, nbytes))
                slot = self.constants.get(contents)
                if slot is not None and nbytes > 128 and not same_numbers(<Array>self.program.sources[slot], c):
                    slot = None
            if slot is None:
                slot = self.program.new_slot(FROM_CONSTANT, a, a)
                self.constants[contents] = slot
            self.constants[id(a)] = slot
            self.held.append(a)
        return slot

    cdef Array execute(self, int op, object params, PyObject **args, int n):
        cdef bint known = EFFECTS[op] == DRAWS
        cdef int[FEW] few
        cdef int *slots = few
        cdef int i, found = NO_KEY
        cdef tuple ins
        cdef Array a, out
        for i in range(n):
            known = known or (<Array>args[i]).trace == self.trace
        if not known:
            return constant_result(op, params, args, n)
        if n > FEW:
            memory = PyBytes_FromStringAndSize(NULL, n * sizeof(int))
            slots = <int *>PyBytes_AS_STRING(memory)
        for i in range(n):
            a = <Array>args[i]
            slots[i] = a.slot if a.trace == self.trace else self.slot_of(a)
            if op == OP_ABSORB_MUL and self.absorbed.get(slots[i]) >= 0:
                slots[i] = self.absorbed.get(slots[i])
        if not EFFECTS[op]:
            if op == OP_NEG and (<Array>args[0]).slot in self.negated:
                return <Array>self.negated[(<Array>args[0]).slot]
            out = shortcut(op, params, args, n)
            if out is not None and out.trace == self.trace:
                return out
            found = self.index.find(op, params, slots, n)
            if found >= 0:
                if found < len(self.kept) and self.kept[found] is not None:
                    return <Array>self.kept[found]
                return self.result(op, params, args, n, found)
        out = self.result(op, params, args, n, -1)
        for i in range(n):
            if out is <Array>args[i]:           # no step is needed
                return out
        if out.trace != self.trace or <int>self.program.kinds[out.slot] != FROM_STEP:   # computed at once: see lazy.pyx
            return out
        ins = tuple_of(slots, n)
        self.program.steps.append((op, params, ins, out.slot))
        if op == OP_NEG and out.size * out.itemsize <= self.room:
            self.negated[out.slot] = <Array>args[0]
        if op == OP_ABSORB_MUL:
            for i in range(2):
                if is_one(<Array>args[1 - i]) and covers(<Array>args[i], <Array>args[1 - i]):
                    self.absorbed.put(out.slot, slots[i])
        if found != NO_KEY:
            self.index.add(op, params, slots, n, out.slot)
            if out.size * out.itemsize <= self.room:
                self.room -= out.size * out.itemsize
                self.keep(out)
        return out

    cdef int keep(self, Array out) except -1:
        """Keep a result, so that equal steps need not compute it."""
        cdef list kept = self.kept
        while len(kept) < out.slot:
            kept.append(None)
        kept.append(out)
        return 0

    cdef Array result(self, int op, object params, PyObject **args, int n, int slot):
        """The result of a step, in `slot` or (-1) in a new one; it may be deferred. An operand returned unchanged keeps
        its slot."""
        cdef Array out = None
        cdef int i
        if self.deferred is not None:
            if slot >= 0 and (out := self.deferred.deferred_in(slot)) is not None:
                return out
            out = self.deferred.defer(op, params, args, n)
            if out is not None:
                out = self.marked(out, slot if slot >= 0 else self.new_step(out))
                self.deferred.remember(out, op, params, args, n)
                return out
            for i in range(n):
                if is_deferred(<Array>args[i]):
                    self.needed(<Array>args[i])
        out = run(op, params, args, n)
        for i in range(n):
            if out is <Array>args[i]:
                return out
        return self.computed(out, slot)

    cdef Array computed(self, Array out, int slot):
        """A result that was computed at once."""
        return self.marked(out, slot if slot >= 0 else self.new_step(out))

    cdef int new_step(self, Array out) except -1:
        """The slot of the result of the next step."""
        return self.program.new_slot(FROM_STEP, len(self.program.steps), out)

    cdef Array marked(self, Array out, int slot):
        """A result with the mark of this recording; a view of it if it has a mark already."""
        if out.trace != 0:
            return self.tagged(out, slot)
        out.trace = self.trace
        out.slot = slot
        return out

    cdef int finish(self) except -1:
        """Write down the effects."""
        cdef TensorBase t
        cdef Value v
        for found in list(self.handles.values()):
            if not unwritten(self, <tuple>found):
                return 0
        for effect in list(self.effects.values()):
            t = <TensorBase>(<tuple>effect)[0]
            v = value_in(t)
            expect_held(self, v, <tuple>effect)
            if self.failed is not None:
                return 0
            if v.kind != ARRAY:
                self.give_up("a tensor made outside holds a value of a derivative that is still being taken")
                return 0
            if has_view_in(t, self.positions):
                self.give_up("a view that it was given is written into")
                return 0
            self.program.effects.append((self.positions.get(id(t), t), self.slot_of(<Array>v)))
        return 0


cdef bint unwritten(Recorder recorder, tuple found) except -1:
    """True if the memory of a handle still holds the numbers that were read; gives up if not. Only memory shared with a
    user's array can change: a program reads it once."""
    if not is_shared(<Array>found[1]) or same_numbers(<Array>found[2], <Array>found[1]):
        return True
    recorder.give_up("the memory that a NumPy array shares with a tensor is written to while the tensor is used")
    return False


cdef int expect_held(Recorder recorder, Value now, tuple effect) except -1:
    """Give up if a handle no longer holds the value that the function has put there."""
    return 0 if now is effect[1] else recorder.give_up("another thread gives a new value to a tensor that it changes")


cdef object digest(const char *data, Py_ssize_t nbytes):
    """A hashable object that is equal for equal bytes; for large arrays it holds both ends only."""
    if nbytes <= 128:
        return data[:nbytes]
    if nbytes <= HASHED_BYTES:
        return hash(data[:nbytes])
    return data[:128], data[nbytes - 128:nbytes]


cdef Array constant_result(int op, object params, PyObject **args, int n):
    """A primitive on constants. An elementwise one on operands of a single repeated number is executed once."""
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t[MAX_DIMS] strides
    cdef PyObject *numbers[3]
    cdef list held = []
    cdef Array a
    cdef bint repeated = False
    cdef int i, j, ndim
    if params is not None or not 1 <= n <= 3 or op >= N_OPS or not is_elementwise(op):
        return run(op, params, args, n)
    for i in range(n):
        a = <Array>args[i]
        if a.size == 0:
            return run(op, params, args, n)
        for j in range(a.ndim):
            if a.shape[j] != 1 and a.strides[j] != 0:
                return run(op, params, args, n)
        repeated = repeated or a.size > 1
        held.append(new_view(a, 0, NULL, NULL, a.data))
        numbers[i] = <PyObject *>held[i]
    if not repeated:
        return run(op, params, args, n)
    ndim = broadcast_shape(op, args, n, shape)
    memset(strides, 0, ndim * sizeof(Py_ssize_t))
    a = run(op, params, numbers, n)
    return new_view(a, ndim, shape, strides, a.data)


cdef Array shortcut(int op, object params, PyObject **args, int n):
    """The operand that equals the result bit for bit (x * 1, x / 1), or None.

    A complex product with one is not such a case: it adds zeros to both parts.
    """
    if is_complex((<Array>args[0]).typenum):
        return None
    if op == OP_MUL:
        if is_one(<Array>args[1]) and covers(<Array>args[0], <Array>args[1]):
            return <Array>args[0]
        if is_one(<Array>args[0]) and covers(<Array>args[1], <Array>args[0]):
            return <Array>args[1]
    elif op == OP_DIV and is_one(<Array>args[1]) and covers(<Array>args[0], <Array>args[1]):
        return <Array>args[0]
    return None


cdef bint covers(Array a, Array b):
    """True if a and b broadcast to the shape of a."""
    cdef int i
    if b.ndim > a.ndim:
        return False
    for i in range(1, b.ndim + 1):
        if b.shape[b.ndim - i] != 1 and b.shape[b.ndim - i] != a.shape[a.ndim - i]:
            return False
    return True


cdef bint is_one(Array a):
    """True if a constant is the number one everywhere."""
    return a.trace == 0 and a.size > 0 and not is_complex(a.typenum) and first_number(a) == 1.0 and uniform(a)
