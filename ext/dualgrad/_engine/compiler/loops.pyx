"""Loops as instructions: run the steps forwards, and backwards from stored states.

Design
------
The carry alternates between two places in memory. Entries of stacked arrays are read and written in place.

The reverse of a loop runs the loop once more and stores states. Then it runs the program of a backward step for each
step, last first. If not all states may be stored, a schedule tells which to store and from where to repeat steps.
"""
cimport numpy as cnp
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.string cimport memcpy

from ..arrays.array cimport Array, contiguous, new_array
from .program cimport check_signals
from .repetitions cimport Body, Choice, Repetition, Reversal
from .steppers cimport Stepper

cdef enum:
    PATIENCE = 256              # steps between checks for signals
    ROOM = 1 << 25              # bytes of states that may always be stored
    CLOSE = 16                  # alignment of the parts of a state, in bytes; small, since many states pass the cache


# ------------------------------------------------------------------------------------------------------ operands

cdef class Parts:
    """Several sequences in memory, each with a stride: entries of arrays, or copies of a state."""
    cdef int n
    cdef char **first               # for each part the address of its number 0
    cdef Py_ssize_t *strides        # in bytes

    def __cinit__(self, int most):
        self.first = <char **>PyMem_Malloc(max(1, most) * sizeof(char *))
        self.strides = <Py_ssize_t *>PyMem_Malloc(max(1, most) * sizeof(Py_ssize_t))
        if self.first is NULL or self.strides is NULL:
            raise MemoryError()

    def __dealloc__(self):
        PyMem_Free(self.first)
        PyMem_Free(self.strides)

    cdef void add(self, char *first, Py_ssize_t stride) noexcept:
        self.first[self.n] = first
        self.strides[self.n] = stride
        self.n += 1

    cdef void point(self, char **at, Py_ssize_t number) noexcept:
        """Write the addresses of the parts with this number."""
        cdef int i
        for i in range(self.n):
            at[i] = self.first[i] + number * self.strides[i]


