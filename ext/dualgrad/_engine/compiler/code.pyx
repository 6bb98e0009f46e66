"""Code: the instructions of a region as one array, which the executor reads.

Design
------
Only this module allocates C memory that the objects of a plan own. A region that works mostly on single numbers gets a
second, smaller form of its instructions: the speed of long programs of this kind depends on the size of their
instructions.
"""
cimport numpy as cnp
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.string cimport memset

from ..arrays.array cimport DG_DEBUG, count
from ..primitives.opcodes cimport (OP_ABSORB_MUL, OP_ADD, OP_DIV, OP_MUL, OP_NEG, OP_RECIPROCAL, OP_SQUARE,
                                   OP_SUB, OP_SUM)
from .executor cimport *
from .instructions cimport Instruction
from .rewrites cimport SCALAR_FORM, note


cdef class RegionCode:

    def __cinit__(self):
        if DG_DEBUG:
            count("Region", 1)

    def __dealloc__(self):
        PyMem_Free(self.code)
        PyMem_Free(self.halves)
        PyMem_Free(self.scalars)
        if DG_DEBUG:
            count("Region", -1)


cdef int finish_code(RegionCode made, list code) except -1:
    """Copy the instructions into one array."""
    cdef Py_ssize_t i
    PyMem_Free(made.code)
    made.listing = [(<Instruction>x).primitive for x in code]
    made.count = len(code)
    made.code = <dg_instruction *>PyMem_Malloc(max(1, made.count) * sizeof(dg_instruction))
    if made.code is NULL:
        raise MemoryError()
    for i in range(made.count):
        made.code[i] = (<Instruction>code[i]).code
    return with_halves(made, code)


cdef int with_halves(RegionCode made, list code) except -1:
    """Copy the instructions once more, with half of each symmetric product, if there are any."""
    cdef Instruction x
    cdef Py_ssize_t i
    PyMem_Free(made.halves)
    made.halves = NULL
    if all([(<Instruction>x).half == 0 for x in code]):
        return 0
    made.halves = <dg_instruction *>PyMem_Malloc(made.count * sizeof(dg_instruction))
    if made.halves is NULL:
        raise MemoryError()
    for i in range(made.count):
        x = <Instruction>code[i]
        made.halves[i] = x.code
        made.halves[i].half = x.half
        made.halves[i].half_from = x.half_from
    return 0


cdef int finish_scalars(RegionCode made) except -1:
    """Make the smaller form of the instructions, if most of them work on single numbers."""
    cdef Py_ssize_t i, n = 0
    cdef int k
    cdef dg_instruction *p
    cdef dg_scalar *s
    if made.region.rows is not None:
        return 0
    for i in range(made.count):
        n += on_numbers(&made.code[i])
    if 2 * n < made.count or n < 2:
        return 0
    made.scalars = <dg_scalar *>PyMem_Malloc(made.count * sizeof(dg_scalar))
    if made.scalars is NULL:
        raise MemoryError()
    note(SCALAR_FORM)
    memset(made.scalars, 0, made.count * sizeof(dg_scalar))
    for i in range(made.count):
        p = &made.code[i]
        s = &made.scalars[i]
        s.op = DG_S_OTHER
        if not on_numbers(p):
            continue
        op, typenum, together = <tuple>made.listing[i]
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


# Operations on single numbers that need no call. A sum is a sequence of additions.
cdef dict NUMBERS = {OP_MUL: DG_F_MUL, OP_ABSORB_MUL: DG_F_ABSORB, OP_ADD: DG_F_ADD,
                     OP_SUM: DG_F_ADD, OP_SUB: DG_F_SUB,
                     OP_NEG: DG_S_NEG, OP_SQUARE: DG_S_SQUARE, OP_DIV: DG_S_DIV, OP_RECIPROCAL: DG_S_RECIPROCAL}


cdef bint on_numbers(const dg_instruction *p) noexcept:
    """True if an instruction is an elementwise loop over one number, and its offsets fit into 31 bits."""
    cdef int k
    if p.kind != DG_LOOP or p.width != 1 or p.period != 0:
        return False
    for k in range(p.n_in + 1):
        if p.arg[k].offset > 1 << 30:
            return False
    return True
