"""Scalarisation: a program on few numbers as steps on single ones.

Design
------
An instruction on a whole array costs as much as some six on single numbers: it has rows, blocks and strides to look
at. So where arrays have few elements (the state of an integrator, a 3-vector, a small matrix) each element becomes a
number of its own. Reshapes, slices, concatenations and broadcasts then are no steps at all: an array is an array of
names of numbers, and these are moved. A sum of few numbers becomes additions. So nothing but time tells a program that
is taken apart from eager execution, to the last bit; matrix products, which a library rounds in its own ways, stay
whole, and so does the program that has one.

A program in which every array is one number is read in the same way. There steps are as many as before, so it may be
long; others have to be worth it.
"""
cimport numpy as cnp
from cpython.mem cimport PyMem_Free, PyMem_Realloc

from ..arrays.array import np
from ..primitives.opcodes cimport *
from ..primitives.registry cimport PRIMITIVES, Loop, Primitive, find_loop, has_own_loop, is_elementwise
from .executor cimport DG_CAST, DG_LOOP, DG_SELECT
from .identities cimport is_real
from .instructions cimport has_cast
from .lowering cimport dtype_of, power_loop
from .program cimport FROM_STEP, Program
from .rewrites cimport NUMBER_RESHAPED, TAKEN_APART, note
from .vertical_fusion cimport NONE, code_of_primitive
from .views cimport product

cdef enum:
    LARGEST = 64                    # elements of an array that is worked on element by element,
    MOVED = 64                      # and how many times as many may be cut out or put together
    MOST_STEPS = 20000              # on single numbers, where there are arrays
    WORTH = 6                       # steps on single numbers that take as long as one on an array
    OF_A_FUNCTION = 3               # and as long as an exponential,
    OF_A_COPY = 2                   # or as a number that is copied
    FEW = 7                         # terms of a sum that NumPy adds in their order

cdef extern from "memory/shared.h":
    long long dg_read_shared(long long *counter) noexcept
    void dg_write_shared(long long *counter, long long n) noexcept

cdef long long LIMIT = LARGEST


def largest_array(Py_ssize_t elements=-1):
    """Take arrays of at most so many elements apart; 1 for none, and the former limit for -1. Returns the former
    limit."""
    cdef Py_ssize_t former = dg_read_shared(&LIMIT)
    if elements >= 0:
        dg_write_shared(&LIMIT, elements)
    return former


cdef bint is_number(tuple shape):
    for n in shape:
        if n != 1:
            return False
    return True


cdef bint is_taken(int typenum) noexcept:
    """Whether a number of a type may be a step's."""
    return (typenum == cnp.NPY_DOUBLE or typenum == cnp.NPY_FLOAT or typenum == cnp.NPY_BOOL
            or typenum == cnp.NPY_INT or typenum == cnp.NPY_LONG or typenum == cnp.NPY_LONGLONG)


cdef bint moves(int op) noexcept:
    """Whether elements of a result are elements of the operands, or zeros."""
    return (op == OP_RESHAPE or op == OP_TRANSPOSE or op == OP_BROADCAST_TO or op == OP_IDENTITY or op == OP_SLICE
            or op == OP_UNSLICE or op == OP_CONCAT)


cdef void *more_room(void *memory, int *room, size_t nbytes) except NULL:
    """Memory for more than twice as many things of some bytes."""
    cdef int wanted = 2 * room[0] + 64
    cdef void *found = PyMem_Realloc(memory, wanted * nbytes)
    if found is NULL:
        raise MemoryError()
    room[0] = wanted
    return found


