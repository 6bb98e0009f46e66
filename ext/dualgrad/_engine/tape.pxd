# The reverse tape and its sweeps. See tape.pyx.
from cpython.object cimport PyObject
from .array cimport Value
from .values cimport Level, Node


cdef struct Entry:
    int op
    int n_out
    int n_in
    Py_ssize_t first_in         # where its operands start in Tape.refs
    Py_ssize_t slot             # its first result
    PyObject *params


cdef enum:
    INLINE_SLOTS = 10


cdef enum After:
    KEEP_ALL
    DROP_SPENT
    CONSUME


cdef class Slots:
    cdef PyObject **p
    cdef PyObject *few[INLINE_SLOTS]
    cdef Py_ssize_t n
    cdef Py_ssize_t capacity
    cdef int grow(self, Py_ssize_t n) except -1
    cdef Py_ssize_t push(self, Value v) except -1
    cdef int put(self, Py_ssize_t i, Value v) except -1
    cdef Value get(self, Py_ssize_t i)
    cdef int drop(self, Py_ssize_t i) except -1
    cdef int clear(self) except -1


cdef class Tape(Level):
    cdef Entry *entries
    cdef readonly Py_ssize_t n_entries
    cdef Py_ssize_t entry_capacity
    cdef Py_ssize_t *refs               # operands: a slot, or -1 - (number of a constant)
    cdef Py_ssize_t n_refs
    cdef Py_ssize_t ref_capacity
    cdef Slots values                   # primal of each slot
    cdef Slots constants
    cdef readonly list leaf_slots
    cdef readonly list leaf_links       # for each leaf the outer value it stands for, or None
    cdef dict linked                    # id of an outer value -> its slot
    cdef dict wanted                    # id of a parameter -> the parameter, for those this tape differentiates
    cdef dict parameter_slots           # id of a parameter -> slots of its leaves
    cdef dict parameter_leaves          # id of a parameter -> (value read, leaf)
    cdef readonly bint exact            # no custom rule on it
    cdef bint holds_subtapes

    cdef int free_entries(self) except -1
    cdef Node leaf(self, Value primal, Value link)
    cdef Node link(self, Node outer)
    cdef Node parameter_leaf(self, object parameter, Value v)
    cdef Py_ssize_t ref(self, Value v) except? -1
    cdef Entry *append(self, int op, object params, PyObject **args, int n, int n_out) except NULL
    cdef Node place(self, Value primal)
    cdef Node node_at(self, Py_ssize_t slot)
    cdef Value operand(self, Slots primals, Py_ssize_t r)
    cdef int clear(self) except -1


cdef class Run:
    cdef Tape tape
    cdef Slots primals
    cdef Slots adjoints
    cdef list seeds
    cdef dict inner             # runs of inner transforms that belong to this one
    cdef bint lifted            # its duals have nodes as coefficients


cdef class SubTape:
    cdef readonly str name
    cdef Run run
    cdef list pull(self, Run run, list cts)
    cdef list push(self, Run run, list tangents, list record)
    cdef Run enrich(self, Run run, list record, Level level)
    cdef Run lift(self, Run run, list operands)


cdef class CustomRule:
    cdef readonly str name
    cdef list pull(self, list ins, list outs, list cts)
    cdef Value push(self, list ins, list outs, list tangents)


cdef Slots new_slots(Py_ssize_t n)
cdef Tape new_tape(str name)
cdef Value settle(Node v)
cdef Value stripped(Value v)
cdef int accumulate(Slots slots, Py_ssize_t i, Value term) except -1
cdef char *reach(Tape tape, list slots) except NULL
cdef int sweep(Run run, Slots adjoints, const char *needed, After after) except -1
cdef int tangent_sweep(Run run, Slots dots, dict records) except -1
cdef int dual_sweep(Run run, Slots dots, Slots adjoint_dots, dict records, const char *needed, After after) except -1
cdef Run inner_run_of(Run run, Py_ssize_t e, SubTape sub)
cdef Slots lift_tape(Run run, dict leaf_values, dict inner)
cdef Slots replay(Run run, dict leaf_values)
