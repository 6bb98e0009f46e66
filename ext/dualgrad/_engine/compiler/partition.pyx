"""Regions: which operations run together, block by block over the rows of their arrays, and in which order.

Design
------
*Rows.* Most programs work on many samples, particles or options: the first axis of their large arrays. Operations
that keep the rows apart (elementwise ones, products with a shared matrix, sums over other axes), and those that add the
rows up (sums, products contracted over the rows: gradients of weights), are gathered into a region, which is run block
by block. What passes between them stays in cache, in memory that is used again for the next block; only what others
need is written out. Work that depends on a sum over all rows comes in a later region. The order of rows is kept, so
blocks change a result only where rows are added up.

*Neighbours.* An operation may look at rows a few places further on or back (differences along the first axis, stencils,
and the gradients of both). Then a block computes a few rows more of what is looked at, its halo, again: blocks
need nothing of each other.

*Order of axes.* Of the orders that a program is lowered with, the one is taken for which the fewest bytes pass between
regions.
"""
from cpython.mem cimport PyMem_Calloc, PyMem_Free

from ..primitives.opcodes cimport OP_CLIP_INDEX
from .lowering cimport (AS_CAST, AS_CONTRACT, AS_COPIES, AS_GATHER, AS_GENERIC, AS_LOOP, AS_MATMUL, AS_SCATTER,
                        AS_SELECT, AS_SUM, Operation)
from .orders cimport Lowered, Operations
from .rewrites cimport ADDED_UP, LOOKS_BESIDE, ORDER_CHOSEN, ROW_BY_ROW, SMALL_FIRST, note
from .views cimport Buffer, View, product, turned

cdef enum:
    LARGE = 4096                    # elements from which on an array is worth blocks
    FEW_ROWS = 1024                 # with fewer, rows of different number do not belong together


cdef enum Role:
    REFUSED
    ROWS                            # the result is made row by row
    ADDED                           # the result is added up over the rows


cdef FusedRegion new_region(int number, object rows, list operations):
    cdef FusedRegion region = FusedRegion()
    region.number = number
    region.rows = rows
    region.operations = operations
    return region


