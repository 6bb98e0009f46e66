"""Programs on single numbers: planned by a few passes over their steps.

Design
------
A program in which every array is one number (an integrator, an orbit, nested derivatives of a function of one
variable) has many steps and little to choose: no axes, no blocks, no neighbours. So it does not go through views and
operations. Steps that only give a number another shape are the number itself; products, sums and differences that are
read once are done with their reader, by the rule of vertical_fusion.pyx; a number has eight bytes from the step that
makes it to the last one that reads it; and what is left is written down as the executor reads it.
"""
cimport numpy as cnp
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc

from ..arrays.array cimport Array, contiguous, item_size
from ..primitives.opcodes cimport *
from ..primitives.registry cimport PRIMITIVES, Loop, find_loop, is_elementwise
from .allocation cimport BLOCK, Memory, aligned, new_located, new_memory
from .code cimport Code, RegionCode, finish_scalars
from .executor cimport *
from .instructions cimport fused_loop
from .partition cimport new_region
from .program cimport FROM_CONSTANT, FROM_HANDLE, FROM_INPUT, FROM_STEP, Program
from .rewrites cimport NUMBER_FUSED, NUMBER_RESHAPED, NUMBER_REUSES_CELL, note
from .vertical_fusion cimport NONE, Chain, chain_of, code_of_primitive
from .views cimport Buffer, new_buffer, packed, view

cdef enum:
    CELL = 8                        # bytes of a number
    NO_STEP = -1

cdef struct Step:
    int op
    int code                        # of a product, sum or difference; NONE for anything else
    int inner, outer, second        # where several are done at once; inner is NONE where not
    int n_in
    int ins[4]                      # slots
    int out
    bint gone                       # done with its reader


cdef struct Number:                 # what is known of a slot
    int same                        # the slot whose number it is
    int maker                       # the step that makes it, NO_STEP for what is there from the start
    int uses                        # how often it is read
    int last                        # the last step that reads it
    bint leaves                     # it is a result of the program
    int base
    int offset


cdef bint is_number(tuple shape):
    for n in shape:
        if n != 1:
            return False
    return True


cdef bint only_reshapes(int op, object params):
    """Whether a step gives its operand, which is one number, another shape."""
    return (op == OP_RESHAPE or op == OP_TRANSPOSE or op == OP_BROADCAST_TO or op == OP_IDENTITY or op == OP_SLICE
            or op == OP_SUM or op == OP_SUM_TO or op == OP_UNSLICE)


