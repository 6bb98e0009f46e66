"""Programs on single numbers: planned by a few passes over their steps.

Design
------
A program in which every array is one number (an integrator, an orbit, nested derivatives of a function of one
variable) has many steps and little to choose: no axes, no blocks, no neighbours. So it does not go through views and
operations. Steps that only give a number another shape are the number itself; products, sums and differences that are
read once are done with their reader, as in vertical_fusion.pyx; a number has eight bytes from the step that makes it to
the last one that reads it; and what is left is written down as the executor reads it, in both of its forms.
"""
cimport numpy as cnp
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.string cimport memset

from ..arrays.array cimport Array, contiguous, item_size
from .codegen cimport BLOCK, add_root
from .instructions cimport NUMBERS, dg_fused_loop
from .executor cimport *
from .vertical_fusion cimport ABSORB, ADD, BUS, NONE, SUB, code_of_primitive
from ..primitives.opcodes cimport *
from .allocation cimport aligned
from ..primitives.registry cimport PRIMITIVES, Loop, find_loop, is_elementwise
from .program cimport FROM_CONSTANT, FROM_HANDLE, FROM_INPUT, FROM_STEP, Program
from .partition cimport Region
from .views cimport Root, new_root, packed, view, view_of

cdef enum:
    CELL = 8                        # bytes of a number
    NOBODY = -1

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
    int maker                       # the step that makes it, NOBODY for what is there from the start
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
            self.numbers[i] = Number(<int>i, NOBODY, 0, NOBODY, False, NOBODY, 0)
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

    cdef Step *taken_in(self, int slot) noexcept:
        """The product, sum or difference that makes a number for one reader alone."""
        cdef Number *x = &self.numbers[slot]
        cdef Step *s
        if x.maker == NOBODY or x.uses != 1 or x.leaves:
            return NULL
        s = &self.steps[x.maker]
        return s if s.code != NONE and s.inner == NONE else NULL

    cdef int fuse(self) except -1:
        """Two or three in one, as vertical_fusion.pyx does it."""
        cdef Step *s
        cdef Step *a
        cdef Step *b
        cdef int i, other
        for i in range(self.count):
            s = &self.steps[i]
            if s.code == NONE:
                continue
            a = self.taken_in(s.ins[0])
            b = self.taken_in(s.ins[1])
            if a is not NULL and b is not NULL and (s.code < ADD or a.code > ABSORB or b.code > ABSORB):
                b = NULL
            if a is not NULL:
                other = s.ins[1]
                s.inner = a.code
                s.outer = s.code
                s.ins[0] = a.ins[0]
                s.ins[1] = a.ins[1]
                s.n_in = 3
                s.ins[2] = other
                a.gone = True
                if b is not NULL:
                    s.second = b.code
                    s.ins[2] = b.ins[0]
                    s.ins[3] = b.ins[1]
                    s.n_in = 4
                    b.gone = True
            elif b is not NULL:
                other = s.ins[0]
                s.inner = b.code
                s.outer = BUS if s.code == SUB else s.code
                s.ins[0] = b.ins[0]
                s.ins[1] = b.ins[1]
                s.ins[2] = other
                s.n_in = 3
                b.gone = True
        return 0

    cdef int place(self, list roots, list results) except -1:
        """Find a place for each number; returns the bytes of those that stay inside."""
        cdef Program p = self.program
        cdef Number *x
        cdef Step *s
        cdef dict at = {}               # slot -> root
        cdef list free = []
        cdef Root r
        cdef int i, k, slot, end = 0
        for slot in range(len(p.kinds)):
            x = &self.numbers[slot]
            kind = <int>p.kinds[slot]
            if kind == FROM_STEP or kind == FROM_CONSTANT and x.uses == 0 and not x.leaves:
                continue
            source = p.sources[slot]
            if kind == FROM_CONSTANT:
                source = contiguous(<Array>source)
            r = new_root(p.typenums[slot], p.shapes[slot],
                         ("input" if kind == FROM_INPUT else "handle" if kind == FROM_HANDLE else "constant", source))
            add_root(roots, r)
            x.base = r.base
            at[slot] = r
        for leaving in p.outputs + [slot for _, slot in p.effects]:
            slot = self.numbers[<int>leaving].same
            if slot not in at:
                r = new_root(p.typenums[slot], p.shapes[<int>leaving], None)
                r.outside = True
                add_root(roots, r)
                self.numbers[slot].base = r.base
                at[slot] = r
            r = at[slot]
            shape = p.shapes[<int>leaving]
            results.append(view_of(r) if r.shape == shape else view(r, 0, shape, packed(shape, r.item)))
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
            if x.base == NOBODY:
                x.base = BLOCK
                if free:
                    x.offset = free.pop()
                else:
                    x.offset = end
                    end += CELL
            for k in range(s.n_in):
                x = &self.numbers[s.ins[k]]
                if x.base == BLOCK and x.last == i:
                    x.last = NOBODY     # one operand twice is given back once
                    free.append(x.offset)
        return end

    cdef int write(self, Region region) except -1:
        """Both forms of the instructions."""
        cdef Step *s
        cdef dg_instruction *p
        cdef dg_scalar *c
        cdef Number *x
        cdef Loop *loop
        cdef int i, k, typenum, n = 0
        for i in range(self.count):
            n += not self.steps[i].gone
        region.count = n
        region.code = <dg_instruction *>PyMem_Malloc(n * sizeof(dg_instruction))
        region.scalars = <dg_scalar *>PyMem_Malloc(n * sizeof(dg_scalar))
        if region.code is NULL or region.scalars is NULL:
            raise MemoryError()
        memset(region.code, 0, n * sizeof(dg_instruction))
        memset(region.scalars, 0, n * sizeof(dg_scalar))
        region.listing = []
        p = region.code
        c = region.scalars
        for i in range(self.count):
            s = &self.steps[i]
            if s.gone:
                continue
            typenum = self.program.typenums[s.out]
            p.kind = DG_LOOP
            p.n_in = c.n_in = s.n_in
            p.high = p.width = 1
            p.item = p.step[s.n_in] = item_size(typenum)
            c.wide = typenum == cnp.NPY_DOUBLE
            for k in range(s.n_in + 1):
                x = &self.numbers[s.out if k == s.n_in else s.ins[k]]
                p.arg[k].base = c.base[k] = x.base
                p.arg[k].offset = c.offset[k] = x.offset
            if s.inner == NONE:
                loop = find_loop(s.op, typenum)
                p.fn = loop.fn
                p.data = loop.data
                c.op = NUMBERS.get(s.op, DG_S_CALL)
                region.listing.append((s.op, typenum, None))
            else:
                p.fn = dg_fused_loop(s.inner, s.outer, s.second, c.wide)
                c.op = DG_S_FUSED_3 if s.n_in == 3 else DG_S_FUSED_4
                c.inner = s.inner
                c.outer = s.outer
                c.second = s.second
                region.listing.append((s.op, typenum, (s.inner, s.outer, s.second, None)))
            c.fn = p.fn
            c.data = p.data
            p += 1
            c += 1
        return 0


cdef Region region_of_numbers(Program program, list roots, list results):
    """The one region of a program on single numbers, its roots and results; None for any other program."""
    cdef Planner planner = Planner()
    cdef Region region
    planner.program = program
    if not planner.read():
        return None
    planner.fuse()
    region = Region()
    region.operations = []
    region.totals = []
    region.lookups = []
    region.block = region.n_rows = region.workers = 1
    region.block_bytes = aligned(planner.place(roots, results))
    planner.write(region)
    return region
