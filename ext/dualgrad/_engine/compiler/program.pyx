"""Programs: the result of a recording, and its plain interpreter.

Design
------
A program is flat: a list of steps (opcode, parameters, slots of the operands, slot of the result). Each slot is an
input, the array of a handle (a Parameter, or a captured tensor; read anew in each run), a constant, or the result of a
step. `recorder.pyx` makes it, and after its preparation it does not change. Runs share nothing, so threads may run one
program at once.

`prepare` drops steps that nothing depends on. `run` is the plain interpreter: it applies each step to arrays as eager
execution would, but does none of the work that found the steps.
"""
cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.string cimport memcmp, memset

from ..arrays.array cimport DG_DEBUG, Array, Value, contiguous, count, has_form, shape_tuple, uniform, with_numbers
from ..primitives.execute cimport run as execute
from ..arrays.thread cimport dg_thread, thread_state
from ..primitives.registry cimport EFFECTS, op_name
from ..transforms.handles cimport TensorBase, value_in
from .rewrites cimport STEP_DROPPED, note


cdef extern from "Python.h":
    int PyErr_CheckSignals_ "PyErr_CheckSignals"() noexcept


cdef int check_signals() except -1:
    """Run signal handlers. An error from them is not an error of the program."""
    if PyErr_CheckSignals_() < 0:
        thread_state().interrupted = True
        return -1
    return 0


cdef bint interrupted() noexcept:
    """True if a signal handler has raised in a program of this thread since the last call."""
    cdef dg_thread *thread = thread_state()
    cdef bint found = thread.interrupted
    thread.interrupted = False
    return found


