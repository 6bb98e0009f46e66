"""The reverse tape: the record of a reverse level.

Design
------
A tape keeps its instructions in one array. Operands are integers (a slot, or a constant), so there is no chain of
objects to recurse over. A tape of ten million instructions is dropped as safely as a tape of ten. Slots hold primals.

A reverse level works on values without outer reverse levels. A leaf keeps the *link* to the outer value it stands for:
an input of the function, or a value that the function reads by closure. So the function and the sweep (sweeps.pyx)
leave nothing on an outer tape, and nothing that influences the result is lost.
"""
cimport cython
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.string cimport memcpy, memset

from ..arrays.array cimport BATCH, DG_DEBUG, DUAL, NODE, Value, count
from ..primitives.opcodes cimport *
from ..values.rules cimport has_slope
from ..values.levels cimport Level, Node, bind, new_node, serial_of
from ..primitives.watch cimport Watch, active_watch, user_line

cdef extern from "Python.h":
    ctypedef int (*visitproc)(PyObject *, void *) noexcept
    ctypedef int (*traverseproc)(PyObject *, visitproc, void *) noexcept
    ctypedef struct PyTypeObject:
        traverseproc tp_traverse

cdef extern from "memory/pages.h":
    void *dg_grow(void *p, size_t n)

observers = []      # called with a report for each tape that closes; see dualgrad.testing


# ------------------------------------------------------------------------------------------------------- storage

cdef void *resized(void *block, size_t nbytes) except NULL:
    cdef void *moved = dg_grow(block, nbytes)
    if moved is NULL:
        raise MemoryError("no memory for a tape of this length")
    return moved


@cython.freelist(32)
cdef class Slots:
    """An array of values, some of them missing."""

    def __cinit__(self):
        self.p = self.few           # extension objects start zeroed
        self.capacity = INLINE_SLOTS

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.n - 1, -1, -1):
            Py_XDECREF(self.p[i])
        if self.p is not self.few:
            PyMem_RawFree(self.p)

    cdef int grow(self, Py_ssize_t n) except -1:
        """Make room for n values."""
        cdef Py_ssize_t capacity = max(n, self.capacity * 2, 8)
        if n > self.capacity:
            if self.p is self.few:
                self.p = <PyObject **>resized(NULL, capacity * sizeof(PyObject *))
                memcpy(self.p, self.few, sizeof(self.few))
            else:
                self.p = <PyObject **>resized(self.p, capacity * sizeof(PyObject *))
            memset(self.p + self.capacity, 0, (capacity - self.capacity) * sizeof(PyObject *))
            self.capacity = capacity
        return 0

    cdef Py_ssize_t push(self, Value v) except -1:
        if self.n == self.capacity:
            self.grow(self.n + 1)
        Py_INCREF(v)
        self.p[self.n] = <PyObject *>v
        self.n += 1
        return self.n - 1

    cdef int put(self, Py_ssize_t i, Value v) except -1:
        cdef PyObject *old = self.p[i]
        if v is None:
            self.p[i] = NULL
        else:
            Py_INCREF(v)
            self.p[i] = <PyObject *>v
        Py_XDECREF(old)
        return 0

    cdef int drop(self, Py_ssize_t i) except -1:
        cdef PyObject *old = self.p[i]
        self.p[i] = NULL
        Py_XDECREF(old)
        return 0

    cdef int clear(self) except -1:
        cdef Py_ssize_t i, n = self.n
        self.n = 0
        for i in range(n - 1, -1, -1):
            Py_XDECREF(self.p[i])
            self.p[i] = NULL
        return 0


cdef Slots new_slots(Py_ssize_t n):
    """n empty slots."""
    cdef Slots slots = Slots.__new__(Slots)
    if n > INLINE_SLOTS:
        slots.grow(n)
    slots.n = n
    return slots


cdef Slots NO_CONSTANTS = new_slots(0)      # for tapes without constants; stays empty


# ---------------------------------------------------------------------------------------------------------- tape

