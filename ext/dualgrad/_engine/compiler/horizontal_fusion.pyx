"""Joining: products of a block's rows with the same matrix become one product.

Design
------
The channels of a dual number or a jet, and derivatives taken one after the other, go through the same matrices. A block
has few rows, so that it stays in cache, and a product of few rows spends much of its time on preparing the factor they
share. Left factors that are made in block memory are therefore made next to each other, as if they were more rows, and
so are the results.

Products are joined if equally many products come before them, counted along the longest way. None of these depends on
another, and since what is done together has one depth, groups never wait for each other in a circle. In the end the
operations are put into an order in which each comes after what it needs.
"""
from .lowering cimport AS_MATMUL, Operation
from .partition cimport Region
from .views cimport Root, View, is_packed

cdef enum:
    MOST = 4                        # products joined in one


cdef bint is_local(Root r, Region region):
    """Whether a result is made row by row in block memory, and all of it is its own."""
    return (r.region == region.number and r.rows and not r.outside and not r.added and r.within is None
            and r.group is None and r.before == 0 and r.after == 0)


cdef tuple key_of(Operation o, Region region):
    """What products that can be joined have in common; None for any other operation."""
    cdef View a, b
    if o.kind != AS_MATMUL or not is_local(o.out, region):
        return None
    a = <View>o.ins[0]
    b = <View>o.ins[1]
    if (len(a.shape) != 2 or len(b.shape) != 2 or not is_local(a.root, region) or a.shape != a.root.shape
            or a.offset != 0 or not is_packed(a) or b.root.region == region.number or b.root.item not in b.strides):
        return None
    return b.root, b.offset, b.shape, b.strides


cdef list together(Operation o):
    """The operations that are done at the same time as one, itself among them."""
    return o.mates if o.mates is not None else [o]


cdef list ordered(list operations, dict maker):
    """Each operation after what it needs, those that are done together behind each other, otherwise as they were."""
    cdef Operation o, p
    cdef View v
    cdef list order = [], stack, group, missing
    cdef set done = set()
    for o in operations:
        stack = [o]
        while stack:
            p = stack[len(stack) - 1]
            if p in done:
                stack.pop()
                continue
            group = together(p)
            missing = []
            for p in group:
                for v in p.ins:
                    q = maker.get(v.root)
                    if q is not None and q not in done:
                        missing.append(q)
            if missing:
                missing.reverse()
                stack += missing
            else:
                order += group
                done.update(group)
    return order


cdef int join_products(Region region) except -1:
    """Put products that are joined behind each other; the first of them knows the others."""
    cdef Operation o, p
    cdef Root r
    cdef View v
    cdef dict alike = {}, maker = {}, depths = {}       # depths: of each result, the products on the longest way to it
    cdef list group
    cdef int depth
    if region.rows is None:
        return 0
    for o in region.operations:
        maker[o.out] = o
        depth = 0
        for v in o.ins:
            depth = max(depth, <int>depths.get(v.root, 0))
        depths[o.out] = depth + 1 if o.kind == AS_MATMUL else depth
        key = key_of(o, region)
        if key is None:
            continue
        groups = alike.setdefault((key, depth), [])
        for group in groups:
            if len(group) < MOST and all([(<View>o.ins[0]).root is not (<View>p.ins[0]).root for p in group]):
                group.append(o)
                break
        else:
            groups.append([o])
    joined = [group for groups in alike.values() for group in groups if len(<list>group) > 1]
    for group in joined:
        # a root may be asked for by two groups: results of one, left factors of another
        group = [o for o in group if key_of(o, region) is not None]
        if len(group) < 2:
            continue
        for o in group:
            o.mates = group
        for roots in ([(<View>p.ins[0]).root for p in group], [p.out for p in group]):
            for r in roots:
                r.group = roots
    if joined:
        region.operations = ordered(region.operations, maker)
    return 0
