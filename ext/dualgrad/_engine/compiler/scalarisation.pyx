"""Scalarisation: turn a program on small arrays into steps on single numbers.

Design
------
An instruction on a whole array costs about as much as six on single numbers, since it handles rows, tiles and strides.
So in arrays with few elements (the state of an integrator, a 3-vector, a small matrix) each element becomes a number of
its own. Then reshapes, slices, concatenations and broadcasts need no steps. An array becomes an array of number ids,
and these operations move the ids. A sum of few numbers becomes additions. Apart from its speed, a scalarised program
equals eager execution bit for bit. A library rounds matrix products in its own ways, so a program with such a product
is not scalarised.

A program in which every array is one number takes the same path. There the number of steps stays the same, so such a
program may be long; others must be worth it.
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
    LARGEST = 64                    # most elements of an array that is computed element by element
    MOVED = 64                      # an array may have this many times as many elements if they are only moved
    MOST_STEPS = 20000              # most steps on single numbers, if the program has arrays
    WORTH = 6                       # steps on single numbers that take as long as an instruction on an array
    OF_A_FUNCTION = 3               # cost, in such steps, of a function such as exp
    OF_A_COPY = 2                   # and of a copied number
    FEW = 7                         # most terms of a sum that NumPy adds in order

cdef extern from "memory/shared.h":
    long long dg_read_shared(long long *counter) noexcept
    void dg_write_shared(long long *counter, long long n) noexcept

cdef long long LIMIT = LARGEST


def largest_array(Py_ssize_t elements=-1):
    """Limit scalarised arrays to this many elements; 1 for none, -1 leaves the limit as it is. Return the former
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
    """True if a step on single numbers may have operands of this dtype."""
    return (typenum == cnp.NPY_DOUBLE or typenum == cnp.NPY_FLOAT or typenum == cnp.NPY_BOOL
            or typenum == cnp.NPY_INT or typenum == cnp.NPY_LONG or typenum == cnp.NPY_LONGLONG)


cdef bint moves(int op) noexcept:
    """True if all elements of a result are elements of the operands, or zeros."""
    return (op == OP_RESHAPE or op == OP_TRANSPOSE or op == OP_BROADCAST_TO or op == OP_IDENTITY or op == OP_SLICE
            or op == OP_UNSLICE or op == OP_CONCAT)


cdef void *more_room(void *memory, int *room, size_t nbytes) except NULL:
    """Grow an array of items of `nbytes` bytes to more than twice its room."""
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
        """The number that holds a constant."""
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
        """Set the numbers of the elements of a slot, in order."""
        self.of_slot[slot] = (int(found[0]) if len(found) == 1
                              else np.array(found, np.uint64).reshape(self.program.shapes[slot]))
        return 0

    cdef int new_step(self, int kind, int op, int typenum, int made, int n_in, const int *ins) except -1:
        """Add a step that makes a number of dtype `made`; return that number."""
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
        """Add a step on elements of arrays, or return the number of an equal step."""
        cdef tuple key
        if op == OP_ABSORB_MUL and (ins[0] == ZERO or ins[1] == ZERO):
            return ZERO
        key = (kind, op, made, ins[0], ins[1] if n_in > 1 else 0, ins[2] if n_in > 2 else 0)
        if key not in self.same:
            self.same[key] = self.new_step(kind, op, typenum, made, n_in, ins)
        return self.same[key]

    # ------------------------------------------------------------------------------------------------------- reading

    cdef int begin(self) except -1:
        """Number the arrays that exist from the start; the elements of an array get consecutive numbers."""
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
        """The number of elements of a slot; 0 if they cannot be operands of a step."""
        return product(self.program.shapes[slot]) if is_taken(self.program.typenums[slot]) else 0

    cdef list leaving(self):
        """The slots of the results: outputs, then effects."""
        return self.program.outputs + [slot for _, slot in self.program.effects]

    cdef bint read(self) except -1:
        """Read all steps; False if some cannot work on single numbers, or scalarisation does not pay."""
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
        """Mark numbers as a result; return how many must be copied, because they also have another place."""
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
        """Read a step of the program; False if it cannot work on single numbers."""
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
            self.arrays += len(ins) if op == OP_CONCAT else 2 * (op == OP_UNSLICE)     # copies and zeros
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
        """Add a step for each element of the operands. `more`: numbers that are further operands."""
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
        """Add up elements along an axis in order. Eager execution also adds few numbers in this order, whatever their
        strides."""
        cdef list found = [], along = [axis for axis in axes if ids.shape[axis] > 1]
        cdef object lines
        if len(along) > 1 or along and ids.shape[along[0]] > FEW:
            return False
        lines = np.moveaxis(ids, along[0], -1) if along else ids.reshape((-1, 1))   # MAX_DIMS axes leave no room
        for line in lines.reshape((-1, lines.shape[lines.ndim - 1])).tolist():
            found.append(self.added(line, self.program.typenums[out]) if along else line[0])
        self.arrays += len(along)
        self.name(out, found)
        return True

    cdef int added(self, list line, int typenum) except -1:
        """Sum numbers, starting from zero: as in eager execution, a sum of -0 only is 0."""
        cdef int[2] numbers
        cdef int total = ZERO, k
        for k in line:
            numbers[0], numbers[1] = total, k
            total = self.step_on_array(DG_LOOP, OP_SUM, typenum, typenum, 2, numbers)
        return total


cdef object spread_out(object ids, tuple shape):
    """Broadcast numbers to a shape. Unlike `broadcast_to`, this raises an error if memory is short."""
    return np.add(ids, np.zeros(shape, np.uint64), dtype=np.uint64)


cdef bint lies_alike(int op, int typenum, list shapes, tuple shape) except -1:
    """True if an element of a result does not depend on the strides of the operands. In some of NumPy's loops it does:
    with several operands of which one is repeated, or where the sign of a zero is undefined."""
    if not is_real(typenum) or has_own_loop(op, typenum) or is_number(shape):
        return True
    return op != OP_FMIN and op != OP_FMAX and all([each == shape for each in shapes])


cdef tuple added_axes(tuple shape, tuple target):
    """The axes to sum over, to get from a shape to a target that broadcasts to it."""
    cdef int lead = len(shape) - len(target), i
    return tuple([i for i in range(len(shape)) if i < lead or target[i - lead] == 1 and shape[i] != 1])


cdef Numbers numbers_of_program(Program program):
    """The steps of a program on single numbers; None if scalarisation is impossible or does not pay."""
    cdef Numbers found = Numbers()
    found.program = program
    return found if found.read() else None
