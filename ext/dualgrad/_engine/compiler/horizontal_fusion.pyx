"""Horizontal fusion: multiply the rows of several products with the same matrix in one product.

Design
------
The channels of a dual number or a jet go through the same matrices, and so do derivatives taken one after the other. A
tile has few rows, so that it stays in cache. A product of few rows spends much of its time on preparing the shared
factor. Therefore left factors in the memory of the tile are placed next to each other, as further rows. So are the
results.

Products are fused if the same number of products precedes each, counted along the longest path. Then they do not depend
on each other. A group has a single depth, so groups cannot wait for each other in a cycle. At the end, the operations
are sorted so that each comes after the operations it depends on.
"""
from .lowering cimport AS_MATMUL, Operation
from .margins cimport NOWHERE, Margin, Margins
from .partition cimport Making, FusedRegion, new_region
from .rewrites cimport JOINED, note
from .views cimport Buffer, View, is_packed

cdef enum:
    MOST = 4                        # products fused into one


cdef bint is_local(Buffer r, Joined j, FusedRegion region) except -1:
    """True if a result is made row by row in the memory of a tile, and shares none of it."""
    cdef Making *made = &j.margins.fused.partition.of[r.number]
    cdef Margin *m = &j.margins.of[r.number]
    return (made.region == region.number and made.rows and not made.outside and not made.added
            and m.within == NOWHERE and m.before == 0 and m.after == 0 and r not in j.groups)


cdef tuple key_of(Operation o, Joined j, FusedRegion region):
    """The key that products must share to be fused; None if an operation cannot be fused."""
    cdef View a, b
    if o.kind != AS_MATMUL or not is_local(o.out, j, region):
        return None
    a = <View>o.ins[0]
    b = <View>o.ins[1]
    if (len(a.shape) != 2 or len(b.shape) != 2 or not is_local(a.buffer, j, region) or a.shape != a.buffer.shape
            or a.offset != 0 or not is_packed(a) or j.margins.fused.partition.here(b, region)
            or b.buffer.item not in b.strides):
        return None
    return b.buffer, b.offset, b.shape, b.strides


cdef list missing_of(list group, dict maker, set done):
    """The operations that a group still waits for, the last one first."""
    cdef list missing = []
    cdef Operation o
    cdef View v
    for o in group:
        for v in o.ins:
            q = maker.get(v.buffer)
            if q is not None and q not in done:
                missing.append(q)
    missing.reverse()
    return missing


cdef list ordered(list operations, dict mates, dict maker):
    """Sort operations so that each follows its operands' makers and groups stay together; else keep the order."""
    cdef list order = [], stack, group, missing
    cdef set done = set()
    for o in operations:
        stack = [o]
        while stack:
            o = stack[len(stack) - 1]
            if o in done:
                stack.pop()
                continue
            group = mates.get(o) or [o]
            missing = missing_of(group, maker, done)
            if missing:
                stack += missing
            else:
                order += group
                done.update(group)
    return order


cdef list alike(Joined j, FusedRegion region, dict maker):
    """Groups of products that can be fused: same key, same depth, and no left factor twice."""
    cdef dict depths = {}, found = {}           # depths: result -> number of products on the longest path to it
    cdef list group
    cdef Operation o, p
    cdef View v
    cdef int depth
    for o in region.operations:
        maker[o.out] = o
        depth = 0
        for v in o.ins:
            depth = max(depth, <int>depths.get(v.buffer, 0))
        depths[o.out] = depth + 1 if o.kind == AS_MATMUL else depth
        key = key_of(o, j, region)
        if key is None:
            continue
        groups = found.setdefault((key, depth), [])
        for group in groups:
            if len(group) < MOST and all([(<View>o.ins[0]).buffer is not (<View>p.ins[0]).buffer for p in group]):
                group.append(o)
                break
        else:
            groups.append([o])
    return [group for groups in found.values() for group in groups if len(<list>group) > 1]


cdef FusedRegion joined_region(Joined j, FusedRegion region):
    """The region with each group of fused products together."""
    cdef dict maker = {}
    cdef list group, groups
    cdef Operation o, p
    cdef Buffer r
    if region.rows is None:
        return region
    groups = alike(j, region, maker)
    for group in groups:
        # two groups may want the same buffer: as a result of one, and as a left factor of the other
        group = [o for o in group if key_of(o, j, region) is not None]
        if len(group) < 2:
            continue
        note(JOINED)
        for o in group:
            j.mates[o] = group
        for buffers in ([(<View>p.ins[0]).buffer for p in group], [p.out for p in group]):
            for r in buffers:
                j.groups[r] = buffers
    return new_region(region.number, region.rows, ordered(region.operations, j.mates, maker)) if groups else region


cdef Joined with_products_joined(Margins margins):
    """The regions with products fused."""
    cdef Joined j = Joined()
    cdef FusedRegion region
    j.margins = margins
    j.mates = {}
    j.groups = {}
    j.regions = [joined_region(j, region) for region in margins.fused.regions]
    return j
