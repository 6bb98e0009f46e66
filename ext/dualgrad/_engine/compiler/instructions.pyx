"""Instructions, as the executor reads them.

Design
------
While a region is emitted each of its instructions is an object around the structure that the executor reads
(executor/executor.h), with the loop that it calls. When their number is known they become one array. A region that is
mostly work on single numbers gets a second, smaller form: a long program of that kind is bound by the memory of its
instructions.
"""
cimport numpy as cnp
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.string cimport memset

from ..arrays.array cimport Array
from .executor cimport *
from .lowering cimport add_loop, matmul_loop, power_loop
from ..primitives.opcodes cimport (OP_ABSORB_MUL, OP_ADD, OP_DIV, OP_GATHER, OP_MATMUL, OP_MUL, OP_NEG, OP_POWER,
                                   OP_RECIPROCAL, OP_SCATTER_ADD, OP_SQUARE, OP_SUB)
from ..primitives.registry cimport Loop, find_loop
from .partition cimport Region


cdef class Instruction:

    cdef int operand(self, int k, tuple place) except -1:
        """Where an operand, or the result, lies."""
        cdef dg_operand *arg = &self.code.arg[k]
        arg.base = place[0]
        arg.offset = place[1]
        arg.row = place[2]
        arg.local = place[3]
        return 0

    cdef int steps(self, list steps) except -1:
        """Bytes from element to element of each operand and of the result."""
        cdef int k
        for k in range(len(steps)):
            self.code.step[k] = steps[k]
        return 0

    cdef int calls(self, int op, int typenum, object detail) except -1:
        """The elementwise loop of a primitive; `detail`: how it is fused, or the type that a conversion has."""
        cdef Loop *loop
        self.primitive = op, typenum, detail
        if self.code.kind == DG_CAST:
            self.code.fn = dg_cast_loop(typenum, detail)
        elif self.code.kind == DG_LOOP and detail is not None:
            self.code.fn = dg_fused_loop(detail[0], detail[1], detail[2], typenum == cnp.NPY_DOUBLE)
            if detail[3] is not None:           # held by the region's listing
                self.code.data = (<Array>detail[3]).data
        elif self.code.kind == DG_LOOP:
            loop = power_loop(typenum) if op == OP_POWER else find_loop(op, typenum)
            self.code.fn = loop.fn
            self.code.data = loop.data
        return 0

    cdef int multiplies(self, int typenum, list dims, list strides) except -1:
        """A product, of stacks of matrices: (stack, m, k, n), and where each of the nine strides leads."""
        cdef Loop *loop = matmul_loop(typenum)
        cdef int k
        for k in range(4):
            self.code.dims[k] = dims[k]
        for k in range(9):
            self.code.strides[k] = strides[k]
        self.code.fn = loop.fn
        self.code.data = loop.data
        own = product_loop(typenum, dims[1], dims[2], dims[3], strides[4])
        if own is not NULL and self.code.strides[8] == (8 if typenum == cnp.NPY_DOUBLE else 4):
            self.code.fn = own
        self.primitive = OP_MATMUL, typenum, None
        return 0

    cdef int totals(self, int typenum) except -1:
        """What the instruction makes is added up."""
        cdef Loop *loop = add_loop(typenum)
        if self.code.kind == DG_SUM_ALL:
            self.code.fn = loop.fn
            self.code.data = loop.data
        else:
            self.code.add = loop.fn
            self.code.add_data = loop.data
        if self.primitive is None:
            self.primitive = OP_ADD, typenum, None
        return 0

    cdef int picks(self, int typenum, bint wide, Py_ssize_t width, tuple extents, tuple strides) except -1:
        """Picks by index arrays along some axes."""
        cdef int k
        cdef dg_picks *p = &self.code.picks
        p.count = <int>len(extents)
        p.wide = wide
        p.width = width
        for k in range(p.count):
            p.step[k] = self.code.step[k + 1]
            p.extent[k] = extents[k]
            p.stride[k] = strides[k]
        self.primitive = OP_GATHER if self.code.kind == DG_GATHER else OP_SCATTER_ADD, typenum, None
        return 0


