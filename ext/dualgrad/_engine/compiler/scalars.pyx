"""Programs on single numbers: planned by a few passes over their steps.

Design
------
Some programs work on single numbers (an integrator, an orbit, nested derivatives of a function of one variable), or on
small arrays (scalarisation.pyx). They have many steps but few choices: no axes, tiles or neighbours. So they skip views
and operations. Products, sums and differences that are read once are fused into their reader, by the rule of
vertical_fusion.pyx. A number occupies eight bytes from the step that makes it to its last reader. Then the instructions
are written in the form that the executor reads.
"""
cimport numpy as cnp
from cpython.mem cimport PyMem_Calloc

from ..arrays.array import np
from ..arrays.array cimport Array, contiguous, from_ndarray, item_size
from ..primitives.opcodes cimport OP_ADD, OP_IDENTITY, OP_POWER, OP_SUM
from ..primitives.registry cimport Loop, find_loop
from .allocation cimport BLOCK, Memory, aligned, new_located, new_memory
from .code cimport Code, RegionCode, finish_scalars
from .executor cimport *
from .instructions cimport cast_loop, fused_loop
from .lowering cimport dtype_of, power_loop
from .partition cimport new_region
from .program cimport FROM_CONSTANT, FROM_HANDLE, FROM_INPUT, FROM_STEP, Program
from .rewrites cimport NUMBER_FUSED, NUMBER_REUSES_CELL, note
from .scalarisation cimport NO_STEP, Number, Numbers, Step, adds_up, numbers_of_program
from .vertical_fusion cimport NONE, Chain, chain_of
from .views cimport Buffer, new_buffer, packed, view

cdef enum:
    CELL = 8                        # bytes of a number


