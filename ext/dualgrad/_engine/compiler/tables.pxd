# What is known of slots, and which step computes what. See tables.pyx.
cdef enum:
    FEW = 3                         # operands of most steps
    NO_KEY = -2                     # a step whose settings cannot be hashed


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
    int setting                     # its number; -1 for none
    int count                       # operands
    int[FEW] ins
    int slot


cdef class StepIndex:
    """The slot of the result of each step, by what the step computes."""
    cdef StepEntry *entries
    cdef Py_ssize_t room            # a power of two
    cdef Py_ssize_t used
    cdef dict settings              # (type, settings) -> number
    cdef object latest              # the settings that were asked for last,
    cdef int number                 # and their number
    cdef dict others                # (opcode, number of the settings, operands) -> slot, of steps with many operands

    cdef int find(self, int op, object params, const int *ins, Py_ssize_t n) except -3
    cdef int add(self, int op, object params, const int *ins, Py_ssize_t n, int slot) except -1
    cdef int number_of(self, object params) except -3
    cdef StepEntry *place(self, int op, int setting, const int *ins, int n) noexcept
    cdef int grow(self) except -1


cdef tuple tuple_of(const int *numbers, Py_ssize_t n)