cdef class Tape(Level):
    """The instructions of one reverse level."""

    def __cinit__(self):
        self.reverse = True
        self.values = Slots.__new__(Slots)
        self.constants = NO_CONSTANTS
        self.leaf_slots = []
        self.leaf_links = []
        self.exact = True
        if self.watched:
            self.lines = []
        if DG_DEBUG:
            count("Tape", 1)

    def __dealloc__(self):
        self.free_entries()
        if DG_DEBUG:
            count("Tape", -1)

    cdef int free_entries(self) except -1:
        cdef Py_ssize_t i, n = self.n_entries
        self.n_entries = 0
        self.n_refs = 0
        self.n_closing = 0
        for i in range(n - 1, -1, -1):
            Py_XDECREF(self.entries[i].params)
        PyMem_RawFree(self.entries)
        PyMem_RawFree(self.refs)
        PyMem_RawFree(self.closing)
        self.closing = NULL
        self.n_closing = 0
        self.closing_capacity = 0
        self.entries = NULL
        self.refs = NULL
        self.entry_capacity = 0
        self.ref_capacity = 0
        return 0

    cdef int clear(self) except -1:
        """Drop all contents; nodes that escaped keep their own primals."""
        self.free_entries()
        self.values.clear()
        self.constants = NO_CONSTANTS
        self.leaf_slots = None
        self.leaf_links = None
        self.linked = None
        self.parameter_leaves = None
        return 0

    cdef Node node_at(self, Py_ssize_t slot):
        return new_node(self, <Value>self.values.p[slot], slot)

    cdef Node place(self, Value primal):
        """A node with a new slot. On a light tape it has no slot."""
        cdef Node node = self.unplaced(primal)
        if not self.light:
            node.slot = self.values.push(primal)
        return node

    cdef Node unplaced(self, Value primal):
        """A value of this tape that has no slot yet."""
        return new_node(self, primal, -1)

    cdef Node leaf(self, Value primal, Value link):
        cdef Node node = self.place(primal)
        if len(self.leaf_links) > len(self.leaf_slots):     # memory ran out before the last leaf was complete
            self.leaf_links.pop()
        self.leaf_links.append(link)
        self.leaf_slots.append(node.slot)
        return node

    cdef Node link(self, Node outer):
        """The leaf that stands for a value of an outer tape; one for each value."""
        cdef Node node
        if self.linked is None:
            self.linked = {}
        slot = self.linked.get(<size_t><PyObject *>outer)
        if slot is not None:
            return self.node_at(slot)
        node = self.leaf(outer.primal, outer)
        self.linked[<size_t><PyObject *>outer] = node.slot
        return node

    cdef Node parameter_leaf(self, object parameter, Value v):
        """The leaf of a parameter that this tape differentiates; v is its value one level down."""
        cdef Node node
        if self.parameter_leaves is None:
            self.parameter_leaves = {}
            self.parameter_slots = {}
        key = id(parameter)
        found = self.parameter_leaves.get(key)
        if found is not None and found[0] is v:
            return <Node>found[1]
        node = self.leaf(stripped(v), v if v.kind == NODE else None)
        self.parameter_slots.setdefault(key, []).append(node.slot)
        self.parameter_leaves[key] = (v, node)          # set last: later reads use this entry
        return node

    cdef Py_ssize_t ref(self, Value v) except? -1:
        """The number by which an instruction of this tape refers to an operand."""
        cdef Node node
        if v.kind == NODE:
            node = <Node>v
            if node.level is not self:
                node = self.link(node)
            return node.slot
        if self.constants is NO_CONSTANTS:
            self.constants = new_slots(0)
        return -1 - self.constants.push(v)

    cdef TapeEntry *append(self, int op, object params, PyObject **args, int n, int n_out) except NULL:
        """Add an instruction, completely or not at all. The caller pushes its results next, for which there is room.

        A function may catch an error raised here and go on. An instruction without its results would take the results
        of the next one.
        """
        cdef TapeEntry *entry
        cdef int i
        cdef Py_ssize_t r
        self.reserve(n)
        for i in range(n):
            r = self.ref(<Value>args[i])        # may place leaves
            self.refs[self.n_refs + i] = r
        self.values.grow(self.values.n + n_out)
        if self.lines is not None:
            del self.lines[self.n_entries:]
            self.lines.append(line_now())
        if params is not None and op >= OP_SUBTAPE:
            self.note_closing(self.n_entries)
        entry = &self.entries[self.n_entries]
        entry.op = op
        entry.n_in = n
        entry.n_out = n_out
        entry.first_in = self.n_refs
        entry.slot = self.values.n
        if params is None:
            entry.params = NULL
        else:
            Py_INCREF(params)
            entry.params = <PyObject *>params
        self.n_refs += n
        self.n_entries += 1
        if op == OP_CUSTOM:
            self.exact = False
        elif op == OP_SUBTAPE:
            self.holds_subtapes = True
        return entry

    cdef int reserve(self, int n) except -1:
        """Make room for one more instruction with n operands."""
        cdef Py_ssize_t room
        if self.n_entries == self.entry_capacity:
            room = max(16, 2 * self.entry_capacity)
            self.entries = <TapeEntry *>resized(self.entries, room * sizeof(TapeEntry))
            self.entry_capacity = room
        if self.n_refs + n > self.ref_capacity:
            room = max(32, self.n_refs + n, 2 * self.ref_capacity)
            self.refs = <Py_ssize_t *>resized(self.refs, room * sizeof(Py_ssize_t))
            self.ref_capacity = room
        return 0

    cdef int note_closing(self, Py_ssize_t e) except -1:
        cdef Py_ssize_t room
        if self.n_closing == self.closing_capacity:
            room = max(8, 2 * self.closing_capacity)
            self.closing = <Py_ssize_t *>resized(self.closing, room * sizeof(Py_ssize_t))
            self.closing_capacity = room
        self.closing[self.n_closing] = e
        self.n_closing += 1
        return 0

    cdef list write(self, int op, object params, list operands, list results):
        """Record an instruction with all its results, or not at all, and return the nodes of the results."""
        cdef int n = len(operands), i
        cdef list nodes = [self.unplaced(<Value>v) for v in results]
        for v in results:
            if (<Value>v).kind & (DUAL | BATCH) and serial_of(<Value>v) > self.serial:      # would be inside out
                raise NotImplementedError(f"{self.name}: a rule that is written in Python takes a derivative of values "
                                          f"of {self.name} and of its tangents at once; take the derivative outside of "
                                          f"the rule")
        if self.light:
            self.exact = self.exact and op != OP_CUSTOM
            for i in range(n):
                self.own(<Value>operands[i])
            return nodes
        cdef PyObject *few[8]
        cdef PyObject **args = few
        if n > 8:
            args = <PyObject **>PyMem_RawMalloc(n * sizeof(PyObject *))
            if args is NULL:
                raise MemoryError()
        try:
            for i in range(n):
                args[i] = <PyObject *>operands[i]
            self.append(op, params, args, n, len(nodes))
        finally:
            if args is not few:
                PyMem_RawFree(args)
        for i in range(len(nodes)):
            (<Node>nodes[i]).slot = self.values.push(<Value>results[i])
        return nodes

    cdef int own(self, Value v) except -1:
        """On a light tape, check that an operand is a value of this tape or a constant."""
        if v.kind == NODE and (<Node>v).level is not self and not self.detached:
            raise RuntimeError(f"{self.name}: the function uses a value of {(<Node>v).level.name} that it was not "
                               f"given as a tensor (a pullback made outside holds some); pass it as an argument, or "
                               f"make the pullback inside")
        return 0

    cdef Value operand(self, Slots primals, Py_ssize_t r):
        return <Value>(primals.p[r] if r >= 0 else self.constants.p[-1 - r])


