"""Regions: decide which operations run together, tile by tile over the rows of their arrays, and in which order.

Design
------
*Rows.* Most programs work on many samples, particles or options: the first axis of their large arrays. A region
collects operations that keep the rows apart (elementwise ones, products with a shared matrix, sums over other axes). It
also collects operations that add the rows up (sums, and products contracted over the rows: gradients of weights). It
runs tile by tile. Intermediate results stay in cache, in memory that the next tile reuses; only results that other
regions need are written out. Work that depends on a sum over all rows comes in a later region. The order of rows is
kept, so tiles change a result only where rows are added up.

*Neighbours.* An operation may read rows a few places before or after its own (differences along the first axis,
stencils, and the gradients of both). Then a tile also computes a few rows of its neighbours, its halo, so tiles need
nothing from each other.

*Order of axes.* A program is lowered once for each candidate order of axes. The order that passes the fewest bytes
between regions is used.
"""
from cpython.mem cimport PyMem_Calloc, PyMem_Free

from ..primitives.opcodes cimport OP_CLIP_INDEX
from .lowering cimport (AS_CAST, AS_CONTRACT, AS_COPIES, AS_GATHER, AS_GENERIC, AS_LOOP, AS_MATMUL, AS_SCATTER,
                        AS_SELECT, AS_SUM, Operation)
from .orders cimport Lowered, Operations
from .rewrites cimport ADDED_UP, LOOKS_BESIDE, ORDER_CHOSEN, ROW_BY_ROW, SMALL_FIRST, note
from .views cimport Buffer, View, product, turned

cdef enum:
    LARGE = 4096                    # least elements of an array that is worth tiles
    FEW_ROWS = 1024                 # below this, a region accepts only arrays with exactly its number of rows


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
    """Bytes of a row of a buffer that is, or could be, made row by row."""
    return r.item * (r.size // max(<Py_ssize_t>r.shape[0], 1))


cdef class Partition:

    def __dealloc__(self):
        PyMem_Free(self.of)

    cdef bint here(self, View v, FusedRegion region) noexcept:
        """True if a region makes the buffer of a view."""
        return self.of[v.buffer.number].region == region.number

    cdef bint is_inside(self, View v, Py_ssize_t extent) except -1:
        """True if indices were clipped to an axis of length `extent` or less."""
        cdef object length = self.clipped.get(v.buffer)
        return length is not None and <Py_ssize_t>length <= extent

    cdef Py_ssize_t row_size(self, Buffer r) except -1:
        """Bytes of a row of a buffer made row by row; bytes of the whole buffer otherwise."""
        return row_size_of(r) if self.of[r.number].rows else r.item * r.size

    cdef Py_ssize_t shift_of(self, View v) except? -1:
        """The row of the buffer at which a view of rows starts."""
        return v.offset // self.row_size(v.buffer) if v.offset else 0

    cdef Py_ssize_t rows_made(self, Operation o) except -1:
        """The number of rows that an operation in a region with rows covers."""
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


# -------------------------------------------------------------------------------------------------- roles in a region

cdef bint rows_in(FusedRegion region, Py_ssize_t n):
    """True if n is about the number of rows of a region."""
    cdef Py_ssize_t rows = region.rows
    return n == rows or (rows >= FEW_ROWS and n >= FEW_ROWS and -HALO <= n - rows <= HALO)


cdef bint is_row(View v, Partition p, FusedRegion region):
    """True if the first axis of a view runs along the rows of a region."""
    if len(v.shape) == 0 or not rows_in(region, v.shape[0]):
        return False
    if p.here(v, region):                       # made in this region, row by row: the rows must be contiguous
        return (p.of[v.buffer.number].rows and v.strides[0] == p.row_size(v.buffer)
                and 0 <= p.shift_of(v) <= HALO)
    return v.strides[0] != 0 or region.rows == 1


cdef bint is_shared(View v, Partition p, FusedRegion region):
    """True if a view is complete before the region starts."""
    return not p.here(v, region)


cdef bint fits(View v, tuple shape, Partition p, FusedRegion region):
    """True if an operand of an elementwise operation of this shape runs along the rows, or is shared by all rows."""
    if len(v.shape) == len(shape) and v.shape[0] == shape[0] and (v.shape[0] != 1):
        return is_row(v, p, region) or (v.strides[0] == 0 and is_shared(v, p, region))
    return is_shared(v, p, region)


cdef bint fits_part(object part, Operation o, Partition p, FusedRegion region):
    """True if a part of a copy can be copied row by row."""
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
    """The role that an operation would have in a region with rows."""
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
    """The role of a gather or scatter. Along the rows, a gather reads a complete array; a scatter adds into an array
    not much larger than its terms. With an outer axis, both stay inside of each row."""
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
    """True if the region may run an operation with index arrays. Each array must be clipped to its axis, or be complete
    before the region starts, so that `Plan.look_up` can check it."""
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
    """The number of rows of a region around an operation; None if the operation is small."""
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
    """The largest distance between a row of the result and the rows it depends on."""
    cdef Py_ssize_t reach = 0, shift
    cdef Buffer buffer
    for buffer, shift in p.shifts(o, region):
        reach = max(reach, abs(shift) + p.of[buffer.number].reach)
    return reach


cdef list with_small_ones_first(list operations):
    """The operations, with small ones first if they do not depend on large ones. Then data that all rows share is
    complete before the rows begin."""
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
    """Record that an operation runs in a region, and how; False if it cannot. `alone`: the region's first operation is
    generic. `waiting`: buffers that are made later."""
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
    """Start a region with the first operation and move all operations that fit into it; return the others."""
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
    """Record which buffers are read outside of their region, and the last region that reads each."""
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
    """The operations in regions, in an order that respects their dependences."""
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
    """Bytes that regions pass on to others. Totals count twice, since each tile reads and writes them."""
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
    """The partition that passes the fewest bytes between regions."""
    cdef Partition best = partition_of(<Operations>lowered.orders[0]), other
    cdef Operations order
    for order in lowered.orders[1:]:
        other = partition_of(order)
        if traffic(other) < traffic(best):
            note(ORDER_CHOSEN)
            best = other
    return best