cdef class Numbers:

    def __dealloc__(self):
        PyMem_Free(self.steps)
        PyMem_Free(self.numbers)

    # ------------------------------------------------------------------------------------------------ numbers, steps

    cdef int new_number(self, int typenum) except -1:
        if self.n_numbers == self.room_for_numbers:
            self.numbers = <Number *>more_room(self.numbers, &self.room_for_numbers, sizeof(Number))
        self.numbers[self.n_numbers] = Number(typenum, NO_STEP, 0, NO_STEP, False, NO_STEP, 0)
        self.n_numbers += 1
        return self.n_numbers - 1

    cdef int constant(self, int typenum, object value) except -1:
        """The number of a constant."""
        cdef object dtype = dtype_of(typenum), found = np.asarray(value)
        if found.dtype != dtype:
            with np.errstate(all="ignore"):
                found = found.astype(dtype)
        cdef tuple key = (typenum, found.tobytes())
        if key not in self.constants:
            self.constants[key] = self.new_number(typenum)
        return self.constants[key]

    cdef int zero(self, int typenum) except -1:
        return self.constant(typenum, np.zeros((), dtype_of(typenum)))

    cdef object ids(self, int slot):
        """The numbers of a slot, in its shape."""
        return np.reshape(np.asarray(self.of_slot[slot], np.uint64), self.program.shapes[slot])

    cdef int name(self, int slot, list found) except -1:
        """Let the elements of a slot be some numbers, in order."""
        self.of_slot[slot] = (int(found[0]) if len(found) == 1
                              else np.array(found, np.uint64).reshape(self.program.shapes[slot]))
        return 0

    cdef int new_step(self, int kind, int op, int typenum, int made, int n_in, const int *ins) except -1:
        """A step on numbers that gives one of type `made`; returns that number."""
        cdef Step *s
        cdef int k
        if self.n_steps == self.room_for_steps:
            self.steps = <Step *>more_room(self.steps, &self.room_for_steps, sizeof(Step))
        s = &self.steps[self.n_steps]
        s.kind = kind
        s.op = op
        s.code = code_of_primitive(OP_ADD if op == OP_SUM else op)
        if kind != DG_LOOP or not is_real(typenum):
            s.code = NONE
        s.inner = s.outer = s.second = NONE
        s.typenum = typenum
        s.n_in = n_in
        s.gone = False
        for k in range(n_in):
            s.ins[k] = ins[k]
            if ins[k] == ZERO:
                s.ins[k] = self.zero(cnp.NPY_BOOL if kind == DG_SELECT and k == 0 else typenum)
            self.numbers[s.ins[k]].uses += 1
        s.out = self.new_number(made)
        self.numbers[s.out].maker = self.n_steps
        self.n_steps += 1
        return s.out

    cdef int step_on_array(self, int kind, int op, int typenum, int made, int n_in, const int *ins) except -1:
        """A step on elements of arrays, where the same elements may meet again."""
        cdef tuple key
        if op == OP_ABSORB_MUL and (ins[0] == ZERO or ins[1] == ZERO):
            return ZERO
        key = (kind, op, made, ins[0], ins[1] if n_in > 1 else 0, ins[2] if n_in > 2 else 0)
        if key not in self.same:
            self.same[key] = self.new_step(kind, op, typenum, made, n_in, ins)
        return self.same[key]

    # ------------------------------------------------------------------------------------------------------- reading

    cdef int begin(self) except -1:
        """Number what is there from the start: the elements of an array one after the other."""
        cdef Program p = self.program
        cdef bytearray read = bytearray(len(p.kinds))
        cdef int slot, first, size
        self.of_slot = [None] * len(p.kinds)
        self.constants = {}
        self.same = {}
        self.new_number(cnp.NPY_DOUBLE)         # ZERO
        for step in p.steps:
            for slot in <tuple>(<tuple>step)[2]:
                read[slot] = True
        for slot in self.leaving():
            read[slot] = True
        for slot in range(len(p.kinds)):
            if <int>p.kinds[slot] == FROM_STEP or not read[slot]:
                continue
            size = product(p.shapes[slot])
            first = self.n_numbers
            for _ in range(size):
                self.new_number(p.typenums[slot])
            self.name(slot, list(range(first, first + size)))
        return 0

    cdef Py_ssize_t size(self, int slot) except -1:
        """The elements of a slot; 0 where they may be no numbers of a step."""
        return product(self.program.shapes[slot]) if is_taken(self.program.typenums[slot]) else 0

    cdef list leaving(self):
        """The slots of the results: outputs, then effects."""
        return self.program.outputs + [slot for _, slot in self.program.effects]

    cdef bint read(self) except -1:
        """Note the steps; whether all of them are such on numbers, and worth it."""
        cdef Program p = self.program
        cdef Py_ssize_t largest = 1, size, most = dg_read_shared(&LIMIT), limit = most if most == 1 else most * MOVED
        cdef tuple step
        cdef int k
        for step in p.steps:
            for slot in (<tuple>step[2]) + (step[3],):
                size = self.size(slot)
                largest = max(largest, size)
                if not 0 < size <= (limit if moves(step[0]) else most):
                    return False
        for slot in self.leaving():
            size = self.size(slot)
            largest = max(largest, size)
            if not 0 < size <= limit:
                return False
        self.begin()
        for step in p.steps:
            if not self.read_step(step) or largest > 1 and self.n_steps > MOST_STEPS:
                return False
        for slot in self.leaving():
            numbers = [k or self.zero(p.typenums[<int>slot]) for k in self.ids(slot).ravel().tolist()]
            self.name(slot, numbers)
            self.copies += self.leave(numbers)
        if largest > 1:
            note(TAKEN_APART)
        return self.n_steps > 0 and (largest == 1 or self.cost() <= WORTH * self.arrays)

    cdef int leave(self, list numbers) except -1:
        """Note that numbers are a result; how many have to be copied, as they lie elsewhere."""
        cdef int k, found = 0
        for k in numbers:
            found += self.numbers[k].leaves or self.numbers[k].maker == NO_STEP
            self.numbers[k].leaves = True
        return found

    cdef int cost(self):
        cdef int i, found = OF_A_COPY * self.copies
        for i in range(self.n_steps):
            found += 1 if self.steps[i].code != NONE else OF_A_FUNCTION
        return found

    cdef bint read_step(self, tuple step) except -1:
        """Note a step of the program; False for one that is no step on numbers."""
        cdef Program p = self.program
        cdef object params = step[1]
        cdef tuple ins = <tuple>step[2], shape
        cdef int op = step[0], out = step[3], typenum
        cdef Loop *loop
        typenum = p.typenums[<int>ins[0]] if ins else -1
        shape = p.shapes[out]
        if moves(op):
            if len(ins) == 1 and type(self.of_slot[<int>ins[0]]) is int and is_number(shape):
                note(NUMBER_RESHAPED)
                self.of_slot[out] = self.of_slot[<int>ins[0]]
                return True
            self.arrays += len(ins) if op == OP_CONCAT else 2 * (op == OP_UNSLICE)     # copies, zeros
            found = (<Primitive>PRIMITIVES[op]).tokens(
                params, [self.ids(slot) for slot in ins], shape)
            self.name(out, found.ravel().tolist())
            return True
        if op == OP_SUM or op == OP_SUM_TO:
            axes = params[0] if op == OP_SUM else added_axes(p.shapes[<int>ins[0]], shape)
            return is_real(typenum) and self.add_up(self.ids(ins[0]), axes, out)
        if op == OP_WHERE:
            return (typenum == cnp.NPY_BOOL and p.typenums[<int>ins[1]] == p.typenums[out]
                    and self.each(DG_SELECT, op, p.typenums[out], ins, out, []))
        if op == OP_CAST:
            return has_cast(typenum, p.typenums[out]) and self.each(DG_CAST, op, typenum, ins, out, [])
        if op == OP_POWER:
            return (is_real(typenum) and power_loop(typenum).fn is not NULL
                    and self.each(DG_LOOP, op, typenum, ins, out,
                                  [self.constant(typenum, params)]))
        if (params is not None or not 0 < len(ins) <= 3 or op >= N_OPS or not is_elementwise(op)
                or PRIMITIVES[op] is not NULL):
            return False
        for slot in ins:
            if <int>p.typenums[<int>slot] != typenum:
                return False
        if not lies_alike(op, typenum, [p.shapes[<int>slot] for slot in ins], shape):
            return False
        loop = find_loop(op, typenum)
        return (loop.fn is not NULL and loop.out_typenum == <int>p.typenums[out]
                and self.each(DG_LOOP, op, typenum, ins, out, []))

    cdef bint each(self, int kind, int op, int typenum, tuple ins, int out, list more) except -1:
        """A step on each element of operands, and on some numbers more."""
        cdef Program p = self.program
        cdef int[4] numbers
        cdef int k, n = len(ins) + len(more), made = p.typenums[out]
        cdef bint single = True
        cdef list operands = [self.of_slot[<int>slot] for slot in ins] + more
        for x in operands:
            single = single and type(x) is int
        self.arrays += 1
        if single and is_number(p.shapes[out]):
            for k in range(n):
                numbers[k] = operands[k]
            self.of_slot[out] = self.new_step(kind, op, typenum, made, n, numbers)
            return True
        spread = [spread_out(x, p.shapes[out]).ravel().tolist() for x in [self.ids(slot) for slot in ins] + more]
        found = []
        for together in zip(*spread):
            for k in range(n):
                numbers[k] = together[k]
            found.append(self.step_on_array(kind, op, typenum, made, n, numbers))
        self.name(out, found)
        return True

    cdef bint add_up(self, object ids, tuple axes, int out) except -1:
        """Sums along an axis, one number after the other: eager execution adds few numbers in that order, wherever they
        lie."""
        cdef list found = [], along = [axis for axis in axes if ids.shape[axis] > 1]
        cdef object lines
        if len(along) > 1 or along and ids.shape[along[0]] > FEW:
            return False
        lines = np.moveaxis(ids, along[0], -1) if along else ids.reshape((-1, 1))   # there may be no room for an axis
        for line in lines.reshape((-1, lines.shape[lines.ndim - 1])).tolist():
            found.append(self.added(line, self.program.typenums[out]) if along else line[0])
        self.arrays += len(along)
        self.name(out, found)
        return True

    cdef int added(self, list line, int typenum) except -1:
        """The sum of zero and some numbers: that of many -0 is 0, as in eager execution."""
        cdef int[2] numbers
        cdef int total = ZERO, k
        for k in line:
            numbers[0], numbers[1] = total, k
            total = self.step_on_array(DG_LOOP, OP_SUM, typenum, typenum, 2, numbers)
        return total


cdef object spread_out(object ids, tuple shape):
    """Numbers repeated up to a shape; `broadcast_to` would not tell of a lack of memory."""
    return np.add(ids, np.zeros(shape, np.uint64), dtype=np.uint64)


cdef bint lies_alike(int op, int typenum, list shapes, tuple shape) except -1:
    """Whether an element of a result does not depend on where its operands lie, as it does in some loops of NumPy's: of
    several operands, where one is repeated, or where the sign of a zero is not told."""
    if not is_real(typenum) or has_own_loop(op, typenum) or is_number(shape):
        return True
    return op != OP_FMIN and op != OP_FMAX and all([each == shape for each in shapes])


cdef tuple added_axes(tuple shape, tuple target):
    """The axes that are added up where an array is summed to a shape that broadcasts to its own."""
    cdef int lead = len(shape) - len(target), i
    return tuple([i for i in range(len(shape)) if i < lead or target[i - lead] == 1 and shape[i] != 1])


cdef Numbers numbers_of_program(Program program):
    """The steps of a program on single numbers; None where it is none, or not worth it."""
    cdef Numbers found = Numbers()
    found.program = program
    return found if found.read() else None
