# The reverse tape. See tape.pyx.
cimport cython
from cpython.object cimport PyObject
from ..arrays.array cimport Value
from ..values.levels cimport Level, Node


cdef struct TapeEntry:
    int op
    int n_out
    int n_in
    Py_ssize_t first_in         # where its operands start in Tape.refs
    Py_ssize_t slot             # its first result
    PyObject *params


cdef enum:
    INLINE_SLOTS = 10


@cython.final
cdef class Slots:
    cdef PyObject **p
    cdef PyObject *few[INLINE_SLOTS]
    cdef Py_ssize_t n
    cdef Py_ssize_t capacity
    cdef int grow(self, Py_ssize_t n) except -1
    cdef Py_ssize_t push(self, Value v) except -1
    cdef int put(self, Py_ssize_t i, Value v) except -1
    cdef inline Value get(self, Py_ssize_t i):
        return None if self.p[i] is NULL else <Value>self.p[i]
    cdef int drop(self, Py_ssize_t i) except -1
    cdef int clear(self) except -1


cdef class Tape(Level):
    cdef TapeEntry *entries
    cdef readonly Py_ssize_t n_entries
    cdef Py_ssize_t entry_capacity
    cdef Py_ssize_t *refs               # operands: a slot, or -1 - (number of a constant)
    cdef Py_ssize_t n_refs
    cdef Py_ssize_t ref_capacity
    cdef Py_ssize_t *closing            # entries whose parameters may refer to this tape; see traverse
    cdef Py_ssize_t n_closing
    cdef Py_ssize_t closing_capacity
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
    cdef list lines                     # of the user's code, for each instruction; None unless the level is watched
    cdef bint light                     # keeps nothing: its nodes only show which values depend on an input
    cdef bint detached                  # a light tape for a function with its own rule

    cdef int free_entries(self) except -1
    cdef int note_closing(self, Py_ssize_t e) except -1
    cdef Node leaf(self, Value primal, Value link)
    cdef Node link(self, Node outer)
    cdef Node parameter_leaf(self, object parameter, Value v)
    cdef Py_ssize_t ref(self, Value v) except? -1
    cdef int own(self, Value v) except -1
    cdef TapeEntry *append(self, int op, object params, PyObject **args, int n, int n_out) except NULL
    cdef int reserve(self, int n) except -1
    cdef list write(self, int op, object params, list operands, list results)
    cdef Node place(self, Value primal)
    cdef Node unplaced(self, Value primal)
    cdef Node node_at(self, Py_ssize_t slot)
    cdef Value operand(self, Slots primals, Py_ssize_t r)
    cdef int clear(self) except -1


cdef void *resized(void *block, size_t nbytes) except NULL
cdef Slots new_slots(Py_ssize_t n)
cdef Tape new_tape(str name)
cdef Tape new_light_tape(str name)
cdef Tape new_detached_tape(str name)
cdef Value stripped(Value v)
cdef Value record(Tape tape, int op, object params, PyObject **args, int n)
