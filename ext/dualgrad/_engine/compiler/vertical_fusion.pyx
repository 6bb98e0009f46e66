"""Vertical fusion: elementwise operations that become one instruction.

Design
------
A product, sum or difference whose result is read once, by another one of them, is done in the loop of its reader
(executor/fused.h): what passes between them needs no memory. Sums and differences take two products in, and what comes
out of all this may be multiplied by a constant. The operations are the same in the same order, so the numbers are the
same.
"""
cimport numpy as cnp

from .lowering cimport AS_LOOP, Operation
from ..primitives.opcodes cimport OP_ABSORB_MUL, OP_ADD, OP_MUL, OP_SUB
from .partition cimport Region
from .views cimport View, broadcast_strides, is_packed, step_of

cdef int code_of_primitive(int op) noexcept:
    """The code of a product, sum or difference; NONE for anything else."""
    if op == OP_MUL or op == OP_ABSORB_MUL:
        return MUL if op == OP_MUL else ABSORB
    return ADD if op == OP_ADD else SUB if op == OP_SUB else NONE


cdef int code_of(Operation o):
    return NONE if o.kind != AS_LOOP or o.params is not None or len(o.ins) != 2 else code_of_primitive(o.op)


cdef bint walks_along(Operation o, bint partition):
    """Whether the operands of an elementwise operation lie side by side as its result does."""
    cdef View v
    cdef tuple shape = o.out.shape
    cdef bint single = o.out.size == 1
    if o.out.typenum != cnp.NPY_DOUBLE and o.out.typenum != cnp.NPY_FLOAT:
        return False
    for v in o.ins:
        if v.root.typenum != o.out.typenum:
            return False
        if not single and step_of(broadcast_strides(v, shape), shape, partition) != v.root.item:
            return False
    return True


cdef object factor_of(Operation o, int operand):
    """The number (an array) that an operand repeats for all elements; None if it is not known."""
    cdef View v = <View>o.ins[operand]
    if v.root.size != 1 or v.root.typenum != o.out.typenum or v.root.source is None:
        return None
    kind, source = <tuple>v.root.source
    return source if kind == "constant" else None


cdef bint is_taken_whole(View v, Operation p, Operation o, dict uses) except -1:
    """Whether an operand is just what another operation makes, for this one alone."""
    return (uses[v.root] == 1 and not p.out.outside and not p.out.added and v.shape == p.out.shape == o.out.shape
            and is_packed(v) and v.offset == 0)


cdef bint scaled(Operation o, dict scalable, dict uses, set gone) except -1:
    """Multiply where the other factor is made, if this is a product with a constant; whether it is done."""
    cdef Operation p
    cdef int i
    if o.out.size == 1:
        return False
    for i in range(2):
        factor = factor_of(o, i)
        p = None if factor is None else scalable.get((<View>o.ins[1 - i]).root)
        if p is not None and is_taken_whole(<View>o.ins[1 - i], p, o, uses):
            inner, outer, second, _ = (code_of(p), NONE, NONE, None) if p.params is None else <tuple>p.params
            o.params = inner, outer, second, factor
            o.ins = p.ins
            gone.add(p)
            return True
    return False


cdef list fused(Region region):
    """The operations of a region, some of them in one."""
    cdef dict makers = {}, scalable = {}, uses = {}
    cdef set gone = set()
    cdef Operation o, p
    cdef View v
    cdef int outer
    cdef bint partition = region.rows is not None
    cdef list inner
    for o in region.operations:
        for v in o.ins:
            uses[v.root] = uses.get(v.root, 0) + 1
    for o in region.operations:
        outer = code_of(o)
        if outer == NONE or (outer == MUL and scaled(o, scalable, uses, gone)) or not walks_along(o, partition):
            continue
        scalable[o.out] = o
        inner = []
        for v in o.ins:
            p = makers.get(v.root)
            inner.append(p if p is not None and is_taken_whole(v, p, o, uses) else None)
        makers[o.out] = o
        if inner[0] is not None and inner[1] is not None and (outer < ADD or code_of(inner[0]) > ABSORB
                                                              or code_of(inner[1]) > ABSORB):
            inner[1] = None
        if inner[0] is None and inner[1] is None:
            continue
        if inner[0] is None:
            p = <Operation>inner[1]
            o.params = (code_of(p), BUS if outer == SUB else outer, NONE, None)
            o.ins = p.ins + [o.ins[0]]
        elif inner[1] is None:
            p = <Operation>inner[0]
            o.params = (code_of(p), outer, NONE, None)
            o.ins = p.ins + [o.ins[1]]
        else:
            p = <Operation>inner[0]
            o.params = (code_of(p), outer, code_of(inner[1]), None)
            o.ins = p.ins + (<Operation>inner[1]).ins
        for p in inner:
            if p is not None:
                gone.add(p)
        del makers[o.out]       # three operations deep is deep enough
    return [o for o in region.operations if o not in gone]
