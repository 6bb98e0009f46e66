"""Tables for recording and rewriting: facts about slots, and an index of steps.

Design
------
Hash-consing looks up an equal step for every step. Most steps have at most three operands. These few small integers are
the key in a hash table with open addressing. Parameters are numbered too, so that each lookup hashes nested tuples only
once. Operands of sums and products are sorted first, since their order does not change the result, not even in the last
digit.
"""
from cpython.long cimport PyLong_FromLong
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.string cimport memset

from ..primitives.opcodes cimport OP_ABSORB_MUL, OP_ADD, OP_MUL

cdef enum:
    FIRST_ROOM = 64


cdef bint is_commutative(int op) noexcept:
    return op == OP_ADD or op == OP_MUL or op == OP_ABSORB_MUL


cdef tuple tuple_of(const int *numbers, Py_ssize_t n):
    cdef tuple made = PyTuple_New(n)
    cdef Py_ssize_t i
    for i in range(n):
        number = PyLong_FromLong(numbers[i])
        Py_INCREF(number)
        PyTuple_SET_ITEM(made, i, number)
    return made


cdef class SlotMap:

    def __dealloc__(self):
        PyMem_Free(self.numbers)

    cdef int reserve(self, int slot) except -1:
        """Make room for the number of a slot."""
        cdef Py_ssize_t room = max(2 * self.room, slot + 1, FIRST_ROOM)
        cdef int *numbers = <int *>PyMem_Realloc(self.numbers, room * sizeof(int))
        if numbers is NULL:
            raise MemoryError()
        memset(numbers + self.room, 0xFF, (room - self.room) * sizeof(int))
        self.numbers = numbers
        self.room = room
        return 0

    cdef int put(self, int slot, int number) except -1:
        """Set the number of a slot; -1 removes it."""
        if slot >= self.room:
            self.reserve(slot)
        self.numbers[slot] = number
        return 0


cdef class StepIndex:

    def __cinit__(self):
        self.others = {}
        self.settings = {}
        self.number = -1

    def __dealloc__(self):
        PyMem_Free(self.entries)

    cdef int find(self, int op, object params, const int *ins, Py_ssize_t n) except -3:
        """The slot of an equal step; -1 if there is none; NO_KEY if the parameters cannot be hashed."""
        cdef StepEntry *entry
        cdef int setting = self.number_of(params)
        if setting == NO_KEY:
            return NO_KEY
        if n > FEW:
            return self.others.get((op, setting, tuple_of(ins, n)), -1)
        if self.room == 0:
            return -1
        entry = self.place(op, setting, ins, <int>n)
        return entry.slot if entry.op >= 0 else -1

    cdef int add(self, int op, object params, const int *ins, Py_ssize_t n, int slot) except -1:
        """Add a step with its result's slot. The parameters must be hashable."""
        cdef StepEntry *entry
        cdef int setting = self.number_of(params)
        if n > FEW:
            self.others[op, setting, tuple_of(ins, n)] = slot
            return 0
        if 2 * (self.used + 1) > self.room:
            self.grow()
        entry = self.place(op, setting, ins, <int>n)
        if entry.op < 0:
            self.used += 1
            entry.op = op
            entry.setting = setting
            entry.count = <int>n
            sort_into(entry.ins, op, ins, <int>n)
        entry.slot = slot
        return 0

    cdef int number_of(self, object params) except -3:
        """The number of parameters; equal ones of one class share it. NO_KEY if they cannot be hashed."""
        if params is None:
            return -1
        if params is not self.latest:
            try:
                self.number = self.settings.setdefault((type(params), params), len(self.settings))
            except TypeError:
                self.number = NO_KEY
            self.latest = params
        return self.number

    cdef StepEntry *place(self, int op, int setting, const int *ins, int n) noexcept:
        """The entry of a step, or the free entry for it."""
        cdef int[FEW] key
        cdef Py_ssize_t at
        cdef StepEntry *entry
        sort_into(key, op, ins, n)
        at = hash_of(op, setting, key) & (self.room - 1)
        while True:
            entry = &self.entries[at]
            if entry.op < 0 or (entry.op == op and entry.setting == setting and entry.count == n
                                and entry.ins[0] == key[0] and entry.ins[1] == key[1] and entry.ins[2] == key[2]):
                return entry
            at = (at + 1) & (self.room - 1)

    cdef int grow(self) except -1:
        cdef StepEntry *former = self.entries
        cdef Py_ssize_t count = self.room, i
        cdef Py_ssize_t room = max(4 * self.room, FIRST_ROOM)
        cdef StepEntry *entries = <StepEntry *>PyMem_Malloc(room * sizeof(StepEntry))
        if entries is NULL:
            raise MemoryError()
        for i in range(room):
            entries[i].op = -1
        self.entries = entries
        self.room = room
        for i in range(count):
            if former[i].op >= 0:
                self.place(former[i].op, former[i].setting, former[i].ins, former[i].count)[0] = former[i]
        PyMem_Free(former)
        return 0


cdef void sort_into(int *key, int op, const int *ins, int n) noexcept:
    """Write the operands as a key; operands of commutative primitives are sorted."""
    cdef int i
    for i in range(FEW):
        key[i] = ins[i] if i < n else -1
    if n == 2 and key[1] < key[0] and is_commutative(op):
        key[0], key[1] = key[1], key[0]


cdef Py_ssize_t hash_of(int op, int setting, const int *key) noexcept:
    cdef unsigned long long h = op * 0x10001ULL + <unsigned int>setting
    cdef int i
    for i in range(FEW):
        h = (h ^ <unsigned int>key[i]) * 0x9E3779B97F4A7C15ULL
        h ^= h >> 29
    return <Py_ssize_t>(h >> 1)
