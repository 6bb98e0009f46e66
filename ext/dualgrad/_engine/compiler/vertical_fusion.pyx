"""Vertical fusion: elementwise operations that become one instruction.

Design
------
If the only reader of a product, sum or difference is one of these too, they run in one loop (executor/fused.h). Then
the first result needs no memory. Sums and differences can include two products, and the result can be multiplied by a
constant. The operations and their order stay the same, so the numbers stay the same.
"""
cimport numpy as cnp

from ..primitives.opcodes cimport OP_ABSORB_MUL, OP_ADD, OP_MUL, OP_SUB
from .executor cimport DG_F_ABSORB, DG_F_ADD, DG_F_BUS, DG_F_MUL, DG_F_SUB
from .lowering cimport AS_LOOP, Operation, new_operation
from .partition cimport Partition, FusedRegion, new_region
from .rewrites cimport FUSED_BOTH, FUSED_LEFT, FUSED_RIGHT, SCALED, note
from .scaling cimport scaled_operations
from .schedule cimport is_kept, scheduled
from .views cimport View, broadcast_strides, is_packed, step_of


cdef int code_of_primitive(int op) noexcept:
    """The code of a product, sum or difference; NONE for anything else."""
    if op == OP_MUL or op == OP_ABSORB_MUL:
        return DG_F_MUL if op == OP_MUL else DG_F_ABSORB
    return DG_F_ADD if op == OP_ADD else DG_F_SUB if op == OP_SUB else NONE


cdef int code_of(Operation o):
    return NONE if o.kind != AS_LOOP or o.params is not None or len(o.ins) != 2 else code_of_primitive(o.op)


cdef bint walks_along(Operation o, bint partition):
    """True if the operands of an elementwise operation are contiguous like its result, and have its float dtype."""
    cdef View v
    cdef tuple shape = o.out.shape
    cdef bint single = o.out.size == 1
    if o.out.typenum != cnp.NPY_DOUBLE and o.out.typenum != cnp.NPY_FLOAT:
        return False
    for v in o.ins:
        if v.buffer.typenum != o.out.typenum:
            return False
        if not single and step_of(broadcast_strides(v, shape), shape, partition) != v.buffer.item:
            return False
    return True


cdef object factor_of(Operation o, int operand):
    """The constant number (an array) that an operand repeats for all elements; None if it has none."""
    cdef View v = <View>o.ins[operand]
    if v.buffer.size != 1 or v.buffer.typenum != o.out.typenum or v.buffer.source is None:
        return None
    kind, source = <tuple>v.buffer.source
    return source if kind == "constant" else None


cdef Chain chain_of(int left, int right, int outer) noexcept:
    """Fuse an operation with the makers of its operands, all given by code; NONE for an operand that cannot be fused.
    Both operands are fused only if two products are added or subtracted."""
    if left != NONE and right != NONE and (outer < DG_F_ADD or left > DG_F_ABSORB or right > DG_F_ABSORB):
        right = NONE
    if left == NONE and right != NONE:
        return Chain(right, DG_F_BUS if outer == DG_F_SUB else outer, NONE, False, True)
    return Chain(left, outer, right, left != NONE, right != NONE)


cdef class Fusion:
    """Fusion of the operations of one region."""
    cdef Partition partition
    cdef bint rows
    cdef dict made                  # buffer -> the operation that now makes it, in order
    cdef dict open                  # buffer -> a product, sum or difference that may be fused into its reader
    cdef dict scalable              # buffer -> an operation whose result may be multiplied by a constant
    cdef dict uses                  # buffer -> number of times that it is read

    cdef bint is_taken_whole(self, View v, Operation p, Operation o) except -1:
        """True if an operand is exactly the result of another operation, and this is its only reader."""
        return (self.uses[v.buffer] == 1 and is_kept(self.partition, p.out) and v.shape == p.out.shape == o.out.shape
                and is_packed(v) and v.offset == 0)

    cdef Operation taken_in(self, View v, Operation o):
        """The operation that makes an operand, if it can be fused into its reader."""
        cdef Operation p = self.open.get(v.buffer)
        return p if p is not None and self.is_taken_whole(v, p, o) else None

    cdef int put(self, Operation o, tuple params, list ins) except -1:
        """Replace an operation by a fused one."""
        self.made[o.out] = self.scalable[o.out] = new_operation(AS_LOOP, o.op, params, ins, o.out)
        return 0

    cdef bint scale(self, Operation o) except -1:
        """Fuse a product with a constant into the maker of its other factor; False if that is not possible."""
        cdef Operation p
        cdef int i
        if o.out.size == 1:
            return False
        for i in range(2):
            factor = factor_of(o, i)
            p = None if factor is None else self.scalable.get((<View>o.ins[1 - i]).buffer)
            if p is not None and self.is_taken_whole(<View>o.ins[1 - i], p, o):
                inner, outer, second, _ = (code_of(p), NONE, NONE, None) if p.params is None else <tuple>p.params
                self.made[o.out] = new_operation(AS_LOOP, o.op, (inner, outer, second, factor), p.ins, o.out)
                del self.made[p.out]
                note(SCALED)
                return True
        return False

    cdef int fuse(self, Operation o, int outer) except -1:
        """Fuse the makers of the operands into a product, sum or difference."""
        cdef Operation a = self.taken_in(<View>o.ins[0], o), b = self.taken_in(<View>o.ins[1], o)
        cdef Chain c = chain_of(NONE if a is None else code_of(a), NONE if b is None else code_of(b), outer)
        if c.inner == NONE:
            self.open[o.out] = o        # fuse at most three operations
            return 0
        if c.left and c.right:
            self.put(o, (c.inner, c.outer, c.second, None), a.ins + b.ins)
        elif c.left:
            self.put(o, (c.inner, c.outer, NONE, None), a.ins + [o.ins[1]])
        else:
            self.put(o, (c.inner, c.outer, NONE, None), b.ins + [o.ins[0]])
        if c.left:
            del self.made[a.out]
        if c.right:
            del self.made[b.out]
        note(FUSED_BOTH if c.left and c.right else FUSED_LEFT if c.left else FUSED_RIGHT)
        return 0

    cdef list run(self, list operations):
        cdef Operation o
        cdef View v
        cdef int outer
        for o in operations:
            self.made[o.out] = o
            for v in o.ins:
                self.uses[v.buffer] = self.uses.get(v.buffer, 0) + 1
        for o in operations:
            outer = code_of(o)
            if outer == NONE or (outer == DG_F_MUL and self.scale(o)) or not walks_along(o, self.rows):
                continue
            self.scalable[o.out] = o
            self.fuse(o, outer)
        return list(self.made.values())


cdef list fused_operations(Partition partition, FusedRegion region):
    """The operations of a region after fusion."""
    cdef Fusion f = Fusion()
    f.partition = partition
    f.rows = region.rows is not None
    f.made = {}
    f.open = {}
    f.scalable = {}
    f.uses = {}
    return f.run(scaled_operations(partition, region))


cdef Fused fused(Partition partition):
    """The regions with fused and sorted operations."""
    cdef Fused made = Fused()
    cdef FusedRegion region
    cdef bint rows
    made.partition = partition
    made.regions = []
    for region in partition.regions:
        rows = region.rows is not None
        operations = scheduled(partition, fused_operations(partition, region), rows)
        made.regions.append(new_region(region.number, region.rows, operations))
    return made
