"""Row scaling: products of each row with one number, several of which become one instruction.

Design
------
A derivative multiplies rows by partials: X^T D X is a product of X with such rows. An elementwise loop reads one
partial per element, so the partials would first have to be repeated in memory. Here a row is read together with one
number (executor/scale.h). It is read with several numbers if nothing else reads the intermediate products. These are
the same products in the same order, so the results are the same.
"""
cimport numpy as cnp

from ..primitives.opcodes cimport OP_ABSORB_MUL, OP_MUL
from .lowering cimport AS_LOOP, AS_SCALE, Operation, new_operation
from .partition cimport Partition, FusedRegion
from .rewrites cimport ROWS_SCALED, SCALES_JOINED, note
from .schedule cimport is_kept
from .views cimport View, broadcast_strides, is_packed, product, step_of

cdef extern from "executor/scale.h":
    enum:
        DG_SCALES

cdef enum:
    SHORT = 16                      # least elements of a row for an instruction of its own


cdef bint is_scalable(Operation o, Partition p):
    """True if an operation is a product whose rows are long enough."""
    return (o.kind == AS_LOOP and o.params is None and (o.op == OP_MUL or o.op == OP_ABSORB_MUL)
            and (o.out.typenum == cnp.NPY_DOUBLE or o.out.typenum == cnp.NPY_FLOAT)
            and p.of[o.out.number].rows and len(o.out.shape) > 1 and product(o.out.shape[1:]) >= SHORT)


cdef bint is_number(View v, Operation o):
    """True if an operand has a single number for each row of the result."""
    cdef tuple strides = broadcast_strides(v, o.out.shape)
    return v.buffer.typenum == o.out.typenum and not any(strides[1:])


cdef bint is_one_number(View v, Operation o):
    return is_number(v, o) and broadcast_strides(v, o.out.shape)[0] == 0


cdef bint are_rows(View v, Operation o):
    """True if the elements of each row of an operand are contiguous."""
    cdef tuple strides = broadcast_strides(v, o.out.shape)
    return (v.buffer.typenum == o.out.typenum
            and step_of(strides[1:], o.out.shape[1:], False) == v.buffer.item)


cdef list scaled_operations(Partition partition, FusedRegion region):
    """The operations of a region, with row scalings in place of products that are ones."""
    cdef dict made = {}             # buffer -> the operation that now makes it, in order
    cdef dict uses = {}             # buffer -> number of times that it is read
    cdef Operation o, before
    cdef View v, rows, number
    if region.rows is None:
        return region.operations
    for o in region.operations:
        made[o.out] = o
        for v in o.ins:
            uses[v.buffer] = uses.get(v.buffer, 0) + 1
    for o in region.operations:
        if not is_scalable(o, partition):
            continue
        rows, number = o.ins if is_number(<View>o.ins[1], o) else o.ins[::-1]
        if not is_number(number, o) or not are_rows(rows, o):
            continue
        before = made.get(rows.buffer)
        if (before is not None and before.kind == AS_SCALE and len(before.ins) <= DG_SCALES and uses[before.out] == 1
                and is_kept(partition, before.out) and rows.shape == before.out.shape == o.out.shape
                and is_packed(rows) and rows.offset == 0):
            note(SCALES_JOINED)
            del made[before.out]
            made[o.out] = new_operation(AS_SCALE, o.op, before.params + (o.op == OP_ABSORB_MUL,), before.ins + [number],
                                        o.out)
        elif not is_one_number(number, o):
            note(ROWS_SCALED)
            made[o.out] = new_operation(AS_SCALE, o.op, (o.op == OP_ABSORB_MUL,), [rows, number], o.out)
    return list(made.values())