cdef class Planner:
    cdef Program program
    cdef Step *steps
    cdef Number *numbers
    cdef int count                  # steps

    def __dealloc__(self):
        PyMem_Free(self.steps)
        PyMem_Free(self.numbers)

    cdef bint read(self) except -1:
        """Note the steps; whether they all are on single floating-point numbers of one type each."""
        cdef Program p = self.program
        cdef Py_ssize_t n = len(p.kinds), i
        cdef int op, k, typenum
        cdef tuple step, ins
        cdef Step *s
        self.steps = <Step *>PyMem_Malloc(max(1, len(p.steps)) * sizeof(Step))
        self.numbers = <Number *>PyMem_Malloc(max(1, n) * sizeof(Number))
        if self.steps is NULL or self.numbers is NULL:
            raise MemoryError()
        for i in range(n):
            self.numbers[i] = Number(<int>i, NO_STEP, 0, NO_STEP, False, NO_STEP, 0)
        for step in p.steps:
            op = step[0]
            ins = <tuple>step[2]
            k = step[3]
            typenum = p.typenums[k]
            if typenum != cnp.NPY_DOUBLE and typenum != cnp.NPY_FLOAT or not is_number(p.shapes[k]):
                return False
            for slot in ins:
                if <int>p.typenums[<int>slot] != typenum or not is_number(p.shapes[<int>slot]):
                    return False
            if only_reshapes(op, step[1]):
                note(NUMBER_RESHAPED)
                self.numbers[k].same = self.numbers[<int>ins[0]].same
                continue
            if (step[1] is not None or len(ins) > 3 or op >= N_OPS or not is_elementwise(op)
                    or PRIMITIVES[op] is not NULL
                    or find_loop(op, typenum).fn is NULL or find_loop(op, typenum).out_typenum != typenum):
                return False
            s = &self.steps[self.count]
            s.op = op
            s.code = code_of_primitive(op)
            s.inner = s.outer = s.second = NONE
            s.n_in = len(ins)
            s.out = k
            s.gone = False
            for k in range(s.n_in):
                s.ins[k] = self.numbers[<int>ins[k]].same
                self.numbers[s.ins[k]].uses += 1
            self.numbers[s.out].maker = self.count
            self.count += 1
        for slot in p.outputs:
            self.numbers[self.numbers[<int>slot].same].leaves = True
        for _, slot in p.effects:
            self.numbers[self.numbers[<int>slot].same].leaves = True
        return self.count > 0

    cdef int code_taken_in(self, int slot) noexcept:
        """The code of the product, sum or difference that makes a number for one reader alone; NONE for anything
        else."""
        cdef Number *x = &self.numbers[slot]
        cdef Step *s
        if x.maker == NO_STEP or x.uses != 1 or x.leaves:
            return NONE
        s = &self.steps[x.maker]
        return s.code if s.inner == NONE else NONE

    cdef int fuse(self) except -1:
        """Two or three in one, as vertical_fusion.pyx does it."""
        cdef Step *s
        cdef int i
        cdef int[2] ins
        cdef Chain c
        for i in range(self.count):
            s = &self.steps[i]
            if s.code == NONE:
                continue
            ins[0], ins[1] = s.ins[0], s.ins[1]
            c = chain_of(self.code_taken_in(ins[0]), self.code_taken_in(ins[1]), s.code)
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

    cdef int take_in(self, Step *s, int slot) noexcept:
        """The operands of the step that makes a number in place of the number."""
        cdef Step *maker = &self.steps[self.numbers[slot].maker]
        s.ins[s.n_in] = maker.ins[0]
        s.ins[s.n_in + 1] = maker.ins[1]
        s.n_in += 2
        maker.gone = True
        return 0

    cdef Py_ssize_t place(self, list memories, list results) except -1:
        """Find a place for each number; returns the bytes of those that stay inside."""
        cdef Program p = self.program
        cdef Number *x
        cdef Step *s
        cdef dict at = {}               # slot -> where a run finds it
        cdef list free = []
        cdef Memory found
        cdef Buffer r
        cdef int i, k, slot, end = 0
        for slot in range(len(p.kinds)):
            x = &self.numbers[slot]
            kind = <int>p.kinds[slot]
            if kind == FROM_STEP or kind == FROM_CONSTANT and x.uses == 0 and not x.leaves:
                continue
            source = p.sources[slot]
            if kind == FROM_CONSTANT:
                source = contiguous(<Array>source)
            name = "input" if kind == FROM_INPUT else "handle" if kind == FROM_HANDLE else "constant"
            found = new_memory(memories, new_buffer(p.typenums[slot], p.shapes[slot], None), name, source)
            x.base = found.base
            at[slot] = found
        for leaving in p.outputs + [slot for _, slot in p.effects]:
            slot = self.numbers[<int>leaving].same
            if slot not in at:
                r = new_buffer(p.typenums[slot], p.shapes[<int>leaving], None)
                at[slot] = found = new_memory(memories, r, "result", None)
                self.numbers[slot].base = found.base
            found = at[slot]
            r = <Buffer>found.identity
            shape = p.shapes[<int>leaving]
            results.append(new_located(view(r, 0, shape, packed(shape, r.item)), found.base, 0))
        for i in range(self.count):
            s = &self.steps[i]
            if not s.gone:
                for k in range(s.n_in):
                    self.numbers[s.ins[k]].last = i
        for i in range(self.count):
            s = &self.steps[i]
            if s.gone:
                continue
            x = &self.numbers[s.out]
            if x.base == NO_STEP:
                x.base = BLOCK
                if free:
                    x.offset = free.pop()
                    note(NUMBER_REUSES_CELL)
                else:
                    x.offset = end
                    end += CELL
            for k in range(s.n_in):
                x = &self.numbers[s.ins[k]]
                if x.base == BLOCK and x.last == i:
                    x.last = NO_STEP     # one operand twice is given back once
                    free.append(x.offset)
        return end

    cdef int write(self, RegionCode made) except -1:
        """The instructions."""
        cdef Step *s
        cdef dg_instruction *p
        cdef Number *x
        cdef Loop *loop
        cdef int i, k, typenum, n = 0
        for i in range(self.count):
            n += not self.steps[i].gone
        made.count = n
        made.code = <dg_instruction *>PyMem_Calloc(n, sizeof(dg_instruction))
        if made.code is NULL:
            raise MemoryError()
        made.listing = []
        p = made.code
        for i in range(self.count):
            s = &self.steps[i]
            if s.gone:
                continue
            typenum = self.program.typenums[s.out]
            p.kind = DG_LOOP
            p.n_in = s.n_in
            p.high = p.width = 1
            p.item = p.step[s.n_in] = item_size(typenum)
            for k in range(s.n_in + 1):
                x = &self.numbers[s.out if k == s.n_in else s.ins[k]]
                p.arg[k].base = x.base
                p.arg[k].offset = x.offset
            if s.inner == NONE:
                loop = find_loop(s.op, typenum)
                p.fn = loop.fn
                p.data = loop.data
                made.listing.append((s.op, typenum, None))
            else:
                p.fn = fused_loop(s.inner, s.outer, s.second, typenum == cnp.NPY_DOUBLE)
                made.listing.append((s.op, typenum, (s.inner, s.outer, s.second, None)))
            p += 1
        return 0


cdef Code code_of_numbers(Program program):
    """The code of a program on single numbers; None for any other program."""
    cdef Planner planner = Planner()
    cdef RegionCode made
    cdef Code code
    planner.program = program
    if not planner.read():
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