cdef class Operands:
    """The operands of a loop, and the addresses of the entries of a step."""
    cdef list arrays                # keeps memory alive while it is read
    cdef Parts entries
    cdef long long number           # of the current entry

    cdef int take(self, Repetition loop, Stepper stepper, PyObject **args, int stacked_from) except -1:
        """Set the inputs that all steps share. Entries begin at input `stacked_from`."""
        cdef int k = stacked_from + len(loop.stacked)
        cdef Array a
        self.arrays = []
        self.entries = Parts(len(loop.stacked))
        for operand in loop.stacked:
            if operand is None:
                self.entries.add(<char *>&self.number, 0)
                continue
            a = self.held(args[<int>operand])
            self.entries.add(a.data, a.size // max(a.shape[0], 1) * a.itemsize)
        for operand in loop.shared:
            stepper.ins[k] = self.held(args[<int>operand]).data
            k += 1
        return 0

    cdef Array held(self, PyObject *arg):
        """A contiguous operand, kept alive."""
        cdef Array a = contiguous(<Array>arg)
        self.arrays.append(a)
        return a

    cdef void turn_to(self, Py_ssize_t number, char **at) noexcept:
        """Make the entries with this number the next inputs."""
        self.number = number
        self.entries.point(at, number)


cdef class State:
    """Copies of the carry, in one piece of memory."""
    cdef char *memory
    cdef Py_ssize_t nbytes          # of one copy
    cdef Parts parts

    def __cinit__(self, Body body not None, Py_ssize_t copies):
        cdef int i
        self.nbytes = state_bytes(body)
        self.memory = <char *>PyMem_Malloc(max(1, copies * self.nbytes))
        if self.memory is NULL:
            raise MemoryError()
        self.parts = Parts(body.carried)
        cdef char *at = self.memory
        for i in range(body.carried):
            self.parts.add(at, self.nbytes)
            at += close(body.nbytes_of(body.program.inputs[i]))

    def __dealloc__(self):
        PyMem_Free(self.memory)


cdef Py_ssize_t state_bytes(Body body) except -1:
    cdef Py_ssize_t n = 0
    cdef int i
    for i in range(body.carried):
        n += close(body.nbytes_of(body.program.inputs[i]))
    return n


cdef Py_ssize_t close(Py_ssize_t nbytes) noexcept:
    return (nbytes + CLOSE - 1) // CLOSE * CLOSE


cdef Parts stacked_results(Repetition loop, Array out):
    """The addresses of the entries of stacked results."""
    cdef Body body = loop.body
    cdef Parts parts = Parts(body.made)
    cdef int k
    cdef tuple result
    for k in range(body.carried, body.carried + body.made):
        result = <tuple>loop.results[k]
        parts.add(out.data + <Py_ssize_t>result[2], body.nbytes_of(body.program.outputs[k]))
    return parts


cdef Array packed_results(Py_ssize_t nbytes):
    return new_array(cnp.NPY_UBYTE, 1, &nbytes)


cdef list first_of(int first, int n, PyObject **args):
    """The first carry, each part of it contiguous."""
    cdef int i
    return [contiguous(<Array>args[first + i]) for i in range(n)]


cdef bint holds(Array a):
    """True if any truth value of an array holds."""
    cdef Py_ssize_t i
    a = contiguous(a)
    for i in range(a.size):
        if a.data[i]:
            return True
    return False


cdef bint any_byte(const char *data, Py_ssize_t n) noexcept:
    cdef Py_ssize_t i
    for i in range(n):
        if data[i]:
            return True
    return False


# --------------------------------------------------------------------------------------------------------- forward

cdef class Walker:
    """A loop that runs forwards, step by step."""
    cdef Repetition loop
    cdef Stepper stepper
    cdef Operands operands
    cdef Py_ssize_t flags           # bytes of truth values that decide on another step; 0: fixed number of steps
    cdef bytearray truth

    def __cinit__(self, Repetition loop not None):
        cdef Body body = loop.body
        self.loop = loop
        self.stepper = Stepper(body)
        self.operands = Operands()
        if body.proceeds:
            self.flags = body.nbytes_of(body.program.outputs[body.carried + body.made])
            self.truth = bytearray(max(1, self.flags))
            self.stepper.outs[body.carried + body.made] = <char *>self.truth

    cdef int take(self, PyObject **args) except -1:
        return self.operands.take(self.loop, self.stepper, args, self.loop.body.carried)

    cdef Py_ssize_t entry(self, Py_ssize_t i) noexcept:
        return self.loop.n - 1 - i if self.loop.reverse else i

    cdef int step(self, Py_ssize_t i) except -1:
        """Run step i, from the addresses in the stepper's first inputs to the addresses in its first outputs."""
        if i % PATIENCE == 0:
            check_signals()
        if self.loop.stacked:
            self.operands.turn_to(self.entry(i), self.stepper.ins + self.loop.body.carried)
        return self.stepper.step()

    cdef bint goes_on(self, Py_ssize_t i) noexcept:
        """True if step i follows step i - 1."""
        return i < self.loop.n if self.flags == 0 else any_byte(<char *>self.truth, self.flags)


cdef Array run_loop(Repetition loop, PyObject **args):
    """Run a loop; return its packed results. Operands: the first carry, stacked arrays, shared arrays. If the body
    decides on further steps, the last operand decides on the first one."""
    cdef Body body = loop.body
    cdef Walker walker = Walker(loop)
    cdef Stepper s = walker.stepper
    cdef State state = State(body, 2)
    cdef Array out = packed_results(loop.nbytes)
    cdef Parts made = stacked_results(loop, out)
    cdef list start = first_of(0, body.carried, args)
    cdef Py_ssize_t i = 0
    cdef int k
    cdef tuple result
    walker.take(args)
    for k in range(body.carried):
        s.ins[k] = (<Array>start[k]).data
    while (holds(<Array>args[last_operand(loop)]) if i == 0 and body.proceeds else walker.goes_on(i)):
        state.parts.point(s.outs, i % 2)
        made.point(s.outs + body.carried, walker.entry(i))
        walker.step(i)
        state.parts.point(s.ins, i % 2)
        i += 1
    for k in range(body.carried):
        result = <tuple>loop.results[k]
        memcpy(out.data + <Py_ssize_t>result[2], s.ins[k], body.nbytes_of(body.program.inputs[k]))
    result = <tuple>loop.results[body.carried + body.made]
    (<long long *>(out.data + <Py_ssize_t>result[2]))[0] = i
    return out


cdef int last_operand(Repetition loop) except -1:
    """The index of the operand that decides on the first step: after all others."""
    return loop.body.carried + len(loop.stacked) - loop.stacked.count(None) + len(loop.shared)


# -------------------------------------------------------------------------------------------------------- backward

cdef class Backward:
    """The reverse of a loop: backward steps, each from the state before its forward step."""
    cdef Walker ahead
    cdef Walker back
    cdef State cotangents
    cdef Array out
    cdef Parts made                 # entries of the stacked results in `out`
    cdef char **state               # addresses of the inputs of a backward step that hold the state
    cdef list start                 # the first carry
    cdef list seed                  # the cotangent of the last carry
    cdef Py_ssize_t visited

    cdef int visit(self, Py_ssize_t i) except -1:
        """Pull the cotangents back through step i, from the state at `state`."""
        cdef Body body = self.back.loop.body
        cdef Stepper s = self.back.stepper
        cdef Py_ssize_t entry = self.ahead.entry(i)
        if i % PATIENCE == 0:
            check_signals()
        self.back.operands.turn_to(entry, self.state + self.ahead.loop.body.carried)
        self.cotangents.parts.point(s.outs, self.visited % 2)
        self.made.point(s.outs + body.carried, entry)
        s.step()
        self.cotangents.parts.point(s.ins, self.visited % 2)
        self.visited += 1
        return 0

    cdef int from_all(self, State kept, object at_start, Py_ssize_t start, Py_ssize_t stop) except -1:
        """Pull back through steps stop - 1, ..., start, given the state before each (`at_start`, `kept`)."""
        cdef Py_ssize_t i
        for i in range(stop - 1, start, -1):
            kept.parts.point(self.state, i - 1 - start)
            self.visit(i)
        if stop > start:
            self.point_to(self.state, at_start)
            self.visit(start)
        return 0

    cdef int by_schedule(self, object schedule) except -1:
        """Pull back through all steps, with the states that a schedule stores."""
        cdef Body body = self.ahead.loop.body
        cdef Stepper s = self.ahead.stepper
        cdef State moving = State(body, 2), all_states
        cdef dict kept = {0: None}      # step -> the state before it; None: the first carry
        cdef Py_ssize_t start, stop, first, i
        for start, stop, first in schedule:
            state = kept[start]
            self.point_to(s.ins, state)
            if first == start < stop:
                all_states = None       # free the former ones first
                all_states = State(body, stop - start)
                for i in range(start, stop):
                    all_states.parts.point(s.outs, i - start)
                    self.ahead.step(i)
                    all_states.parts.point(s.ins, i - start)
                self.from_all(all_states, state, start, stop + 1)
            else:
                for i in range(start, stop):
                    moving.parts.point(s.outs, i % 2)
                    self.ahead.step(i)
                    moving.parts.point(s.ins, i % 2)
                if first > stop:
                    kept[stop] = self.copy_of(s.ins)
                    continue
                memcpy(self.state, s.ins, body.carried * sizeof(char *))
                self.visit(stop)
            if first == start:
                del kept[start]
        return 0

    cdef int point_to(self, char **at, object state) except -1:
        """Write the addresses of the parts of a stored state; None stands for the first carry."""
        cdef int k
        if state is not None:
            (<State>state).parts.point(at, 0)
            return 0
        for k in range(self.ahead.loop.body.carried):
            at[k] = (<Array>self.start[k]).data
        return 0

    cdef State copy_of(self, char **at):
        """A copy of a state, in memory of its own."""
        cdef Body body = self.ahead.loop.body
        cdef State copy = State(body, 1)
        cdef int k
        for k in range(body.carried):
            memcpy(copy.parts.first[k], at[k], body.nbytes_of(body.program.inputs[k]))
        return copy

    cdef object first_run(self, Py_ssize_t room, bint going):
        """(number of steps, states after each step except the last); None for states if there are more than `room`."""
        cdef Body body = self.ahead.loop.body
        cdef Stepper s = self.ahead.stepper
        cdef Py_ssize_t n = self.ahead.loop.n, i = 0, copies = max(1, n - 1 if n >= 0 else min(room, 16))
        cdef State kept, more, moving
        self.point_to(s.ins, None)
        if n > room:
            return n, None
        kept = State(body, copies)
        moving = State(body, 2)
        while going and (n < 0 or i < n - 1):
            if n < 0 and i == copies:
                if 2 * copies > room:
                    return self.count_on(i, moving), None
                more = State(body, 2 * copies)
                memcpy(more.memory, kept.memory, copies * kept.nbytes)
                kept, copies = more, 2 * copies
                kept.parts.point(s.ins, i - 1)
            kept.parts.point(s.outs, i)
            self.ahead.step(i)
            kept.parts.point(s.ins, i)
            i += 1
            going = n >= 0 or self.ahead.goes_on(i)
        return (n if n >= 0 else i), kept

    cdef Py_ssize_t count_on(self, Py_ssize_t i, State moving) except -1:
        """Run from step i to the end; return the number of steps."""
        cdef Stepper s = self.ahead.stepper
        while True:
            moving.parts.point(s.outs, i % 2)
            self.ahead.step(i)
            moving.parts.point(s.ins, i % 2)
            i += 1
            if not self.ahead.goes_on(i):
                return i


cdef Array run_reversed(Reversal r, PyObject **args):
    """Run the reverse of a loop; return the packed cotangents. Operands: the operands of the loop, the first
    cotangents, and other inputs of the backward steps."""
    cdef Repetition forward = r.forward, backward = r.backward
    cdef Backward b = Backward()
    cdef Stepper s
    cdef Py_ssize_t n, room
    cdef int k
    cdef tuple result
    b.ahead = Walker(forward)
    b.back = Walker(backward)
    b.out = packed_results(backward.nbytes)
    b.made = stacked_results(backward, b.out)
    b.state = b.back.stepper.ins + backward.body.carried
    b.start = first_of(0, forward.body.carried, args)
    b.seed = first_of(r.first, backward.body.carried, args)
    b.cotangents = State(backward.body, 2)
    b.ahead.take(args)
    b.back.operands.take(backward, b.back.stepper, args, backward.body.carried + forward.body.carried)
    s = b.back.stepper
    for k in range(backward.body.carried):
        s.ins[k] = (<Array>b.seed[k]).data
    room = allowed(r.states, max(1, state_bytes(forward.body)))
    n, kept = b.first_run(room, not forward.body.proceeds or holds(<Array>args[last_operand(forward)]))
    if kept is not None:
        b.from_all(<State>kept, None, 0, n)
    elif n:
        b.by_schedule(r.schedule(n, room, r.states is None))
    for k in range(backward.body.carried):
        result = <tuple>backward.results[k]
        memcpy(b.out.data + <Py_ssize_t>result[2], s.ins[k], backward.body.nbytes_of(backward.body.program.inputs[k]))
    return b.out


cdef Py_ssize_t allowed(object states, Py_ssize_t nbytes) except -1:
    """The number of states that may be stored: a given number, or as many as fit into a number of bytes."""
    if isinstance(states, float):
        return max(1, <Py_ssize_t>(<double>states / nbytes))
    return max(1, ROOM // nbytes) if states is None else <Py_ssize_t>states


# ---------------------------------------------------------------------------------------------------------- choices

cdef Array run_choice(Choice c, PyObject **args):
    """Run one of two branches; return its packed results. Operands: the truth value, then the inputs of both
    branches."""
    cdef bint truth = holds(<Array>args[0])
    cdef Stepper s = Stepper(c.taken if truth else c.other)
    cdef Array out = packed_results(c.nbytes)
    cdef list held = []
    cdef int k
    for k, operand in enumerate(c.of_taken if truth else c.of_other):
        held.append(contiguous(<Array>args[<int>operand]))
        s.ins[k] = (<Array>held[k]).data
    for k, result in enumerate(c.results):
        s.outs[k] = out.data + <Py_ssize_t>result[2]
    s.step()
    return out
