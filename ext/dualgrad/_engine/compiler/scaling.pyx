"""Row scaling: products of each row with a number of its own, several of which become one instruction.

Design
------
A derivative multiplies rows by slopes of what the rows go through: X^T D X is a product of X with such rows. A loop
over elements reads a slope once for each element, so it would be copied as often first. Here a row is read with one
number, or with several if nothing else reads what lies between the products (executor/scale.h). They are the same
in the same order, so the numbers are the same.
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
    SHORT = 16                      # elements of a row that are worth an instruction of their own, at least


cdef bint is_scalable(Operation o, Partition p):
    """Whether an operation is a product whose rows are long enough."""
    return (o.kind == AS_LOOP and o.params is None and (o.op == OP_MUL or o.op == OP_ABSORB_MUL)
            and (o.out.typenum == cnp.NPY_DOUBLE or o.out.typenum == cnp.NPY_FLOAT)
            and p.of[o.out.number].rows and len(o.out.shape) > 1 and product(o.out.shape[1:]) >= SHORT)


cdef bint is_number(View v, Operation o):
    """Whether an operand is one number for all elements of a row."""
    cdef tuple strides = broadcast_strides(v, o.out.shape)
    return v.buffer.typenum == o.out.typenum and not any(strides[1:])


cdef bint is_one_number(View v, Operation o):
    return is_number(v, o) and broadcast_strides(v, o.out.shape)[0] == 0


cdef bint are_rows(View v, Operation o):
    """Whether the elements of each row of an operand lie side by side."""
    cdef tuple strides = broadcast_strides(v, o.out.shape)
    return (v.buffer.typenum == o.out.typenum
            and step_of(strides[1:], o.out.shape[1:], False) == v.buffer.item)


cdef list scaled_operations(Partition partition, FusedRegion region):
    """The operations of a region, products of rows with numbers among them."""
    cdef dict made = {}             # buffer -> the operation that makes it now, in order
    cdef dict uses = {}             # buffer -> how often it is read
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
