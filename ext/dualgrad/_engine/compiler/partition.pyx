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

*Order.* Within a region the order is chosen that keeps the fewest bytes alive.
"""
from cpython.mem cimport PyMem_Free

from ..arrays.array cimport DG_DEBUG, count
from .lowering cimport (AS_CAST, AS_CONTRACT, AS_COPIES, AS_GATHER, AS_GENERIC, AS_LOOP, AS_MATMUL, AS_SCATTER,
                        AS_SELECT, AS_SUM, Operation)
from .views cimport Root, View, product, turned

cdef enum:
    LARGE = 4096                    # elements from which on an array is worth blocks
    NEAR = 8192                     # bytes that are in the nearest cache in any order
    FEW_ROWS = 1024                 # with fewer, rows of different number do not belong together


cdef enum Role:
    REFUSED
    ROWS                            # the result is made row by row
    ADDED                           # the result is added up over the rows


cdef class Region:

    def __cinit__(self):
        if DG_DEBUG:
            count("Region", 1)

    def __dealloc__(self):
        PyMem_Free(self.code)
        PyMem_Free(self.scalars)
        if DG_DEBUG:
            count("Region", -1)


cdef Py_ssize_t rows_in(Region region, Py_ssize_t n):
    """Whether n rows are the rows of a region, or nearly."""
    cdef Py_ssize_t rows = region.rows
    return n == rows or (rows >= FEW_ROWS and n >= FEW_ROWS and -HALO <= n - rows <= HALO)


cdef Py_ssize_t shift_of(View v):
    """How many rows a view of rows starts after its root."""
    return v.offset // row_size(v.root) if v.offset else 0


cdef bint is_row(View v, Region region):
    """Whether the first axis of a view goes along the rows of a region."""
    if len(v.shape) == 0 or not rows_in(region, v.shape[0]):
        return False
    if v.root.region == region.number:          # made here, row by row: the rows lie one after the other
        return v.root.rows and v.strides[0] == row_size(v.root) and 0 <= shift_of(v) <= HALO
    return v.strides[0] != 0 or region.rows == 1


cdef bint is_shared(View v, Region region):
    """Whether a view is complete before the region starts."""
    return v.root.region != region.number


cdef bint fits(View v, tuple shape, Region region):
    """Whether an operand of an elementwise operation of this shape goes along the rows, or is shared by them."""
    if len(v.shape) == len(shape) and v.shape[0] == shape[0] and (v.shape[0] != 1):
        return is_row(v, region) or (v.strides[0] == 0 and is_shared(v, region))
    return is_shared(v, region)


cdef bint fits_part(object part, Operation o, Region region):
    """Whether a part of a copy can be placed row by row."""
    cdef Py_ssize_t row = row_size_of(o.out), start
    cdef View v
    offset, strides, v = <tuple>part
    start = offset // row
    if strides[0] != row or len(v.shape) == 0:
        return False
    if v.root.region == region.number:
        return is_row(v, region) and -HALO <= shift_of(v) - start <= HALO
    return True


cdef Py_ssize_t row_size_of(Root r):
    """Bytes of a row of a root that is, or would be, made row by row."""
    return r.item * (r.size // max(<Py_ssize_t>r.shape[0], 1))


cdef Role role(Operation o, Region region):
    """What an operation would be in a region of rows."""
    cdef View a, b, v
    cdef tuple shape = o.out.shape
    if o.kind == AS_GENERIC or o.out.size == 0:
        return REFUSED
    if o.kind == AS_GATHER or o.kind == AS_SCATTER:
        return role_of_picks(o, region)
    if o.kind == AS_LOOP or o.kind == AS_SELECT or o.kind == AS_CAST:
        if len(shape) == 0 or not rows_in(region, shape[0]):
            return REFUSED
        for v in o.ins:
            if not fits(v, shape, region):
                return REFUSED
        return ROWS
    if o.kind == AS_COPIES:
        if len(shape) == 0 or not rows_in(region, shape[0]):
            return REFUSED
        for part in o.params:
            if part is not None and not fits_part(part, o, region):
                return REFUSED
        return ROWS
    if o.kind == AS_SUM:
        v = <View>o.ins[0]
        if not is_row(v, region):
            return REFUSED
        axes = list(o.params)
        if 0 not in axes:
            return ROWS
        return ADDED if len(axes) == len(v.shape) or axes == [0] else REFUSED
    a = <View>o.ins[0]
    b = <View>o.ins[1]
    if o.kind == AS_CONTRACT:
        return ADDED if is_row(a, region) and is_row(b, region) else REFUSED
    if is_row(a, region) and len(a.shape) == 2 and len(b.shape) == 2 and is_shared(b, region):
        return ROWS
    if is_shared(a, region) and len(a.shape) == 2 and len(b.shape) == 3 and is_row(b, region):
        return ROWS
    if is_row(a, region) and len(a.shape) == 3 and (
            len(b.shape) == 3 and is_row(b, region) or len(b.shape) == 2 and is_shared(b, region)):
        return ROWS
    if len(a.shape) == 2 and len(b.shape) == 2 and a.shape[1] == b.shape[0] and is_row(b, region) \
            and is_row(turned(a, (1, 0)), region):
        return ADDED
    return REFUSED


cdef Role role_of_picks(Operation o, Region region):
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
        return ROWS if is_row(v, region) or not gather and fits(v, along, region) else REFUSED
    if len(picks) == 0 or gather and not is_shared(v, region) or not gather and not fits(v, along, region):
        return REFUSED
    for v in o.ins[1:]:
        if not fits(v, picks, region):
            return REFUSED
    return ROWS if gather else ADDED if o.out.size <= max(product(along), LARGE) else REFUSED


cdef bint is_looked_up(Operation o, Region region):
    """Whether index arrays of an operation are complete before the region starts: then it can be asked whether all of
    them lie inside."""
    cdef View v
    if o.kind == AS_GATHER or o.kind == AS_SCATTER:
        for v in o.ins[1:]:
            if v.root.region == region.number:
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


cdef Py_ssize_t rows_made(Operation o):
    """The number of rows an operation in a region of rows goes over."""
    if o.out.rows:
        return o.out.shape[0]
    return (<View>o.ins[0]).shape[0] if o.kind == AS_SUM or o.kind == AS_SCATTER else (<View>o.ins[1]).shape[0]


cdef list shifts(Operation o, Region region):
    """(root, shift) for operands made row by row in the region: row i of the result needs row i + shift of the root."""
    cdef list found = []
    cdef View v
    if o.kind == AS_COPIES:
        for part in o.params:
            if part is not None:
                v = <View>part[2]
                if v.root.region == region.number and v.root.rows:
                    found.append((v.root, shift_of(v) - <Py_ssize_t>part[0] // row_size_of(o.out)))
        return found
    for v in o.ins:
        if v.root.region == region.number and v.root.rows:
            found.append((v.root, shift_of(v)))
    return found


cdef Py_ssize_t reach_of(Operation o, Region region):
    """How far from a row of the result the rows lie on which it depends, at most."""
    cdef Py_ssize_t reach = 0, shift
    cdef Root root
    for root, shift in shifts(o, region):
        reach = max(reach, abs(shift) + root.reach)
    return reach


cdef int set_margins(Region region) except -1:
    """How many rows beside its own a block needs of each root, since later operations look at rows further on or back.
    They are computed again by each block that needs them: blocks stay independent of each other."""
    cdef Operation o
    cdef Root root
    cdef Py_ssize_t shift
    region.halo = 0
    for o in region.operations:
        o.out.before = o.out.after = 0
    if region.rows is None:
        return 0
    for o in reversed(region.operations):
        for root, shift in shifts(o, region):
            root.before = max(root.before, o.out.before - shift)
            root.after = max(root.after, o.out.after + shift)
    for o in region.operations:     # what is made inside of another result needs its rows there
        root = o.out
        while root.within is not None:
            root.within.before = max(root.within.before, root.before - root.start)
            root.within.after = max(root.within.after, root.after + root.start)
            root = root.within
    for o in region.operations:
        region.halo = max(region.halo, o.out.before + o.out.after)
    return 0


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
            if v.root in late:
                first = False
        if first:
            early.append(o)
        else:
            others.append(o)
            late.add(o.out)
    return early + others


cdef list regions_of(list operations, list results):
    """The operations in regions, in an order that respects what depends on what."""
    cdef list left = with_small_ones_first(operations), later, regions = []
    cdef Region region
    cdef Operation o
    cdef View v
    cdef bint ready, alone
    cdef Py_ssize_t reach
    cdef set waiting
    cdef Role r
    while left:
        region = Region()
        region.number = len(regions)
        region.operations = []
        o = <Operation>left[0]
        region.rows = rows_of(o)
        if region.rows is not None and role(o, region) == REFUSED:
            region.rows = None
        alone = o.kind == AS_GENERIC
        later = []
        waiting = set()             # roots that are made later
        for o in left:
            ready = not (alone and region.operations) and is_looked_up(o, region)
            for v in o.ins:
                if v.root in waiting:
                    ready = False
            if ready and o.kind == AS_GENERIC and not alone:
                ready = False
            if ready and region.rows is None and not alone and region.operations and rows_of(o) is not None:
                ready = False
            if ready and region.rows is not None:
                for v in o.ins:
                    if v.root.region == region.number and v.root.added:
                        ready = False
                if ready:
                    r = role(o, region)
                    reach = 0 if r == REFUSED else reach_of(o, region)
                    if r == REFUSED or reach > HALO:
                        ready = False
                    else:
                        o.out.rows = r == ROWS
                        o.out.added = r == ADDED
                        o.out.reach = reach
            if ready:
                region.operations.append(o)
                o.out.region = region.number
            else:
                later.append(o)
                waiting.add(o.out)
        if region.rows is not None:
            region.rows = max([rows_made(o) for o in region.operations])
        regions.append(region)
        left = later
    for region in regions:
        for o in region.operations:
            for v in o.ins:
                v.root.last = max(v.root.last, region.number)
                if v.root.region != region.number:
                    v.root.outside = True
    for v in results:
        v.root.outside = True
        v.root.last = len(regions)
    return regions


cdef list scheduled(list operations, bint rows):
    """The operations in the order, of three, in which the fewest bytes are alive at once: as they came, depth first
    from the results, or each time what sets most memory free. Without rows a few bytes need no order."""
    cdef list best = operations, other
    cdef Py_ssize_t least, n
    if len(operations) < 8:
        return operations
    least = most_alive(operations)
    if not rows and least <= NEAR:
        return operations
    for other in (depth_first(operations), greedy(operations)):
        n = most_alive(other)
        if n < least:
            best = other
            least = n
    return best


cdef Py_ssize_t row_size(Root r):
    """Bytes of a row of a root made row by row, or of all of it."""
    return r.item * (r.size // max(<Py_ssize_t>r.shape[0], 1)) if r.rows else r.item * r.size


cdef Py_ssize_t most_alive(list operations):
    """Bytes a row that the results of operations take while others need them."""
    cdef Operation o
    cdef View v
    cdef dict last = {}
    cdef Py_ssize_t alive = 0, most = 0, i
    for i, o in enumerate(operations):
        for v in o.ins:
            if v.root.region == o.out.region and not v.root.outside:
                last[v.root] = i
    for i, o in enumerate(operations):
        if not o.out.outside and not o.out.added:
            alive += row_size(o.out)
        most = max(most, alive)
        for v in o.ins:
            if last.get(v.root) == i:
                alive -= row_size(v.root)
                del last[v.root]
    return most


cdef list depth_first(list operations):
    """Every operation as late as possible before who needs it first."""
    cdef dict maker = {}
    cdef list found = [], stack
    cdef set done = set()
    cdef Operation o, p
    cdef View v
    cdef bint ready
    for o in operations:
        maker[o.out] = o
    for o in operations:
        if not o.out.outside and not o.out.added:
            continue
        stack = [o]
        while stack:
            p = <Operation>stack[len(stack) - 1]
            if p in done:
                stack.pop()
                continue
            ready = True
            for v in p.ins:
                if v.root in maker and maker[v.root] not in done:
                    stack.append(maker[v.root])
                    ready = False
            if ready:
                done.add(p)
                found.append(p)
                stack.pop()
    return found


cdef list greedy(list operations):
    """Among what can be done next, what sets most memory free; of equals, what was made possible last."""
    cdef dict uses = {}, waits = {}, waiting = {}
    cdef list ready = [], found = []
    cdef Operation o
    cdef View v
    cdef Py_ssize_t i, best, gain, most, n
    for o in operations:
        waiting.setdefault(o.out, [])
    for o in operations:
        roots = {v.root for v in o.ins if v.root in waiting}
        waits[o] = len(roots)
        for key in roots:
            uses[key] = uses.get(key, 0) + 1
            (<list>waiting[key]).append(o)
        if not roots:
            ready.append(o)
    while ready:
        best = -1
        most = 0
        n = len(ready)
        for i in range(n - 1, max(-1, n - 64), -1):
            o = <Operation>ready[i]
            gain = 0 if o.out.outside or o.out.added else -row_size(o.out)
            for root in {v.root: None for v in o.ins}:
                if uses.get(root) == 1 and not (<Root>root).outside:
                    gain += row_size(<Root>root)
            if best < 0 or gain > most:
                best = i
                most = gain
        o = <Operation>ready.pop(best)
        found.append(o)
        for key in {v.root for v in o.ins}:
            if key in uses:
                uses[key] -= 1
        for later in <list>waiting[o.out]:
            waits[later] -= 1
            if waits[later] == 0:
                ready.append(later)
    return found