cdef class Program:

    def __cinit__(self):
        self.kinds = []
        self.sources = []
        self.typenums = []
        self.shapes = []
        self.steps = []
        self.inputs = []
        self.effects = []
        self.outputs = []
        if DG_DEBUG:
            count("Program", 1)

    def __dealloc__(self):
        if DG_DEBUG:
            count("Program", -1)

    cdef int new_slot(self, SlotKind kind, object source, Array a) except -1:
        self.kinds.append(kind)
        self.sources.append(source)
        self.typenums.append(a.typenum)
        if self.shape is None or not has_form(a, a.typenum, self.shape):
            self.shape = shape_tuple(a)
        self.shapes.append(self.shape)
        return len(self.kinds) - 1

    cdef bint same_as(self, Program other):
        """True if two recordings have the same steps on the same data."""
        cdef int i
        if (self.kinds != other.kinds or self.typenums != other.typenums or self.shapes != other.shapes
                or self.outputs != other.outputs or self.inputs != other.inputs
                or len(self.steps) != len(other.steps) or len(self.effects) != len(other.effects)):
            return False
        if self.steps != other.steps:           # parameters of steps with effects may differ
            for (op, params, ins, out), (op2, params2, ins2, out2) in zip(self.steps, other.steps):
                if op != op2 or ins != ins2 or out != out2:
                    return False
                if not EFFECTS[<int>op] and params != params2:
                    return False
        for (handle, slot), (handle2, slot2) in zip(self.effects, other.effects):
            if slot != slot2 or handle is not handle2 and not (
                    isinstance(handle, int) and isinstance(handle2, int) and handle == handle2):
                return False
        for i in range(len(self.kinds)):
            if self.kinds[i] == FROM_HANDLE and self.sources[i] is not other.sources[i]:
                return False
            if self.kinds[i] == FROM_CONSTANT and not same_numbers(<Array>self.sources[i], <Array>other.sources[i]):
                return False
        return True

    cdef int prepare(self) except -1:
        """Drop steps that nothing depends on."""
        cdef bytearray needed = bytearray(len(self.kinds))
        cdef list kept = []
        cdef tuple step
        cdef int op, slot, out
        for slot in self.outputs:
            needed[slot] = True
        for _, slot in self.effects:
            needed[slot] = True
        for step in reversed(self.steps):
            op = step[0]
            out = step[3]
            if needed[out] or EFFECTS[op]:
                kept.append(step)
                for slot in <tuple>step[2]:
                    needed[slot] = True
            else:
                note(STEP_DROPPED)
        kept.reverse()
        self.steps = kept
        self.dead = None
        return 0

    cdef Program with_steps(self, list steps):
        """A prepared program with the same slots and other steps."""
        cdef Program p = Program()
        p.kinds = self.kinds
        p.sources = self.sources
        p.typenums = self.typenums
        p.shapes = self.shapes
        p.steps = steps
        p.inputs = self.inputs
        p.effects = self.effects
        p.outputs = self.outputs
        p.prepare()
        return p

    cdef Program without_steps(self):
        """A program with copies of the slots and no steps; the caller adds slots and steps, then prepares it."""
        cdef Program p = Program()
        p.kinds = self.kinds[:]
        p.sources = self.sources[:]
        p.typenums = self.typenums[:]
        p.shapes = self.shapes[:]
        p.inputs = self.inputs
        p.effects = self.effects
        p.outputs = self.outputs
        return p

    cdef list deaths(self):
        """For each step, the slots that no later step reads."""
        cdef list last = [-1] * len(self.kinds), dead = [[] for _ in self.steps]
        cdef int i
        cdef set keep = set(self.outputs)
        keep.update([slot for _, slot in self.effects])
        for i in range(len(self.steps)):
            for slot in self.steps[i][2]:
                last[slot] = i
            last[self.steps[i][3]] = max(<int>last[self.steps[i][3]], i)
        for slot in range(len(last)):
            if last[slot] >= 0 and slot not in keep and self.kinds[slot] == FROM_STEP:
                (<list>dead[last[slot]]).append(slot)
        return dead

    cdef bint fill(self, PyObject **slots, list inputs) except -1:
        """Put inputs, constants and handles into their slots; False if the dtype or shape of a handle has changed."""
        cdef Py_ssize_t i
        cdef Array a
        cdef Value v
        for i in range(len(self.kinds)):
            kind = <int>self.kinds[i]
            if kind == FROM_INPUT:
                a = <Array>inputs[<int>self.sources[i]]
            elif kind == FROM_CONSTANT:
                a = <Array>self.sources[i]
            elif kind == FROM_HANDLE:
                v = value_in(<TensorBase>self.sources[i])
                if not isinstance(v, Array) or not has_form(<Array>v, self.typenums[i], self.shapes[i]):
                    return False
                a = with_numbers(<Array>v)
            else:
                continue
            Py_INCREF(a)
            slots[i] = <PyObject *>a
        return True

    cdef list run(self, list inputs):
        """Interpret the program; return the arrays of outputs, then of effects. The caller has checked the inputs.

        None if the dtype or shape of a handle, or of a result whose kernel chooses the shape, has changed.
        """
        cdef Py_ssize_t n = len(self.kinds), i
        cdef PyObject **slots
        cdef PyObject *args[8]
        cdef PyObject **p
        cdef PyObject **many = NULL
        cdef Array a
        cdef int k, op
        cdef tuple step, ins
        cdef list results = [], dead
        with cython.critical_section(self):
            if self.dead is None:
                self.dead = self.deaths()
            dead = self.dead
        slots = <PyObject **>PyMem_Malloc(n * sizeof(PyObject *))
        if slots is NULL:
            raise MemoryError()
        memset(slots, 0, n * sizeof(PyObject *))
        try:
            if not self.fill(slots, inputs):
                return None
            for i in range(len(self.steps)):
                check_signals()
                step = <tuple>self.steps[i]
                op = step[0]
                ins = <tuple>step[2]
                p = args
                if len(ins) > 8:
                    many = <PyObject **>PyMem_Malloc(len(ins) * sizeof(PyObject *))
                    if many is NULL:
                        raise MemoryError()
                    p = many
                for k in range(len(ins)):
                    p[k] = slots[<int>ins[k]]
                a = execute(op, step[1], p, len(ins))
                k = step[3]
                if not has_form(a, self.typenums[k], self.shapes[k]):
                    return None
                if many is not NULL:
                    PyMem_Free(many)
                    many = NULL
                Py_INCREF(a)
                slots[<int>step[3]] = <PyObject *>a
                for slot in <list>dead[i]:
                    k = slot
                    Py_XDECREF(slots[k])
                    slots[k] = NULL
            for slot in self.outputs:
                results.append(<Array>slots[<int>slot])
            for _, slot in self.effects:
                results.append(<Array>slots[<int>slot])
            return results
        finally:
            PyMem_Free(many)
            for i in range(n):
                Py_XDECREF(slots[i])
            PyMem_Free(slots)

    def __len__(self):
        return len(self.steps)

    def __str__(self):
        lines = []
        for i, kind in enumerate(self.kinds):
            if kind != FROM_STEP:
                what = ("input", "handle", "constant")[kind]
                lines.append(f"%{i} = {what} {self.sources[i] if kind == FROM_INPUT else ''} {self.shapes[i]}")
        for op, params, ins, out in self.steps:
            settings = "" if params is None else f" {params}"
            operands = ", ".join(f"%{slot}" for slot in ins)
            lines.append(f"%{out} = {op_name(op)}({operands}){settings} {self.shapes[out]}")
        lines.append("return " + ", ".join(f"%{slot}" for slot in self.outputs))
        lines += [f"leave %{slot} in {handle}" for handle, slot in self.effects]
        return "\n".join(lines)


cdef bint same_numbers(Array a, Array b):
    """True if two arrays of one dtype and shape are equal bit for bit."""
    if a is b:
        return True
    if uniform(a):
        return uniform(b) and memcmp(a.data, b.data, a.itemsize) == 0
    a = contiguous(a)
    b = contiguous(b)
    return memcmp(a.data, b.data, a.size * a.itemsize) == 0
