"""Joining: products of a block's rows with the same matrix become one product.

Design
------
The channels of a dual number or a jet, and derivatives taken one after the other, go through the same matrices. A block
has few rows, so that it stays in cache, and a product of few rows spends much of its time on preparing the factor they
share. Left factors that are made in block memory are therefore made next to each other, as if they were more rows, and
so are the results.

Two products can be joined if neither depends on the other. What the later one needs, and the earlier one does not, is
done before both.
"""
from .lowering cimport Operation
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
    if o.kind != "matmul" or not is_local(o.out, region):
        return None
    a = <View>o.ins[0]
    b = <View>o.ins[1]
    if (len(a.shape) != 2 or len(b.shape) != 2 or not is_local(a.root, region) or a.shape != a.root.shape
            or a.offset != 0 or not is_packed(a) or b.root.region == region.number or b.root.item not in b.strides):
        return None
    return b.root, b.offset, b.shape, b.strides


cdef set needed_by(Operation last, list operations):
    """The operations that one depends on."""
    cdef dict maker = {}
    cdef Operation o
    cdef View v
    cdef set found = set()
    cdef list stack = [last]
    for o in operations:
        maker[o.out] = o
    while stack:
        o = stack.pop()
        for v in o.ins:
            p = maker.get(v.root)
            if p is not None and p not in found:
                found.add(p)
                stack.append(p)
    return found


cdef int join_products(Region region) except -1:
    """Put products that are joined behind each other; the first of them knows the others."""
    cdef list order = region.operations, group, rest
    cdef Operation first, o
    cdef Py_ssize_t i, k
    cdef dict alike = {}
    if region.rows is None:
        return 0
    for o in order:
        key = key_of(o, region)
        if key is not None:
            alike.setdefault(key, []).append(o)
    for candidates in alike.values():
        while len(candidates) > 1:
            first = candidates.pop(0)
            if key_of(first, region) is None:               # it has found its place in another group
                continue
            group = [first]
            rest = []
            for o in candidates:
                i = order.index(first)
                needed = needed_by(o, order[i:])
                if (len(group) == MOST or key_of(o, region) is None or needed.intersection(group)
                        or any([(<View>o.ins[0]).root is (<View>(<Operation>p).ins[0]).root for p in group])):
                    rest.append(o)
                    continue
                k = i + len(group)
                order = (order[:i] + [p for p in order[k:] if p in needed] + group + [o]
                         + [p for p in order[k:] if p not in needed and p is not o])
                group.append(o)
            candidates[:] = rest
            if len(group) > 1:
                first.mates = group
                for roots in ([(<View>(<Operation>p).ins[0]).root for p in group], [(<Operation>p).out for p in group]):
                    for r in roots:
                        (<Root>r).group = roots
                for o in group[1:]:
                    o.mates = []                            # done with the first
    region.operations = order
    return 0
