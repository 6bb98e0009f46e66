"""Joining: products of a block's rows with the same matrix become one product.

Design
------
The channels of a dual number or a jet, and derivatives taken one after the other, go through the same matrices. A block
has few rows, so that it stays in cache, and a product of few rows spends much of its time on preparing the factor they
share. Left factors that are made in block memory are therefore made next to each other, as if they were more rows, and
so are the results.

Two products can be joined if neither depends on the other, on any way: products that are joined already are done at
the same time, so what depends on one of them depends on all, and waits for what any of them needs. In the end the
operations are put into an order in which each comes after what it needs.
"""
from .lowering cimport AS_MATMUL, Operation
from .regions cimport Region
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


cdef set needed_by(list operations, dict maker):
    """What some operations depend on."""
    cdef Operation o
    cdef View v
    cdef set found = set()
    cdef list stack = list(operations)
    while stack:
        o = stack.pop()
        for v in o.ins:
            p = maker.get(v.root)
            if p is not None and p not in found:
                for o in together(p):
                    found.add(o)
                    stack.append(o)
    return found


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
    cdef dict alike = {}, maker = {}
    cdef list group, rest, candidates
    cdef bint any_joined = False
    if region.rows is None:
        return 0
    for o in region.operations:
        maker[o.out] = o
        key = key_of(o, region)
        if key is not None:
            alike.setdefault(key, []).append(o)
    for candidates in alike.values():
        while len(candidates) > 1:
            o = candidates[0]
            group = [o]
            rest = []
            needed = needed_by(group, maker)
            for o in candidates[1:]:
                if (len(group) < MOST and key_of(o, region) is not None and key_of(group[0], region) is not None
                        and o not in needed and all([(<View>o.ins[0]).root is not (<View>p.ins[0]).root for p in group])
                        and needed_by([o], maker).isdisjoint(group)):
                    group.append(o)
                    needed = needed_by(group, maker)
                else:
                    rest.append(o)
            candidates = rest
            if len(group) > 1:
                any_joined = True
                for o in group:
                    o.mates = group
                for roots in ([(<View>p.ins[0]).root for p in group], [p.out for p in group]):
                    for r in roots:
                        r.group = roots
    if any_joined:
        region.operations = ordered(region.operations, maker)
    return 0