cdef Py_ssize_t row_size_of(Buffer r):
    """Bytes of a row of a buffer that is, or would be, made row by row."""
    return r.item * (r.size // max(<Py_ssize_t>r.shape[0], 1))


cdef class Partition:

    def __dealloc__(self):
        PyMem_Free(self.of)

    cdef bint here(self, View v, FusedRegion region) noexcept:
        """Whether a region makes what a view shows."""
        return self.of[v.buffer.number].region == region.number

    cdef bint is_inside(self, View v, Py_ssize_t extent) except -1:
        """Whether indices have been clipped to an axis that is no longer than one."""
        cdef object length = self.clipped.get(v.buffer)
        return length is not None and <Py_ssize_t>length <= extent

    cdef Py_ssize_t row_size(self, Buffer r) except -1:
        """Bytes of a row of a buffer made row by row, or of all of it."""
        return row_size_of(r) if self.of[r.number].rows else r.item * r.size

    cdef Py_ssize_t shift_of(self, View v) except? -1:
        """How many rows a view of rows starts after its buffer."""
        return v.offset // self.row_size(v.buffer) if v.offset else 0

    cdef Py_ssize_t rows_made(self, Operation o) except -1:
        """The number of rows an operation in a region of rows goes over."""
        if self.of[o.out.number].rows:
            return o.out.shape[0]
        return (<View>o.ins[0 if o.kind == AS_SUM or o.kind == AS_SCATTER else 1]).shape[0]

    cdef list shifts(self, Operation o, FusedRegion region):
        """(buffer, shift) for operands made row by row in the region: row i of the result needs row i + shift of the
        buffer."""
        cdef list found = []
        cdef View v
        if o.kind == AS_COPIES:
            for part in o.params:
                if part is not None:
                    v = <View>part[2]
                    if self.here(v, region) and self.of[v.buffer.number].rows:
                        found.append((v.buffer, self.shift_of(v) - <Py_ssize_t>part[0] // row_size_of(o.out)))
            return found
        for v in o.ins:
            if self.here(v, region) and self.of[v.buffer.number].rows:
                found.append((v.buffer, self.shift_of(v)))
        return found


# ------------------------------------------------------------------------------------------------- what fits a region

cdef bint rows_in(FusedRegion region, Py_ssize_t n):
    """Whether n rows are the rows of a region, or nearly."""
    cdef Py_ssize_t rows = region.rows
    return n == rows or (rows >= FEW_ROWS and n >= FEW_ROWS and -HALO <= n - rows <= HALO)


cdef bint is_row(View v, Partition p, FusedRegion region):
    """Whether the first axis of a view goes along the rows of a region."""
    if len(v.shape) == 0 or not rows_in(region, v.shape[0]):
        return False
    if p.here(v, region):                       # made here, row by row: the rows lie one after the other
        return (p.of[v.buffer.number].rows and v.strides[0] == p.row_size(v.buffer)
                and 0 <= p.shift_of(v) <= HALO)
    return v.strides[0] != 0 or region.rows == 1


cdef bint is_shared(View v, Partition p, FusedRegion region):
    """Whether a view is complete before the region starts."""
    return not p.here(v, region)


cdef bint fits(View v, tuple shape, Partition p, FusedRegion region):
    """Whether an operand of an elementwise operation of this shape goes along the rows, or is shared by them."""
    if len(v.shape) == len(shape) and v.shape[0] == shape[0] and (v.shape[0] != 1):
        return is_row(v, p, region) or (v.strides[0] == 0 and is_shared(v, p, region))
    return is_shared(v, p, region)


cdef bint fits_part(object part, Operation o, Partition p, FusedRegion region):
    """Whether a part of a copy can be placed row by row."""
    cdef Py_ssize_t row = row_size_of(o.out), start
    cdef View v
    offset, strides, v = <tuple>part
    start = offset // row
    if strides[0] != row or len(v.shape) == 0:
        return False
    if p.here(v, region):
        return is_row(v, p, region) and -HALO <= p.shift_of(v) - start <= HALO
    return True


cdef Role role(Operation o, Partition p, FusedRegion region):
    """What an operation would be in a region of rows."""
    cdef View a, b, v
    cdef tuple shape = o.out.shape
    if o.kind == AS_GENERIC or o.out.size == 0:
        return REFUSED
    if o.kind == AS_GATHER or o.kind == AS_SCATTER:
        return role_of_picks(o, p, region)
    if o.kind == AS_LOOP or o.kind == AS_SELECT or o.kind == AS_CAST:
        if len(shape) == 0 or not rows_in(region, shape[0]):
            return REFUSED
        for v in o.ins:
            if not fits(v, shape, p, region):
                return REFUSED
        return ROWS
    if o.kind == AS_COPIES:
        if len(shape) == 0 or not rows_in(region, shape[0]):
            return REFUSED
        for part in o.params:
            if part is not None and not fits_part(part, o, p, region):
                return REFUSED
        return ROWS
    if o.kind == AS_SUM:
        v = <View>o.ins[0]
        if not is_row(v, p, region):
            return REFUSED
        axes = list(o.params)
        if 0 not in axes:
            return ROWS
        return ADDED if len(axes) == len(v.shape) or axes == [0] else REFUSED
    a = <View>o.ins[0]
    b = <View>o.ins[1]
    if o.kind == AS_CONTRACT:
        return ADDED if is_row(a, p, region) and is_row(b, p, region) else REFUSED
    if is_row(a, p, region) and len(a.shape) == 2 and len(b.shape) == 2 and is_shared(b, p, region):
        return ROWS
    if is_shared(a, p, region) and len(a.shape) == 2 and len(b.shape) == 3 and is_row(b, p, region):
        return ROWS
    if is_row(a, p, region) and len(a.shape) == 3 and (
            len(b.shape) == 3 and is_row(b, p, region) or len(b.shape) == 2 and is_shared(b, p, region)):
        return ROWS
    if len(a.shape) == 2 and len(b.shape) == 2 and a.shape[1] == b.shape[0] and is_row(b, p, region) \
            and is_row(turned(a, (1, 0)), p, region):
        return ADDED
    return REFUSED


cdef Role role_of_picks(Operation o, Partition p, FusedRegion region):
    """Picks along the rows, from what is complete, or added up in something that is not much larger than what is added;
    or picks out of each row, and into each."""
    cdef View v = <View>o.ins[0]
    cdef bint gather = o.kind == AS_GATHER
    cdef tuple along = o.out.shape if gather else v.shape
    outer, whole = <tuple>o.params
    cdef tuple picks = along[outer:len(along) - (len(whole) - (len(o.ins) - 1) - outer)]
    if len(along) == 0 or not rows_in(region, along[0]):
        return REFUSED
    if outer:
        return ROWS if is_row(v, p, region) or not gather and fits(v, along, p, region) else REFUSED
    if len(picks) == 0 or gather and not is_shared(v, p, region) or not gather and not fits(v, along, p, region):
        return REFUSED
    for v in o.ins[1:]:
        if not fits(v, picks, p, region):
            return REFUSED
    return ROWS if gather else ADDED if o.out.size <= max(product(along), LARGE) else REFUSED


cdef bint is_looked_up(Operation o, Partition p, FusedRegion region):
    """Whether the region may run an operation with index arrays: each array was clipped to its axis, or is complete
    before the region starts. Then `Plan.look_up` can check it."""
    cdef Py_ssize_t axis
    cdef tuple whole
    cdef View v
    if o.kind == AS_GATHER or o.kind == AS_SCATTER:
        axis, whole = <tuple>o.params
        for axis, v in enumerate(o.ins[1:], axis):
            if p.here(v, region) and not p.is_inside(v, whole[axis]):
                return False
    return True


cdef object rows_of(Operation o):
    """The number of rows a region around an operation would have; None where it is small."""
    cdef View v
    cdef tuple shape
    if o.kind == AS_GENERIC:
        return None
    shape = o.out.shape
    if o.kind == AS_SUM or o.kind == AS_SCATTER or o.kind == AS_CONTRACT:
        shape = (<View>o.ins[0]).shape
    elif o.kind == AS_MATMUL and len(shape) == 2:
        v = <View>o.ins[1]
        if <Py_ssize_t>v.shape[0] >= LARGE // 4 and <Py_ssize_t>v.shape[0] > 4 * <Py_ssize_t>shape[0]:
            return v.shape[0]
    if product(shape) < LARGE or len(shape) == 0 or <Py_ssize_t>shape[0] < 64:
        return None
    return shape[0]


cdef Py_ssize_t reach_of(Operation o, Partition p, FusedRegion region):
    """How far from a row of the result the rows lie on which it depends, at most."""
    cdef Py_ssize_t reach = 0, shift
    cdef Buffer buffer
    for buffer, shift in p.shifts(o, region):
        reach = max(reach, abs(shift) + p.of[buffer.number].reach)
    return reach


cdef list with_small_ones_first(list operations):
    """The operations, those on few numbers that need nothing of the large ones before them: what is the same for all
    rows is then complete before the rows are begun."""
    cdef set rows = {rows_of(o) for o in operations} - {None}, late = set()
    cdef list early = [], others = []
    cdef Operation o
    cdef View v
    cdef tuple shape
    cdef bint first
    if not rows:
        return list(operations)
    for o in operations:
        shape = (<View>o.ins[0]).shape if o.kind == AS_SUM and o.ins else o.out.shape
        first = (o.kind != AS_GENERIC and rows_of(o) is None and product(shape) < LARGE
                 and not (len(shape) and shape[0] in rows))
        for v in o.ins:
            if v.buffer in late:
                first = False
        if first:
            early.append(o)
        else:
            others.append(o)
            late.add(o.out)
    if early and others and early != operations[:len(early)]:
        note(SMALL_FIRST)
    return early + others


# ---------------------------------------------------------------------------------------------------------- regions

cdef bint joins(Operation o, Partition p, FusedRegion region, bint alone, set waiting) except -1:
    """Whether an operation is done in a region, the first one of which is `alone` or not; how is noted then. What
    `waiting` holds is made later."""
    cdef Making *made = &p.of[o.out.number]
    cdef Py_ssize_t reach
    cdef Role r
    cdef View v
    if not is_looked_up(o, p, region):
        return False
    for v in o.ins:
        if v.buffer in waiting:
            return False
    if alone or o.kind == AS_GENERIC:
        return alone and not region.operations
    if region.rows is None:
        return not region.operations or rows_of(o) is None
    for v in o.ins:
        if p.here(v, region) and p.of[v.buffer.number].added:
            return False
    r = role(o, p, region)
    if r == REFUSED:
        return False
    reach = reach_of(o, p, region)
    if reach > HALO:
        return False
    made.rows = r == ROWS
    made.added = r == ADDED
    made.reach = reach
    note(ROW_BY_ROW if r == ROWS else ADDED_UP)
    if reach:
        note(LOOKS_BESIDE)
    return True


cdef list gathered(Partition p, list left):
    """Put what can run with the first of the operations into a region; returns the others."""
    cdef Operation o = <Operation>left[0]
    cdef FusedRegion region = new_region(len(p.regions), rows_of(o), [])
    cdef bint alone = o.kind == AS_GENERIC
    cdef list later = []
    cdef set waiting = set()
    if region.rows is not None and role(o, p, region) == REFUSED:
        region.rows = None
    for o in left:
        if joins(o, p, region, alone, waiting):
            region.operations.append(o)
            p.of[o.out.number].region = region.number
        else:
            later.append(o)
            waiting.add(o.out)
    if region.rows is not None:
        region.rows = max([p.rows_made(o) for o in region.operations])
    p.regions.append(region)
    return later


cdef int note_readers(Partition p) except -1:
    """Which buffers are read outside of the region that makes them, and by which region last."""
    cdef FusedRegion region
    cdef Operation o
    cdef View v
    cdef Making *made
    for region in p.regions:
        for o in region.operations:
            for v in o.ins:
                made = &p.of[v.buffer.number]
                made.last = max(made.last, region.number)
                if made.region != region.number:
                    made.outside = True
    for v in p.lowered.results:
        made = &p.of[v.buffer.number]
        made.outside = True
        made.last = len(p.regions)
    return 0


cdef Partition partition_of(Operations lowered):
    """The operations in regions, in an order that respects what depends on what."""
    cdef Partition p = Partition()
    cdef list left = with_small_ones_first(lowered.operations)
    cdef Py_ssize_t i, n = len(lowered.buffers)
    cdef Operation o
    p.lowered = lowered
    p.regions = []
    p.clipped = {}
    for o in lowered.operations:
        if o.op == OP_CLIP_INDEX:
            p.clipped[o.out] = o.params
    p.of = <Making *>PyMem_Calloc(max(1, n), sizeof(Making))
    if p.of is NULL:
        raise MemoryError()
    for i in range(n):
        p.of[i].region = p.of[i].last = -1
    while left:
        left = gathered(p, left)
    note_readers(p)
    return p


cdef Py_ssize_t traffic(Partition p) except -1:
    """Bytes that regions leave to others; what is added up over the rows is read and written for each block."""
    cdef FusedRegion region
    cdef Operation o
    cdef Making *made
    cdef Py_ssize_t total = 0
    for region in p.regions:
        for o in region.operations:
            made = &p.of[o.out.number]
            if made.outside or region.rows is None:
                total += o.out.size * o.out.item * (2 if made.added else 1)
    return total


cdef Partition partitioned(Lowered lowered):
    """The partition that leaves the fewest bytes between regions."""
    cdef Partition best = partition_of(<Operations>lowered.orders[0]), other
    cdef Operations order
    for order in lowered.orders[1:]:
        other = partition_of(order)
        if traffic(other) < traffic(best):
            note(ORDER_CHOSEN)
            best = other
    return best