cdef object line_now():
    """The user's line for an instruction. During a sweep, it is the line of the instruction that is swept."""
    cdef Watch watch = active_watch()
    return watch.line if watch is not None and watch.sweeps and watch.line is not None else user_line()


# The collector of cycles must see the parameters of instructions. Inner transforms and functions with rules may hold
# functions of users. These may close over tensors whose values are nodes of this tape.

cdef traverseproc TRAVERSE_REST = (<PyTypeObject *>Tape).tp_traverse


cdef int traverse(PyObject *self, visitproc visit, void *arg) noexcept:
    cdef Py_ssize_t i
    cdef PyObject *params
    cdef int stop = TRAVERSE_REST(self, visit, arg)
    if stop != 0:
        return stop
    for i in range((<Tape>self).n_closing):
        params = (<Tape>self).entries[(<Tape>self).closing[i]].params
        if params is not NULL:
            stop = visit(params, arg)
            if stop != 0:
                return stop
    return 0


(<PyTypeObject *>Tape).tp_traverse = traverse


cdef Tape new_tape(str name):
    """An empty tape of an open level that is on no stack yet."""
    cdef Tape tape = Tape.__new__(Tape)
    tape.name = name
    return tape


cdef Tape new_light_tape(str name):
    """A tape that keeps no instructions and no values."""
    cdef Tape tape = new_tape(name)
    tape.light = True
    return tape


cdef Tape new_detached_tape(str name):
    """A light tape for a function with its own rule. Other values are constants, and Python may read numbers."""
    cdef Tape tape = new_light_tape(name)
    tape.detached = True
    return tape


cdef Value stripped(Value v):
    """The value without reverse levels."""
    return (<Node>v).primal if v.kind == NODE else v


cdef Value record(Tape tape, int op, object params, PyObject **args, int n):
    """Execute a primitive on stripped operands, and put it on the tape if it has a derivative."""
    cdef PyObject *few[8]
    cdef PyObject **primals = few
    cdef Value out, v
    cdef Node node
    cdef int i
    if n > 8:
        primals = <PyObject **>PyMem_RawMalloc(n * sizeof(PyObject *))
        if primals is NULL:
            raise MemoryError()
    try:
        for i in range(n):
            v = <Value>args[i]
            if v.kind == NODE:
                if tape.light:
                    tape.own(v)
                primals[i] = <PyObject *>((<Node>v).primal)
            else:
                primals[i] = args[i]
        out = bind(op, params, primals, n)
        if not has_slope(op, params, primals, n):
            return out
    finally:
        if primals is not few:
            PyMem_RawFree(primals)
    node = tape.unplaced(out)
    if not tape.light:
        tape.append(op, params, args, n, 1)
        node.slot = tape.values.push(out)
    return node