cdef dg_loop product_loop(int typenum, Py_ssize_t m, Py_ssize_t k, Py_ssize_t n, Py_ssize_t step):
    """Our own loop for products of a type and of such extents, -1 for many; NULL where the library's is as fast."""
    if typenum != cnp.NPY_FLOAT and typenum != cnp.NPY_DOUBLE:
        return NULL
    return dg_product_loop(m, k, n, step, typenum == cnp.NPY_DOUBLE)


cdef Instruction new_instruction(int kind, list places, Py_ssize_t item):
    """An instruction that reads from all places but the last, where its result goes."""
    cdef Instruction made = Instruction()
    cdef int k
    made.code.kind = kind
    made.code.n_in = <int>len(places) - 1
    made.code.item = item
    made.code.high = UNBOUND
    for k in range(len(places)):
        made.operand(k, places[k])
    return made


cdef int finish_code(Region region, list code) except -1:
    """The instructions behind each other."""
    cdef Py_ssize_t i
    PyMem_Free(region.code)
    region.listing = [(<Instruction>x).primitive for x in code]
    region.count = len(code)
    region.code = <dg_instruction *>PyMem_Malloc(max(1, region.count) * sizeof(dg_instruction))
    if region.code is NULL:
        raise MemoryError()
    for i in range(region.count):
        region.code[i] = (<Instruction>code[i]).code
    return 0


cdef int finish_scalars(Region region) except -1:
    """The instructions once more, as far as they are on single numbers, if most of them are."""
    cdef Py_ssize_t i, n = 0
    cdef int k
    cdef dg_instruction *p
    cdef dg_scalar *s
    if region.rows is not None:
        return 0
    for i in range(region.count):
        n += on_numbers(&region.code[i])
    if 2 * n < region.count or n < 2:
        return 0
    region.scalars = <dg_scalar *>PyMem_Malloc(region.count * sizeof(dg_scalar))
    if region.scalars is NULL:
        raise MemoryError()
    memset(region.scalars, 0, region.count * sizeof(dg_scalar))
    for i in range(region.count):
        p = &region.code[i]
        s = &region.scalars[i]
        s.op = DG_S_OTHER
        if not on_numbers(p):
            continue
        op, typenum, together = <tuple>region.listing[i]
        s.op = DG_S_CALL
        s.fn = p.fn
        s.data = p.data
        s.n_in = p.n_in
        for k in range(p.n_in + 1):
            s.base[k] = p.arg[k].base
            s.offset[k] = <int>p.arg[k].offset
        if typenum != cnp.NPY_DOUBLE and typenum != cnp.NPY_FLOAT:
            continue
        s.wide = typenum == cnp.NPY_DOUBLE
        if together is not None:
            s.inner, s.outer, s.second, _ = <tuple>together
            s.op = DG_S_FUSED_3 if p.n_in == 3 else DG_S_FUSED_4
        else:
            s.op = NUMBERS.get(op, DG_S_CALL)
    return 0


# Operations on single numbers that need no call; products and sums as executor/fused.h numbers them.
cdef dict NUMBERS = {OP_MUL: 0, OP_ABSORB_MUL: 1, OP_ADD: 2, OP_SUB: 3, OP_NEG: DG_S_NEG, OP_SQUARE: DG_S_SQUARE,
                     OP_DIV: DG_S_DIV, OP_RECIPROCAL: DG_S_RECIPROCAL}


cdef bint on_numbers(const dg_instruction *p) noexcept:
    """Whether an instruction is an elementwise loop over one number, whose places fit into few bits."""
    cdef int k
    if p.kind != DG_LOOP or p.width != 1 or p.period != 0:
        return False
    for k in range(p.n_in + 1):
        if p.arg[k].offset > 1 << 30:
            return False
    return True