cdef class Planner:
    """Places of numbers, and the instructions."""
    cdef Numbers of
    cdef list copies                # (number, base, offset): results that also have another place

    cdef int code_taken_in(self, int number, const Step *reader) noexcept:
        """The code of the product, sum or difference that makes a number for a single reader; else NONE."""
        cdef Number *x = &self.of.numbers[number]
        cdef Step *s
        if x.maker == NO_STEP or x.uses != 1 or x.leaves:
            return NONE
        s = &self.of.steps[x.maker]
        return s.code if s.inner == NONE and adds_up(s.op) == adds_up(reader.op) else NONE

    cdef int fuse(self) except -1:
        """Fuse two or three steps into one, as vertical_fusion.pyx does."""
        cdef Step *s
        cdef int i
        cdef int[2] ins
        cdef Chain c
        for i in range(self.of.n_steps):
            s = &self.of.steps[i]
            if s.code == NONE:
                continue
            ins[0], ins[1] = s.ins[0], s.ins[1]
            c = chain_of(self.code_taken_in(ins[0], s), self.code_taken_in(ins[1], s), s.code)
            if c.inner == NONE:
                continue
            s.inner, s.outer, s.second = c.inner, c.outer, c.second
            s.n_in = 0
            if c.left:
                self.take_in(s, ins[0])
            if c.right:
                self.take_in(s, ins[1])
            else:
                s.ins[2] = ins[1]
                s.n_in = 3
            if not c.left:
                s.ins[2] = ins[0]
                s.n_in = 3
            note(NUMBER_FUSED)
        return 0

    cdef int take_in(self, Step *s, int number) noexcept:
        """Replace an operand by the operands of the step that makes it."""
        cdef Step *maker = &self.of.steps[self.of.numbers[number].maker]
        s.ins[s.n_in] = maker.ins[0]
        s.ins[s.n_in + 1] = maker.ins[1]
        s.n_in += 2
        maker.gone = True
        return 0

    cdef int find(self, list memories, dict at) except -1:
        """Find places for arrays that exist from the start; `at`: numbers -> the memory that holds them."""
        cdef Program p = self.of.program
        cdef Memory found
        cdef Buffer r
        cdef int slot
        for slot in range(len(p.kinds)):
            kind = <int>p.kinds[slot]
            if kind == FROM_STEP or kind == FROM_CONSTANT and self.of.of_slot[slot] is None:
                continue
            source = p.sources[slot]
            if kind == FROM_CONSTANT:
                source = contiguous(<Array>source)
            name = "input" if kind == FROM_INPUT else "handle" if kind == FROM_HANDLE else "constant"
            r = new_buffer(p.typenums[slot], p.shapes[slot], None)
            found = new_memory(memories, r, name, source)
            if self.of.of_slot[slot] is not None:
                self.hold(self.of.ids(slot).ravel().tolist(), r, found, at)
        for (typenum, held), number in self.of.constants.items():
            r = new_buffer(typenum, (), None)
            a = np.frombuffer(held, dtype_of(typenum)).reshape(()).copy()
            self.hold([number], r, new_memory(memories, r, "constant", from_ndarray(a)), at)
        return 0

    cdef int hold(self, list numbers, Buffer r, Memory memory, dict at) except -1:
        """Place numbers in a memory, one after the other. Numbers that already have a place are copied to it."""
        cdef Number *x
        cdef int k, i
        at[tuple(numbers)] = memory
        for i, k in enumerate(numbers):
            x = &self.of.numbers[k]
            if x.base == NO_STEP:
                x.base = memory.base
                x.offset = i * <int>r.item
            else:
                self.copies.append((k, memory.base, i * r.item))
        return 0

    cdef Py_ssize_t place(self, list memories, list results) except -1:
        """Find a place for each number; return the bytes of the numbers that stay inside of the program."""
        cdef Program p = self.of.program
        cdef Number *x
        cdef Step *s
        cdef dict at = {}               # numbers -> the memory that holds them
        cdef list free = [], numbers
        cdef Memory found
        cdef Buffer r
        cdef int i, k, slot, end = 0
        self.copies = []
        self.find(memories, at)
        for slot in self.of.leaving():
            numbers = self.of.ids(slot).ravel().tolist()
            shape = p.shapes[slot]
            if tuple(numbers) not in at:
                r = new_buffer(p.typenums[slot], shape, None)
                self.hold(numbers, r, new_memory(memories, r, "result", None), at)
            found = at[tuple(numbers)]
            r = <Buffer>found.identity
            results.append(new_located(view(r, 0, shape, packed(shape, r.item)), found.base, 0))
        for i in range(self.of.n_steps):
            s = &self.of.steps[i]
            if not s.gone:
                for k in range(s.n_in):
                    self.of.numbers[s.ins[k]].last = i
        for i in range(self.of.n_steps):
            s = &self.of.steps[i]
            if s.gone:
                continue
            x = &self.of.numbers[s.out]
            if x.base == NO_STEP:
                x.base = BLOCK
                if free:
                    x.offset = free.pop()
                    note(NUMBER_REUSES_CELL)
                else:
                    x.offset = end
                    end += CELL
            for k in range(s.n_in):
                x = &self.of.numbers[s.ins[k]]
                if x.base == BLOCK and x.last == i:
                    x.last = NO_STEP     # free an operand only once, even if it is used twice
                    free.append(x.offset)
        return end

    cdef int write(self, RegionCode made) except -1:
        """Write the instructions."""
        cdef dg_instruction *p
        cdef Number *x
        cdef int i, k, n = <int>len(self.copies)
        for i in range(self.of.n_steps):
            n += not self.of.steps[i].gone
        made.count = n
        made.code = <dg_instruction *>PyMem_Calloc(n, sizeof(dg_instruction))
        if made.code is NULL:
            raise MemoryError()
        made.listing = []
        p = made.code
        for i in range(self.of.n_steps):
            if not self.of.steps[i].gone:
                made.listing.append(self.instruction(&self.of.steps[i], p))
                p += 1
        for k, base, offset in self.copies:
            x = &self.of.numbers[k]
            p.kind = DG_COPY
            p.n_in = 1
            p.high = p.width = 1
            p.item = p.step[0] = p.step[1] = item_size(x.typenum)
            p.arg[0].base, p.arg[0].offset = x.base, x.offset
            p.arg[1].base, p.arg[1].offset = base, offset
            made.listing.append((OP_IDENTITY, x.typenum, None))
            p += 1
        return 0

    cdef tuple instruction(self, const Step *s, dg_instruction *p):
        """Fill in the instruction of a step; return its entry in the listing."""
        cdef Number *x
        cdef Loop *loop
        cdef int k, op
        p.kind = s.kind
        p.n_in = s.n_in
        p.high = p.width = 1
        p.item = item_size(self.of.numbers[s.out].typenum)
        for k in range(s.n_in + 1):
            x = &self.of.numbers[s.out if k == s.n_in else s.ins[k]]
            p.arg[k].base = x.base
            p.arg[k].offset = x.offset
            p.step[k] = item_size(x.typenum)
        if s.op == OP_POWER:
            p.step[1] = 0                   # the exponent is one number, as in eager execution
        if s.inner != NONE:
            p.fn = fused_loop(s.inner, s.outer, s.second, s.typenum == cnp.NPY_DOUBLE)
            return s.op, s.typenum, (s.inner, s.outer, s.second, None)
        if s.kind == DG_CAST:
            p.fn = cast_loop(s.typenum, self.of.numbers[s.out].typenum)
            return s.op, s.typenum, self.of.numbers[s.out].typenum
        if s.kind == DG_LOOP:
            op = OP_ADD if s.op == OP_SUM else s.op
            loop = power_loop(s.typenum) if op == OP_POWER else find_loop(op, s.typenum)
            p.fn = loop.fn
            p.data = loop.data
        return s.op, s.typenum, None


cdef Code code_of_numbers(Program program):
    """The code of a program on few numbers; None for any other program."""
    cdef Planner planner = Planner()
    cdef RegionCode made
    cdef Code code
    planner.of = numbers_of_program(program)
    if planner.of is None:
        return None
    planner.fuse()
    made = RegionCode()
    made.region = new_region(0, None, [])
    made.totals = []
    made.lookups = []
    made.kept = []
    made.block = made.n_rows = made.workers = 1
    code = Code()
    code.memories = []
    code.results = []
    code.regions = [made]
    code.block_bytes = made.block_bytes = aligned(planner.place(code.memories, code.results))
    planner.write(made)
    finish_scalars(made)
    return code
