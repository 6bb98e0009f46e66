"""Encoding: the instructions of a region as the executor reads them.

Design
------
While a region is emitted its instructions are dicts of fields. When their number is known they become one array of
structures (ext/include/dg_executor.h), with the loops they call looked up. A region that is mostly work on single
numbers gets a second, smaller form: a long program of that kind is bound by the memory of its instructions.
"""
cimport numpy as cnp
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.string cimport memset

from .array cimport Array
from .executor cimport *
from .lowering cimport add_loop, matmul_loop, power_loop
from .opcodes cimport (OP_ABSORB_MUL, OP_ADD, OP_DIV, OP_GATHER, OP_MATMUL, OP_MUL, OP_NEG, OP_POWER, OP_RECIPROCAL,
                       OP_SCATTER_ADD, OP_SQUARE, OP_SUB)
from .primitives cimport Loop, find_loop
from .regions cimport Region


cdef int finish_code(Region region, list code) except -1:
    """The instructions as the executor reads them."""
    cdef dg_instruction *p
    cdef Loop *loop
    cdef Py_ssize_t i
    cdef int k
    cdef dict d
    PyMem_Free(region.code)
    region.listing = [primitive_of(<dict>d) for d in code]
    region.count = len(code)
    region.code = <dg_instruction *>PyMem_Malloc(max(1, region.count) * sizeof(dg_instruction))
    if region.code is NULL:
        raise MemoryError()
    memset(region.code, 0, max(1, region.count) * sizeof(dg_instruction))
    for i in range(region.count):
        p = &region.code[i]
        d = <dict>code[i]
        p.kind = d["kind"]
        p.n_in = d["n_in"]
        for k, place in enumerate(d["arg"]):
            base, offset, row, local = place
            p.arg[k].base = base
            p.arg[k].offset = offset
            p.arg[k].row = row
            p.arg[k].local = local
        p.low = d.get("low", 0)
        p.high = d["high"]
        p.before = d["before"]
        p.after = d["after"]
        for k, step in enumerate(d.get("step", ())):
            p.step[k] = step
        p.width = d.get("width", 0)
        p.period = d.get("period", 0)
        for k, distance in enumerate(d.get("advance", ())):
            p.advance[k] = distance
        p.item = d.get("item", 0)
        p.once = d.get("once", False)
        for k, extent in enumerate(d.get("dims", ())):
            p.dims[k] = extent
        for k, stride in enumerate(d.get("strides", ())):
            p.strides[k] = stride
        p.axes = d.get("axes", 0)
        for k, extent in enumerate(d.get("shape", ())):
            p.shape[k] = extent
        for k, stride in enumerate(d.get("from", ())):
            p._from[k] = stride
        for k, stride in enumerate(d.get("to", ())):
            p.to[k] = stride
        if "loop" in d:
            op, typenum, fused = d["loop"]
            if p.kind == DG_CAST:
                p.fn = dg_cast_loop(typenum, fused)
            elif p.kind == DG_LOOP and fused is not None:
                p.fn = dg_fused_loop(fused[0], fused[1], fused[2], typenum == cnp.NPY_DOUBLE)
                if fused[3] is not None:        # held by the region's listing
                    p.data = (<Array>fused[3]).data
            elif p.kind == DG_LOOP:
                loop = power_loop(typenum) if op == OP_POWER else find_loop(op, typenum)
                p.fn = loop.fn
                p.data = loop.data
        for k, (extent, stride) in enumerate(d.get("picks", ())):
            p.picks.count = k + 1
            p.picks.wide = d["wide"]
            p.picks.width = d["width"]
            p.picks.step[k] = p.step[k + 1]
            p.picks.extent[k] = extent
            p.picks.stride[k] = stride
        if "matmul" in d:
            loop = matmul_loop(d["matmul"])
            p.fn = loop.fn
            p.data = loop.data
        if "add" in d:
            loop = add_loop(d["add"])
            if p.kind == DG_SUM_ALL:
                p.fn = loop.fn
                p.data = loop.data
            else:
                p.add = loop.fn
                p.add_data = loop.data
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


# Operations on single numbers that need no call; products and sums as dg_fused.h numbers them.
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


cdef object primitive_of(dict d):
    """(opcode, type number, fusion) of the primitive whose loop an instruction calls; of a conversion (opcode, type
    number, that of the result); None where it calls none."""
    if "loop" in d:
        return d["loop"]
    if "matmul" in d:
        return OP_MATMUL, d["matmul"], None
    if "picks" in d:
        return OP_GATHER if d["kind"] == DG_GATHER else OP_SCATTER_ADD, d["typenum"], None
    return (OP_ADD, d["add"], None) if "add" in d else None
