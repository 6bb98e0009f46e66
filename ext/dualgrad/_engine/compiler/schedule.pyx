"""The order of operations within a region: the one that keeps the fewest bytes alive.

Design
------
The results that a region keeps in the memory of a tile should stay in cache. Three orders are compared by the bytes per
row that are alive at once: the original order, depth first from the results, or greedy. Greedy always takes the
operation that frees the most memory.
"""
from .lowering cimport Operation
from .partition cimport Partition
from .rewrites cimport DEPTH_FIRST, GREEDY, Rewrite, note
from .views cimport Buffer, View

cdef enum:
    NEAR = 8192                     # bytes that fit into the nearest cache in any order


cdef bint is_kept(Partition p, Buffer r) noexcept:
    """True if a result stays in the memory of a tile."""
    return not p.of[r.number].outside and not p.of[r.number].added


cdef list scheduled(Partition p, list operations, bint rows):
    """The operations in the order, of three, that keeps the fewest bytes alive at once (see the module's note). A
    region without rows and with few bytes keeps its order."""
    cdef list best = operations, other
    cdef Py_ssize_t least, n
    cdef Rewrite rewrite, chosen = DEPTH_FIRST
    if len(operations) < 8:
        return operations
    least = most_alive(p, operations)
    if not rows and least <= NEAR:
        return operations
    for rewrite, other in ((DEPTH_FIRST, depth_first(p, operations)), (GREEDY, greedy(p, operations))):
        n = most_alive(p, other)
        if n < least:
            best = other
            least = n
            chosen = rewrite
    if best is not operations:
        note(chosen)
    return best


cdef Py_ssize_t most_alive(Partition p, list operations):
    """The most bytes per row that the results of operations occupy at once."""
    cdef Operation o
    cdef View v
    cdef dict last = {}
    cdef Py_ssize_t alive = 0, most = 0, i
    for i, o in enumerate(operations):
        for v in o.ins:
            if not p.of[v.buffer.number].outside:
                last[v.buffer] = i
    for i, o in enumerate(operations):
        if is_kept(p, o.out):
            alive += p.row_size(o.out)
        most = max(most, alive)
        for v in o.ins:
            if last.get(v.buffer) == i:
                alive -= p.row_size(v.buffer)
                del last[v.buffer]
    return most


cdef list depth_first(Partition p, list operations):
    """The operations in depth-first order: each as late as possible before the first reader of its result."""
    cdef dict maker = {}
    cdef list found = [], stack
    cdef set done = set()
    cdef Operation o, q
    cdef View v
    cdef bint ready
    for o in operations:
        maker[o.out] = o
    for o in operations:
        if is_kept(p, o.out):
            continue
        stack = [o]
        while stack:
            q = <Operation>stack[len(stack) - 1]
            if q in done:
                stack.pop()
                continue
            ready = True
            for v in q.ins:
                if v.buffer in maker and maker[v.buffer] not in done:
                    stack.append(maker[v.buffer])
                    ready = False
            if ready:
                done.add(q)
                found.append(q)
                stack.pop()
    return found


cdef list greedy(Partition p, list operations):
    """The operations in greedy order: next is the one that frees the most memory, or of equals the one ready last."""
    cdef dict uses = {}, waits = {}, waiting = {}
    cdef list ready = [], found = []
    cdef Operation o
    cdef View v
    cdef Py_ssize_t i, best, gain, most, n
    for o in operations:
        waiting.setdefault(o.out, [])
    for o in operations:
        buffers = {v.buffer for v in o.ins if v.buffer in waiting}
        waits[o] = len(buffers)
        for key in buffers:
            uses[key] = uses.get(key, 0) + 1
            (<list>waiting[key]).append(o)
        if not buffers:
            ready.append(o)
    while ready:
        best = -1
        most = 0
        n = len(ready)
        for i in range(n - 1, max(-1, n - 64), -1):
            o = <Operation>ready[i]
            gain = -p.row_size(o.out) if is_kept(p, o.out) else 0
            for buffer in {v.buffer: None for v in o.ins}:
                if uses.get(buffer) == 1 and not p.of[(<Buffer>buffer).number].outside:
                    gain += p.row_size(<Buffer>buffer)
            if best < 0 or gain > most:
                best = i
                most = gain
        o = <Operation>ready.pop(best)
        found.append(o)
        for key in {v.buffer for v in o.ins}:
            if key in uses:
                uses[key] -= 1
        for later in <list>waiting[o.out]:
            waits[later] -= 1
            if waits[later] == 0:
                ready.append(later)
    return found
