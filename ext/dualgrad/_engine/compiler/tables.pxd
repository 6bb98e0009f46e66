# Facts about slots, and an index of steps. See tables.pyx.
cdef enum:
    FEW = 3                         # most operands of a step in the hash table
    NO_KEY = -2                     # a step whose parameters cannot be hashed


cdef class SlotMap:
    """A number, not negative, for each slot that has one."""
    cdef int *numbers               # -1 for none
    cdef Py_ssize_t room

    cdef int reserve(self, int slot) except -1
    cdef int put(self, int slot, int number) except -1

    cdef inline int get(self, int slot) noexcept:
        """The number of a slot; -1 if it has none."""
        return self.numbers[slot] if slot < self.room else -1


cdef struct StepEntry:
    int op                          # -1: free
    int setting                     # number of the parameters; -1 for none
    int count                       # number of operands
    int[FEW] ins
    int slot


cdef class StepIndex:
    """Index of the computed steps: finds the slot of an equal step."""
    cdef StepEntry *entries
    cdef Py_ssize_t room            # a power of two
    cdef Py_ssize_t used
    cdef dict settings              # (class, parameters) -> number
    cdef object latest              # the latest parameters that were looked up
    cdef int number                 # their number
    cdef dict others                # (opcode, number of the parameters, operands) -> slot; for steps with many operands

    cdef int find(self, int op, object params, const int *ins, Py_ssize_t n) except -3
    cdef int add(self, int op, object params, const int *ins, Py_ssize_t n, int slot) except -1
    cdef int number_of(self, object params) except -3
    cdef StepEntry *place(self, int op, int setting, const int *ins, int n) noexcept
    cdef int grow(self) except -1


cdef tuple tuple_of(const int *numbers, Py_ssize_t n)
